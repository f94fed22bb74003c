"""Virtual time: instant, exact, in order, and honest about being stuck."""

import asyncio
import subprocess
import sys

import pytest

from allaboard.clock import rest
from allaboard.sim.loop import START, Stuck, VirtualLoop, run_virtual, virtual_clock


def loop() -> VirtualLoop:
    running = asyncio.get_running_loop()
    assert isinstance(running, VirtualLoop)
    return running


def test_a_day_passes_at_once_and_the_clock_shows_it() -> None:
    async def main() -> float:
        clock = virtual_clock()
        await asyncio.sleep(86400)
        return clock.now()

    assert run_virtual(main()) == START + 86400


def test_timers_that_fall_together_fire_in_the_order_they_were_set() -> None:
    """0.1 + 0.2 and 0.3 are the same instant here, though not the same float."""
    fired: list[str] = []

    async def main() -> None:
        await asyncio.sleep(0.1)
        for name in "abc":
            loop().call_later(0.2, fired.append, name)
        loop().call_at(0.3, fired.append, "d")
        await asyncio.sleep(1)

    run_virtual(main())
    assert fired == ["a", "b", "c", "d"]


def test_waiting_for_what_can_never_come_is_reported_not_hung() -> None:
    async def main() -> None:
        await loop().create_future()

    with pytest.raises(Stuck, match="no task can run and no timer is set"):
        run_virtual(main())


def test_waiting_beside_periodic_work_alone_is_reported_in_the_end() -> None:
    async def heartbeat() -> None:
        while True:
            await rest(3600)

    async def main() -> None:
        beat = asyncio.ensure_future(heartbeat())
        await loop().create_future()
        beat.cancel()

    with pytest.raises(Stuck, match="only periodic work"):
        run_virtual(main())


def test_idle_means_nothing_but_periodic_work_is_left() -> None:
    async def heartbeat() -> None:
        while True:
            await rest(10)

    async def main() -> float:
        beat = asyncio.ensure_future(heartbeat())
        work = asyncio.ensure_future(asyncio.sleep(95))
        await loop().wait_idle()
        assert work.done() and not beat.done()
        return loop().time()

    assert run_virtual(main()) == 95


def test_a_cancelled_timeout_keeps_nothing_alive() -> None:
    async def main() -> float:
        async with asyncio.timeout(1000):
            await asyncio.sleep(1)
        await loop().wait_idle()
        return loop().time()

    assert run_virtual(main()) == 1


def test_a_cancelled_rest_leaves_no_timer_behind() -> None:
    """Had its timer stayed, the loop would have jumped to it before falling idle."""

    async def main() -> tuple[float, int]:
        task = asyncio.ensure_future(rest(50))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await loop().wait_idle()
        return loop().time(), loop().timers_alive

    assert run_virtual(main()) == (0.0, 0)


TRACE = """
import asyncio
from allaboard.sim.loop import run_virtual
async def worker(name, trace):
    for step in range(20):
        await asyncio.sleep(((hash_free(name) + step) % 7) * 0.1)
        trace.append((name, step))
def hash_free(name): return sum(name.encode())
async def main():
    trace = []
    await asyncio.gather(*(worker(f"w{i}", trace) for i in range(20)))
    return trace
print(run_virtual(main()))
"""


def test_the_trace_is_the_same_under_any_hash_seed() -> None:
    traces = {
        subprocess.run(
            [sys.executable, "-c", TRACE],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(traces) == 1
