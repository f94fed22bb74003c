"""Reconciles: three outcomes, failures that stay alone, and caches that show our own writes."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from scripted_api import ScriptedApi, status

from allaboard.api.errors import NotFound
from allaboard.api.meta import Key
from allaboard.api.types import ConfigMap, Pod
from allaboard.client.client import Client
from allaboard.runtime.controller import Again, Controller, Done, Failed, Outcome
from allaboard.runtime.manager import Manager
from allaboard.sim.loop import run_virtual, virtual_clock

PODS = "/api/v1/namespaces/a/pods"


def run(scenario: Callable[[ScriptedApi, Manager], Awaitable[None]]) -> None:
    async def main() -> None:
        api = ScriptedApi()
        manager = Manager(Client(api), virtual_clock(), random.Random(1))
        await scenario(api, manager)
        await manager.stop()

    run_virtual(main())


def now() -> float:
    return asyncio.get_running_loop().time()


def test_three_outcomes() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        seen: list[tuple[str, float]] = []
        outcomes = {"done": [Done()], "again": [Again(10), Done()],
                    "failed": [Failed(NotFound("x")), Failed(NotFound("x")), Done()]}  # fmt: skip

        async def reconcile(key: str) -> Outcome:
            seen.append((key, round(now(), 3)))
            return outcomes[key].pop(0)

        controller = manager.add(Controller("c", reconcile))
        await manager.start()
        for key in outcomes:
            controller.enqueue(key)
        await asyncio.sleep(60)
        assert seen == [
            ("done", 0.0), ("again", 0.0), ("failed", 0.0), ("failed", 0.005), ("failed", 0.015),
            ("again", 10.0),
        ]  # fmt: skip
        numbers = controller.numbers
        assert (numbers.done, numbers.again, numbers.failed, numbers.busy) == (3, 1, 2, 0)

    run(scenario)


def test_a_key_that_breaks_does_not_hold_up_the_others() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        finished: list[str] = []
        tries = 0

        async def reconcile(key: str) -> Outcome:
            nonlocal tries
            if key == "bad":
                tries += 1
                raise ZeroDivisionError if tries % 2 else NotFound("gone")
            finished.append(key)
            return Done()

        controller = manager.add(Controller("c", reconcile, workers=2))
        await manager.start()
        controller.enqueue("bad")
        for number in range(100):
            controller.enqueue(f"good-{number}")
        await asyncio.sleep(100)
        assert len(finished) == 100
        assert 10 < tries < 25  # 5 ms doubling: about 14 tries in 100 s

    run(scenario)


def test_never_the_same_key_twice_at_once_but_again_afterwards() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        running: list[str] = []
        runs = 0

        async def reconcile(key: str) -> Outcome:
            nonlocal runs
            assert key not in running
            running.append(key)
            await asyncio.sleep(1)
            running.remove(key)
            runs += 1
            return Done()

        controller = manager.add(Controller("c", reconcile, workers=4))
        await manager.start()
        for _ in range(10):
            controller.enqueue("k")
            await asyncio.sleep(0.1)
        await asyncio.sleep(10)
        assert runs == 2

    run(scenario)


@pytest.mark.parametrize(
    ("second", "runs_at"),
    [
        pytest.param(Done(), [0, 10], id="done: no further look"),
        pytest.param(Again(200), [0, 10, 210], id="later than first said"),
        pytest.param(Again(5), [0, 10, 15], id="earlier than first said"),
    ],
)
def test_the_last_word_of_a_reconcile_replaces_what_it_asked_for_before(
    second: Outcome, runs_at: list[float]
) -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        runs: list[float] = []
        words = [Again(100), second]

        async def reconcile(key: Key) -> Outcome:
            runs.append(now() - started)
            return words.pop(0) if words else Done()

        controller = manager.add(Controller("c", reconcile))
        await manager.start()
        started = now()
        controller.enqueue("k")
        await asyncio.sleep(10)
        controller.enqueue("k")
        await asyncio.sleep(1000)
        assert runs == runs_at

    run(scenario)


def test_what_others_asked_for_is_kept_and_what_is_gone_is_not_looked_at_again() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        runs: list[str] = []

        async def reconcile(key: str) -> Outcome:
            runs.append(key)
            return Again(100) if key == "gone" else Done()

        controller = manager.add(Controller("c", reconcile))
        await manager.start()
        controller.enqueue_after("told", 50)
        controller.enqueue("told")
        controller.enqueue("gone")
        await asyncio.sleep(1)
        controller.dismiss("gone")
        await asyncio.sleep(1000)
        assert runs == ["told", "gone", "told"]

    run(scenario)


def test_a_reconcile_sees_what_it_wrote_last_time() -> None:
    """The watch is silent, yet the second reconcile sees the first one's create, patch, delete."""

    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        api.put(f"{PODS}/doomed")
        api.put(f"{PODS}/plain")
        pods = manager.informers.of(Pod)
        views: list[Any] = []

        async def reconcile(key: Key) -> Outcome:
            views.append([(p.name, p.spec.node_name) for p in pods.all()])
            if len(views) == 1:
                await manager.client.create({"metadata": {"name": "made"}}, Pod, "a")
                await manager.client.patch(Pod, "plain", "a", {"spec": {"nodeName": "n1"}})
                await manager.client.delete(Pod, "doomed", "a")
                return Again(0.1)
            return Done()

        controller = manager.add(Controller("c", reconcile))
        await manager.start()
        await asyncio.sleep(1)
        api.mute = True
        started = now()
        controller.enqueue(Key("a", "x"))
        await asyncio.sleep(60)
        assert views == [
            [("doomed", ""), ("plain", "")],
            [("made", ""), ("plain", "n1")],
        ]
        assert now() - started == 60
        api.mute = False
        api.put(f"{PODS}/later")
        await asyncio.sleep(5)
        assert [p.name for p in pods.all()] == ["later", "made", "plain"]

    run(scenario)


