"""Which key is worked on next?

Fair: keys come out in the order they went in. Stingy: a key that is added many times before its
turn is handed out once, and never to two workers at once; added while worked on, it is handed out
again afterwards. Keys can be added after a delay, and after a delay that doubles with each failure
(5 ms to 1000 s) until `forget`. Same promises as client-go's workqueue. A key that has failed so
often that it waits the longest is only retried out of habit: that counts as periodic work. What a
worker itself asked for (`look_again`) is kept apart, since its next answer replaces it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from allaboard.clock import setting_periodic_timer
from allaboard.runtime.backoff import doubled

K = TypeVar("K", bound=Hashable)

FIRST_S = 0.005
LONGEST_S = 1000.0


class ShutDown(Exception):
    """The queue hands out nothing more."""


class WorkQueue(Generic[K]):
    def __init__(self) -> None:
        self._order: deque[K] = deque()
        self._dirty: dict[K, None] = {}  # wanted, whether or not somebody works on it now
        self._processing: dict[K, None] = {}
        self._delayed: dict[K, tuple[asyncio.TimerHandle, bool]] = {}  # and whether periodic
        self._looks: dict[K, asyncio.TimerHandle] = {}  # what the last worker on it asked for
        self._failures: dict[K, int] = {}
        self._idle_workers: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self.added = 0
        self.retried = 0

    def __len__(self) -> int:
        """Keys ready to be handed out."""
        return len(self._order)

    @property
    def delayed(self) -> int:
        return len(self._delayed.keys() | self._looks.keys())

    @property
    def is_idle(self) -> bool:
        """Nothing ready and nobody working; delayed keys do not count."""
        return not self._order and not self._processing

    def add(self, key: K) -> None:
        if self._closed or key in self._dirty:
            return
        self._dirty[key] = None
        self.added += 1
        if key not in self._processing:
            self._order.append(key)
            self._wake_one()

    def add_after(self, key: K, after_s: float, periodic: bool = False) -> None:
        """Add it later; of two delays of one key the earlier counts.

        `periodic` marks work that repeats for ever, which a simulation does not wait for.
        """
        if self._closed:
            return
        if after_s <= 0:
            self.add(key)
            return
        at = asyncio.get_running_loop().time() + after_s
        waiting = self._delayed.get(key)
        if waiting is not None:
            timer, was_periodic = waiting
            if timer.when() <= at and (periodic or not was_periodic):
                return
            timer.cancel()
            at = min(at, timer.when())
            periodic = periodic and was_periodic
        self._delayed[key] = _call_at(at, self._due, key, periodic), periodic

    def look_again(self, key: K, after_s: float, periodic: bool = False) -> None:
        """Add it later because the worker on it says so; its next word replaces this one."""
        self.look_no_more(key)
        if self._closed:
            return
        if after_s <= 0:
            self.add(key)
            return
        at = asyncio.get_running_loop().time() + after_s
        self._looks[key] = _call_at(at, self._due_look, key, periodic)

    def look_no_more(self, key: K) -> None:
        """Whoever worked on it last needs no further look. Other delays of the key stay."""
        timer = self._looks.pop(key, None)
        if timer is not None:
            timer.cancel()

    def add_rate_limited(self, key: K) -> None:
        """Add it after a delay that doubles with each call since `forget`."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self.retried += 1
        wait_s = doubled(FIRST_S, LONGEST_S, failures)
        self.add_after(key, wait_s, periodic=wait_s >= LONGEST_S)

    def forget(self, key: K) -> None:
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The next key, as soon as there is one. Whoever gets it owes a `done`."""
        while not self._order:
            if self._closed:
                raise ShutDown
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle_workers.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                # A wake-up that reached us while we were cancelled belongs to somebody else.
                if waiter.done() and not waiter.cancelled() and self._order:
                    self._wake_one()
                raise
        if self._closed:
            raise ShutDown
        key = self._order.popleft()
        self._processing[key] = None
        del self._dirty[key]
        return key

    def done(self, key: K) -> None:
        del self._processing[key]
        if key in self._dirty and not self._closed:
            self._order.append(key)
            self._wake_one()

    def shut_down(self) -> None:
        """Hand out nothing more; keys being worked on may finish."""
        self._closed = True
        for timer, _ in self._delayed.values():
            timer.cancel()
        for timer in self._looks.values():
            timer.cancel()
        self._delayed.clear()
        self._looks.clear()
        self._order.clear()
        self._dirty.clear()
        while self._idle_workers:
            self._wake_one()

    def _due(self, key: K) -> None:
        del self._delayed[key]
        self.add(key)

    def _due_look(self, key: K) -> None:
        del self._looks[key]
        self.add(key)

    def _wake_one(self) -> None:
        while self._idle_workers:
            waiter = self._idle_workers.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return


def _call_at(at: float, call: Callable[[K], None], key: K, periodic: bool) -> asyncio.TimerHandle:
    token = setting_periodic_timer.set(periodic)
    try:
        return asyncio.get_running_loop().call_at(at, call, key)
    finally:
        setting_periodic_timer.reset(token)
