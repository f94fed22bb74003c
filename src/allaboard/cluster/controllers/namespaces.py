"""How does a namespace end? Its content goes, pods first; then it is let go.

Until nothing is left, its status says what still holds it.
"""

from collections import Counter
from collections.abc import Sequence

from allaboard.api.errors import Conflict, MethodNotAllowed, NotFound
from allaboard.api.meta import Json, Key
from allaboard.api.times import format_time, parse_time
from allaboard.api.types import Namespace
from allaboard.clock import Instant
from allaboard.cluster.controllers.feed import StoreFeed
from allaboard.cluster.controllers.gc.census import Census
from allaboard.cluster.store.records import Change, Record
from allaboard.runtime.controller import DONE, Again, Controller, Outcome
from allaboard.runtime.manager import Manager

FINALIZER = "kubernetes"
# Other API servers may not have heard of the deletion yet; they get this long to.
GRACE_S = 5.0

_ALL_DISCOVERED = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
     "All resources successfully discovered"),
    ("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
     "All legacy kube types successfully parsed"),
    ("NamespaceDeletionContentFailure", "ContentDeleted",
     "All content successfully deleted, may be waiting on finalization"),
)  # fmt: skip


def remaining_conditions(left: Sequence[Record], old: Sequence[Json], now: Instant) -> list[Json]:
    """The conditions of a namespace in which this is left."""
    found = [(type_, "False", reason, text) for type_, reason, text in _ALL_DISCOVERED]
    content = Counter(record.resource for record in left)
    finalizers = Counter(
        name for record in left for name in record.obj["metadata"].get("finalizers") or ()
    )
    if content:
        listing = ", ".join(_resource_text(key, n) for key, n in sorted(content.items()))
        message = f"Some resources are remaining: {listing}"
        found.append(("NamespaceContentRemaining", "True", "SomeResourcesRemain", message))
    else:
        message = "All content successfully removed"
        found.append(("NamespaceContentRemaining", "False", "ContentRemoved", message))
    if finalizers:
        listing = ", ".join(
            f"{name} in {n} resource instances" for name, n in sorted(finalizers.items())
        )
        message = f"Some content in the namespace has finalizers remaining: {listing}"
        found.append(("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", message))
    else:
        message = "All content-preserving finalizers finished"
        found.append(("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers", message))
    return [_condition(fields, old, now) for fields in found]


def _resource_text(resource: str, count: int) -> str:
    plural, _, group = resource.partition(".")
    return f"{plural}.{group} has {count} resource instances"


def _condition(fields: tuple[str, str, str, str], old: Sequence[Json], now: Instant) -> Json:
    type_, status, reason, message = fields
    since = format_time(now)
    for before in old:
        if before.get("type") == type_ and before.get("status") == status:
            since = before.get("lastTransitionTime") or since
    return {
        "type": type_,
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


class NamespaceController:
    def __init__(self, manager: Manager, feed: StoreFeed, workers: int = 2) -> None:
        self._store = feed.store
        self._census = Census(feed.store)
        self._client = manager.client
        self._clock = manager.clock
        self._leaving: dict[str, None] = {}
        self._namespaces = manager.informers.of(Namespace.KIND)
        self.controller = manager.add(Controller("namespace", self.reconcile, workers))
        self._namespaces.on_change(self._namespace_changed)
        feed.follow(self)

    def begin(self) -> None:
        for name in self._leaving:
            self.controller.enqueue(Key("", name))

    def changed(self, change: Change) -> None:
        if self._leaving and change.record.namespace in self._leaving:
            self.controller.enqueue(Key("", change.record.namespace))

    def _namespace_changed(self, old: Json | None, new: Json | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        if new is None or not new["metadata"].get("deletionTimestamp"):
            self._leaving.pop(name, None)
        else:
            self._leaving[name] = None
            if old is None or old["metadata"].get("deletionTimestamp") is None or _let_go(new):
                self.controller.enqueue(Key("", name))

    async def reconcile(self, key: Key) -> Outcome:
        namespace = self._namespaces.get(key)
        if namespace is None or not namespace["metadata"].get("deletionTimestamp"):
            return DONE
        finalizers = namespace["spec"].get("finalizers") or ()
        if FINALIZER not in finalizers:
            if _let_go(namespace):
                await self._remove(namespace)
            return DONE
        early = parse_time(namespace["metadata"]["deletionTimestamp"]) + GRACE_S - self._clock.now()
        if early > 0:
            return Again(early)
        await self._empty(key.name)
        left = self._content(key.name)
        if not left:
            await self._finalize(namespace)
            return DONE
        await self._say_what_is_left(namespace, left)
        return DONE  # each deletion in it wakes us

    def _content(self, namespace: str) -> list[Record]:
        return [
            record
            for resource in self._store.resources()
            for record in self._store.list(resource, namespace)
        ]

    async def _empty(self, namespace: str) -> None:
        """Pods first; the rest when they are gone, so that they can still reach what they use."""
        await self._delete_all("pods", namespace)
        if self._store.list("pods", namespace):
            return
        for resource in self._store.resources():
            await self._delete_all(resource, namespace)

    async def _delete_all(self, resource: str, namespace: str) -> None:
        records = self._store.list(resource, namespace)
        alive = [r for r in records if not r.obj["metadata"].get("deletionTimestamp")]
        if not alive:
            return
        kind = self._census.kind_of(alive[0])
        try:
            await self._client.delete_collection(kind, namespace, propagation="Background")
        except MethodNotAllowed:
            for record in alive:
                await self._delete_one(record, namespace)

    async def _delete_one(self, record: Record, namespace: str) -> None:
        kind = self._census.kind_of(record)
        try:
            await self._client.delete(kind, record.name, namespace, propagation="Background")
        except NotFound:
            return

    async def _finalize(self, namespace: Json) -> None:
        spec = namespace["spec"]
        left = [name for name in spec["finalizers"] if name != FINALIZER]
        wanted = {**namespace, "spec": {**spec, "finalizers": left}}
        try:
            await self._client.update(wanted, Namespace.KIND, subresource="finalize")
        except NotFound:
            return

    async def _remove(self, namespace: Json) -> None:
        """Where letting go of it was not enough to make it go."""
        meta = namespace["metadata"]
        try:
            await self._client.delete(Namespace.KIND, meta["name"], uid=meta["uid"])
        except (Conflict, NotFound):
            return

    async def _say_what_is_left(self, namespace: Json, left: Sequence[Record]) -> None:
        old = (namespace.get("status") or {}).get("conditions") or []
        conditions = remaining_conditions(left, old, self._clock.now())
        if conditions == old:
            return
        try:
            await self._client.patch(
                Namespace.KIND,
                namespace["metadata"]["name"],
                patch={"status": {"conditions": conditions}},
                subresource="status",
            )
        except (Conflict, NotFound):
            return


def _let_go(namespace: Json) -> bool:
    held = namespace["spec"].get("finalizers") or namespace["metadata"].get("finalizers")
    return not held
