"""Queues and Workloads on an API server in virtual time: admitted, told why not, evicted."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from allaboard.api.kueue.crd.definitions import definitions
from allaboard.api.kueue.types.flavors import ResourceFlavor
from allaboard.api.kueue.types.queues import ClusterQueue, LocalQueue
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json
from allaboard.queueing.queue_controllers import QueueControllers
from allaboard.queueing.scheduler import AdmissionScheduler
from allaboard.runtime.manager import Manager
from allaboard.sim.loop import run_virtual
from allaboard.sim.world import World

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class Stage:
    """A world with Kueue's kinds and our scheduler."""

    def __init__(self, world: World) -> None:
        self.world, self.client = world, world.client

    async def open(self) -> None:
        for crd in definitions():
            await self.client.create(crd)
        manager = Manager(self.world.cluster.client("kueue"), self.world.clock, Random(1), "kueue")
        self.scheduler = AdmissionScheduler(manager)
        QueueControllers(manager, self.scheduler.ledger)
        self.manager = manager
        await manager.start()
        await self.create(ResourceFlavor, "f", {})

    async def create(self, what: Any, name: str, spec: Json, namespace: str = "") -> None:
        body = {
            "apiVersion": what.KIND.api_version,
            "kind": what.KIND.kind,
            "metadata": {"name": name, "namespace": namespace} if namespace else {"name": name},
            "spec": spec,
        }
        await self.client.create(body, what.KIND, namespace)

    async def queue(self, name: str, cpu: str, **more: Any) -> None:
        quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
        spec = {
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
            "namespaceSelector": {},
            "cohortName": "team",
            **more,
        }
        await self.create(ClusterQueue, name, spec)
        await self.create(LocalQueue, name, {"clusterQueue": name}, "default")

    async def submit(self, name: str, queue: str, cpu: str, priority: int = 0) -> None:
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
        pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
        spec = {"queueName": queue, "podSets": [pods], "priority": priority}
        await self.create(Workload, name, spec, "default")

    async def workload(self, name: str) -> Json:
        return await self.client.get(Workload.KIND, name, "default")

    async def condition(self, name: str, type_: str) -> tuple[str, str, str] | None:
        found = (await self.workload(name)).get("status", {}).get("conditions") or []
        for c in found:
            if c["type"] == type_:
                return c["status"], c["reason"], c["message"]
        return None


def play(scene: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        async with World(seed=1) as world:
            stage = Stage(world)
            await stage.open()
            try:
                await scene(stage)
            finally:
                await stage.manager.stop()

    run_virtual(main())


def test_what_fits_is_admitted_in_one_write_and_the_rest_is_told_why_not() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "2")
        await stage.submit("one", "a", "1500m")
        await stage.submit("two", "a", "1")
        await asyncio.sleep(1)
        assert await stage.condition("one", "Admitted") == (
            "True", "Admitted", "The workload is admitted",
        )  # fmt: skip
        one = await stage.workload("one")
        assert one["status"]["admission"] == {
            "clusterQueue": "a",
            "podSetAssignments": [
                {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": "1500m"},
                 "count": 1}
            ],
        }  # fmt: skip
        assert await stage.condition("two", "QuotaReserved") == (
            "False",
            "WaitingForQuota",
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in "
            "flavor f, 500m more needed",
        )
        history = stage.world.cluster.store.watch("workloads.kueue.x-k8s.io", None, 0)
        changes = [c for c in history.take(1000) if c.record.name == "one"]
        assert [c.type for c in changes] == ["ADDED", "MODIFIED"]

    play(scene)


def test_nothing_is_written_while_nothing_changes() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "1")
        for number in range(5):
            await stage.submit(f"w{number}", "a", "1")
        await asyncio.sleep(5)
        before = stage.world.cluster.store.revision
        await asyncio.sleep(3000)  # Events expire after an hour
        assert stage.world.cluster.store.revision == before

    play(scene)


