"""Whose child is an object, and is it queued at all?

A child is one whose controller reference leads, UID by UID, to an object of a known kind that
would itself make such a child; labels prove nothing, and neither does a name.
"""

from collections.abc import Mapping

from allaboard.api.kueue import names
from allaboard.api.meta import Json, Key
from allaboard.queueing.jobs import workload_state as state
from allaboard.queueing.jobs.adapter import (
    JobAdapter,
    controller_reference,
    labels_of,
    uid_of,
)
from allaboard.queueing.jobs.caches import OWNERS, Caches
from allaboard.queueing.jobs.settings import Settings

MAX_NESTING = 10


class TooDeep(Exception):
    """The chain of owners is longer than we follow it."""


class Families:
    def __init__(
        self, caches: Caches, adapters: Mapping[str, JobAdapter], settings: Settings
    ) -> None:
        self._caches, self._adapters, self._settings = caches, adapters, settings

    def selects(self, namespace: str) -> bool:
        """Whether jobs of this namespace are queued."""
        found = self._caches.namespaces.get(Key("", namespace))
        labels = labels_of(found) if found is not None else {}
        return self._settings.namespace_selector.matches(dict(labels))

    def is_managed(self, obj: Json) -> bool:
        queued = bool(labels_of(obj).get(names.QUEUE_NAME))
        wanted = queued or self._settings.manage_jobs_without_queue_name
        return wanted and self.selects(obj["metadata"]["namespace"])

    def queued_ancestor(self, obj: Json) -> Json | None:
        """The queued object furthest up the chain of owners; raises TooDeep."""
        top: Json | None = None
        for _ in range(MAX_NESTING):
            owner = self.owner(obj)
            if owner is None:
                return top
            if self.is_managed(owner):
                top = owner
            obj = owner
        if self.owner(obj) is not None:
            raise TooDeep
        return top

    def owner(self, child: Json) -> Json | None:
        reference = controller_reference(child)
        if reference is None:
            return None
        for name, adapter in self._of_kind(reference):
            owner = self._caches.objects[name].by_uid(reference.get("uid") or "")
            if owner is not None and _made(adapter, owner, child):
                return owner
        return None

    def _of_kind(self, reference: Json) -> list[tuple[str, JobAdapter]]:
        wanted = (reference.get("apiVersion"), reference.get("kind"))
        return [
            (name, adapter)
            for name, adapter in self._adapters.items()
            if (adapter.kind.api_version, adapter.kind.kind) == wanted
        ]

    def is_admitted(self, obj: Json) -> bool:
        workloads = self._caches.workloads.by_index(OWNERS, uid_of(obj))
        return any(state.is_admitted(w) and not state.is_evicted(w) for w in workloads)


def _made(adapter: JobAdapter, owner: Json, child: Json) -> bool:
    same = owner["metadata"]["namespace"] == child["metadata"]["namespace"]
    return same and adapter.is_parent_of(owner, child)
