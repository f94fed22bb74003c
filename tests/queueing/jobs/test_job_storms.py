"""People, the scheduler and crashes do anything in any order; then all is as it should be."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random

import pytest
from staged_jobs import NS, Say, Stage, a_job, condition, play

from allaboard.api.errors import ApiError
from allaboard.api.kueue import names
from allaboard.api.kueue.types import ResourceFlavor, Workload
from allaboard.api.meta import Json
from allaboard.api.types.batch import Job

NAMES = ("a", "b")


class Storm:
    def __init__(self, stage: Stage, rng: Random) -> None:
        self.stage, self.rng, self.client = stage, rng, stage.client
        self.made: dict[str, Json] = {}

    async def make(self, name: str) -> None:
        job = a_job(name, parallelism=self.rng.choice((1, 3)), run_for="100s")
        job["spec"]["template"]["spec"]["nodeSelector"] = {"pool": "spot"}
        self.made[name] = await self.client.create(job, Job.KIND, NS)

    async def patch(self, body: Json) -> None:
        await self.client.patch(Job.KIND, self.rng.choice(NAMES), NS, body)

    async def admit(self) -> None:
        for workload in await self.stage.workloads():
            if not holds(workload) and condition(workload, "Finished") is None:
                await self.stage.admit(workload)

    async def evict(self) -> None:
        workload = self.rng.choice(await self.stage.workloads())
        if holds(workload):
            await self.stage.say(workload, Say("Evicted", "True", "Preempted", "make room"))

    async def suspend(self) -> None:
        await self.patch({"spec": {"suspend": True}})

    async def resume(self) -> None:
        await self.patch({"spec": {"suspend": False}})

    async def move(self) -> None:
        label = {names.QUEUE_NAME: self.rng.choice(("lq", "other"))}
        await self.patch({"metadata": {"labels": label}})

    async def scale(self) -> None:
        await self.patch({"spec": {"parallelism": self.rng.choice((1, 2, 3))}})

    async def remove_workload(self) -> None:
        workload = self.rng.choice(await self.stage.workloads())
        await self.client.delete(Workload.KIND, workload["metadata"]["name"], NS)

    async def remake(self) -> None:
        name = self.rng.choice(NAMES)
        await self.client.delete(Job.KIND, name, NS, propagation="Background")
        await self.make(name)

    async def relabel_flavor(self) -> None:
        node_labels = self.rng.choice(({"pool": "spot"}, {"kind": "node"}))
        await self.client.patch(
            ResourceFlavor.KIND, "spot", "", {"spec": {"nodeLabels": node_labels}}
        )

    async def crash(self) -> None:
        cut = self.stage.cut
        cut.at, cut.how = len(cut.writes), self.rng.choice(("before", "no reply", "after"))
        await asyncio.sleep(self.rng.choice((0.0, 2.0)))
        await self.stage.begin()

    def deeds(self) -> list[Callable[[], Awaitable[None]]]:
        often = [self.admit, self.admit, self.admit, self.evict, self.evict, self.crash]
        seldom = [self.suspend, self.resume, self.move, self.scale, self.remove_workload]
        return [*often, *seldom, self.remake, self.relabel_flavor]

    async def rage(self, steps: int) -> None:
        for name in NAMES:
            await self.make(name)
        for _ in range(steps):
            with suppress(ApiError, IndexError):
                await self.rng.choice(self.deeds())()
            await asyncio.sleep(self.rng.choice((0.0, 0.01, 0.5, 3.0)))


def holds(workload: Json) -> bool:
    return (condition(workload, "QuotaReserved") or ("",))[0] == "True"


async def check_order(stage: Stage, storm: Storm) -> None:
    """A job runs if and only if its one Workload is admitted; who waits is as it was made."""
    workloads = await stage.workloads()
    for job in (await stage.client.list(Job.KIND, NS)).items:
        uid, name = job["metadata"]["uid"], job["metadata"]["name"]
        (own,) = [w for w in workloads if w["metadata"]["ownerReferences"][0]["uid"] == uid]
        if condition(own, "Finished") is not None:
            continue
        assert job["spec"]["suspend"] is not holds(own)
        if job["spec"]["suspend"]:
            assert job["spec"]["template"] == storm.made[name]["spec"]["template"]
            assert not job["status"].get("active") and not job["status"].get("terminating")
            assert own["spec"]["queueName"] == job["metadata"]["labels"][names.QUEUE_NAME]


@pytest.mark.parametrize("seed", range(12))
def test_after_any_storm_there_is_order_and_all_work_gets_done(seed: int) -> None:
    async def scene(stage: Stage) -> None:
        storm = Storm(stage, Random(seed))
        await storm.rage(40)
        await stage.begin()
        await asyncio.sleep(90)
        await check_order(stage, storm)
        for _ in range(40):
            await asyncio.sleep(30)
            with suppress(ApiError):
                await storm.admit()
        jobs = (await stage.client.list(Job.KIND, NS)).items
        ends = [
            [c["type"] for c in j["status"]["conditions"] if c["status"] == "True"] for j in jobs
        ]
        assert all("Complete" in end for end in ends), ends
        assert all(condition(w, "Finished") for w in await stage.workloads())
        writes = len(stage.cut.writes)
        await asyncio.sleep(1000)
        assert len(stage.cut.writes) == writes

    play(scene)
