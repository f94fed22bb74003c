"""What a Job needs next, decided on data alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.cluster.controllers.job import indexes
from allaboard.cluster.controllers.job.backoff import Backoff
from allaboard.cluster.controllers.job.facts import FAILURES, INDEX, TRACKING, PodFacts
from allaboard.cluster.controllers.job.plan import JobPlan, settle
from allaboard.cluster.controllers.job.sync import sync

NOW = 1_800_000_000.0


def job(status: Json | None = None, **spec: Any) -> Json:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main"}]}}
    defaults = {"parallelism": 1, "completions": 1, "backoffLimit": 6, "template": template}
    meta = {"name": "j", "namespace": "ns", "uid": "job-uid"}
    return {"metadata": meta, "spec": {**defaults, **spec}, "status": status or {}}


def indexed(status: Json | None = None, **spec: Any) -> Json:
    return job(status, completionMode="Indexed", **spec)


def pod(
    name: str = "p",
    phase: str = "Running",
    *,
    index: int | None = None,
    ready: bool = False,
    code: int | None = None,
    ago: float = 3600,
    deleting: bool = False,
    tracked: bool = True,
    failures: int | None = None,
    condition: str = "",
    restarts: int = 0,
) -> PodFacts:
    meta: Json = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "annotations": {}}
    meta["creationTimestamp"] = format_time(NOW - 7200)
    if tracked:
        meta["finalizers"] = [TRACKING]
    if deleting:
        meta |= {"deletionTimestamp": format_time(NOW - ago), "deletionGracePeriodSeconds": 0}
    if index is not None:
        meta["annotations"][INDEX] = str(index)
    if failures is not None:
        meta["annotations"][FAILURES] = str(failures)
    state: Json = {"running": {}}
    if phase in ("Succeeded", "Failed"):
        end = format_time(NOW - ago)
        exit_code = code if code is not None else int(phase == "Failed")
        state = {"terminated": {"exitCode": exit_code, "finishedAt": end}}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    if condition:
        conditions.append({"type": condition, "status": "True"})
    containers = [{"name": "main", "state": state, "restartCount": restarts}]
    status = {"phase": phase, "conditions": conditions, "containerStatuses": containers}
    return PodFacts({"metadata": meta, "spec": {"nodeName": "n"}, "status": status})


def plan_for(a_job: Json, *pods: PodFacts, backoff: Backoff | None = None) -> JobPlan:
    plan = sync(a_job, pods, NOW, backoff or Backoff())
    assert plan is not None
    return plan


def conditions(status: Json) -> list[str]:
    return [f"{c['type']}={c['status']}/{c['reason']}" for c in status.get("conditions", [])]


@pytest.mark.parametrize(
    ("a_job", "pods", "created"),
    [
        pytest.param(job(), [], 1, id="a new Job starts its pod"),
        pytest.param(job(parallelism=3, completions=2), [], 2, id="never more than completions"),
        pytest.param(job(parallelism=2, completions=5), [pod()], 1, id="fills up to parallelism"),
        pytest.param(job(parallelism=0), [], 0, id="parallelism 0 starts nothing"),
        pytest.param(job(suspend=True), [], 0, id="a suspended Job starts nothing"),
        pytest.param(job(parallelism=3, completions=None), [], 3, id="a work queue starts all"),
        pytest.param(
            job(parallelism=3, completions=None),
            [pod("a", "Succeeded"), pod("b")],
            0,
            id="a work queue that had a success winds down",
        ),
        pytest.param(job(), [pod(deleting=True)], 1, id="a terminating pod is replaced"),
        pytest.param(
            job(podReplacementPolicy="Failed"),
            [pod(deleting=True)],
            0,
            id="policy Failed waits until the terminating pod has ended",
        ),
        pytest.param(job(), [pod(phase="Failed", ago=3)], 0, id="a fresh failure backs off"),
        pytest.param(job(), [pod(phase="Failed", ago=11)], 1, id="after 10 s it is replaced"),
        pytest.param(job(parallelism=5000, completions=5000), [], 500, id="500 at a time"),
    ],
)
def test_pods_to_create(a_job: Json, pods: list[PodFacts], created: int) -> None:
    assert len(plan_for(a_job, *pods).create) == created


def test_the_wait_before_a_replacement_doubles() -> None:
    earlier = Backoff(failures=2, last_failure=NOW - 100)
    plan = plan_for(job(), pod(phase="Failed", ago=5), backoff=earlier)
    assert plan.create == []
    assert plan.wake_after_s == pytest.approx(35)


def test_lowest_free_indexes_come_first_and_pods_carry_them() -> None:
    a_job = indexed({"completedIndexes": "1"}, parallelism=3, completions=6)
    plan = plan_for(a_job, pod("a", index=0))
    made = plan.create
    assert [p["metadata"]["labels"][INDEX] for p in made] == ["2", "3"]
    assert [p["spec"]["hostname"] for p in made] == ["j-2", "j-3"]
    assert [p["metadata"]["generateName"] for p in made] == ["j-2-", "j-3-"]
    assert made[0]["spec"]["containers"][0]["env"][0]["name"] == "JOB_COMPLETION_INDEX"
    assert made[0]["metadata"]["finalizers"] == [TRACKING]
    assert "env" not in a_job["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize(
    ("a_job", "pods", "deleted"),
    [
        pytest.param(job(suspend=True), [pod("a")], ["a"], id="suspension stops all"),
        pytest.param(
            job(parallelism=1, completions=3),
            [pod("ready", ready=True), pod("running"), pod("pending", "Pending")],
            ["pending", "running"],
            id="what runs well is kept",
        ),
        pytest.param(
            indexed(parallelism=1, completions=1),
            [pod("a", index=0), pod("b", index=1)],
            ["b"],
            id="indexes beyond completions go",
        ),
        pytest.param(
            indexed(parallelism=2, completions=2),
            [pod("a", index=0, ready=True), pod("b", index=0), pod("c")],
            ["c", "b"],
            id="doubles and pods without an index go",
        ),
    ],
)
def test_pods_to_delete(a_job: Json, pods: list[PodFacts], deleted: list[str]) -> None:
    plan = plan_for(a_job, *pods)
    assert [p.name for p in plan.delete] == deleted
    assert plan.delete_uncounted


IGNORE_DISRUPTION = {
    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
}
FAIL_ON_42 = {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}


@pytest.mark.parametrize(
    ("a_job", "pods", "reason"),
    [
        pytest.param(job(backoffLimit=0), [pod(phase="Failed")], "BackoffLimitExceeded", id="0"),
        pytest.param(
            job({"failed": 1}, backoffLimit=1),
            [pod(phase="Failed")],
            "BackoffLimitExceeded",
            id="earlier failures count",
        ),
        pytest.param(
            job({"startTime": format_time(NOW - 60)}, activeDeadlineSeconds=60),
            [pod()],
            "DeadlineExceeded",
            id="the deadline",
        ),
        pytest.param(
            job(podFailurePolicy=FAIL_ON_42),
            [pod(phase="Failed", code=42)],
            "PodFailurePolicy",
            id="an exit code that ends the Job",
        ),
        pytest.param(
            indexed(parallelism=3, completions=3, backoffLimitPerIndex=0, maxFailedIndexes=0),
            [pod(phase="Failed", index=1)],
            "MaxFailedIndexesExceeded",
            id="too many failed indexes",
        ),
        pytest.param(
            indexed({"completedIndexes": "0"}, completions=2, backoffLimitPerIndex=1),
            [pod(phase="Failed", index=1, failures=1)],
            "FailedIndexes",
            id="all indexes decided, one of them failed",
        ),
        pytest.param(job(), [pod(phase="Succeeded")], "CompletionsReached", id="enough successes"),
        pytest.param(
            indexed(completions=3, successPolicy={"rules": [{"succeededIndexes": "0"}]}),
            [pod(phase="Succeeded", index=0), pod("b", index=1)],
            "SuccessPolicy",
            id="the index that matters succeeded",
        ),
        pytest.param(job(completions=0), [], "CompletionsReached", id="nothing to do"),
    ],
)
def test_why_a_job_is_over(a_job: Json, pods: list[PodFacts], reason: str) -> None:
    plan = plan_for(a_job, *pods)
    assert plan.ending is not None
    assert plan.ending.reason == reason
    assert conditions(plan.status)[-1].endswith(f"=True/{reason}")
    assert [p.name for p in plan.delete] == [p.name for p in pods if p.active]


def test_restarts_count_with_on_failure() -> None:
    template = {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "main"}]}}
    assert plan_for(job(template=template, backoffLimit=2), pod(restarts=1)).ending is None
    assert plan_for(job(template=template, backoffLimit=2), pod(restarts=2)).ending is not None


def test_an_ignored_failure_is_replaced_and_not_counted() -> None:
    failed = pod(phase="Failed", condition="DisruptionTarget")
    plan = plan_for(job(backoffLimit=0, podFailurePolicy=IGNORE_DISRUPTION), failed)
    assert (len(plan.create), plan.release, plan.ending) == (1, [failed], None)
    assert plan.status["uncountedTerminatedPods"] == {}


def test_an_end_is_first_announced_then_counted_then_final() -> None:
    plan = plan_for(job(), pod(phase="Succeeded"))
    assert plan.status["uncountedTerminatedPods"] == {"succeeded": ["uid-p"]}
    assert "succeeded" not in plan.status
    stuck, _ = settle(plan, set(), NOW)
    assert stuck is None
    final, notes = settle(plan, {"uid-p"}, NOW)
    assert final is not None
    assert (final["succeeded"], final["uncountedTerminatedPods"]) == (1, {})
    assert conditions(final)[-1] == "Complete=True/CompletionsReached"
    assert [n.reason for n in notes] == ["Completed"]


def test_failed_is_final_only_when_no_pod_is_left() -> None:
    plan = plan_for(job(backoffLimit=0, parallelism=2, completions=2), pod("a", "Failed"), pod("b"))
    assert plan.status["terminating"] == 1
    settled, notes = settle(plan, {"uid-a", "uid-b"}, NOW)
    assert settled is not None
    assert (settled["failed"], notes) == (2, [])
    assert conditions(settled) == ["FailureTarget=True/BackoffLimitExceeded"]


def test_a_failed_index_hands_its_count_to_its_successor() -> None:
    a_job = indexed(completions=1, backoffLimitPerIndex=2)
    plan = plan_for(a_job, pod(phase="Failed", index=0, failures=1))
    assert plan.create[0]["metadata"]["annotations"][FAILURES] == "2"
    assert plan.release == []  # the predecessor waits until the successor exists


def test_resuming_resets_the_start_time() -> None:
    suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "x"}
    plan = plan_for(job({"conditions": [suspended]}))
    assert plan.status["startTime"] == format_time(NOW)
    assert conditions(plan.status) == ["Suspended=False/JobResumed"]


@pytest.mark.parametrize(
    "a_job",
    [
        pytest.param(job(managedBy="example.com/other"), id="somebody else's"),
        pytest.param(job({"conditions": [{"type": "Complete", "status": "True"}]}), id="finished"),
    ],
)
def test_jobs_that_are_left_alone(a_job: Json) -> None:
    assert sync(a_job, [], NOW, Backoff()) is None


def test_at_most_500_ends_are_taken_in_at_once() -> None:
    pods = [pod(f"p{i}", "Succeeded") for i in range(600)]
    plan = plan_for(job(parallelism=600, completions=600), *pods)
    assert len(plan.status["uncountedTerminatedPods"]["succeeded"]) == 500
    assert len(plan.release) == 500
    assert plan.ending is None


@given(st.sets(st.integers(0, 40)))
def test_index_sets_survive_being_written_and_read(members: set[int]) -> None:
    made = indexes.with_members(indexes.EMPTY, sorted(members))
    assert indexes.parse(indexes.text_of(made), 50) == made
    assert indexes.total(made) == len(members)
    assert all(indexes.contains(made, m) == (m in members) for m in range(45))
    missing = [m for m in range(41) if m not in members]
    assert indexes.first_missing(made, 3, 41) == missing[:3]


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_what_two_index_sets_share(one: set[int], other: set[int]) -> None:
    first, second = (indexes.with_members(indexes.EMPTY, sorted(s)) for s in (one, other))
    assert indexes.common(first, second) == len(one & other)
    assert indexes.total(indexes.union(first, second)) == len(one | other)