def test_an_owner_reclaims_and_the_borrower_goes_in_two_phases() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "2", preemption={"reclaimWithinCohort": "Any"})
        await stage.queue("b", "2")
        await stage.submit("borrower", "b", "4")
        await asyncio.sleep(1)
        await stage.submit("owner", "a", "2")
        await asyncio.sleep(1)
        evicted = await stage.condition("borrower", "Evicted")
        assert evicted is not None and evicted[:2] == ("True", "Preempted")
        owner, borrower = await stage.workload("owner"), await stage.workload("borrower")
        assert evicted[2] == (
            f"Preempted to accommodate a workload (UID: {owner['metadata']['uid']}, JobUID: "
            "UNKNOWN) due to reclamation within the cohort; preemptor path: /team/a; "
            "preemptee path: /team/b"
        )
        assert (await stage.condition("borrower", "Preempted"))[:2] == (  # type: ignore[index]
            "True", "InCohortReclamation",
        )  # fmt: skip
        assert borrower["status"]["admission"]["clusterQueue"] == "b"
        waits = await stage.condition("owner", "QuotaReserved")
        assert waits is not None and waits[1] == "WaitingForPreemptedWorkloads"
        assert waits[2].endswith("Pending the preemption of 1 workload(s)")
        gone = ("QuotaReserved", "Admitted")
        kept = [c for c in borrower["status"]["conditions"] if c["type"] not in gone]
        status = {"admission": None, "conditions": kept}
        await stage.client.patch(
            Workload.KIND, "borrower", "default", {"status": status}, subresource="status"
        )
        await asyncio.sleep(1)
        assert (await stage.condition("owner", "Admitted"))[0] == "True"  # type: ignore[index]

    play(scene)


def test_a_restart_recounts_and_decides_nothing_twice() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "3")
        for number in range(5):
            await stage.submit(f"w{number}", "a", "1")
        await asyncio.sleep(2)
        await stage.manager.stop()
        before = stage.world.cluster.store.revision
        manager = Manager(
            stage.world.cluster.client("kueue"), stage.world.clock, Random(2), "kueue"
        )
        scheduler = AdmissionScheduler(manager)
        QueueControllers(manager, scheduler.ledger)
        stage.manager = manager
        await manager.start()
        await asyncio.sleep(60)
        assert stage.world.cluster.store.revision == before
        assert len(scheduler.ledger.queues["a"].reserved) == 3

    play(scene)


def test_queues_tell_how_many_wait_and_what_is_used() -> None:
    async def scene(stage: Stage) -> None:
        await stage.queue("a", "2")
        await stage.queue("b", "2")
        await stage.submit("big", "a", "3")
        await stage.submit("more", "a", "3")
        await asyncio.sleep(5)
        queue = await stage.client.get(ClusterQueue.KIND, "a")
        status = queue["status"]
        counts = [
            status[k] for k in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads")
        ]
        assert counts == [1, 1, 1]
        assert status["flavorsUsage"] == [
            {"name": "f", "resources": [{"name": "cpu", "total": "3", "borrowed": "1"}]}
        ]
        assert [(c["type"], c["status"], c["message"]) for c in status["conditions"]] == [
            ("Active", "True", "Can admit new workloads")
        ]
        local = (await stage.client.get(LocalQueue.KIND, "a", "default"))["status"]
        assert (local["pendingWorkloads"], local["admittedWorkloads"]) == (1, 1)
        assert local["flavorsUsage"] == [
            {"name": "f", "resources": [{"name": "cpu", "total": "3"}]}
        ]

    play(scene)


def test_a_queue_that_names_a_missing_flavor_says_so() -> None:
    async def scene(stage: Stage) -> None:
        quota = {"name": "none", "resources": [{"name": "cpu", "nominalQuota": "1"}]}
        groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
        await stage.queue("a", "2", resourceGroups=groups)
        await asyncio.sleep(2)
        found = (await stage.client.get(ClusterQueue.KIND, "a"))["status"]["conditions"][0]
        assert (found["reason"], found["message"]) == (
            "FlavorNotFound",
            "Can't admit new workloads: references missing ResourceFlavor(s): none.",
        )

    play(scene)
