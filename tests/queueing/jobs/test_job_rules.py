"""What is set on new Jobs and Pods, and what is refused."""

from typing import Any

import pytest
from staged_jobs import a_job, a_pod

from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.queueing.jobs.admission import (
    Place,
    check_job_change,
    check_new_job,
    check_new_pod,
    check_pod_change,
    default_job,
    default_pod,
)

POD = {"metadata": {"name": "p"}, "spec": {"containers": []}}


@pytest.mark.parametrize(
    ("queue", "place", "suspended", "label"),
    [
        pytest.param("lq", Place(), True, "lq", id="a queue is named"),
        pytest.param("", Place(), False, None, id="none is named"),
        pytest.param("", Place(has_default_queue=True), True, "default", id="the default one"),
        pytest.param("", Place(manage_without_queue_name=True), True, None, id="all are managed"),
        pytest.param("lq", Place(is_child=True), False, "lq", id="its owner is queued"),
        pytest.param("lq", Place(is_managed=False), False, "lq", id="not in this namespace"),
    ],
)
def test_a_new_job_is_made_to_wait(
    queue: str, place: Place, suspended: bool, label: str | None
) -> None:
    job = default_job(a_job(queue=queue, suspend=False), place)
    assert job["spec"]["suspend"] is suspended
    assert job["metadata"]["labels"].get(names.QUEUE_NAME) == label


def test_a_new_pod_is_gated_and_a_member_of_a_group_is_kept() -> None:
    single, member = a_pod("p"), a_pod("m", "g", 2)
    assert single["spec"]["schedulingGates"] == [{"name": names.ADMISSION_GATE}]
    assert single["metadata"]["labels"][names.MANAGED] == "true"
    assert "finalizers" not in single["metadata"]
    assert member["metadata"]["finalizers"] == [names.MANAGED]
    assert len(member["metadata"]["annotations"][names.ROLE_HASH]) == 8
    assert default_pod(POD, Place()) == POD
    assert default_pod(single, Place()) == single


def changed(job: Json, labels: Json | None = None, notes: Json | None = None, **spec: Any) -> Json:
    def merged(old: Json, new: Json | None) -> Json:
        return {k: v for k, v in {**old, **(new or {})}.items() if v is not None}

    meta = job["metadata"]
    meta = {
        **meta,
        "labels": merged(meta["labels"], labels),
        "annotations": merged(meta["annotations"], notes),
    }
    return {**job, "metadata": meta, "spec": {**job["spec"], **spec}}


@pytest.mark.parametrize(
    ("job", "field"),
    [
        (a_job(queue="Not A Name"), names.QUEUE_NAME),
        (a_job(labels={names.PREBUILT_WORKLOAD: "-"}), names.PREBUILT_WORKLOAD),
        (a_job(labels={names.MAX_EXEC_TIME_SECONDS: "0"}), names.MAX_EXEC_TIME_SECONDS),
        (a_job(labels={names.MAX_EXEC_TIME_SECONDS: "1e9"}), names.MAX_EXEC_TIME_SECONDS),
        (a_job(annotations={names.JOB_MIN_PARALLELISM: "x"}), names.JOB_MIN_PARALLELISM),
        (a_job(annotations={names.JOB_MIN_PARALLELISM: "2"}), names.JOB_MIN_PARALLELISM),
        (a_job(annotations={names.JOB_MIN_PARALLELISM: "-1"}), names.JOB_MIN_PARALLELISM),
        (
            a_job(annotations={names.JOB_COMPLETIONS_EQUAL_PARALLELISM: "true"}),
            "spec.completionMode",
        ),
        (a_job(annotations={names.STOPPING: "true"}), names.STOPPING),
        (a_job(labels={names.JOB_UID: "u"}), names.JOB_UID),
    ],
)
def test_bad_jobs_are_refused_by_field(job: Json, field: str) -> None:
    (error,) = check_new_job(job)
    assert field in error.field


RUNNING = a_job(
    labels={names.PRIORITY_CLASS: "low"},
    annotations={names.JOB_MIN_PARALLELISM: "1"},
    suspend=False,
)
WAITING = a_job(suspend=True)


