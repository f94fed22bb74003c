"""What is filled into a Job, what is refused, what stays mutable, what its status may say."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api.fields import FieldError
from allaboard.api.meta import Json
from allaboard.cluster.kinds.jobs.cron import schedule_problem
from allaboard.cluster.kinds.jobs.indexes import BadIndexes, first_overlap, parse_indexes
from allaboard.cluster.kinds.jobs.strategy import CronJobStrategy, JobStrategy

STRATEGY = JobStrategy(has_status=True)
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "img:1"}]}}
INDEXED = {"completionMode": "Indexed", "completions": 3}


def job(name: str = "j", **spec: Any) -> Json:
    meta = {"name": name, "namespace": "ns", "uid": "u"}
    return {"metadata": meta, "spec": {"template": copy.deepcopy(TEMPLATE), **spec}}


def prepared(obj: Json) -> Json:
    STRATEGY.default(obj)
    STRATEGY.prepare_create(obj)
    return obj


def born(**spec: Any) -> Json:
    obj = prepared(job(**spec))
    assert STRATEGY.validate_create(obj) == []
    return obj


def where(errors: list[FieldError]) -> list[str]:
    return [e.field for e in errors]


@pytest.mark.parametrize(
    "spec, filled",
    [
        ({}, {"parallelism": 1, "completions": 1, "backoffLimit": 6}),
        ({"parallelism": 3}, {"parallelism": 3, "completions": None}),
        ({"completions": 3}, {"parallelism": 1, "completions": 3}),
        ({**INDEXED, "backoffLimitPerIndex": 1}, {"backoffLimit": 2**31 - 1}),
        ({}, {"completionMode": "NonIndexed", "suspend": False, "manualSelector": False}),
        ({}, {"podReplacementPolicy": "TerminatingOrFailed"}),
    ],
)
def test_defaults(spec: Json, filled: Json) -> None:
    result = born(**spec)["spec"]
    assert {key: result.get(key) for key in filled} == filled


def test_a_failure_policy_waits_for_pods_to_be_gone() -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    spec = born(podFailurePolicy={"rules": [rule]})["spec"]
    assert spec["podReplacementPolicy"] == "Failed"
    assert spec["podFailurePolicy"]["rules"][0]["onPodConditions"][0]["status"] == "True"


def test_selector_and_labels_are_generated_from_uid_and_name() -> None:
    obj = born()
    labels = obj["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/controller-uid"] == "u"
    assert labels["batch.kubernetes.io/job-name"] == "j"
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert obj["metadata"]["labels"] == labels  # a Job without labels borrows its template's
    assert obj["metadata"]["labels"] is not labels


def test_own_labels_are_kept_and_own_selectors_respected() -> None:
    labelled = job()
    labelled["metadata"]["labels"] = {"x": "y"}
    assert prepared(labelled)["metadata"]["labels"] == {"x": "y"}
    template = {**copy.deepcopy(TEMPLATE), "metadata": {"labels": {"a": "b"}}}
    selector = {"matchLabels": {"a": "b"}}
    obj = born(manualSelector=True, selector=selector, template=template)
    assert obj["spec"]["template"]["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    "spec, fields",
    [
        ({"parallelism": -1}, ["spec.parallelism"]),
        ({"completionMode": "Sorted"}, ["spec.completionMode"]),
        ({**INDEXED, "parallelism": 100_001}, ["spec.parallelism"]),
        ({**INDEXED, "maxFailedIndexes": 1}, ["spec.backoffLimitPerIndex"]),
        ({**INDEXED, "backoffLimitPerIndex": 1, "maxFailedIndexes": 4}, ["spec.maxFailedIndexes"]),
        ({"backoffLimitPerIndex": 1}, ["spec.backoffLimitPerIndex"]),
        ({"completionMode": "Indexed", "completions": 10**6, "backoffLimitPerIndex": 1},
         ["spec.maxFailedIndexes"]),
        ({"managedBy": "nobody"}, ["spec.managedBy"]),
        ({"podReplacementPolicy": "Eager"}, ["spec.podReplacementPolicy"]),
        ({"successPolicy": {"rules": [{"succeededCount": 1}]}}, ["spec.successPolicy"]),
        ({**INDEXED, "successPolicy": {"rules": []}}, ["spec.successPolicy.rules"]),
        ({**INDEXED, "successPolicy": {"rules": [{"succeededIndexes": "7"}]}},
         ["spec.successPolicy.rules[0].succeededIndexes"]),
        ({**INDEXED, "successPolicy": {"rules": [{"succeededCount": 4}]}},
         ["spec.successPolicy.rules[0].succeededCount"]),
        ({"selector": {"matchLabels": {"a": "b"}}},
         ["spec.selector", "spec.template.metadata.labels"]),
        ({"manualSelector": True}, ["spec.selector", "spec.template.metadata.labels"]),
    ],
)  # fmt: skip
def test_refused_jobs(spec: Json, fields: list[str]) -> None:
    assert where(STRATEGY.validate_create(prepared(job(**spec)))) == fields


@pytest.mark.parametrize(
    "rule, tail",
    [
        ({"action": "Ignore"}, ""),
        ({"onExitCodes": {"operator": "In", "values": [1]}}, ".action"),
        ({"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}, ".action"),
        ({"action": "Count", "onExitCodes": {"operator": "In", "values": [0]}},
         ".onExitCodes.values[0]"),
        ({"action": "Count", "onExitCodes": {"operator": "In", "values": [2, 1]}},
         ".onExitCodes.values"),
        ({"action": "Count", "onExitCodes": {"operator": "In", "values": []}},
         ".onExitCodes.values"),
        ({"action": "Count",
          "onExitCodes": {"operator": "In", "values": [1], "containerName": "zz"}},
         ".onExitCodes.containerName"),
        ({"action": "Count", "onPodConditions": [{"type": "no no"}]}, ".onPodConditions[0].type"),
    ],
)  # fmt: skip
def test_refused_failure_rules(rule: Json, tail: str) -> None:
    obj = prepared(job(podFailurePolicy={"rules": [rule]}))
    assert where(STRATEGY.validate_create(obj)) == [f"spec.podFailurePolicy.rules[0]{tail}"]


def test_an_indexed_job_needs_room_for_the_index_in_its_pods_names() -> None:
    obj = prepared(job(name="a" * 62, **INDEXED))
    assert where(STRATEGY.validate_create(obj)) == ["metadata.name"]


def updated(old: Json, subresource: str = "", **spec: Any) -> list[FieldError]:
    new = {**copy.deepcopy(old), "spec": {**copy.deepcopy(old["spec"]), **spec}}
    STRATEGY.prepare_update(new, old, subresource)
    return STRATEGY.validate_update(new, old, subresource)


@pytest.mark.parametrize(
    "spec, change, fields",
    [
        ({}, {"parallelism": 5}, []),
        ({}, {"suspend": True}, []),
        ({"completions": 3}, {"completions": 4}, ["spec.completions"]),
        (INDEXED, {"completions": 4}, ["spec.completions"]),
        (INDEXED, {"completions": 4, "parallelism": 4}, []),
        ({}, {"managedBy": "a.io/b"}, ["spec.managedBy"]),
        ({}, {"backoffLimit": 0, "ttlSecondsAfterFinished": 1}, []),
    ],
)
def test_what_may_change_in_a_job(spec: Json, change: Json, fields: list[str]) -> None:
    assert where(updated(born(**spec), **change)) == fields


@pytest.mark.parametrize(
    "part, legal",
    [
        ({"nodeSelector": {"a": "b"}}, True),
        ({"tolerations": [{"key": "k", "operator": "Exists"}]}, True),
        ({"schedulingGates": [{"name": "a.io/g"}]}, True),
        ({"nodeName": "n"}, False),
        ({"priorityClassName": "high"}, False),
    ],
)
def test_a_suspended_job_may_be_aimed_elsewhere(part: Json, legal: bool) -> None:
    for suspended in (True, False):
        old = born(suspend=suspended)
        template = copy.deepcopy(old["spec"]["template"])
        template["spec"].update(part)
        assert (updated(old, template=template) == []) is (legal and suspended)


def test_not_once_it_has_started() -> None:
    old = born(suspend=True)
    old["status"] = {"startTime": "2026-01-01T00:00:00Z"}
    template = copy.deepcopy(old["spec"]["template"])
    template["spec"]["nodeSelector"] = {"a": "b"}
    assert where(updated(old, template=template)) == ["spec.template"]


BEGAN = {"startTime": "2026-01-01T00:00:00Z"}
DONE = {"type": "Complete", "status": "True"}
MET = {"type": "SuccessCriteriaMet", "status": "True"}
ENDED = {**BEGAN, "completionTime": "2026-01-01T00:00:10Z", "conditions": [MET, DONE]}


@pytest.mark.parametrize(
    "before, after, fields",
    [
        ({}, {**BEGAN, "active": 2, "ready": 1}, []),
        ({}, {"active": -1}, ["status.active"]),
        ({}, {"active": 1, "ready": 2}, ["status.ready"]),
        ({"succeeded": 2}, {"succeeded": 1}, ["status.succeeded"]),
        (BEGAN, {"startTime": None}, ["status.startTime"]),
        (BEGAN, ENDED, []),
        (BEGAN, {**ENDED, "active": 1}, ["status.active"]),
        (BEGAN, {**ENDED, "completionTime": None}, ["status.completionTime"]),
        (BEGAN, {**ENDED, "completionTime": "2025-01-01T00:00:00Z"}, ["status.completionTime"]),
        (BEGAN, {**ENDED, "conditions": [DONE]}, ["status.conditions"]),
        (ENDED, {**ENDED, "completionTime": "2026-02-01T00:00:00Z"}, ["status.completionTime"]),
        (ENDED, {**BEGAN, "conditions": [MET]}, ["status.conditions"]),
        ({}, {"uncountedTerminatedPods": {"failed": ["a"], "succeeded": ["a"]}},
         ["status.uncountedTerminatedPods.failed[0]"]),
        ({}, {"completedIndexes": "0"}, ["status.completedIndexes"]),
    ],
)  # fmt: skip
def test_what_a_controller_may_write(before: Json, after: Json, fields: list[str]) -> None:
    base = born()
    old, new = {**base, "status": before}, {**base, "status": after}
    assert where(STRATEGY.validate_update(new, old, "status")) == fields


def test_indexes_of_success_and_failure_are_disjoint() -> None:
    base = born(**INDEXED, backoffLimitPerIndex=1)
    new = {**base, "status": {"completedIndexes": "0,2", "failedIndexes": "1-2"}}
    errors = STRATEGY.validate_update(new, base, "status")
    assert where(errors) == ["status.failedIndexes"]
    assert errors[0].text.endswith("overlap at index: 2")


@given(st.sets(st.integers(0, 60)))
def test_indexes_round_trip(chosen: set[int]) -> None:
    parts: list[str] = []
    run: list[int] = []
    for index in [*sorted(chosen), 10**9]:
        if run and index != run[-1] + 1:
            parts.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
            run = []
        run.append(index)
    parsed = parse_indexes(",".join(parts), 100)
    assert parsed.count == len(chosen)
    assert {i for low, high in parsed.intervals for i in range(low, high + 1)} == chosen


@given(st.sets(st.integers(0, 30)), st.sets(st.integers(0, 30)))
def test_the_first_overlap_is_the_smallest_shared_index(a: set[int], b: set[int]) -> None:
    def text(indexes: set[int]) -> str:
        return ",".join(map(str, sorted(indexes)))

    overlap = first_overlap(parse_indexes(text(a), 99), parse_indexes(text(b), 99))
    assert overlap == min(a & b, default=None)


@pytest.mark.parametrize("text", ["3-1", "1,1", "x", "1-2-3", "-1", "5", "1,,2", "9" * 40])
def test_malformed_indexes(text: str) -> None:
    with pytest.raises(BadIndexes):
        parse_indexes(text, 5)


@pytest.mark.parametrize(
    "schedule, legal",
    [
        ("* * * * *", True),
        ("*/5 0-6 1,15 jan mon", True),
        ("@hourly", True),
        ("@every 1h30m", True),
        ("@never", False),
        ("* * * *", False),
        ("60 * * * *", False),
        ("*/0 * * * *", False),
        ("x * * * *", False),
    ],
)
def test_schedules(schedule: str, legal: bool) -> None:
    assert (schedule_problem(schedule) == "") is legal


def test_cron_jobs_are_completed_and_checked() -> None:
    strategy = CronJobStrategy(has_status=True)
    meta = {"name": "c", "namespace": "ns"}
    cron: Json = {"metadata": meta, "spec": {"schedule": "* * * * *"}}
    cron["spec"]["jobTemplate"] = {"spec": {"template": copy.deepcopy(TEMPLATE)}}
    strategy.default(cron)
    assert strategy.validate_create(cron) == []
    assert cron["spec"]["successfulJobsHistoryLimit"] == 3
    cron["spec"]["schedule"] = "never"
    assert where(strategy.validate_create(cron)) == ["spec.schedule"]
