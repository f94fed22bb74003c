"""The controller dies at any write, before it, without reply or after: nothing but time changes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from staged_jobs import NS, Say, Stage, a_pod, condition, play

from allaboard.api.errors import ApiError
from allaboard.api.meta import Json
from allaboard.api.types.batch import Job
from allaboard.api.types.pods import Pod

Life = Callable[[Stage], Awaitable[None]]


async def scheduler(stage: Stage) -> None:
    """Admits whatever is pending, once a second."""
    while True:
        await asyncio.sleep(1)
        for workload in await stage.workloads():
            reserved = (condition(workload, "QuotaReserved") or ("",))[0] == "True"
            finished = condition(workload, "Finished") is not None
            leaving = workload["metadata"].get("deletionTimestamp") is not None
            if not (reserved or finished or leaving):
                with suppress(ApiError):
                    await stage.admit(workload)


async def surgeon(stage: Stage, deaths: tuple[int, str]) -> None:
    """A new controller for the one that died, after a while without any."""
    stage.cut.at, stage.cut.how = deaths
    await stage.cut.dead.wait()
    await stage.end()
    await asyncio.sleep(2)
    await stage.begin()


async def jobs_life(stage: Stage) -> None:
    """Two Jobs and a Pod are queued, one is evicted on its way, one is deleted."""
    await stage.job("a", run_for="40s")
    await stage.job("b", run_for="500s")
    await stage.client.create(a_pod("p", run_for="30s"), Pod.KIND, NS)
    await asyncio.sleep(20)
    for workload in await stage.workloads():
        if workload["metadata"]["name"].startswith("job-a-"):
            await evict(stage, workload)
    await asyncio.sleep(40)
    await stage.client.delete(Job.KIND, "b", NS, propagation="Background")
    await asyncio.sleep(400)


async def group_life(stage: Stage) -> None:
    """A group has a member too many, loses one to a failure and gets another."""
    failing = {"sim.allaboard.dev/fail-after": "15s"}
    for pod in (a_pod("a", "g", 2), a_pod("b", "g", 2, annotations=failing), a_pod("c", "g", 2)):
        await stage.client.create(pod, Pod.KIND, NS)
        await asyncio.sleep(1)
    await asyncio.sleep(60)
    await stage.client.create(a_pod("d", "g", 2), Pod.KIND, NS)
    await asyncio.sleep(200)


async def evicted_group_life(stage: Stage) -> None:
    """A group is evicted; its members are made anew, when it is already admitted again."""
    for name in ("a", "b"):
        await stage.client.create(a_pod(name, "g", 2), Pod.KIND, NS)
    await asyncio.sleep(20)
    await evict(stage, await stage.workload())
    await asyncio.sleep(40)
    for name in ("c", "d"):
        await stage.client.create(a_pod(name, "g", 2), Pod.KIND, NS)
    await asyncio.sleep(200)


async def live(stage: Stage, life: Life, deaths: tuple[int, str] | None) -> Json:
    helpers = [asyncio.ensure_future(scheduler(stage))]
    if deaths is not None:
        helpers.append(asyncio.ensure_future(surgeon(stage, deaths)))
    await asyncio.sleep(0)
    await life(stage)
    for helper in helpers:
        helper.cancel()
    await asyncio.gather(*helpers, return_exceptions=True)
    return await ending(stage)


async def evict(stage: Stage, workload: Json) -> None:
    if (condition(workload, "QuotaReserved") or ("",))[0] == "True":
        await stage.say(workload, Say("Evicted", "True", "Preempted", "make room"))


async def ending(stage: Stage) -> Json:
    """What is there in the end, without times and names of chance."""
    jobs = (await stage.client.list(Job.KIND, NS)).items
    return {
        "jobs": [
            (
                j["metadata"]["name"],
                j["spec"]["suspend"],
                j["status"].get("succeeded"),
                [c["type"] for c in j["status"]["conditions"]],
            )
            for j in jobs
        ],
        "workloads": [
            (w["spec"].get("queueName"), len(w["spec"]["podSets"]), condition(w, "Finished"))
            for w in await stage.workloads()
        ],
        "pods": sorted(
            (p["status"]["phase"], p["metadata"].get("finalizers") or [])
            for p in await stage.pods()
        ),
    }


def whole_life(life: Life, deaths: tuple[int, str] | None = None) -> tuple[Json, int]:
    found: list[tuple[Json, int]] = []

    async def scene(stage: Stage) -> None:
        cut = stage.cut
        found.append((await live(stage, life, deaths), len(cut.writes)))

    play(scene)
    return found[0]


LIVES: list[Life] = [jobs_life, group_life, evicted_group_life]
UNDISTURBED = {life: whole_life(life) for life in LIVES}
DEATHS = [(life, at) for life in LIVES for at in range(UNDISTURBED[life][1])]


@pytest.mark.parametrize("life", LIVES)
def test_the_undisturbed_life_ends_well(life: Life) -> None:
    end, writes = UNDISTURBED[life]
    assert {w[2][1] for w in end["workloads"]} == {"Succeeded"}
    assert writes < 25


@pytest.mark.parametrize("how", ["before", "no reply", "after"])
@pytest.mark.parametrize(("life", "at"), DEATHS)
def test_a_death_at_any_write_changes_nothing_but_time(life: Life, at: int, how: str) -> None:
    assert whole_life(life, (at, how))[0] == UNDISTURBED[life][0]
