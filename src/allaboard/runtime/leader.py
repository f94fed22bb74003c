"""Which of several replicas acts? The one that holds the Lease.

A candidate takes the Lease when it is free, released, or has not been renewed for its duration *as
seen on the candidate's own clock* since it saw the last change: clocks may differ, only their speed
counts. The leader renews every `retry_s`; if that fails for `renew_deadline_s` it stops leading,
well before others may take over. A lease does not fence: a leader that is frozen and thawed may
still send. `lease_remaining` lets it ask before it writes.

Durations and jitter as in client-go: 15 s, 10 s, 2 s, and 1.2 for waiting candidates.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from allaboard.api.errors import AlreadyExists, ApiError, Conflict
from allaboard.api.meta import Json
from allaboard.api.times import format_micro_time
from allaboard.api.types.core import Lease
from allaboard.client.client import Client
from allaboard.clock import Clock, rest

JITTER = 1.2

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseConfig:
    name: str
    namespace: str
    identity: str
    duration_s: float = 15.0
    renew_deadline_s: float = 10.0
    retry_s: float = 2.0

    def __post_init__(self) -> None:
        if not self.duration_s > self.renew_deadline_s > JITTER * self.retry_s > 0:
            raise ValueError("a lease needs duration > renew deadline > 1.2 × retry > 0")
        if not self.identity:
            raise ValueError("a candidate for a lease needs an identity")


class LeaseHold:
    """One candidate's view of the Lease, and its attempts to hold it.

    It owns no task and no timer, so that a real-time leader may keep it in a thread of its own.
    """

    def __init__(self, client: Client, clock: Clock, config: LeaseConfig) -> None:
        self._client = client
        self._clock = clock
        self._config = config
        self._lease: Json | None = None  # as last seen
        self._changed_at = float("-inf")  # when we saw it change, monotonic
        self._renewed_at = float("-inf")  # when our last successful renewal was *sent*

    @property
    def holder(self) -> str:
        return str(_spec(self._lease).get("holderIdentity") or "")

    @property
    def renewed_ago_s(self) -> float:
        return self._clock.monotonic() - self._renewed_at

    def remaining_s(self) -> float:
        """How long nobody else may take the Lease, counted from before our renewal was sent."""
        if self.holder != self._config.identity:
            return 0.0
        return max(0.0, self._config.duration_s - self.renewed_ago_s)

    async def try_hold(self) -> bool:
        """Take or renew the Lease, if that is allowed now. ApiError when the server fails us."""
        sent_at = self._clock.monotonic()
        try:
            if self.remaining_s() > 0 and self._lease is not None:
                try:
                    self._saw(await self._write(self._lease))
                except Conflict:
                    if not await self._read_and_take():
                        return False
            elif not await self._read_and_take():
                return False
        except (Conflict, AlreadyExists):
            return False  # somebody was faster; the next look tells who
        self._renewed_at = sent_at
        return True

    async def release(self) -> None:
        """Let others take over at once."""
        if self._lease is None or self.holder != self._config.identity:
            return
        now = format_micro_time(self._clock.now())
        spec = {
            **_spec(self._lease),
            "holderIdentity": "",
            "leaseDurationSeconds": 1,
            "renewTime": now,
            "acquireTime": now,
        }
        self._lease = await self._client.update({**self._lease, "spec": spec}, Lease.KIND)
        self._renewed_at = float("-inf")

    async def _read_and_take(self) -> bool:
        config = self._config
        lease = await self._client.find(Lease.KIND, config.name, config.namespace)
        if lease is None:
            metadata = {"name": config.name, "namespace": config.namespace}
            body = {"metadata": metadata, "spec": self._held_spec({})}
            self._saw(await self._client.create(body, Lease.KIND))
            return True
        self._saw(lease)
        if self.holder not in ("", config.identity):
            said_s = float(_spec(lease).get("leaseDurationSeconds") or 0)
            if self._clock.monotonic() < self._changed_at + (said_s or config.duration_s):
                return False
        self._saw(await self._write(lease))
        return True

    async def _write(self, lease: Json) -> Json:
        return await self._client.update(
            {**lease, "spec": self._held_spec(_spec(lease))}, Lease.KIND
        )

    def _held_spec(self, old: Json) -> Json:
        now = format_micro_time(self._clock.now())
        mine = old.get("holderIdentity") == self._config.identity
        transitions = int(old.get("leaseTransitions") or 0)
        return {
            **old,
            "holderIdentity": self._config.identity,
            "leaseDurationSeconds": max(1, round(self._config.duration_s)),
            "acquireTime": old.get("acquireTime") if mine else now,
            "renewTime": now,
            "leaseTransitions": transitions if mine or not old else transitions + 1,
        }

    def _saw(self, lease: Json) -> None:
        if self._lease is None or _spec(lease) != _spec(self._lease):
            # Counted from when the answer came, so never earlier than the holder counts.
            self._changed_at = self._clock.monotonic()
        self._lease = lease


def _spec(lease: Json | None) -> Json:
    return (lease or {}).get("spec") or {}


class LeaderElector:
    """Waits for the Lease, leads while it is held, and hands it back at the end."""

    def __init__(
        self, client: Client, clock: Clock, rng: random.Random, config: LeaseConfig
    ) -> None:
        self._config = config
        self._rng = rng
        self._hold = LeaseHold(client, clock, config)
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self._running = False
        self.is_leader = False

    def lease_remaining(self) -> float:
        """Seconds for which nobody else may lead; 0 for who does not lead."""
        return self._hold.remaining_s() if self.is_leader else 0.0

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Become leader, `lead` until it returns, `stop` is called or the Lease is lost."""
        self._running = True
        self._ended.clear()
        try:
            if not await self._wait_leadership():
                return
            self.is_leader = True
            log.info("leading", extra={"lease": self._config.name})
            await self._lead(lead)
        finally:
            self.is_leader = False
            self._running = False
            await self._release()
            self._ended.set()

    async def stop(self) -> None:
        """Stop leading or waiting, and release the Lease; returns when that is done."""
        self._stopping.set()
        if self._running:
            await self._ended.wait()

    async def _wait_leadership(self) -> bool:
        while not self._stopping.is_set():
            if await self._try():
                return True
            pause_s = self._config.retry_s * (1.0 + JITTER * self._rng.random())
            await self._pause(pause_s)
        return False

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> None:
        work = asyncio.ensure_future(lead())
        renewal = asyncio.ensure_future(self._keep_renewing())
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # No renewal while the work winds down would be worse: it may take its time.
            if renewal.done():
                self.is_leader = False
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            renewal.cancel()
            await asyncio.gather(renewal, return_exceptions=True)
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error

    async def _keep_renewing(self) -> None:
        """Returns when the Lease is lost, or `stop` was called."""
        while not self._stopping.is_set():
            await self._pause(self._config.retry_s)
            await self._try()
            if self._hold.holder != self._config.identity:
                log.warning("somebody else holds the lease", extra={"lease": self._config.name})
                return
            if self._hold.renewed_ago_s >= self._config.renew_deadline_s:
                log.warning("the lease was not renewed in time", extra={"lease": self._config.name})
                return

    async def _try(self) -> bool:
        """One attempt, never longer than a leader may go without renewal."""
        patience_s = self._config.renew_deadline_s
        if self.is_leader:
            patience_s = max(0.1, patience_s - self._hold.renewed_ago_s)
        try:
            async with asyncio.timeout(patience_s):
                return await self._hold.try_hold()
        except (ApiError, TimeoutError) as error:
            log.warning(
                "the lease could not be read or written",
                extra={"lease": self._config.name, "error": str(error)},
            )
            return False

    async def _release(self) -> None:
        try:
            async with asyncio.timeout(self._config.retry_s):
                await self._hold.release()
        except (ApiError, TimeoutError):
            log.info("the lease was not released; it will run out", exc_info=True)

    async def _pause(self, seconds: float) -> None:
        """Rest, but not beyond `stop`."""
        resting = asyncio.ensure_future(rest(seconds))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait({resting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            resting.cancel()
            stopping.cancel()
            await asyncio.gather(resting, stopping, return_exceptions=True)
