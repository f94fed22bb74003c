"""Fair, stingy, and patient with keys that fail."""

import asyncio

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from allaboard.runtime.backoff import doubled
from allaboard.runtime.workqueue import ShutDown, WorkQueue
from allaboard.sim.loop import VirtualLoop, run_virtual

KEYS = st.sampled_from("abcd")


class QueueMachine(RuleBasedStateMachine):
    """The queue against a plain model: a list of ready keys, a set in work, a set wanted again."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = VirtualLoop()
        asyncio.set_event_loop(self.loop)
        self.queue: WorkQueue[str] = WorkQueue()
        self.ready: list[str] = []
        self.working: list[str] = []
        self.again: list[str] = []
        self.due: dict[str, float] = {}
        self.failures: dict[str, int] = {}

    def teardown(self) -> None:
        self.queue.shut_down()
        self.loop.close()
        asyncio.set_event_loop(None)

    def call(self, function: object, *args: object) -> object:
        async def main() -> object:
            result = function(*args)  # type: ignore[operator]
            return await result if asyncio.iscoroutine(result) else result

        return self.loop.run_until_complete(main())

    def model_add(self, key: str) -> None:
        if key in self.working:
            if key not in self.again:
                self.again.append(key)
        elif key not in self.ready:
            self.ready.append(key)

    def model_delay(self, key: str, after_s: float) -> None:
        at = round(self.loop.time() + after_s, 6)
        self.due[key] = min(at, self.due.get(key, at))

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.call(self.queue.add, key)
        self.model_add(key)

    @rule(key=KEYS, after_s=st.sampled_from([0.5, 1.0, 3.0]))
    def add_after(self, key: str, after_s: float) -> None:
        self.call(self.queue.add_after, key, after_s)
        self.model_delay(key, after_s)

    @rule(key=KEYS)
    def add_rate_limited(self, key: str) -> None:
        self.call(self.queue.add_rate_limited, key)
        failures = self.failures.get(key, 0)
        self.failures[key] = failures + 1
        self.model_delay(key, doubled(0.005, 1000.0, failures))

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.failures.pop(key, None)

    @precondition(lambda self: self.ready)
    @rule()
    def get(self) -> None:
        key = self.call(self.queue.get)
        assert key == self.ready.pop(0)
        self.working.append(key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.working))
        self.working.remove(key)
        self.call(self.queue.done, key)
        if key in self.again:
            self.again.remove(key)
            self.ready.append(key)

    @rule(seconds=st.sampled_from([0.25, 1.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        until = self.loop.time() + seconds
        self.call(asyncio.sleep, seconds)
        turn = sorted((at, key) for key, at in self.due.items() if at <= until)
        together = {at for at, _ in turn if [a for a, _ in turn].count(at) > 1}
        for _, key in turn:
            del self.due[key]
            self.model_add(key)
        if together:  # the order among equals is the queue's own
            self.ready = list(self.queue._order)

    @invariant()
    def same(self) -> None:
        assert list(self.queue._order) == self.ready
        assert len(self.queue) == len(self.ready)
        assert not set(self.ready) & set(self.working), "a key must not be worked on twice at once"
        assert self.queue.delayed == len(self.due)
        for key in "abcd":
            assert self.queue.failures(key) == self.failures.get(key, 0)


QueueMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
test_queue_behaves_like_its_model = QueueMachine.TestCase


def test_waiting_workers_get_keys_in_order_and_shutdown_frees_them() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        got: list[str] = []

        async def worker() -> None:
            while True:
                key = await queue.get()
                got.append(key)
                await asyncio.sleep(1)
                queue.done(key)

        workers = [asyncio.ensure_future(worker()) for _ in range(3)]
        await asyncio.sleep(0)
        for key in "abcde":
            queue.add(key)
        await asyncio.sleep(5)
        assert got == list("abcde")
        queue.shut_down()
        results = await asyncio.gather(*workers, return_exceptions=True)
        assert all(isinstance(r, ShutDown) for r in results)

    run_virtual(main())


def test_a_cancelled_worker_passes_its_wake_up_on() -> None:
    async def main() -> None:
        queue: WorkQueue[str] = WorkQueue()
        first = asyncio.ensure_future(queue.get())
        second = asyncio.ensure_future(queue.get())
        await asyncio.sleep(0)
        queue.add("a")
        first.cancel()
        assert await asyncio.wait_for(second, 1) == "a"

    run_virtual(main())


@pytest.mark.parametrize(
    ("failures", "wait_s"), [(0, 0.005), (1, 0.01), (10, 5.12), (18, 1000.0), (10_000, 1000.0)]
)
def test_waits_double_up_to_the_longest(failures: int, wait_s: float) -> None:
    assert doubled(0.005, 1000.0, failures) == pytest.approx(wait_s)


def test_retries_out_of_habit_do_not_keep_a_simulation_alive() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        queue: WorkQueue[str] = WorkQueue()
        queue.add_after("sweep", 5, periodic=True)
        await loop.wait_idle()
        assert loop.time() == 0
        queue.add_after("sweep", 10)  # now somebody waits for it
        idle = asyncio.ensure_future(loop.wait_idle())
        assert await queue.get() == "sweep"
        assert loop.time() == 5
        await idle
        for _ in range(20):
            queue.add_rate_limited("hopeless")
        await loop.wait_idle()
        assert loop.time() < 6 and len(queue) == 1

    run_virtual(main())
