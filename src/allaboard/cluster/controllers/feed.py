"""Who hears of every change of the store? One reader that tells those who need all kinds.

Garbage collection, the emptying of namespaces and the expiry of Events care about objects of any
kind, also kinds that did not exist when they started. They follow the store instead of informers.
"""

from typing import Protocol

from allaboard.cluster.store.errors import Compacted
from allaboard.cluster.store.records import Change
from allaboard.cluster.store.store import Store


class Follower(Protocol):
    def begin(self) -> None:
        """Read what the store holds now; called at the start and whenever news were missed."""

    def changed(self, change: Change) -> None: ...


class StoreFeed:
    def __init__(self, store: Store) -> None:
        self.store = store
        self._followers: list[Follower] = []

    def follow(self, follower: Follower) -> None:
        self._followers.append(follower)

    async def run(self) -> None:
        while not self.store.closed:
            for follower in self._followers:
                follower.begin()
            watch = self.store.watch_all(self.store.revision)
            try:
                while not watch.closed:
                    await watch.wait()
                    for change in watch.take():
                        for follower in self._followers:
                            follower.changed(change)
            except Compacted:
                continue  # fell too far behind; what was missed is in the store
            finally:
                watch.close()
