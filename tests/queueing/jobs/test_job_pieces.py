"""The pure parts: names, templates, conditions, readiness, what is injected and taken back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from staged_jobs import a_job, admission

from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.api.types.batch import Job
from allaboard.cluster.patching.merge_patch import apply_merge_patch
from allaboard.queueing.conditions import Say
from allaboard.queueing.jobs.adapter import (
    PodSetConflict,
    PodSetInfo,
    Subject,
    count_in,
    difference,
)
from allaboard.queueing.jobs.batch_job import BatchJobs
from allaboard.queueing.jobs.injection import injected, merged, placement_patch, pod_set_infos
from allaboard.queueing.jobs.naming import workload_name
from allaboard.queueing.jobs.shapes import Surroundings, filled, same_needs, topology_request
from allaboard.queueing.jobs.workload_for import (
    Context,
    PriorityClassMissing,
    build,
    priority,
    reserved_drift,
)
from allaboard.queueing.jobs.workload_state import pods_ready, release, with_conditions

JOBS = BatchJobs()


def subject(job: Json) -> Subject:
    job = {**job, "metadata": {"uid": "u1", "namespace": "ns", **job["metadata"]}}
    return Subject(job["metadata"]["name"], "ns", (job,))


def workload(*conditions: tuple[str, str, str], **spec: Any) -> Json:
    return {
        "metadata": {"name": "w", "namespace": "ns", "generation": 3},
        "spec": spec,
        "status": {
            "conditions": [
                {
                    "type": type_, "status": status, "reason": reason, "message": "m",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
                for type_, status, reason in conditions
            ]
        },
    }  # fmt: skip


def test_the_name_of_a_workload_hashes_kind_group_name_and_uid() -> None:
    # sha1("Job\nbatch\ntrain\nu1") begins with these five
    assert workload_name(Job.KIND, "train", "u1") == "job-train-e4af4"
    assert workload_name(Job.KIND, "train", "u2") != workload_name(Job.KIND, "train", "u1")
    assert len(workload_name(Job.KIND, "x" * 253, "u1")) == 253


texts = st.text("ab", max_size=2)
trees = st.recursive(
    st.one_of(st.integers(0, 3), texts, st.lists(st.integers(0, 2), max_size=2)),
    lambda inner: st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@given(old=st.dictionaries(texts, trees, max_size=3), new=st.dictionaries(texts, trees, max_size=3))
def test_the_difference_makes_the_new_of_the_old(old: Json, new: Json) -> None:
    assert apply_merge_patch(old, difference(old, new)) == new
    assert difference(new, new) == {}


labels = st.dictionaries(st.sampled_from(["a", "b", "pool"]), st.sampled_from(["1", "2"]))
tolerations = st.lists(st.sampled_from([{"key": "t1"}, {"key": "t2"}]), max_size=2, unique_by=str)
placed = st.fixed_dictionaries(
    {"containers": st.just([{"name": "c"}])},
    optional={"nodeSelector": labels, "tolerations": tolerations},
)
templates = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({}, optional={"labels": labels}), "spec": placed}
)


@given(template=templates, node=labels, marks=labels, bears=tolerations)
def test_what_a_start_injects_a_stop_takes_back_to_the_byte(
    template: Json, node: Json, marks: Json, bears: list[Json]
) -> None:
    info = PodSetInfo("main", 1, labels=marks, node_selector=node, tolerations=tuple(bears))
    try:
        running = injected(template, info)
    except PodSetConflict:
        return
    started = apply_merge_patch(template, placement_patch(template, running))
    assert started == running
    assert apply_merge_patch(started, placement_patch(started, template)) == template


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({"limits": {"cpu": "2"}}, {"cpu": "2"}, id="a limit is a request"),
        pytest.param(
            {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, {"cpu": "1"}, id="unless there is"
        ),
        pytest.param({}, {"cpu": "500m", "memory": "1Gi"}, id="a LimitRange fills in"),
        pytest.param(
            {"limits": {"memory": "4Gi"}},
            {"cpu": "500m", "memory": "4Gi"},
            id="an own limit beats the range's request",
        ),
    ],
)  # fmt: skip
def test_requests_are_what_the_pods_will_have(resources: Json, expected: Json) -> None:
    default = {"type": "Container", "defaultRequest": {"cpu": "500m"}, "default": {"memory": "1Gi"}}
    ranges = [] if "cpu" in str(resources) else [{"spec": {"limits": [default]}}]
    template = {"spec": {"containers": [{"name": "c", "resources": resources}]}}
    (container,) = filled(template, Surroundings(ranges))["spec"]["containers"]
    assert container["resources"]["requests"] == expected


def test_a_runtime_class_adds_its_overhead() -> None:
    around = Surroundings((), {"vm": {"overhead": {"podFixed": {"cpu": "250m"}}}})
    template = {"spec": {"containers": [{"name": "c"}], "runtimeClassName": "vm"}}
    assert filled(template, around)["spec"]["overhead"] == {"cpu": "250m"}


def with_cpu(amount: str) -> Json:
    container = {"name": "c", "resources": {"requests": {"cpu": amount}}}
    return {"spec": {"containers": [container]}}


@pytest.mark.parametrize(
    ("now", "then", "same"),
    [
        pytest.param(with_cpu("1"), with_cpu("1"), True, id="the same"),
        pytest.param(with_cpu("100"), with_cpu("1"), False, id="more than was reserved"),
        pytest.param({"spec": {"containers": [{"name": "c"}]}}, with_cpu("1"), True, id="filled"),
        pytest.param(
            {"spec": {**with_cpu("1")["spec"], "nodeSelector": {"a": "b"}}},
            with_cpu("1"), True, id="placed elsewhere",
        ),
        pytest.param({"spec": {"containers": []}}, with_cpu("1"), False, id="fewer containers"),
    ],
)  # fmt: skip
def test_needs_are_compared_by_what_quota_depends_on(now: Json, then: Json, same: bool) -> None:
    assert same_needs(now, then) is same


@pytest.mark.parametrize(
    ("said", "ready", "status", "reason"),
    [
        pytest.param([], True, "False", "WaitForStart", id="not admitted"),
        pytest.param([("Admitted", "True", "A")], False, "False", "WaitForStart", id="starting"),
        pytest.param([("Admitted", "True", "A")], True, "True", "Started", id="started"),
        pytest.param(
            [("Admitted", "True", "A"), ("PodsReady", "True", "Started")],
            False, "False", "WaitForRecovery", id="a pod failed",
        ),
        pytest.param(
            [("Admitted", "True", "A"), ("PodsReady", "False", "WaitForRecovery")],
            False, "False", "WaitForRecovery", id="still failed",
        ),
        pytest.param(
            [("Admitted", "True", "A"), ("PodsReady", "False", "WaitForRecovery")],
            True, "True", "Recovered", id="recovered",
        ),
        pytest.param(
            [("Admitted", "True", "A"), ("PodsReady", "True", "Recovered")],
            True, "True", "Recovered", id="stays recovered",
        ),
    ],
)  # fmt: skip
def test_pods_ready(said: list[Any], ready: bool, status: str, reason: str) -> None:
    found = pods_ready(workload(*said), ready)
    assert (found.status, found.reason) == (status, reason)


@pytest.mark.parametrize(
    ("reason", "requeued", "reserved"),
    [
        ("Preempted", "True", "PendingEvaluation"),
        ("NodeFailures", "True", "PendingEvaluation"),
        ("PodsReadyTimeout", "False", "PendingEvaluation"),
        ("AdmissionCheck", "False", "PendingEvaluation"),
        ("ClusterQueueStopped", "False", "PendingEvaluation"),
        ("Deactivated", "False", "Deactivated"),
        ("DeactivatedDueToRequeuingLimitExceeded", "False", "Deactivated"),
    ],
)
def test_release_says_when_it_comes_back(reason: str, requeued: str, reserved: str) -> None:
    held = workload(
        ("QuotaReserved", "True", "Q"), ("Admitted", "True", "A"), ("Evicted", "True", reason)
    )
    status = release(held, 1767225660.0, track_pods_ready=False)
    said = {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}
    assert status["admission"] is None
    assert said["Requeued"] == (requeued, reason)
    assert said["QuotaReserved"] == ("False", reserved)
    assert said["Admitted"] == ("False", "NoReservation")
    assert said["Evicted"] == ("True", reason)


def test_release_adds_the_time_it_was_admitted_where_that_is_limited() -> None:
    held = workload(("Admitted", "True", "A"), maximumExecutionTimeSeconds=100)
    held["status"]["accumulatedPastExecutionTimeSeconds"] = 5
    status = release(held, 1767225600.0 + 30.5, track_pods_ready=False)
    assert status["accumulatedPastExecutionTimeSeconds"] == 35


@pytest.mark.parametrize(
    ("spec", "status", "ready"),
    [
        ({"parallelism": 3, "completions": 3}, {"ready": 2}, False),
        ({"parallelism": 3, "completions": 3}, {"ready": 2, "succeeded": 1}, True),
        ({"parallelism": 3, "completions": 2}, {"ready": 2}, True),
        (
            {"parallelism": 2, "completions": 2},
            {"ready": 1, "uncountedTerminatedPods": {"succeeded": ["x"]}},
            True,
        ),
        ({"parallelism": 2, "completions": 9}, {"succeeded": 5, "ready": 0}, True),
    ],
)
def test_a_job_is_ready_when_its_places_are_filled(spec: Json, status: Json, ready: bool) -> None:
    job = a_job()
    found = subject({**job, "spec": {**job["spec"], **spec}, "status": status})
    assert JOBS.is_ready(found) is ready


SUSPENDED = [{"type": "Suspended", "status": "True"}]


@pytest.mark.parametrize(
    ("status", "active"),
    [
        pytest.param({}, False, id="never started"),
        pytest.param({"active": 1}, True, id="runs"),
        pytest.param({"terminating": 1, "conditions": SUSPENDED}, True, id="terminates"),
        pytest.param({"startTime": "t"}, True, id="the Job controller has not seen the stop"),
        pytest.param({"startTime": "t", "conditions": SUSPENDED}, False, id="it has seen it"),
    ],
)
def test_a_job_is_active_until_nothing_of_it_can_run(status: Json, active: bool) -> None:
    assert JOBS.is_active(subject({**a_job(), "status": status})) is active


@pytest.mark.parametrize(
    ("spec", "succeeded", "spare"),
    [
        ({"parallelism": 3, "completions": 5}, 2, 0),
        ({"parallelism": 3, "completions": 5}, 4, 2),
        ({"parallelism": 3, "completions": None}, 2, 0),
        ({"parallelism": 1, "completions": 5}, 5, 0),
    ],
)
def test_pods_that_are_not_needed_again(spec: Json, succeeded: int, spare: int) -> None:
    job = a_job()
    found = {**job, "spec": {**job["spec"], **spec}, "status": {"succeeded": succeeded}}
    assert JOBS.reclaimable(subject(found)) == ([{"name": "main", "count": spare}] if spare else [])


def a_class(name: str, value: int, **more: Any) -> Json:
    return {"metadata": {"name": name}, "value": value, **more}


CONTEXT = Context(
    workload_classes={"high": a_class("high", 9)},
    pod_classes={"pods": a_class("pods", 7), "all": a_class("all", 3, globalDefault=True)},
)


@pytest.mark.parametrize(
    ("label", "of_pods", "value", "kind"),
    [
        pytest.param("high", "pods", 9, "WorkloadPriorityClass", id="the label wins"),
        pytest.param("", "pods", 7, "PriorityClass", id="then the pods' class"),
        pytest.param("", "", 3, "PriorityClass", id="then the global default"),
    ],
)
def test_priority_comes_from_the_first_class_named(
    label: str, of_pods: str, value: int, kind: str
) -> None:
    job = a_job(labels={names.PRIORITY_CLASS: label} if label else {})
    pod_sets = [{"template": {"spec": {"priorityClassName": of_pods}}}]
    found = priority(subject(job), pod_sets, CONTEXT)
    assert (found["priority"], found["priorityClassRef"]["kind"]) == (value, kind)
    assert priority(subject(a_job()), pod_sets[:0], Context()) == {"priority": 0}


def test_a_class_that_is_not_there_is_waited_for() -> None:
    with pytest.raises(PriorityClassMissing):
        priority(subject(a_job(labels={names.PRIORITY_CLASS: "none"})), [], CONTEXT)


def test_after_the_reservation_only_a_workload_priority_class_is_exchanged() -> None:
    held = workload(priorityClassRef={"kind": "WorkloadPriorityClass", "name": "low"})
    moved = subject(a_job(queue="other", labels={names.PRIORITY_CLASS: "high"}))
    assert reserved_drift(moved, held, CONTEXT)["spec"]["priority"] == 9
    assert reserved_drift(subject(a_job(queue="other")), held, CONTEXT) == {}
    assert reserved_drift(moved, workload(), CONTEXT) == {}


def test_a_workload_says_whose_it_is_and_keeps_the_template() -> None:
    job = subject(a_job(labels={names.MAX_EXEC_TIME_SECONDS: "60"}))
    made = build(JOBS, job, Context())
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u1",
            "controller": True, "blockOwnerDeletion": True,
        }
    ]  # fmt: skip
    (pod_set,) = made["spec"]["podSets"]
    assert pod_set["template"] == job.object["spec"]["template"]
    assert pod_set["topologyRequest"] == {"podIndexLabel": names.JOB_COMPLETION_INDEX}
    assert made["spec"]["maximumExecutionTimeSeconds"] == 60


@pytest.mark.parametrize("text", ["", "x", "-1", "1e3", "²", "9" * 5000, "2147483648"])
def test_what_is_no_count_is_no_count(text: str) -> None:
    assert count_in(text) is None
    job = a_job(
        labels={names.MAX_EXEC_TIME_SECONDS: text}, annotations={names.JOB_MIN_PARALLELISM: text}
    )
    made = build(JOBS, subject(job), Context())
    assert "maximumExecutionTimeSeconds" not in made["spec"]
    assert "minCount" not in made["spec"]["podSets"][0]


def test_topology_annotations_are_read_in_both_spellings() -> None:
    template = {"metadata": {"annotations": {names.REQUIRED_TOPOLOGY_KEP: "rack"}}}
    assert topology_request(template, {names.PREFERRED_TOPOLOGY: "block"}, "") == {
        "required": "rack",
        "preferred": "block",
    }
    assert topology_request({}, {names.SLICE_CONSTRAINTS: "no json"}, "") is None


def test_checks_may_add_but_not_contradict() -> None:
    job = build(JOBS, subject(a_job()), Context())
    update = {"name": "main", "annotations": {"zone": "z1"}, "nodeSelector": {"node": "n7"}}
    job["status"] = {
        "admission": admission(job),
        "admissionChecks": [{"name": "c", "podSetUpdates": [update]}],
    }
    flavors = {"spot": {"spec": {"nodeLabels": {"pool": "spot"}}}}
    (info,) = pod_set_infos(job, flavors)
    assert info.node_selector == {"pool": "spot", "node": "n7"}
    assert info.annotations["zone"] == "z1"
    with pytest.raises(PodSetConflict, match="conflict for nodeSelector"):
        merged(info, PodSetInfo("main", 1, node_selector={"pool": "other"}))


def test_conditions_are_said_once() -> None:
    said = workload(("PodsReady", "True", "Started"))
    assert with_conditions(said, [Say("PodsReady", "True", "Started", "m")], 0.0) is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({"controller-uid": "u1"}, True, id="its selector matches"),
        pytest.param({}, False, id="it only claims the owner"),
    ],
)
def test_a_job_makes_only_pods_that_its_selector_matches(labels: Json, expected: bool) -> None:
    job = {"spec": {"selector": {"matchLabels": {"controller-uid": "u1"}}}}
    assert JOBS.is_parent_of(job, {"kind": "Pod", "metadata": {"labels": labels}}) is expected
    assert not JOBS.is_parent_of(job, {"kind": "Job", "metadata": {"labels": labels}})
