"""Where objects live: what is stored now, what was stored then, and what changed since?

Revisions are one strictly increasing sequence over all resources; every committed change takes the
next. Writers see memory at once; whatever leaves the process waits until its revision is durable
(`wait_durable`; watches do it by themselves). Without a log everything is durable at once, nothing
is encoded and no thread runs, which is what a simulation wants.

When the disk fails, memory goes back to what is durable, waiting writers get `StoreFailed`, and
reads go on.

All methods belong to one thread, the event loop's.
"""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from pathlib import Path
from sys import intern
from typing import Self

from allaboard.api.meta import Json
from allaboard.clock import Clock
from allaboard.cluster.store.errors import Compacted, StoreConflict, StoreFailed
from allaboard.cluster.store.history import History
from allaboard.cluster.store.log import Forgotten, Log, no_failpoint
from allaboard.cluster.store.opening import open_log
from allaboard.cluster.store.records import Change, ChangeType, Record, Warm, with_revision
from allaboard.cluster.store.rows import TYPES, Base, Row
from allaboard.cluster.store.table import Table
from allaboard.cluster.store.watch import Watch

Records = list[Record]
Names = list[str]
Changes = list[Change]

# kube-apiserver compacts every five minutes.
DEFAULT_WINDOW_S = 300.0
# Bounds memory when a burst of writes would fill it within the window.
DEFAULT_MAX_CHANGES = 200_000


# JSON bytes of the objects that a durable store keeps decoded; see `Warm`.
DEFAULT_WARM_BYTES = 8 << 20


