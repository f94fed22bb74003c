"""Where objects live: what is stored now, what was stored then, and what changed since?

Revisions are one strictly increasing sequence over all resources; every committed change takes the
next. Writers see memory at once; whatever leaves the process waits until its revision is durable
(`wait_durable`; watches do it by themselves). Without a log everything is durable at once, nothing
is encoded and no thread runs, which is what a simulation wants.

All methods belong to one thread, the event loop's.
"""

from typing import Self

from allaboard.api.meta import Json
from allaboard.clock import Clock
from allaboard.cluster.store.errors import Compacted, StoreConflict
from allaboard.cluster.store.history import History
from allaboard.cluster.store.records import Change, ChangeType, Record, with_revision
from allaboard.cluster.store.table import Table
from allaboard.cluster.store.watch import Watch

Records = list[Record]
Names = list[str]

# kube-apiserver compacts every five minutes.
DEFAULT_WINDOW_S = 300.0
# Bounds memory when a burst of writes would fill it within the window.
DEFAULT_MAX_CHANGES = 200_000


class Store:
    def __init__(
        self,
        clock: Clock,
        *,
        window_s: float = DEFAULT_WINDOW_S,
        max_changes: int = DEFAULT_MAX_CHANGES,
    ) -> None:
        self.revision = 0
        self.compacted = 0
        self.window_s = window_s
        self.max_changes = max_changes
        self.closed = False
        self._clock = clock
        self._tables: dict[str, Table] = {}
        self._history = History()
        # Watches that were woken but have not run yet, with the revision that woke them, in that
        # order: what they are about to read is not forgotten under them, however short the window.
        self._woken: dict[Watch, int] = {}

    @property
    def durable_revision(self) -> int:
        return self.revision

    def get(self, resource: str, namespace: str, name: str) -> Record | None:
        table = self._tables.get(resource)
        return table.get(namespace, name) if table is not None else None

    def list(self, resource: str, namespace: str | None = None) -> Records:
        """Sorted by namespace and name; `None` means all namespaces."""
        table = self._tables.get(resource)
        return table.listed(namespace) if table is not None else []

    def count(self, resource: str) -> int:
        table = self._tables.get(resource)
        return table.count if table is not None else 0

    def resources(self) -> Names:
        """Keys of the resources that have objects, sorted."""
        return sorted(key for key, table in self._tables.items() if table.count)

    def namespaces(self, resource: str) -> Names:
        """Namespaces that hold objects of this resource, sorted."""
        table = self._tables.get(resource)
        return sorted(table.namespaces) if table is not None else []

    def list_at(self, resource: str, namespace: str | None, revision: int) -> Records:
        """What `list` gave right after `revision` was committed: today's state, changes undone."""
        if revision < self.compacted:
            raise Compacted(revision, self.compacted)
        chain = self._history.known(resource, namespace)
        undone: dict[tuple[str, str], Record | None] = {}
        if chain is not None:
            for change in chain.newest_first(down_to=revision):
                undone[change.record.namespace, change.record.name] = change.previous
        now = self.list(resource, namespace)
        if not undone:
            return now
        then = [record for record in now if (record.namespace, record.name) not in undone]
        then += [record for record in undone.values() if record is not None]
        then.sort(key=lambda record: (record.namespace, record.name))
        return then

    def commit(
        self,
        resource: str,
        namespace: str,
        name: str,
        obj: Json | None,
        expected: int | None = None,
    ) -> Record:
        """Store `obj` (None deletes) and return the new state, for a deletion the last one.

        `expected` is the revision that must be current, 0 for "must not exist", None for "whatever
        is there". Deleting what is not there is a conflict. The caller decides what is a no-op.
        """
        previous = self.get(resource, namespace, name)
        found = previous.rev if previous is not None else 0
        if (expected is not None and expected != found) or (obj is None and not found):
            raise StoreConflict(resource, name, expected, found)
        rev = self.revision + 1
        kind: ChangeType = "DELETED" if obj is None else "MODIFIED" if found else "ADDED"
        if obj is None:
            assert previous is not None
            obj = previous.obj
        record = Record(resource, namespace, name, rev, with_revision(obj, rev))
        change = Change(kind, record, previous, self._clock.now())
        self._apply(change)
        self._history.wake(change)
        self._forget_old(change.time)
        return record

    async def wait_durable(self, revision: int) -> None:
        """Return once everything up to `revision` survives a crash."""

    def watch(self, resource: str, namespace: str | None, after: int) -> Watch:
        """Changes newer than `after`, for ever; raises Compacted when they are forgotten."""
        if after < self.compacted:
            raise Compacted(after, self.compacted)
        return Watch(self, self._history.chain(resource, namespace), after)

    def watch_all(self, after: int) -> Watch:
        """Changes of every resource in the one order they were committed in."""
        if after < self.compacted:
            raise Compacted(after, self.compacted)
        return Watch(self, self._history.all, after)

    def compact(self, before_revision: int) -> None:
        """Forget the history up to and including `before_revision`; what exists now stays."""
        limit = min(before_revision, self.durable_revision)
        history = self._history.all
        while len(history) and history.oldest().rev <= limit:
            self._history.drop_oldest()
        self.compacted = max(self.compacted, limit)

    def forget_history(self) -> None:
        """Compact as far as possible: every older resourceVersion is answered with 410."""
        self.compact(self.durable_revision)

    async def close(self) -> None:
        """End all waiting. What was committed is durable afterwards."""
        self.closed = True
        self._history.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # What watches tell the store.

    def note_woken(self, watch: Watch, rev: int) -> None:
        self._woken[watch] = rev

    def note_resumed(self, watch: Watch) -> None:
        self._woken.pop(watch, None)

    def attach_loop(self) -> None:
        """Called by whoever is about to wait."""

    def _apply(self, change: Change) -> None:
        record = change.record
        table = self._tables.get(record.resource)
        if table is None:
            table = self._tables[record.resource] = Table()
        if change.type == "DELETED":
            table.remove(record.namespace, record.name)
        else:
            table.put(record)
        self.revision = change.rev
        self._history.append(change)

    def _forget_old(self, now: float) -> None:
        """Trim the history to its window, and to what may be forgotten at all."""
        history = self._history.all
        horizon = now - self.window_s
        excess = len(history) - self.max_changes
        if excess <= 0 and history.oldest().time >= horizon:
            return
        limit = min(self.durable_revision, next(iter(self._woken.values()), self.revision) - 1)
        while len(history) and (history.oldest().time < horizon or excess > 0):
            if history.oldest().rev > limit:
                return
            self.compacted = self._history.drop_oldest().rev
            excess -= 1
