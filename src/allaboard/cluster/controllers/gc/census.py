"""Does an owner exist? What the store knows, asked by kind, name and UID."""

from allaboard.api.meta import Json, Kind
from allaboard.client.kinds import KNOWN
from allaboard.cluster.controllers.gc.graph import FOREGROUND, Item, Reference
from allaboard.cluster.controllers.gc.judgement import Owner
from allaboard.cluster.store.records import Record
from allaboard.cluster.store.store import Store

_BUILT_IN = {(kind.group, kind.kind) for kind in KNOWN.values()}
_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


class Census:
    """Finds owners; learns which resource holds which kind from the records it is shown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_resource: dict[str, Kind] = {}
        self._resource_of: dict[tuple[str, str], str] = {}  # (group, kind) -> resource

    def kind_of(self, record: Record) -> Kind:
        known = self._by_resource.get(record.resource)
        if known is not None:
            return known
        api_version, kind_name = record.obj["apiVersion"], record.obj["kind"]
        group, _, version = api_version.rpartition("/")
        plural = record.resource.partition(".")[0]
        kind = Kind(group, version, kind_name, plural, namespaced=bool(record.namespace))
        self._by_resource[record.resource] = kind
        self._resource_of[group, kind_name] = record.resource
        return kind

    def fate(self, item: Item, owner: Reference) -> Owner:
        group = owner.api_version.rpartition("/")[0]
        resource = self._resource_of.get((group, owner.kind))
        if resource is None:
            return Owner.ABSENT if self._is_served(group, owner.kind) else Owner.SOLID
        namespaced = self._by_resource[resource].namespaced
        if namespaced and not item.namespace:
            return Owner.SOLID  # cannot be resolved; deleting on a guess would be worse
        record = self._store.get(resource, item.namespace if namespaced else "", owner.name)
        if record is not None and record.obj["metadata"].get("uid") == owner.uid:
            return Owner.WAITING if _waits(record.obj["metadata"]) else Owner.SOLID
        if namespaced and self._lives_elsewhere(resource, owner):
            return Owner.FOREIGN
        return Owner.ABSENT

    def _is_served(self, group: str, kind: str) -> bool:
        """Whether objects of this kind could exist. Of a kind nobody knows nothing is known."""
        if (group, kind) in _BUILT_IN:
            return True
        definitions = (record.obj["spec"] for record in self._store.list(_DEFINITIONS, None))
        return any(d["group"] == group and d["names"]["kind"] == kind for d in definitions)

    def record_of(self, item: Item) -> Record | None:
        """The newest state of this very object."""
        record = self._store.get(item.kind.resource, item.namespace, item.name)
        if record is None or record.obj["metadata"].get("uid") != item.uid:
            return None
        return record

    def _lives_elsewhere(self, resource: str, owner: Reference) -> bool:
        for namespace in self._store.namespaces(resource):
            record = self._store.get(resource, namespace, owner.name)
            if record is not None and record.obj["metadata"].get("uid") == owner.uid:
                return True
        return False


def _waits(meta: Json) -> bool:
    return bool(meta.get("deletionTimestamp")) and FOREGROUND in (meta.get("finalizers") or ())
