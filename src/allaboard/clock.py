"""The only door to time: what is it now, and how does one wait?

An instant is a float of seconds since 1970-01-01T00:00:00Z. A clock is wall time anchored once at
its start and advanced by a monotonic counter, so a jump of the system clock moves no deadline.
Waiting is asyncio's business; a simulation swaps the event loop, whose `time()` then drives both
timers and clock. A rest that only repeats (a resync, a heartbeat, a bookmark) goes through
`rest()`, so that a virtual loop can tell "nothing but periodic work is left".
"""

import asyncio
import time
from collections.abc import Callable
from contextvars import ContextVar

Instant = float

# Read by the virtual loop when a timer is set: timers set while it is true do not keep a run alive.
setting_periodic_timer: ContextVar[bool] = ContextVar("setting_periodic_timer", default=False)


class Clock:
    """Wall time that only moves forward, at the pace of `monotonic`."""

    def __init__(self, wall_at_start: Instant, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._offset = wall_at_start - monotonic()

    def now(self) -> Instant:
        return self._monotonic() + self._offset

    def monotonic(self) -> float:
        """Seconds from an arbitrary origin, the one that the event loop's timers use."""
        return self._monotonic()


def system_clock() -> Clock:
    """The machine's clock, read once; asyncio's timers run on the same monotonic counter."""
    return Clock(time.time(), time.monotonic)


async def rest(seconds: float) -> None:
    """Sleep as part of work that repeats for ever; a simulation does not wait for it to end."""
    token = setting_periodic_timer.set(True)
    try:
        timer = asyncio.ensure_future(asyncio.sleep(seconds))
    finally:
        setting_periodic_timer.reset(token)
    try:
        await timer
    except asyncio.CancelledError:
        timer.cancel()
        raise
