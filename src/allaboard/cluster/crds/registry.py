"""Which custom resources are served now, and what becomes of their definitions?

The registry listens to the store: as soon as a definition is committed its endpoint is there and
its status says so, before the writer's answer goes out. Definitions in the store are picked up by
`start`. A definition that is being deleted takes its objects with it; while finalizers of theirs
hold some back it stays served, so that whoever owns those finalizers can finish.
"""

import asyncio
import dataclasses
import logging
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Protocol

from allaboard.api.errors import MethodNotAllowed
from allaboard.api.meta import Json
from allaboard.clock import Clock
from allaboard.cluster.admission.chain import CREATE, AdmissionAttributes, Plugin
from allaboard.cluster.crds.acceptance import is_true
from allaboard.cluster.crds.conditions import FINALIZER, wanted_status, with_status
from allaboard.cluster.crds.conversion import Caller, Converter
from allaboard.cluster.crds.definitions import resource_of
from allaboard.cluster.crds.life import DefinitionStrategy
from allaboard.cluster.crds.rules import CustomStrategy
from allaboard.cluster.resource import Resource
from allaboard.cluster.store.records import Change
from allaboard.cluster.store.store import Store

log = logging.getLogger(__name__)
KEY = "customresourcedefinitions.apiextensions.k8s.io"


class Served(Protocol):
    """The server's list of resources."""

    def add(self, resource: Resource) -> None: ...

    def remove(self, group: str, plural: str) -> None: ...

    def all(self) -> Iterable[Resource]: ...