@pytest.mark.parametrize(
    ("old", "new", "admitted", "refused"),
    [
        pytest.param(WAITING, changed(WAITING, {names.QUEUE_NAME: "b"}), False, "", id="moves"),
        pytest.param(
            WAITING, changed(WAITING, {names.QUEUE_NAME: "b"}), True, names.QUEUE_NAME,
            id="moves with quota reserved",
        ),
        pytest.param(
            RUNNING, changed(RUNNING, {names.QUEUE_NAME: None}), False, names.QUEUE_NAME,
            id="takes its queue away",
        ),
        pytest.param(
            changed(RUNNING, {names.QUEUE_NAME: None}), RUNNING, False, names.QUEUE_NAME,
            id="puts a queue there afterwards",
        ),
        pytest.param(
            RUNNING, changed(RUNNING, {names.QUEUE_NAME: "b"}, suspend=True), False,
            names.QUEUE_NAME, id="moves while suspending itself",
        ),
        pytest.param(
            RUNNING, changed(RUNNING, {names.PRIORITY_CLASS: "high"}), True, "",
            id="exchanges its class",
        ),
        pytest.param(
            RUNNING, changed(RUNNING, {names.PRIORITY_CLASS: None}), True, names.PRIORITY_CLASS,
            id="takes its class away",
        ),
        pytest.param(
            RUNNING, changed(RUNNING, {names.MAX_EXEC_TIME_SECONDS: "9"}), True,
            names.MAX_EXEC_TIME_SECONDS, id="gives itself time",
        ),
        pytest.param(
            RUNNING, changed(RUNNING, parallelism=9), False, "spec.parallelism",
            id="grows after a partial start",
        ),
        pytest.param(
            WAITING, changed(WAITING, None, {names.STOPPING: "true"}), False, names.STOPPING,
            id="says it is being stopped",
        ),
    ],
)  # fmt: skip
def test_changes_of_a_job(old: Json, new: Json, admitted: bool, refused: str) -> None:
    errors = check_job_change(new, old, is_admitted=admitted)
    assert bool(errors) is bool(refused)
    assert all(refused in error.field for error in errors)
    assert check_job_change(new, old, is_admitted=admitted, by_controller=True) == []


GATED, MEMBER = a_pod("p"), a_pod("m", "g", 2)
FREE = {**GATED, "spec": {**GATED["spec"], "schedulingGates": []}}
PLAIN: Json = {"metadata": {"name": "p", "labels": {}, "annotations": {}}, "spec": {}}


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param(GATED, changed(GATED, {names.QUEUE_NAME: "b"}), "", id="moves at the gate"),
        pytest.param(FREE, changed(FREE, {names.QUEUE_NAME: "b"}), names.QUEUE_NAME, id="moves"),
        pytest.param(GATED, FREE, "schedulingGates", id="lifts its own gate"),
        pytest.param(GATED, changed(GATED, {names.MANAGED: None}), names.MANAGED, id="leaves us"),
        pytest.param(
            MEMBER, changed(MEMBER, {names.POD_GROUP: "h"}), names.POD_GROUP, id="changes group"
        ),
        pytest.param(
            MEMBER, changed(MEMBER, None, {names.POD_GROUP_TOTAL_COUNT: "9"}),
            names.POD_GROUP_TOTAL_COUNT, id="grows the group",
        ),
        pytest.param(
            PLAIN, changed(PLAIN, {names.MANAGED: "true"}), names.MANAGED, id="joins afterwards"
        ),
    ],
)  # fmt: skip
def test_changes_of_a_pod(old: Json, new: Json, refused: str) -> None:
    errors = check_pod_change(new, old)
    assert bool(errors) is bool(refused)
    assert all(refused in error.field for error in errors)


@pytest.mark.parametrize("count", ["0", "-1", "1e3", "x", "99999999999", None])
def test_a_group_needs_a_sensible_size(count: str | None) -> None:
    pod = changed(MEMBER, None, {names.POD_GROUP_TOTAL_COUNT: count})
    (error,) = check_new_pod(pod)
    assert names.POD_GROUP_TOTAL_COUNT in error.field


def test_finalizers_can_be_removed_from_whatever_was_let_in_before() -> None:
    job = a_job(queue="Not A Name")
    held = {**job, "metadata": {**job["metadata"], "finalizers": ["x"]}}
    assert check_job_change(job, held) == []
    pod = changed(MEMBER, None, {names.POD_GROUP_TOTAL_COUNT: "x"})
    free = {**pod, "metadata": {**pod["metadata"], "finalizers": []}}
    assert check_pod_change(free, pod) == []
