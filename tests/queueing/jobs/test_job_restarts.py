"""The controller dies at any write, before it, without reply or after: nothing but time changes."""

import asyncio
from contextlib import suppress

import pytest
from staged_jobs import NS, Say, Stage, a_pod, condition, play

from allaboard.api.errors import ApiError
from allaboard.api.meta import Json
from allaboard.api.types.batch import Job
from allaboard.api.types.pods import Pod


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


async def life(stage: Stage, deaths: tuple[int, str] | None) -> Json:
    """Two Jobs and a Pod are queued, one is evicted on its way, one is deleted."""
    helpers = [asyncio.ensure_future(scheduler(stage))]
    if deaths is not None:
        helpers.append(asyncio.ensure_future(surgeon(stage, deaths)))
    await asyncio.sleep(0)
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
    for helper in helpers:
        helper.cancel()
    await asyncio.gather(*helpers, return_exceptions=True)
    return await ending(stage)


async def evict(stage: Stage, workload: Json) -> None:
    if (condition(workload, "QuotaReserved") or ("",))[0] == "True":
        await stage.say(workload, Say("Evicted", "True", "Preempted", "make room"))


async def ending(stage: Stage) -> Json:
    """Everything that is there in the end, without names of chance and times."""
    jobs = (await stage.client.list(Job.KIND, NS)).items
    specs = [w["spec"] for w in await stage.workloads()]
    said = [
        {c["type"]: (c["status"], c["reason"]) for c in w["status"]["conditions"]}
        for w in await stage.workloads()
    ]
    for spec in specs:
        for pod_set in spec["podSets"]:
            pod_set["template"] = {**pod_set["template"], "metadata": None}
    finished = [{k: v for k, v in s.items() if k == "Finished"} for s in said]
    return {
        "jobs": [(j["metadata"]["name"], j["spec"]["suspend"], j["status"]) for j in jobs],
        "workloads": [(s.get("queueName"), len(s["podSets"])) for s in specs],
        "finished": finished,
        "pods": sorted(p["status"]["phase"] for p in await stage.pods()),
    }


def without_times(end: Json) -> Json:
    jobs = [
        (name, suspended, status.get("succeeded"), [c["type"] for c in status["conditions"]])
        for name, suspended, status in end["jobs"]
    ]
    return {**end, "jobs": jobs}


def whole_life(deaths: tuple[int, str] | None) -> tuple[Json, int]:
    found: list[tuple[Json, int]] = []

    async def scene(stage: Stage) -> None:
        cut = stage.cut
        found.append((without_times(await life(stage, deaths)), len(cut.writes)))

    play(scene)
    return found[0]


UNDISTURBED, WRITES = whole_life(None)


def test_the_undisturbed_life_ends_well() -> None:
    assert UNDISTURBED["finished"] == [{"Finished": ("True", "Succeeded")}] * 2
    assert [j[0] for j in UNDISTURBED["jobs"]] == ["a"]
    assert WRITES < 25


@pytest.mark.parametrize("how", ["before", "no reply", "after"])
@pytest.mark.parametrize("at", range(WRITES))
def test_a_death_at_any_write_changes_nothing_but_time(at: int, how: str) -> None:
    assert whole_life((at, how))[0] == UNDISTURBED
