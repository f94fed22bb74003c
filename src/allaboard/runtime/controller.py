"""How is one key reconciled, and what happens when that fails?

A reconcile has three outcomes: done, again after a while, failed. A failure concerns its key alone:
that key waits longer and longer, the others go on. Between two reconciles of a key the caches
catch up with what the first one wrote (`ownwrites.py`).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any

from allaboard.api.errors import ApiError, Conflict
from allaboard.client.client import Client
from allaboard.clock import Clock
from allaboard.runtime.informers import Informers
from allaboard.runtime.metrics import ControllerNumbers
from allaboard.runtime.ownwrites import Writes, all_shown, remember_in, wait_caught_up
from allaboard.runtime.workqueue import ShutDown, WorkQueue

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Done:
    """The world is as wanted, or nothing can be done until something changes."""


@dataclass(frozen=True, slots=True)
class Again:
    """Look again after a while, unless a later reconcile says otherwise.

    `periodic`: for ever, so a simulation need not wait for it.
    """

    after_s: float
    periodic: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """Try again, later each time."""

    error: Exception


Outcome = Done | Again | Failed
Reconcile = Callable[[Any], Awaitable[Outcome]]
DONE = Done()
_PRUNE_FROM = 1_000  # keys whose writes are remembered before a sweep is worth its while


class Controller:
    """Turns keys into reconciles, `workers` at a time, each key at most once at a time."""

    def __init__(self, name: str, reconcile: Reconcile, workers: int = 1) -> None:
        self.name = name
        self.workers = workers
        self.queue: WorkQueue[Hashable] = WorkQueue()
        self.numbers = ControllerNumbers(name, self.queue)
        self._reconcile = reconcile
        self._written: dict[Hashable, Writes] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._prune_at = _PRUNE_FROM

    def enqueue(self, key: Hashable) -> None:
        self.queue.add(key)

    def enqueue_after(self, key: Hashable, after_s: float, periodic: bool = False) -> None:
        self.queue.add_after(key, after_s, periodic)

    def dismiss(self, key: Hashable) -> None:
        """What the key named is gone: the look that was asked for last is not needed."""
        self.queue.look_no_more(key)

    def start(self, informers: Informers, client: Client, clock: Clock) -> None:
        for number in range(self.workers):
            work = self._work(informers, client, clock)
            self._tasks.append(asyncio.create_task(work, name=f"{self.name} worker {number}"))

    async def stop(self, grace_s: float = 10.0) -> None:
        """Take no new key; let running reconciles end, but not longer than `grace_s`."""
        self.queue.shut_down()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=grace_s)
            for task in sorted(late, key=lambda task: task.get_name()):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _work(self, informers: Informers, client: Client, clock: Clock) -> None:
        queue = self.queue
        while True:
            try:
                key = await queue.get()
            except ShutDown:
                return
            started = clock.monotonic()
            self.numbers.busy += 1
            try:
                behind = await self._catch_up(key, informers, client)
                self._settle(key, behind or await self._reconcile_once(key))
            finally:
                self.numbers.busy -= 1
                queue.done(key)
            self.numbers.observe(clock.monotonic() - started)
            if len(self._written) > self._prune_at:
                self._prune(informers)

    async def _catch_up(self, key: Hashable, informers: Informers, client: Client) -> Failed | None:
        """Wait until the caches show what the last reconcile of this key wrote."""
        earlier = self._written.get(key)
        if earlier is None:
            return None
        try:
            await wait_caught_up(earlier, informers, client)
        except ApiError as error:  # of the live read: the caches may still be behind
            return Failed(error)
        del self._written[key]
        return None

    def _prune(self, informers: Informers) -> None:
        """Forget writes that the caches show by now; their keys may never come again."""
        self._written = {k: w for k, w in self._written.items() if not all_shown(w, informers)}
        self._prune_at = max(_PRUNE_FROM, 2 * len(self._written))

    async def _reconcile_once(self, key: Hashable) -> Outcome:
        writes = Writes()
        remember_in(writes)
        try:
            return await self._reconcile(key)
        except ApiError as error:
            return Failed(error)
        except Exception as error:  # a bug met by one key must not stop the others
            log.exception("a reconcile broke", extra={"controller": self.name, "key": str(key)})
            return Failed(error)
        finally:
            remember_in(None)
            if writes:
                self._written[key] = writes

    def _settle(self, key: Hashable, outcome: Outcome) -> None:
        match outcome:
            case Done():
                self.numbers.done += 1
                self.queue.forget(key)
                self.queue.look_no_more(key)
            case Again(after_s, periodic):
                self.numbers.again += 1
                self.queue.forget(key)
                self.queue.look_again(key, after_s, periodic)
            case Failed(error):
                self.numbers.failed += 1
                self.queue.add_rate_limited(key)
                level = logging.DEBUG if isinstance(error, Conflict) else logging.WARNING
                log.log(
                    level,
                    "a reconcile failed",
                    extra={"controller": self.name, "key": str(key), "error": str(error)},
                )
