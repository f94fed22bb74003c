"""Which changes are still remembered, in what order, and who waits for the next one?

Every change is in three chains: that of all resources, that of its resource, that of its resource
and namespace. A chain numbers its changes from its beginning, and a watcher is a number: the index
of the next change it has not seen. Forgetting drops the oldest changes; a watcher whose index was
dropped knows that it missed something, and one that waits at the end never misses anything.
"""

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import Protocol

from allaboard.cluster.store.records import Change

_rev = attrgetter("rev")


class Waiter(Protocol):
    def wake(self, rev: int) -> None: ...

    def close(self) -> None: ...


class Chain:
    """Changes in order of revision; `first` and `end` are indexes that never go back."""

    __slots__ = ("_base", "_head", "forgotten", "items", "users", "waiters")

    def __init__(self) -> None:
        self.items: list[Change] = []
        self._base = 0  # index of items[0]
        self._head = 0  # how many of `items` are dropped already; removed in bulk
        self.waiters: dict[Waiter, None] = {}  # a dict for its order
        self.forgotten = 0  # the newest revision that was dropped
        self.users = 0  # watches attached; an unused empty chain may be thrown away

    def __len__(self) -> int:
        return len(self.items) - self._head

    @property
    def first(self) -> int:
        return self._base + self._head

    @property
    def end(self) -> int:
        return self._base + len(self.items)

    def at(self, index: int) -> Change:
        return self.items[index - self._base]

    def oldest(self) -> Change:
        return self.items[self._head]

    def newest(self) -> Change:
        return self.items[-1]

    def after(self, revision: int) -> int:
        """The index of the first change newer than `revision`."""
        return self._base + bisect_right(self.items, revision, lo=self._head, key=_rev)

    def between(self, start: int, end: int) -> list[Change]:
        return self.items[start - self._base : end - self._base]

    def drop_oldest(self) -> Change:
        change = self.items[self._head]
        self.forgotten = change.rev
        self._head += 1
        if self._head > 256 and self._head * 2 > len(self.items):
            del self.items[: self._head]
            self._base += self._head
            self._head = 0
        return change

    def drop_newest(self) -> Change:
        return self.items.pop()

    def newest_first(self, down_to: int) -> Iterator[Change]:
        """Changes newer than the revision `down_to`, latest first."""
        start = self.after(down_to) - self._base
        for index in range(len(self.items) - 1, start - 1, -1):
            yield self.items[index]

    def wake(self, rev: int) -> None:
        waiters, self.waiters = self.waiters, {}
        for waiter in waiters:
            waiter.wake(rev)


class _Resource:
    """The chains of one resource."""

    __slots__ = ("by_namespace", "whole")

    def __init__(self) -> None:
        self.whole = Chain()
        self.by_namespace: dict[str, Chain] = {}


class History:
    """All chains. `append` and `drop_*` keep the three chains of a change in step."""

    def __init__(self) -> None:
        self.all = Chain()
        self._of: dict[str, _Resource] = {}

    def chain(self, resource: str, namespace: str | None) -> Chain:
        of = self._of.get(resource)
        if of is None:
            of = self._of[resource] = _Resource()
        if namespace is None:
            return of.whole
        chain = of.by_namespace.get(namespace)
        if chain is None:
            chain = of.by_namespace[namespace] = Chain()
        return chain

    def append(self, change: Change) -> None:
        record = change.record
        narrow = self.chain(record.resource, record.namespace)
        self.all.items.append(change)
        self._of[record.resource].whole.items.append(change)
        narrow.items.append(change)

    def wake(self, change: Change) -> None:
        of = self._of[change.record.resource]
        for chain in (self.all, of.whole, of.by_namespace[change.record.namespace]):
            if chain.waiters:
                chain.wake(change.rev)

    def drop_oldest(self) -> Change:
        change = self.all.drop_oldest()
        namespace = change.record.namespace
        of = self._of[change.record.resource]
        of.whole.drop_oldest()
        narrow = of.by_namespace[namespace]
        narrow.drop_oldest()
        if not narrow.users and not len(narrow):
            del of.by_namespace[namespace]
        return change

    def drop_newest(self) -> Change:
        change = self.all.drop_newest()
        of = self._of[change.record.resource]
        of.whole.drop_newest()
        of.by_namespace[change.record.namespace].drop_newest()
        return change

    def close(self) -> None:
        """End every watch that waits."""
        chains = [self.all]
        for of in self._of.values():
            chains += (of.whole, *of.by_namespace.values())
        for chain in chains:
            for waiter in list(chain.waiters):
                waiter.close()