def test_catching_up_costs_nothing_when_the_watch_is_alive() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        pods = manager.informers.of(Pod)
        manager.informers.of(ConfigMap)
        sizes: list[int] = []

        async def reconcile(key: Key) -> Outcome:
            sizes.append(len(pods))
            if len(sizes) > 50:
                return Done()
            name = f"p{len(sizes)}"
            await manager.client.create({"metadata": {"name": name}}, Pod, "a")
            return Again(0)

        controller = manager.add(Controller("c", reconcile))
        await manager.start()
        controller.enqueue(Key("a", "x"))
        await asyncio.sleep(1)
        assert sizes == list(range(51))
        gets = [r for r in api.requests if r.method == "GET" and r.path.count("/") > 5]
        assert gets == []

    run(scenario)


def test_a_live_read_that_fails_is_a_failure_of_that_key() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        manager.informers.of(Pod)
        runs = 0

        async def reconcile(key: Key) -> Outcome:
            nonlocal runs
            runs += 1
            if runs == 1:
                await manager.client.create({"metadata": {"name": "made"}}, Pod, "a")
                api.fail_with = [status(403, "Forbidden")] * 3
                return Again(0)
            return Done()

        controller = manager.add(Controller("c", reconcile))
        await manager.start()
        await asyncio.sleep(1)
        api.mute = True
        controller.enqueue(Key("a", "x"))
        await asyncio.sleep(30)
        assert runs == 2
        assert controller.numbers.failed == 3

    run(scenario)


def test_stop_lets_running_reconciles_end_but_not_for_ever() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        ended: list[str] = []

        async def reconcile(key: str) -> Outcome:
            await asyncio.sleep(3 if key == "short" else 1e6)
            ended.append(key)
            return Done()

        controller = manager.add(Controller("c", reconcile, workers=2))
        await manager.start()
        controller.enqueue("short")
        controller.enqueue("endless")
        await asyncio.sleep(1)
        started = now()
        await manager.stop()
        assert ended == ["short"]
        assert now() - started == 10

    run(scenario)


def test_a_background_that_breaks_is_begun_again() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        begun: list[float] = []

        async def background() -> None:
            begun.append(now())
            if len(begun) < 3:
                raise ValueError("a bug")
            await asyncio.Event().wait()

        manager.spawn(background, "sweeper")
        await manager.start()
        await asyncio.sleep(600)
        assert len(begun) == 3

    run(scenario)


def test_writes_that_are_shown_are_forgotten() -> None:
    """Keys that never come again do not pile up."""

    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        manager.informers.of(Pod)

        async def reconcile(key: str) -> Outcome:
            await manager.client.create({"metadata": {"name": key}}, Pod, "a")
            return Done()

        controller = manager.add(Controller("c", reconcile))
        await manager.start()
        for number in range(1500):
            controller.enqueue(f"p{number}")
        await asyncio.sleep(10)
        assert len(api.objects) == 1500
        assert len(controller._written) <= 1001

    run(scenario)


def test_stop_ends_a_manager_that_still_waits_for_its_server() -> None:
    async def scenario(api: ScriptedApi, manager: Manager) -> None:
        api.down = True
        manager.informers.of(Pod)
        running = asyncio.ensure_future(manager.run())
        await asyncio.sleep(60)
        assert not manager.ready
        await manager.stop()
        await asyncio.wait_for(running, 1)

    run(scenario)
