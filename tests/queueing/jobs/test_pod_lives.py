"""Single Pods and groups of Pods from gate to end."""

import asyncio

from staged_jobs import NS, Stage, a_pod, play

from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.api.types.pods import Pod


async def make(stage: Stage, *pods: Json) -> None:
    for pod in pods:
        await stage.client.create(pod, Pod.KIND, NS)


def test_a_pod_waits_at_its_gate_runs_where_its_flavor_says_and_finishes() -> None:
    async def scene(stage: Stage) -> None:
        await make(stage, a_pod("p"))
        await asyncio.sleep(1)
        assert (await stage.workload())["metadata"]["name"].startswith("pod-p-")
        await stage.admit()
        await asyncio.sleep(5)
        (pod,) = await stage.pods()
        assert pod["spec"]["nodeSelector"] == {"pool": "spot"}
        assert "schedulingGates" not in pod["spec"] and pod["status"]["phase"] == "Running"
        await asyncio.sleep(90)
        assert (await stage.condition("Finished") or ("", ""))[1] == "Succeeded"

    play(scene)


def test_an_evicted_pod_is_deleted_and_its_workload_goes_with_it() -> None:
    async def scene(stage: Stage) -> None:
        await make(stage, a_pod("p", run_for="600s"))
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(5)
        await stage.evict()
        await asyncio.sleep(60)
        assert await stage.pods() == []
        assert await stage.workloads() == []

    play(scene)


def test_a_group_is_one_workload_with_a_pod_set_for_each_role() -> None:
    async def scene(stage: Stage) -> None:
        await make(stage, a_pod("driver", "g", 3, cpu="2"), a_pod("w1", "g", 3))
        await asyncio.sleep(5)
        assert await stage.workloads() == []
        await make(stage, a_pod("w2", "g", 3))
        await asyncio.sleep(1)
        workload = await stage.workload()
        assert workload["metadata"]["name"] == "g"
        assert sorted(p["count"] for p in workload["spec"]["podSets"]) == [1, 2]
        assert len(workload["metadata"]["ownerReferences"]) == 3
        await stage.admit()
        await asyncio.sleep(5)
        assert {p["status"]["phase"] for p in await stage.pods()} == {"Running"}
        await asyncio.sleep(90)
        assert await stage.condition("Finished") == ("True", "Succeeded", "Pods succeeded: 3/3.")
        assert all(
            names.MANAGED not in p["metadata"].get("finalizers", []) for p in await stage.pods()
        )

    play(scene)


def test_surplus_members_are_deleted_the_newest_first() -> None:
    async def scene(stage: Stage) -> None:
        await make(stage, a_pod("a", "g", 2), a_pod("b", "g", 2))
        await asyncio.sleep(1)
        await make(stage, a_pod("c", "g", 2))
        await asyncio.sleep(30)
        assert [p["metadata"]["name"] for p in await stage.pods()] == ["a", "b"]

    play(scene)


def test_a_failed_member_is_replaced_and_the_group_goes_on() -> None:
    async def scene(stage: Stage) -> None:
        broken = a_pod("bad", "g", 2, annotations={"sim.allaboard.dev/fail-after": "5s"})
        await make(stage, a_pod("good", "g", 2), broken)
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(20)
        assert await stage.condition("Finished") is None
        await make(stage, a_pod("new", "g", 2))
        await asyncio.sleep(5)
        phases = {p["metadata"]["name"]: p["status"]["phase"] for p in await stage.pods()}
        assert phases["new"] == "Running"
        assert len((await stage.workload())["metadata"]["ownerReferences"]) == 3
        await asyncio.sleep(120)
        assert (await stage.condition("Finished") or ("", ""))[1] == "Succeeded"

    play(scene)


def test_a_member_that_may_not_be_retried_fails_the_group_when_nothing_runs_any_more() -> None:
    async def scene(stage: Stage) -> None:
        notes = {"sim.allaboard.dev/fail-after": "5s", names.POD_GROUP_RETRIABLE: "false"}
        await make(stage, a_pod("good", "g", 2), a_pod("bad", "g", 2, annotations=notes))
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(20)
        assert await stage.condition("Finished") is None
        await asyncio.sleep(90)
        assert await stage.condition("Finished") == ("True", "Failed", "Pods succeeded: 1/2.")

    play(scene)


def test_a_succeeded_member_is_remembered_though_deleted_and_everything_deleted_goes() -> None:
    async def scene(stage: Stage) -> None:
        await make(stage, a_pod("quick", "g", 2, run_for="5s"), a_pod("slow", "g", 2))
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(20)
        await stage.client.delete(Pod.KIND, "quick", NS)
        await asyncio.sleep(10)
        assert len(await stage.pods()) == 2
        await asyncio.sleep(90)
        assert (await stage.condition("Finished") or ("", ""))[1] == "Succeeded"
        await stage.client.delete(Pod.KIND, "slow", NS)
        await asyncio.sleep(60)
        assert await stage.pods() == []
        assert await stage.workloads() == []

    play(scene)


def test_an_evicted_group_keeps_its_place_and_waits_for_new_pods() -> None:
    async def scene(stage: Stage) -> None:
        await make(stage, a_pod("a", "g", 2), a_pod("b", "g", 2))
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(5)
        first = await stage.workload()
        await stage.evict()
        await asyncio.sleep(60)
        assert (await stage.condition("QuotaReserved") or ("",))[0] == "False"
        assert await stage.condition("WaitingForReplacementPods") == (
            "True", "Preempted", "make room",
        )  # fmt: skip
        await make(stage, a_pod("c", "g", 2), a_pod("d", "g", 2))
        await asyncio.sleep(30)
        assert [p["metadata"]["name"] for p in await stage.pods()] == ["c", "d"]
        assert await stage.condition("WaitingForReplacementPods") is None
        await stage.admit()
        await asyncio.sleep(90)
        assert (await stage.condition("Finished") or ("", ""))[1] == "Succeeded"
        assert (await stage.workload())["metadata"]["uid"] == first["metadata"]["uid"]

    play(scene)


def test_members_can_be_deleted_before_the_group_is_complete() -> None:
    async def scene(stage: Stage) -> None:
        await make(stage, a_pod("a", "g", 3), a_pod("b", "g", 3))
        await asyncio.sleep(1)
        await stage.client.delete(Pod.KIND, "a", NS)
        await asyncio.sleep(30)
        assert [p["metadata"]["name"] for p in await stage.pods()] == ["b"]

    play(scene)


def test_a_replacement_of_another_shape_is_turned_away_and_the_group_stays() -> None:
    async def scene(stage: Stage) -> None:
        broken = a_pod("bad", "g", 2, annotations={"sim.allaboard.dev/fail-after": "5s"})
        await make(stage, a_pod("good", "g", 2, run_for="600s"), broken)
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(20)
        await make(stage, a_pod("huge", "g", 2, cpu="60"))
        await asyncio.sleep(30)
        phases = {p["metadata"]["name"]: p["status"]["phase"] for p in await stage.pods()}
        assert phases == {"good": "Running", "bad": "Failed"}
        assert await stage.condition("WaitingForReplacementPods") == (
            "True", "PodsFailed", "Some Failed pods need replacement",
        )  # fmt: skip

    play(scene)


def test_what_no_workload_can_be_made_of_is_told_once_and_not_tried_for_ever() -> None:
    async def scene(stage: Stage) -> None:
        await make(stage, a_pod("a", "Not_A_Name", 1))
        await asyncio.sleep(2000)
        assert [reason for reason, _ in stage.events()] == ["ErrWorkloadCompose"]
        assert len(stage.cut.writes) == 1

    play(scene)
