"""At most one of two replicas leads, and the other takes over when it must."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest
from scripted_api import ScriptedApi, status

from allaboard.client.client import Client
from allaboard.client.retries import Retries
from allaboard.runtime.leader import LeaderElector, LeaseConfig
from allaboard.sim.loop import run_virtual, virtual_clock

LEASE = "/apis/coordination.k8s.io/v1/namespaces/sys/leases/lock"


def elector(api: ScriptedApi, identity: str, seed: int = 1) -> LeaderElector:
    client = Client(api, retries=Retries(attempts=1))
    config = LeaseConfig("lock", "sys", identity)
    return LeaderElector(client, virtual_clock(), random.Random(seed), config)


async def forever() -> None:
    await asyncio.Event().wait()


def run(scenario: Callable[[ScriptedApi], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario(ScriptedApi())

    run_virtual(main())


def test_one_of_two_leads() -> None:
    async def scenario(api: ScriptedApi) -> None:
        a, b = elector(api, "a", 1), elector(api, "b", 2)
        tasks = [asyncio.ensure_future(e.run(forever)) for e in (a, b)]
        for _ in range(200):
            await asyncio.sleep(1)
            assert [a.is_leader, b.is_leader].count(True) == 1
            leader = a if a.is_leader else b
            assert 10 < leader.lease_remaining() <= 15
        spec = api.objects[LEASE]["spec"]
        assert spec["holderIdentity"] == "a" and spec["leaseTransitions"] == 0
        for task in tasks:
            task.cancel()

    run(scenario)


def test_release_hands_over_within_a_few_seconds() -> None:
    async def scenario(api: ScriptedApi) -> None:
        a, b = elector(api, "a", 1), elector(api, "b", 2)
        first = asyncio.ensure_future(a.run(forever))
        await asyncio.sleep(5)
        second = asyncio.ensure_future(b.run(forever))
        await asyncio.sleep(20)
        await a.stop()
        assert first.done() and not a.is_leader and a.lease_remaining() == 0
        await asyncio.sleep(5)
        assert b.is_leader
        assert api.objects[LEASE]["spec"]["leaseTransitions"] == 1
        second.cancel()

    run(scenario)


def test_a_dead_leader_is_waited_out() -> None:
    """The candidate waits the full duration from the last renewal that it saw, then leads."""

    async def scenario(api: ScriptedApi) -> None:
        a, b = elector(api, "a", 1), elector(api, "b", 2)
        first = asyncio.ensure_future(a.run(forever))
        await asyncio.sleep(5)
        second = asyncio.ensure_future(b.run(forever))
        await asyncio.sleep(20)
        a._hold.release = forever  # type: ignore[method-assign]  # it dies without a word
        first.cancel()
        await asyncio.sleep(10)
        assert not b.is_leader
        await asyncio.sleep(12)
        assert b.is_leader
        second.cancel()

    run(scenario)


@pytest.mark.parametrize("how", ["unreachable", "refusing"])
def test_a_leader_without_server_stops_before_its_lease_ends(how: str) -> None:
    async def scenario(api: ScriptedApi) -> None:
        a = elector(api, "a")
        leading = asyncio.ensure_future(a.run(forever))
        await asyncio.sleep(5)
        assert a.is_leader
        if how == "unreachable":
            api.down = True
        else:
            api.fail_with = [status(500, "InternalError")] * 50
        began = asyncio.get_running_loop().time()
        while a.is_leader:
            await asyncio.sleep(0.1)
        assert 8 <= asyncio.get_running_loop().time() - began <= 12
        await leading

    run(scenario)


def test_a_leader_that_lost_the_lease_to_another_stops_at_its_next_renewal() -> None:
    async def scenario(api: ScriptedApi) -> None:
        a = elector(api, "a")
        leading = asyncio.ensure_future(a.run(forever))
        await asyncio.sleep(5)
        spec = {**api.objects[LEASE]["spec"], "holderIdentity": "thief"}
        api.put(LEASE, spec=spec)
        await asyncio.sleep(3)
        assert leading.done() and not a.is_leader
        assert api.objects[LEASE]["spec"]["holderIdentity"] == "thief"

    run(scenario)


@pytest.mark.parametrize("seed", range(5))
def test_never_two_leaders_while_the_server_comes_and_goes(seed: int) -> None:
    async def scenario(api: ScriptedApi) -> None:
        rng = random.Random(seed)
        electors = [elector(api, name, i) for i, name in enumerate("abc")]

        async def candidate(e: LeaderElector) -> None:
            while True:
                await e.run(forever)

        tasks = [asyncio.ensure_future(candidate(e)) for e in electors]
        led = 0
        for _ in range(3000):
            if rng.random() < 0.02:
                api.down = not api.down
            await asyncio.sleep(0.5)
            leaders = [e.is_leader for e in electors].count(True)
            assert leaders <= 1
            led += leaders
        assert led > 500
        for task in tasks:
            task.cancel()

    run(scenario)


@pytest.mark.parametrize("bad", [{"duration_s": 9.0}, {"retry_s": 0.0}, {"retry_s": 9.0}])
def test_senseless_durations_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="lease needs"):
        LeaseConfig("lock", "sys", "a", **bad)