class Store:
    def __init__(
        self,
        clock: Clock,
        *,
        window_s: float = DEFAULT_WINDOW_S,
        max_changes: int = DEFAULT_MAX_CHANGES,
        warm_bytes: int = DEFAULT_WARM_BYTES,
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
        self._warm = Warm(warm_bytes)
        self._log: Log | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._told = 0  # watches were woken for everything up to this revision
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []  # a heap by revision
        self._ticket = count()
        self._listeners: dict[str, Callable[[Change], None]] = {}

    @classmethod
    def open(
        cls,
        directory: Path,
        clock: Clock,
        *,
        window_s: float = DEFAULT_WINDOW_S,
        max_changes: int = DEFAULT_MAX_CHANGES,
        failpoint: Callable[[str], None] = no_failpoint,
    ) -> Self:
        """The durable store of this directory, or StoreUnreadable; `close` it."""
        store = cls(clock, window_s=window_s, max_changes=max_changes)
        log = open_log(directory, store._replay, failpoint)
        store.compacted = log.compacted
        store.revision = store._told = log.durable
        store._log = log
        log.start(store._notify)
        return store

    @property
    def durable_revision(self) -> int:
        return self.revision if self._log is None else self._log.durable

    @property
    def failure(self) -> StoreFailed | None:
        """Why writes are refused, if they are."""
        return self._log.failure if self._log is not None else None

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
        undone: dict[tuple[str, str], Record | None] = {}
        for change in self._history.chain(resource, namespace).newest_first(down_to=revision):
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
        if self._log is not None:
            self._check_writable()
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
        if self._log is not None:
            data = record.data
            record.keep(data, self._warm)
            self._log.append(
                Row(rev, TYPES.index(kind), change.time, resource, namespace, name, data)
            )
        self._apply(change)
        if self._log is None:
            self._history.wake(change)
        self._forget_old(change.time)
        if (listener := self._listeners.get(resource)) is not None:
            listener(change)
        return record

    def on_commit(self, resource: str, listener: Callable[[Change], None]) -> None:
        """Call `listener` inside every commit of this resource; it may commit in its turn."""
        assert resource not in self._listeners, "one listener a resource is enough"
        self._listeners[resource] = listener

    async def wait_durable(self, revision: int) -> None:
        """Return once everything up to `revision` survives a crash; StoreFailed if it never may."""
        if revision <= self.durable_revision:
            return
        self.attach_loop()
        if revision <= self.durable_revision:  # again, now that the log would tell us
            return
        if self.failure is not None:
            raise StoreFailed(self.failure.message)
        assert revision <= self.revision, "nobody has written that yet"
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (revision, next(self._ticket), future))
        await future

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
        dropped: Changes = []
        while len(history) and history.oldest().rev <= limit:
            dropped.append(self._history.drop_oldest())
        self.compacted = max(self.compacted, limit)
        self._forget_on_disk(dropped, hurry=True)

    def forget_history(self) -> None:
        """Compact as far as possible: every older resourceVersion is answered with 410."""
        self.compact(self.durable_revision)

    async def close(self) -> None:
        """Write what is queued, then end all waiting."""
        if self.closed:
            return
        self.closed = True
        if self._log is not None:
            self.attach_loop()
            await asyncio.get_running_loop().run_in_executor(None, self._log.close)
            self._settle()
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
        """Called on the event loop by whoever is about to wait; the log then reports to it."""
        if self._log is not None and self._loop is None:
            self._loop = asyncio.get_running_loop()

    def _notify(self) -> None:
        """On the log's thread: have the loop look at how far the log got."""
        loop = self._loop
        if loop is not None:
            try:
                loop.call_soon_threadsafe(self._settle)
            except RuntimeError:
                pass  # the loop is closed: nobody waits any more

    def _settle(self) -> None:
        """Wake whoever waited for what is durable now, or learn that the rest never will be."""
        log = self._log
        assert log is not None
        failure, durable = log.failure, log.durable  # in this order: a failed log stands still
        if durable > self._told:
            chain = self._history.all
            for change in chain.between(chain.after(self._told), chain.after(durable)):
                self._history.wake(change)
            self._told = durable
        waiting = self._waiting
        while waiting and (waiting[0][0] <= durable or failure is not None):
            revision, _, future = heapq.heappop(waiting)
            if future.done():
                continue
            if revision <= durable:
                future.set_result(None)
            elif failure is not None:
                future.set_exception(StoreFailed(failure.message))
        if failure is not None:
            self._roll_back(durable)

    def _roll_back(self, revision: int) -> None:
        """Memory must not show what may not be on disk."""
        while self.revision > revision:
            change = self._history.drop_newest()
            record, previous = change.record, change.previous
            table = self._tables[record.resource]
            if previous is not None:
                table.put(previous)
            else:
                table.remove(record.namespace, record.name)
            self.revision -= 1

    def _replay(self, row: Row, base: Base) -> None:
        # One string per resource and namespace instead of one per object.
        record = Record(intern(row.resource), intern(row.namespace), row.name, row.rev)
        record.keep(row.data, self._warm)
        if row.rev <= base.compacted:
            self._table(row.resource).put(record)
            return
        previous = self.get(row.resource, row.namespace, row.name)
        self._apply(Change(TYPES[row.type], record, previous, row.time))

    def _apply(self, change: Change) -> None:
        record = change.record
        table = self._table(record.resource)
        if change.type == "DELETED":
            table.remove(record.namespace, record.name)
        else:
            table.put(record)
        self.revision = change.rev
        self._history.append(change)

    def _check_writable(self) -> None:
        if self.failure is not None:
            self._settle()
            raise StoreFailed(self.failure.message)
        if self.closed:
            raise StoreFailed("the store is closed")

    def _table(self, resource: str) -> Table:
        table = self._tables.get(resource)
        if table is None:
            table = self._tables[resource] = Table()
        return table

    def _forget_old(self, now: float) -> None:
        """Trim the history to its window, and to what may be forgotten at all."""
        history = self._history.all
        horizon = now - self.window_s
        excess = len(history) - self.max_changes
        if excess <= 0 and history.oldest().time >= horizon:
            return
        limit = min(self.durable_revision, next(iter(self._woken.values()), self.revision) - 1)
        dropped: Changes = []
        while len(history) and (history.oldest().time < horizon or excess > 0):
            if history.oldest().rev > limit:
                break
            dropped.append(self._history.drop_oldest())
            excess -= 1
        if dropped:
            self.compacted = dropped[-1].rev
            self._forget_on_disk(dropped)

    def _forget_on_disk(self, dropped: Changes, hurry: bool = False) -> None:
        if self._log is None:
            return
        forgotten = []
        for change in dropped:
            dead: tuple[int, ...] = (change.previous.rev,) if change.previous is not None else ()
            if change.type == "DELETED":
                dead += (change.rev,)
            forgotten.append(Forgotten(change.rev, dead))
        self._log.forget(forgotten, hurry)
