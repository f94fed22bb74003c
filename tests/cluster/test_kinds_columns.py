"""What people see of an object in a list."""

from typing import Any

import pytest

from allaboard.api.meta import Json
from allaboard.cluster.kinds.columns.basic import human_duration, selector_text
from allaboard.cluster.kinds.columns.pods import row_conditions
from allaboard.cluster.kinds.registry import builtin_resources

NOW = 1_767_225_600.0  # 2026-01-01T00:00:00Z
COLUMNS = {(r.group, r.kind): r.versions["v1"].columns for r in builtin_resources()}
MINUTE, HOUR, DAY = 60, 3600, 86400


def row(kind: str, obj: Json, group: str = "") -> dict[str, Any]:
    obj.setdefault("metadata", {}).setdefault("name", "x")
    return {c.name: c.cell(obj, NOW) for c in COLUMNS[group, kind]}


@pytest.mark.parametrize(
    "seconds, text",
    [
        (-5, "<invalid>"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (599, "9m59s"),
        (10 * MINUTE, "10m"), (179 * MINUTE, "179m"), (3 * HOUR, "3h"),
        (3 * HOUR + MINUTE, "3h1m"), (8 * HOUR, "8h"), (47 * HOUR, "47h"), (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"), (8 * DAY, "8d"), (729 * DAY, "729d"), (730 * DAY, "2y"),
        (731 * DAY, "2y1d"), (3000 * DAY, "8y"),
    ],
)  # fmt: skip
def test_ages(seconds: float, text: str) -> None:
    assert human_duration(seconds) == text


RUNNING = {"name": "main", "ready": True, "state": {"running": {}}}


@pytest.mark.parametrize(
    "status, extra, shown",
    [
        ({"phase": "Pending"}, {}, "Pending"),
        ({"phase": "Running", "containerStatuses": [RUNNING]}, {}, "Running"),
        ({"phase": "Failed", "reason": "Evicted"}, {}, "Evicted"),
        ({"phase": "Running", "containerStatuses": [
            {"name": "main", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
         {}, "CrashLoopBackOff"),
        ({"phase": "Failed", "containerStatuses": [
            {"name": "main", "state": {"terminated": {"exitCode": 3}}}]}, {}, "ExitCode:3"),
        ({"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "state": {"terminated": {"exitCode": 0}}},
            {"name": "j", "state": {"running": {}}}]}, {}, "Init:1/2"),
        ({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "reason": "SchedulingGated"}]}, {}, "SchedulingGated"),
        ({"phase": "Running", "containerStatuses": [RUNNING]},
         {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "Terminating"),
    ],
)  # fmt: skip
def test_the_status_of_a_pod_in_one_word(status: Json, extra: Json, shown: str) -> None:
    spec = {"containers": [{"name": "main"}], "initContainers": [{"name": "i"}, {"name": "j"}]}
    assert row("Pod", {"metadata": extra, "spec": spec, "status": status})["Status"] == shown


def test_restarts_say_when() -> None:
    ended = {"terminated": {"finishedAt": "2025-12-31T23:59:00Z"}}
    entry = {"name": "main", "restartCount": 2, "lastState": ended}
    cells = row("Pod", {"spec": {}, "status": {"containerStatuses": [entry]}})
    assert cells["Restarts"] == "2 (60s ago)"


def test_finished_pods_are_marked() -> None:
    assert row_conditions({"status": {"phase": "Running"}}) == []
    assert row_conditions({"status": {"phase": "Failed"}})[0]["reason"] == "Failed"


@pytest.mark.parametrize(
    "spec, status, cells",
    [
        ({"completions": 3}, {}, {"Status": "Running", "Completions": "0/3", "Duration": ""}),
        ({"parallelism": 3}, {}, {"Completions": "0/1 of 3"}),
        ({"completions": 1},
         {"succeeded": 1, "startTime": "2025-12-31T22:00:00Z",
          "completionTime": "2025-12-31T23:02:00Z",
          "conditions": [{"type": "Complete", "status": "True"}]},
         {"Status": "Complete", "Completions": "1/1", "Duration": "62m"}),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, {"Status": "Suspended"}),
    ],
)  # fmt: skip
def test_jobs(spec: Json, status: Json, cells: Json) -> None:
    shown = row("Job", {"spec": spec, "status": status}, "batch")
    assert {key: shown[key] for key in cells} == cells


@pytest.mark.parametrize(
    "spec, conditions, shown",
    [
        ({}, [], "Unknown"),
        ({}, [{"type": "Ready", "status": "True"}], "Ready"),
        ({"unschedulable": True}, [{"type": "Ready", "status": "Unknown"}],
         "NotReady,SchedulingDisabled"),
    ],
)  # fmt: skip
def test_nodes(spec: Json, conditions: list[Json], shown: str) -> None:
    assert row("Node", {"spec": spec, "status": {"conditions": conditions}})["Status"] == shown


def test_roles_come_from_labels() -> None:
    labels = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "gpu"}
    assert row("Node", {"metadata": {"labels": labels}})["Roles"] == "gpu,worker"


def test_events_name_what_they_are_about() -> None:
    event = {
        "involvedObject": {"kind": "Pod", "name": "a"},
        "source": {"component": "kubelet", "host": "n1"},
        "lastTimestamp": "2025-12-31T23:59:50Z",
        "message": "hi ",
    }
    cells = row("Event", event)
    assert (cells["Object"], cells["Source"], cells["Last Seen"]) == ("pod/a", "kubelet, n1", "10s")
    assert (cells["Message"], cells["Count"]) == ("hi", 1)


def test_selectors_as_text() -> None:
    terms = [
        {"key": "b", "operator": "In", "values": ["y", "x"]},
        {"key": "c", "operator": "Exists"},
    ]
    selector = {"matchLabels": {"a": "1"}, "matchExpressions": terms}
    assert selector_text(selector) == "a=1,b in (x,y),c"
    assert selector_text(None) == "<none>"