class CrdRegistry:
    def __init__(
        self, store: Store, clock: Clock, served: Served, caller: Caller | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._served = served
        self._caller = caller
        self._converters: dict[str, Converter] = {}
        self._resources: dict[str, tuple[Json, Resource]] = {}  # by name, with the spec it is of
        self._cleaners: dict[str, asyncio.Task[None]] = {}
        self.terminating: dict[str, None] = {}  # keys of resources whose definition is going

    def start(self) -> None:
        """Serve what the store holds and follow every change from now on."""
        self._store.on_commit(KEY, self._committed)
        for record in self._store.list(KEY):
            self._settle(record.name)

    async def close(self) -> None:
        for task in list(self._cleaners.values()):
            task.cancel()
        await asyncio.gather(*self._cleaners.values(), return_exceptions=True)

    def register(self, definition: str, converter: Converter) -> None:
        """Convert objects of this definition in process, whatever its strategy says."""
        self._converters[definition] = converter
        if definition in self._resources:
            del self._resources[definition]
            self._settle(definition)

    def resource(self, definition: str) -> Resource | None:
        found = self._resources.get(definition)
        return found[1] if found else None

    # --- following definitions ---------------------------------------------------------------

    def _committed(self, change: Change) -> None:
        name, group = change.record.name, change.record.obj["spec"]["group"]
        if change.type == "DELETED":
            self._withdraw(name)
        else:
            self._settle(name)
        if change.type != "MODIFIED" or self._names_changed(change):
            self._settle_rivals(group, name)

    @staticmethod
    def _names_changed(change: Change) -> bool:
        before = change.previous.obj if change.previous is not None else {}
        after = change.record.obj
        return bool(
            (before.get("status") or {}).get("acceptedNames")
            != (after.get("status") or {}).get("acceptedNames")
        )

    def _settle_rivals(self, group: str, name: str) -> None:
        """Names were taken or given up: whoever waited for them may have them now."""
        for record in self._store.list(KEY):
            is_rival = record.name != name and record.obj["spec"]["group"] == group
            if is_rival and not is_true(record.obj, "NamesAccepted"):
                self._settle(record.name)

    def _settle(self, name: str) -> None:
        """Make status, endpoint and objects follow the stored definition."""
        record = self._store.get(KEY, "", name)
        if record is None:
            return
        crd = record.obj
        now = self._timestamp()
        status = wanted_status(crd, self._other_names(crd), now)
        if status != crd.get("status"):
            # Our own listener sees this commit too, and finds nothing left to write.
            self._store.commit(KEY, "", name, with_status(crd, status, now), record.rev)
            return
        if is_true(crd, "Established"):
            self._serve(name, crd)
        if "deletionTimestamp" in crd["metadata"]:
            self._empty(name)

    def _other_names(self, crd: Json) -> list[Json]:
        group, name = crd["spec"]["group"], crd["metadata"]["name"]
        found = [
            (record.obj.get("status") or {}).get("acceptedNames") or {}
            for record in self._store.list(KEY)
            if record.name != name and record.obj["spec"]["group"] == group
        ]
        for resource in self._served.all():
            if resource.group == group and not resource.custom:
                found.append(
                    {
                        "plural": resource.plural,
                        "singular": resource.singular,
                        "kind": resource.kind,
                        "listKind": resource.list_kind,
                        "shortNames": list(resource.short_names),
                    }
                )
        return found

    def _serve(self, name: str, crd: Json) -> None:
        """Serve what the definition says, under the names it was given."""
        spec = {**crd["spec"], "names": crd["status"]["acceptedNames"]}
        known = self._resources.get(name)
        if known is not None and known[0] == spec:
            return
        try:
            resource = resource_of({**crd, "spec": spec}, self._caller, self._converters.get(name))
        except (KeyError, TypeError, ValueError):
            # It was accepted once, perhaps by another release: the others must be served still.
            log.exception("a definition cannot be served", extra={"definition": name})
            return
        resource = self._reading_old_objects(resource)
        self._resources[name] = (spec, resource)
        self._served.add(resource)

    def _reading_old_objects(self, resource: Resource) -> Resource:
        """Objects stored under an older schema get today's defaults whenever they are read.

        So do objects of an older storage version; the server then converts what it reads.
        """
        strategy = resource.strategy
        assert isinstance(strategy, CustomStrategy)
        stored = f"{resource.group}/{resource.storage_version}"
        for record in self._store.list(resource.key):
            obj = record.obj
            if obj["apiVersion"] != stored or strategy.read_stored(obj) is not obj:
                return dataclasses.replace(resource, from_stored=strategy.read_stored)
        return resource

    def _withdraw(self, name: str) -> None:
        known = self._resources.pop(name, None)
        cleaner = self._cleaners.pop(name, None)
        if cleaner is not None:
            cleaner.cancel()
        if known is not None:
            resource = known[1]
            self.terminating.pop(resource.key, None)
            self._served.remove(resource.group, resource.plural)

    # --- deletion ----------------------------------------------------------------------------

    def _empty(self, name: str) -> None:
        """Delete the objects of a definition that is going; the last one lets go of it."""
        record = self._store.get(KEY, "", name)
        if record is None or FINALIZER not in (record.obj["metadata"].get("finalizers") or ()):
            return
        known = self._resources.get(name)
        if known is not None:
            key = known[1].key
            self.terminating[key] = None
            self._mark_all(key)
            if self._store.count(key):
                if name not in self._cleaners:
                    task = asyncio.get_running_loop().create_task(self._wait_emptied(name, key))
                    self._cleaners[name] = task
                return
        self._release(name)

    def _mark_all(self, key: str) -> None:
        for record in self._store.list(key):
            meta = record.obj["metadata"]
            if not meta.get("finalizers"):
                self._store.commit(key, record.namespace, record.name, None, record.rev)
            elif "deletionTimestamp" not in meta:
                marked = {
                    **meta,
                    "deletionTimestamp": self._timestamp(),
                    "deletionGracePeriodSeconds": 0,
                    "generation": (meta.get("generation") or 0) + 1,
                }
                changed = {**record.obj, "metadata": marked}
                self._store.commit(key, record.namespace, record.name, changed, record.rev)

    async def _wait_emptied(self, name: str, key: str) -> None:
        watch = self._store.watch(key, None, self._store.revision)
        try:
            while self._store.count(key):
                await anext(watch)
        finally:
            watch.close()
        self._cleaners.pop(name, None)
        self._release(name)

    def _release(self, name: str) -> None:
        record = self._store.get(KEY, "", name)
        if record is None:
            return
        meta = dict(record.obj["metadata"])
        left = [f for f in meta.get("finalizers") or () if f != FINALIZER]
        if not left:
            self._store.commit(KEY, "", name, None, record.rev)
            return
        meta["finalizers"] = left
        self._store.commit(KEY, "", name, {**record.obj, "metadata": meta}, record.rev)

    def _timestamp(self) -> str:
        now = datetime.fromtimestamp(int(self._clock.now()), UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def with_definition_rules(resources: Iterable[Resource]) -> list[Resource]:
    """The built-in kinds, CustomResourceDefinition with the rules of its own."""
    return [
        dataclasses.replace(r, strategy=DefinitionStrategy()) if r.key == KEY else r
        for r in resources
    ]


class NoCreationWhileTerminating(Plugin):
    """Objects of a definition that is being deleted cannot be created any more."""

    name = "CustomResourceTermination"

    def __init__(self, registry: CrdRegistry) -> None:
        self._registry = registry

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        return resource.custom and operation == CREATE and not subresource

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.key in self._registry.terminating:
            raise MethodNotAllowed(
                "create not allowed while custom resource definition is terminating"
            )
