"""Time that jumps: an event loop that never sleeps, and says so when nothing can ever run again.

Whatever can run now runs before time moves; then the loop's clock is set to the next timer. Timers
are kept to the microsecond and fire in the order they were set when they fall together, so that
the same program gives the same trace. A timer set through `clock.rest` is periodic: it fires like
any other, but does not count as work that is left. No threads and no sockets: a thread's answer
would arrive at a moment of its own choosing.
"""

import asyncio
import gc
import heapq
import selectors
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context
from typing import Any, TypeVar

from allaboard.clock import Clock, Instant, setting_periodic_timer

T = TypeVar("T")

START: Instant = 1767225600.0  # 2026-01-01T00:00:00Z

# What a simulation makes lives long and holds few cycles. Python's own thresholds (700, 10, 10)
# would spend a sixth of the time on looking for garbage that is not there.
COLLECT_AFTER = (50_000, 20, 10)

ASK_EVERY = 64  # turns of a busy loop between two looks at what the system has for us

# Periodic work may still bring news (a lease expires), so a lone waiter gets this much virtual
# time before it is declared stuck.
PATIENCE_S = 30 * 86400.0


class Stuck(RuntimeError):
    """Nothing can ever run again, yet somebody still waits."""


class _Timer(asyncio.TimerHandle):
    """A timer that knows its turn among equals and whether it keeps the run alive."""

    __slots__ = ("alive", "turn")
    alive: bool
    turn: int
    _when: float

    def __lt__(self, other: object) -> bool:
        assert isinstance(other, _Timer)
        return (self._when, self.turn) < (other._when, other.turn)

    def _run(self) -> None:
        self._settle()
        super()._run()

    def _settle(self) -> None:
        if self.alive:
            self.alive = False
            self._loop.timers_alive -= 1  # type: ignore[attr-defined]


class _Jump(selectors.DefaultSelector):
    """Never sleeps: when nothing is runnable, moves the loop's clock to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: VirtualLoop
        self._unasked = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0:
            # Something can run now. Nothing comes from outside but interrupts, and they can wait
            # some turns; asking the system each time would cost a hundredth of the run.
            self._unasked += 1
            if self._unasked < ASK_EVERY:
                return []
        self._unasked = 0
        ready = super().select(0)  # whatever can run now runs before time moves
        if ready or timeout == 0:
            return ready
        if self.loop.tell_idle():
            return ready
        if timeout is None:
            raise Stuck("the simulation is stuck: no task can run and no timer is set")
        self.loop.jump()
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        selector = _Jump()
        selector.loop = self
        self._now = 0.0
        self._turn = 0
        self._last_alive_at = 0.0
        self._idle: asyncio.Future[None] | None = None
        self.timers_alive = 0
        super().__init__(selector)

    def time(self) -> float:
        return self._now

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        timer = _Timer(round(when, 6), callback, args, self, context)
        timer.turn = self._turn = self._turn + 1
        timer.alive = not setting_periodic_timer.get()
        self.timers_alive += timer.alive
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]
        timer._scheduled = True  # type: ignore[attr-defined]
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        assert isinstance(handle, _Timer)
        handle._settle()
        super()._timer_handle_cancelled(handle)  # type: ignore[misc]

    def jump(self) -> None:
        """Move to the next timer. Only called when nothing else can run."""
        if self.timers_alive:
            self._last_alive_at = self._now
        elif self._now - self._last_alive_at > PATIENCE_S:
            raise Stuck(
                "the simulation is stuck: for 30 virtual days only periodic work ran, "
                "and what is awaited did not come of it"
            )
        self._now = max(self._now, self._scheduled[0]._when)  # type: ignore[attr-defined]

    def tell_idle(self) -> bool:
        """Wake whoever awaits `idle`, if nothing but periodic work is left."""
        if self.timers_alive or self._idle is None or self._idle.done():
            return False
        self._idle.set_result(None)
        return True

    async def wait_idle(self) -> None:
        """Return once nothing but periodic work is left. One waiter at a time."""
        assert self._idle is None, "somebody already waits for the simulation to fall idle"
        self._idle = self.create_future()
        try:
            await self._idle
        finally:
            self._idle = None

    def clock(self, start: Instant = START) -> Clock:
        """A clock that reads `start` when the loop began."""
        return Clock(start, lambda: self._now)


def run_virtual(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end in virtual time, then cancel and await whatever it left behind."""
    loop = VirtualLoop()
    try:
        with _collecting_seldom():
            return loop.run_until_complete(main)
    finally:
        try:
            _cancel_leftovers(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _cancel_leftovers(loop: VirtualLoop) -> None:
    leftovers = sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    for task in leftovers:
        task.cancel()
    if leftovers:
        loop.run_until_complete(asyncio.gather(*leftovers, return_exceptions=True))


def virtual_clock() -> Clock:
    """The clock of the virtual loop that is running now."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop), "virtual time needs the virtual loop"
    return loop.clock()
