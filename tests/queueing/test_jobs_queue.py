"""Jobs that queue, on the embedded cluster with everything running, in virtual time."""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json
from allaboard.api.types.batch import Job
from allaboard.queueing.config import Settings
from allaboard.sim.actor import Actor
from allaboard.sim.loop import run_virtual
from allaboard.sim.queued import install_queueing
from allaboard.sim.script import read_script
from allaboard.sim.world import World

P = "sim.allaboard.dev/"


def queue(name: str, cpu: str, **more: Any) -> list[Json]:
    quota = {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    spec = {
        "cohortName": "team",
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
        **more,
    }
    version = "kueue.x-k8s.io/v1beta2"
    return [
        {"apiVersion": version, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": version, "kind": "LocalQueue",
         "metadata": {"name": name, "namespace": "default"}, "spec": {"clusterQueue": name}},
    ]  # fmt: skip


def job(name: str, queue_name: str, pods: int, run_for: str = "1m", at: str = "0s") -> Json:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {P + "run-for": run_for}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    meta = {
        "name": name,
        "labels": {"kueue.x-k8s.io/queue-name": queue_name},
        "annotations": {P + "at": at},
    }
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


BASE = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"pool": "x"}},
     "status": {"capacity": {"cpu": "64", "memory": "64Gi", "pods": "100"}}},
    {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor",
     "metadata": {"name": "plain"}, "spec": {"nodeLabels": {"pool": "x"}}},
]  # fmt: skip
Check = Callable[[World, list[Json]], Awaitable[None]]


def play(documents: list[Json], check: Check, until_s: float | None = None) -> None:
    trace: list[Json] = []

    async def main() -> None:
        async with World(seed=1, trace=trace.append) as world:
            manager = await install_queueing(world.cluster, Settings(), Random(1))
            steps = read_script((f"document {i}", d) for i, d in enumerate([*BASE, *documents]))
            await world.run(steps, until_s)
            assert [str(refusal) for _, refusal in world.refused] == []
            await check(world, trace)
            await manager.stop()

    run_virtual(main())


def times(trace: list[Json], kind: str, name: str, holds: Callable[[Json], bool]) -> list[str]:
    return [
        t["time"][11:19]
        for t in trace
        if t["kind"] == kind and t["name"].startswith(name) and holds(t["object"])
    ]


def is_complete(obj: Json) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)


def test_jobs_run_one_after_the_other_when_quota_is_for_one() -> None:
    async def check(world: World, trace: list[Json]) -> None:
        first = times(trace, "Job", "one", is_complete)[0]
        second = times(trace, "Job", "two", is_complete)[0]
        assert first < second and second > "00:02:00"
        started = [t for t in trace if t["kind"] == "Pod" and t["name"].startswith("two")]
        assert started[0]["time"][11:19] >= "00:01:01"
        workloads = (await world.client.list(Workload.KIND, "default")).items
        assert all(
            any(
                c["type"] == "Finished" and c["status"] == "True" for c in w["status"]["conditions"]
            )
            for w in workloads
        )

    play([*queue("a", "2"), job("one", "a", 2), job("two", "a", 2, at="5s")], check)


def test_a_started_job_runs_where_its_flavor_says_and_says_who_admitted_it() -> None:
    async def check(world: World, trace: list[Json]) -> None:
        found = await world.client.get(Job.KIND, "one", "default")
        assert found["spec"]["suspend"] is False
        pods = [t["object"] for t in trace if t["kind"] == "Pod" and t["type"] == "ADDED"]
        assert {p["spec"]["nodeSelector"]["pool"] for p in pods} == {"x"}
        events = [t["object"] for t in trace if t["kind"] == "Event"]
        assert any(e["message"] == "Admitted by clusterQueue a" for e in events)

    play([*queue("a", "2"), job("one", "a", 2)], check)


def test_a_priority_job_reclaims_its_quota_and_the_borrower_comes_back() -> None:
    """Both finish; the borrower is stopped, waits, and runs again from the start."""

    async def check(world: World, trace: list[Json]) -> None:
        assert times(trace, "Job", "owner", is_complete)[0] < "00:05:00"
        assert times(trace, "Job", "borrower", is_complete)[0] > "00:10:00"
        workloads = {
            w["metadata"]["ownerReferences"][0]["name"]: w
            for w in (await world.client.list(Workload.KIND, "default")).items
        }
        stats = workloads["borrower"]["status"]["schedulingStats"]["evictions"]
        assert [(s["reason"], s["count"]) for s in stats] == [("Preempted", 1)]

    documents = [
        *queue("a", "2", preemption={"reclaimWithinCohort": "Any"}),
        *queue("b", "2"),
        job("borrower", "b", 4, run_for="10m"),
        job("owner", "a", 2, run_for="2m", at="1m"),
    ]
    play(documents, check)


def test_a_workload_that_is_switched_off_stops_and_switched_on_runs_again() -> None:
    async def check(world: World, trace: list[Json]) -> None:
        assert times(trace, "Job", "one", is_complete)[0] > "00:12:00"
        said = [
            c["reason"]
            for t in trace
            if t["kind"] == "Workload"
            for c in (t["object"].get("status") or {}).get("conditions") or []
            if c["type"] in ("Evicted", "Requeued")
        ]
        assert list(dict.fromkeys(said)) == ["Deactivated", "Reactivated", "QuotaReserved"]

    def switch(active: bool, at: str) -> Json:
        steering = {P + "at": at, P + "action": "patch", P + "of": "Job/one"}
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "Workload",
            "metadata": {"annotations": steering},
            "spec": {"active": active},
        }

    documents = [job("one", "a", 2, run_for="5m"), switch(False, "1m"), switch(True, "7m")]
    play([*queue("a", "2"), *documents], check)


def test_a_job_without_a_queue_is_left_alone() -> None:
    async def check(world: World, trace: list[Json]) -> None:
        assert times(trace, "Job", "free", is_complete)
        assert (await world.client.list(Workload.KIND, "default")).items == []

    free = job("free", "a", 1)
    del free["metadata"]["labels"]
    play([*queue("a", "2"), free], check)


def test_a_job_in_a_queue_that_does_not_exist_waits_and_disturbs_nobody() -> None:
    async def check(world: World, trace: list[Json]) -> None:
        assert times(trace, "Job", "fine", is_complete)
        lost = await world.client.get(Job.KIND, "lost", "default")
        assert lost["spec"]["suspend"] is True
        workloads = (await world.client.list(Workload.KIND, "default")).items
        told = [c["message"] for w in workloads for c in w["status"]["conditions"]]
        assert "LocalQueue nowhere doesn't exist" in told

    play([*queue("a", "2"), job("lost", "nowhere", 1), job("fine", "a", 1)], check, until_s=3600)


def test_bad_queues_are_refused_with_the_field() -> None:
    async def main() -> None:
        async with World(seed=1) as world:
            manager = await install_queueing(world.cluster, Settings(), Random(1))
            bad = queue("a", "-1")[0]
            step = read_script([("document 1", bad)])[0]
            refusal = await Actor(world.client).perform(step)
            assert refusal is not None and refusal.status_code == 422
            assert "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota" in str(refusal)
            await manager.stop()

    run_virtual(main())
