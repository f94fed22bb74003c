"""What happened after a revision, and what happens next? A cursor into the shared history.

A watch yields every durable change of its scope exactly once, in order of revision, without gaps
(etcd's guarantees: ordered, unique, atomic, reliable, resumable, bookmarkable). It holds no buffer:
a reader that falls behind what the history remembers gets `Compacted`, and nothing is skipped.
"""

import asyncio
from typing import TYPE_CHECKING

from allaboard.cluster.store.errors import Compacted
from allaboard.cluster.store.history import Chain
from allaboard.cluster.store.records import Change

if TYPE_CHECKING:
    from allaboard.cluster.store.store import Store


class Watch:
    """An async iterator of `Change`; `take()` and `wait()` serve readers who work in batches."""

    __slots__ = ("_after", "_chain", "_cursor", "_future", "_interrupted", "_store", "closed")

    def __init__(self, store: "Store", chain: Chain, after: int) -> None:
        self._store = store
        self._chain = chain
        self._after = after  # the newest revision delivered, or the one asked for
        self._cursor = chain.after(after)
        self._future: asyncio.Future[None] | None = None
        self._interrupted = False
        self.closed = False
        chain.users += 1

    @property
    def revision(self) -> int:
        """Everything of this scope up to here was delivered: what a bookmark may say."""
        chain = self._chain
        if self._cursor < chain.first:
            return self._after  # something was forgotten before it was delivered
        reached = self._store.durable_revision
        if self._cursor < chain.end:
            reached = min(reached, chain.at(self._cursor).rev - 1)
        return max(reached, self._after)

    def take(self, limit: int = 1_000) -> list[Change]:
        """What is there now, oldest first, at most `limit` changes; does not wait."""
        chain = self._chain
        self._check_not_forgotten()
        end = chain.end
        durable = self._store.durable_revision
        if self._cursor < end and chain.newest().rev > durable:
            end = chain.after(durable)
        if end <= self._cursor:
            return []
        end = min(end, self._cursor + limit)
        changes = chain.between(self._cursor, end)
        self._cursor = end
        if changes[0].rev <= self._after:  # asked for the future: what leads up to it is not news
            changes = [change for change in changes if change.rev > self._after]
        if changes:
            self._after = changes[-1].rev
        return changes

    async def wait(self) -> None:
        """Return when `take()` has something, or the watch is closed or interrupted."""
        while not self.closed:
            if self._interrupted:
                self._interrupted = False
                return
            self._store.attach_loop()
            if self._has_next():
                return
            if self._store.closed:
                self.close()
            else:
                await self._sleep()

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> Change:
        while not self.closed:
            if self._has_next():
                change = self._chain.at(self._cursor)
                self._cursor += 1
                self._after = change.rev
                return change
            await self.wait()
        raise StopAsyncIteration

    def _has_next(self) -> bool:
        """Whether the change at the cursor is there and durable; skips what is not wanted."""
        self._check_not_forgotten()
        chain, durable = self._chain, self._store.durable_revision
        while self._cursor < chain.end:
            rev = chain.at(self._cursor).rev
            if rev > self._after:
                return rev <= durable
            self._cursor += 1
        return False

    def close(self) -> None:
        """End the iteration, also for whoever waits in it. Closing twice is harmless."""
        if self.closed:
            return
        self.closed = True
        self._chain.users -= 1
        self._chain.waiters.pop(self, None)
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def interrupt(self) -> None:
        """Make the reader's `wait()` return although nothing happened: it has something to say."""
        self._interrupted = True
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def wake(self, rev: int) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)
            self._store.note_woken(self, rev)

    async def _sleep(self) -> None:
        assert self._future is None, "a watch has one reader"
        self._future = asyncio.get_running_loop().create_future()
        self._chain.waiters[self] = None
        try:
            await self._future
        finally:
            self._chain.waiters.pop(self, None)
            self._future = None
            self._store.note_resumed(self)

    def _check_not_forgotten(self) -> None:
        chain = self._chain
        if self._cursor >= chain.first or self.closed:
            return
        if chain.forgotten > self._after:
            self.close()
            raise Compacted(self._after, self._store.compacted)
        self._cursor = chain.first  # asked for the future: what was dropped was not for it
