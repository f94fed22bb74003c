"""A batch Job from queue to end, with the real Job controller, scheduler and simulated nodes."""

import asyncio

from staged_jobs import NS, Say, Stage, a_job, a_pod, admission, condition, play

from allaboard.api.kueue import names
from allaboard.api.kueue.types import Workload, WorkloadPriorityClass
from allaboard.api.types.batch import Job
from allaboard.api.types.core import Namespace
from allaboard.api.types.nodes import Node
from allaboard.api.types.pods import Pod
from allaboard.queueing.jobs.settings import Settings


def test_a_job_gets_a_workload_is_started_where_its_flavor_says_and_finishes() -> None:
    async def scene(stage: Stage) -> None:
        job = await stage.job()
        await asyncio.sleep(1)
        workload = await stage.workload()
        assert workload["metadata"]["labels"] == {names.JOB_UID: job["metadata"]["uid"]}
        assert workload["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
        assert workload["spec"]["queueName"] == "lq"
        assert workload["spec"]["podSets"][0]["template"] == job["spec"]["template"]
        await stage.admit()
        await asyncio.sleep(10)
        pods = await stage.pods()
        assert [p["spec"]["nodeSelector"] for p in pods] == [{"pool": "spot"}] * 2
        assert {p["metadata"]["labels"][names.CLUSTER_QUEUE] for p in pods} == {"cq"}
        assert {p["metadata"]["annotations"][names.WORKLOAD] for p in pods} == {
            workload["metadata"]["name"]
        }
        await asyncio.sleep(120)
        assert await stage.condition("Finished") == (
            "True", "Succeeded", "Reached expected number of succeeded pods",
        )  # fmt: skip
        assert stage.events() == [
            ("CreatedWorkload", f"Created Workload: {NS}/{workload['metadata']['name']}"),
            ("Started", "Admitted by clusterQueue cq"),
            (
                "FinishedWorkload",
                f"Workload '{NS}/{workload['metadata']['name']}' is declared finished",
            ),
        ]

    play(scene)


def test_eviction_waits_for_the_pods_and_restores_the_template_to_the_byte() -> None:
    async def scene(stage: Stage) -> None:
        template = a_job(run_for="600s")["spec"]["template"]
        template["spec"] |= {"nodeSelector": {"own": "yes"}, "tolerations": [{"key": "t"}]}
        template["metadata"]["annotations"]["sim.allaboard.dev/stop-after"] = "20s"
        template["spec"]["tolerations"][0] |= {"operator": "Exists"}
        await stage.job(template=template)
        await asyncio.sleep(1)
        before = (await stage.get(Job.KIND, "train"))["spec"]
        labels = {"labels": {"own": "yes"}}
        await stage.client.patch(Node.KIND, "n0", "", {"metadata": labels})
        await stage.admit()
        await asyncio.sleep(10)
        assert len(await stage.pods()) == 2
        await stage.evict()
        await asyncio.sleep(5)
        assert (await stage.condition("QuotaReserved") or ("",))[0] == "True"
        await asyncio.sleep(30)
        after = (await stage.get(Job.KIND, "train"))["spec"]
        assert after == before
        workload = await stage.workload()
        assert "admission" not in workload["status"]
        assert await stage.condition("QuotaReserved") == ("False", "PendingEvaluation", "make room")
        assert await stage.condition("Requeued") == ("True", "Preempted", "make room")
        assert await stage.condition("Admitted") == (
            "False", "NoReservation", "The workload has no reservation",
        )  # fmt: skip
        assert ("Stopped", "make room") in stage.events()

    play(scene)


def test_nothing_is_written_when_nothing_changes() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job("a", run_for="9000s")
        await asyncio.sleep(1)
        await stage.admit()
        await stage.job("b")
        await asyncio.sleep(20)
        cut = await stage.begin()
        await asyncio.sleep(1000)
        assert cut.writes == []

    play(scene)


def test_a_job_without_a_queue_is_left_alone() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(queue="", suspend=False)
        await asyncio.sleep(5)
        assert await stage.workloads() == []
        assert len(await stage.pods()) == 2

    play(scene)


def test_a_job_that_runs_without_leave_is_stopped_and_queued() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(suspend=False)
        await asyncio.sleep(5)
        assert (await stage.get(Job.KIND, "train"))["spec"]["suspend"] is True
        assert await stage.pods() == []
        assert (await stage.workload())["spec"]["queueName"] == "lq"

    play(scene)


def test_queue_and_priority_follow_the_job_until_quota_is_reserved() -> None:
    async def scene(stage: Stage) -> None:
        for name, value in (("low", 1), ("high", 9)):
            body = {"metadata": {"name": name}, "value": value}
            await stage.client.create(body, WorkloadPriorityClass.KIND)
        await stage.job(labels={names.PRIORITY_CLASS: "low"})
        await asyncio.sleep(1)

        async def relabel(queue: str, priority: str) -> tuple[str, int]:
            labels = {names.QUEUE_NAME: queue, names.PRIORITY_CLASS: priority}
            await stage.client.patch(Job.KIND, "train", NS, {"metadata": {"labels": labels}})
            await asyncio.sleep(1)
            spec = (await stage.workload())["spec"]
            return spec["queueName"], spec["priority"]

        assert await relabel("other", "high") == ("other", 9)
        await stage.admit()
        await asyncio.sleep(1)
        assert await relabel("third", "low") == ("other", 1)

    play(scene)


def test_a_job_made_anew_under_its_name_gets_a_new_workload() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        await asyncio.sleep(1)
        first = await stage.workload()
        await stage.admit()
        await asyncio.sleep(5)
        await stage.client.delete(Job.KIND, "train", NS, propagation="Background")
        await stage.job()
        await asyncio.sleep(60)
        second = await stage.workload()
        assert second["metadata"]["name"] != first["metadata"]["name"]
        assert (await stage.get(Job.KIND, "train"))["spec"]["suspend"] is True

    play(scene)


def test_deleting_the_workload_of_a_running_job_stops_it_and_queues_it_again() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(run_for="600s")
        await asyncio.sleep(1)
        before, workload = await stage.get(Job.KIND, "train"), await stage.workload()
        await stage.admit()
        await asyncio.sleep(10)
        await stage.client.delete(Workload.KIND, workload["metadata"]["name"], NS)
        await asyncio.sleep(60)
        again = await stage.workload()
        assert again["metadata"]["uid"] != workload["metadata"]["uid"]
        after = await stage.get(Job.KIND, "train")
        assert after["spec"] == before["spec"]
        assert names.STOPPING not in (after["metadata"].get("annotations") or {})

    play(scene)


def test_deleting_a_job_but_not_its_dependents_finishes_the_workload() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(run_for="600s")
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(5)
        await stage.client.delete(Job.KIND, "train", NS, propagation="Orphan")
        await asyncio.sleep(30)
        assert (await stage.condition("Finished") or ("", ""))[1] == "OwnerNotFound"

    play(scene)


def test_a_check_that_contradicts_the_template_fails_the_start_for_good() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        await asyncio.sleep(1)
        workload = await stage.workload()
        update = {"name": "main", "nodeSelector": {"pool": "elsewhere"}}
        check = {
            "name": "c", "state": "Ready", "message": "", "podSetUpdates": [update],
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }  # fmt: skip
        await stage.admit(workload, admissionChecks=[check])
        await asyncio.sleep(5)
        found = await stage.condition("Finished")
        assert found is not None and found[1] == "FailedToStart" and "pool" in found[2]
        assert (await stage.get(Job.KIND, "train"))["spec"]["suspend"] is True

    play(scene)


def test_a_partial_admission_runs_fewer_pods_and_is_undone_by_a_stop() -> None:
    async def scene(stage: Stage) -> None:
        notes = {
            names.JOB_MIN_PARALLELISM: "2",
            names.JOB_COMPLETIONS_EQUAL_PARALLELISM: "true",
        }
        await stage.job(parallelism=4, run_for="600s", annotations=notes, completionMode="Indexed")
        await asyncio.sleep(1)
        await stage.client.patch(
            Job.KIND, "train", NS, {"spec": {"parallelism": 5, "completions": 5}}
        )
        await asyncio.sleep(1)
        before, workload = await stage.get(Job.KIND, "train"), await stage.workload()
        assert workload["spec"]["podSets"][0]["minCount"] == 2
        await stage.say(
            workload,
            Say("QuotaReserved", "True", "QuotaReserved", "q"),
            Say("Admitted", "True", "Admitted", "a"),
            admission=admission(workload, count=3),
        )
        await asyncio.sleep(10)
        assert len(await stage.pods()) == 3
        await stage.evict()
        await asyncio.sleep(30)
        assert (await stage.get(Job.KIND, "train"))["spec"] == before["spec"]

    play(scene)


def test_a_suspended_job_that_is_changed_changes_its_pending_workload() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job()
        await asyncio.sleep(1)
        body = {"spec": {"parallelism": 1, "template": {"spec": {"nodeSelector": {"a": "b"}}}}}
        await stage.client.patch(Job.KIND, "train", NS, body)
        await asyncio.sleep(1)
        (pod_set,) = (await stage.workload())["spec"]["podSets"]
        assert pod_set["count"] == 1
        assert pod_set["template"]["spec"]["nodeSelector"] == {"a": "b"}

    play(scene)


def test_scaling_a_running_job_sends_it_back_to_the_queue() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(run_for="600s", parallelism=3)
        await asyncio.sleep(1)
        first = await stage.workload()
        await stage.admit()
        await asyncio.sleep(10)
        await stage.client.patch(Job.KIND, "train", NS, {"spec": {"parallelism": 2}})
        await asyncio.sleep(60)
        second = await stage.workload()
        assert second["metadata"]["uid"] != first["metadata"]["uid"]
        assert second["spec"]["podSets"][0]["count"] == 2
        assert await stage.pods() == []

    play(scene)


def test_readiness_is_told_from_start_to_recovery() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(run_for="600s")
        await asyncio.sleep(1)
        assert await stage.condition("PodsReady") is None
        await stage.admit()
        await asyncio.sleep(0.5)
        assert await stage.condition("PodsReady") == (
            "False", "WaitForStart", "Not all pods are ready or succeeded",
        )  # fmt: skip
        await asyncio.sleep(10)
        assert (await stage.condition("PodsReady") or ())[:2] == ("True", "Started")
        await stage.client.delete(Pod.KIND, (await stage.pods())[0]["metadata"]["name"], NS)
        seen = []
        for _ in range(30):
            await asyncio.sleep(0.2)
            seen.append((await stage.condition("PodsReady") or ())[1:])
        assert (
            "WaitForRecovery", "At least one pod has failed, waiting for recovery",
        ) in seen  # fmt: skip
        await asyncio.sleep(60)
        assert (await stage.condition("PodsReady") or ())[:2] == ("True", "Recovered")
        await stage.evict("PodsReadyTimeout")
        await asyncio.sleep(60)
        assert (await stage.condition("PodsReady") or ())[:2] == ("False", "WaitForStart")
        assert await stage.condition("Requeued") == ("False", "PodsReadyTimeout", "make room")

    play(scene, Settings(pods_ready=True))


def test_pods_that_are_not_needed_again_are_given_back() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(parallelism=3, run_for="20s", completions=4)
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(35)
        assert (await stage.workload())["status"]["reclaimablePods"] == [
            {"name": "main", "count": 2}
        ]

    play(scene)


def test_a_job_that_its_user_suspends_while_admitted_runs_again() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(run_for="600s")
        await asyncio.sleep(1)
        await stage.admit()
        await asyncio.sleep(10)
        await stage.client.patch(Job.KIND, "train", NS, {"spec": {"suspend": True}})
        await asyncio.sleep(60)
        assert (await stage.get(Job.KIND, "train"))["spec"]["suspend"] is False
        assert len(await stage.pods()) == 2

    play(scene)


def test_a_job_suspended_by_its_user_and_then_evicted_is_restored_all_the_same() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(run_for="600s")
        await asyncio.sleep(1)
        before = await stage.get(Job.KIND, "train")
        await stage.admit()
        await asyncio.sleep(10)
        workload = await stage.workload()
        await stage.end()
        await stage.client.patch(Job.KIND, "train", NS, {"spec": {"suspend": True}})
        await stage.say(workload, Say("Evicted", "True", "Preempted", "make room"))
        await stage.begin()
        await asyncio.sleep(60)
        assert (await stage.get(Job.KIND, "train"))["spec"] == before["spec"]
        assert (await stage.condition("QuotaReserved") or ("",))[0] == "False"

    play(scene)


def test_a_class_that_comes_late_is_used_when_it_comes_and_nobody_is_told_twice() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(labels={names.PRIORITY_CLASS: "late"})
        await asyncio.sleep(600)
        assert [reason for reason, _ in stage.events()] == ["WorkloadPriorityClassNotFound"]
        body = {"metadata": {"name": "late"}, "value": 5}
        await stage.client.create(body, WorkloadPriorityClass.KIND)
        await asyncio.sleep(1)
        assert (await stage.workload())["spec"]["priority"] == 5

    play(scene)


def test_a_workload_made_beforehand_is_taken_and_one_that_does_not_fit_is_out_of_sync() -> None:
    async def scene(stage: Stage) -> None:
        container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
        for name, count in (("fits", 2), ("short", 1)):
            template = {"spec": {"containers": [container]}}
            pods = {"name": "main", "count": count, "template": template}
            body = {"metadata": {"name": name}, "spec": {"queueName": "lq", "podSets": [pods]}}
            await stage.client.create(body, Workload.KIND, NS)
            await stage.job(f"j-{name}", labels={names.PREBUILT_WORKLOAD: name})
        await asyncio.sleep(2)
        fits, short = await stage.workloads()
        assert fits["metadata"]["ownerReferences"][0]["name"] == "j-fits"
        assert condition(fits, "Finished") is None
        assert (condition(short, "Finished") or ("", ""))[1] == "OutOfSync"
        await stage.admit(fits)
        await asyncio.sleep(5)
        assert len(await stage.pods()) == 2

    play(scene)


def test_a_workload_that_merely_bears_the_label_of_a_job_is_not_its_workload() -> None:
    async def scene(stage: Stage) -> None:
        job = await stage.job()
        forged = {
            "metadata": {"name": "forged", "labels": {names.JOB_UID: job["metadata"]["uid"]}},
            "spec": {
                "podSets": [{"name": "main", "count": 1, "template": job["spec"]["template"]}]
            },
        }
        await stage.client.create(forged, Workload.KIND, NS)
        await asyncio.sleep(2)
        forgery = next(w for w in await stage.workloads() if w["metadata"]["name"] == "forged")
        await stage.admit(forgery)
        await asyncio.sleep(5)
        assert (await stage.get(Job.KIND, "train"))["spec"]["suspend"] is True
        assert len(await stage.workloads()) == 2

    play(scene)


def test_a_namespace_with_running_jobs_and_groups_can_be_deleted() -> None:
    async def scene(stage: Stage) -> None:
        await stage.client.create({"metadata": {"name": "team"}}, Namespace.KIND)
        await asyncio.sleep(1)
        await stage.client.create(a_job(run_for="600s"), Job.KIND, "team")
        for name in ("a", "b"):
            await stage.client.create(a_pod(name, "g", 2), Pod.KIND, "team")
        await asyncio.sleep(1)
        for workload in (await stage.client.list(Workload.KIND, "team")).items:
            await stage.admit(workload)
        await asyncio.sleep(10)
        await stage.client.delete(Namespace.KIND, "team")
        await asyncio.sleep(300)
        assert await stage.client.find(Namespace.KIND, "team") is None

    play(scene)


def test_every_change_says_which_version_and_every_deletion_which_object_is_meant() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(run_for="600s", parallelism=3)
        await stage.client.create(a_pod("p", run_for="600s"), Pod.KIND, NS)
        await asyncio.sleep(1)
        for workload in await stage.workloads():
            await stage.admit(workload)
        await asyncio.sleep(10)
        await stage.client.patch(Job.KIND, "train", NS, {"spec": {"parallelism": 2}})
        for workload in await stage.workloads():
            if workload["metadata"]["name"].startswith("pod-"):
                await stage.say(workload, Say("Evicted", "True", "Preempted", "make room"))
        await asyncio.sleep(60)
        sent = list(zip(stage.cut.writes, stage.cut.bodies, strict=True))
        deletions = [body for line, body in sent if line.startswith("DELETE")]
        changes = [body for line, body in sent if line.startswith("PATCH")]
        assert len(deletions) == 2 and all(b["preconditions"]["uid"] for b in deletions)
        assert len(changes) > 5 and all(b["metadata"]["resourceVersion"] for b in changes)

    play(scene)


def test_quota_taken_away_without_a_word_stops_the_job_and_restores_it() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job(run_for="600s")
        await asyncio.sleep(1)
        before = await stage.get(Job.KIND, "train")
        await stage.admit()
        await asyncio.sleep(10)
        gone = [Say("QuotaReserved", "False", "OnHold", ""), Say("Admitted", "False", "OnHold", "")]
        await stage.say(await stage.workload(), *gone, admission=None)
        await asyncio.sleep(60)
        after = await stage.get(Job.KIND, "train")
        assert after["spec"] == before["spec"]
        assert after["metadata"].get("annotations") == before["metadata"].get("annotations")
        template = (await stage.workload())["spec"]["podSets"][0]["template"]
        assert template == before["spec"]["template"]

    play(scene)


def test_a_job_that_is_a_mere_owner_of_anothers_workload_is_not_started_by_it() -> None:
    async def scene(stage: Stage) -> None:
        await stage.job("a")
        await asyncio.sleep(1)
        first = await stage.workload()
        other = await stage.job("b")
        claim = {
            "apiVersion": "batch/v1", "kind": "Job", "name": "b", "uid": other["metadata"]["uid"],
        }  # fmt: skip
        owners = [*first["metadata"]["ownerReferences"], claim]
        body = {"metadata": {"ownerReferences": owners}}
        await stage.client.patch(Workload.KIND, first["metadata"]["name"], NS, body)
        await stage.admit(await stage.get(Workload.KIND, first["metadata"]["name"]))
        await asyncio.sleep(5)
        assert len(await stage.workloads()) == 2
        jobs = [await stage.get(Job.KIND, name) for name in ("a", "b")]
        assert [job["spec"]["suspend"] for job in jobs] == [False, True]

    play(scene)
