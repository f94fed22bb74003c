"""Taking a workload out of its queue and putting it back: who sets what, and once."""

from typing import Any

import pytest

from allaboard.queueing.activation import activation_patch


def workload(active: bool, *conditions: tuple[str, str, str], **status: Any) -> dict[str, Any]:
    listed = [
        {"type": t, "status": s, "reason": r, "message": "words", "lastTransitionTime": "x"}
        for t, s, r in conditions
    ]
    return {
        "metadata": {"uid": "u", "resourceVersion": "7", "generation": 2},
        "spec": {"active": active},
        "status": {"conditions": listed, **status},
    }


RUNS = ("QuotaReserved", "True", "QuotaReserved")
LIMIT = ("DeactivationTarget", "True", "RequeuingLimitExceeded")


def told(patch: dict[str, Any] | None, type_: str) -> tuple[str, str, str] | None:
    for c in (patch or {"status": {"conditions": []}})["status"]["conditions"]:
        if c["type"] == type_:
            return c["status"], c["reason"], c["message"]
    return None


def test_a_running_workload_is_evicted() -> None:
    patch = activation_patch(workload(False, RUNS), now=0.0)
    assert told(patch, "Evicted") == ("True", "Deactivated", "The workload is deactivated")
    assert patch is not None and "requeueState" not in patch["status"]


def test_a_limit_names_itself_and_clears_the_backoff() -> None:
    patch = activation_patch(workload(False, RUNS, LIMIT, requeueState={"count": 3}), now=0.0)
    assert told(patch, "Evicted") == (
        "True",
        "DeactivatedDueToRequeuingLimitExceeded",
        "The workload is deactivated due to words",
    )
    assert told(patch, "DeactivationTarget") is None
    assert patch is not None and patch["status"]["requeueState"] is None


def test_a_waiting_workload_is_closed() -> None:
    patch = activation_patch(workload(False), now=0.0)
    assert told(patch, "QuotaReserved") == ("False", "Deactivated", "The workload is deactivated")


@pytest.mark.parametrize("reason", ["Deactivated", "DeactivatedDueToRequeuingLimitExceeded",
                                    "DeactivatedDueToAdmissionCheck"])  # fmt: skip
def test_reactivation_works_whatever_the_cause_was(reason: str) -> None:
    closed = workload(True, ("Requeued", "False", reason), requeueState={"count": 3})
    patch = activation_patch(closed, now=0.0)
    assert told(patch, "Requeued") == ("True", "Reactivated", "The workload was reactivated")
    assert patch is not None and patch["status"]["requeueState"] is None


@pytest.mark.parametrize(
    "quiet",
    [
        pytest.param(workload(True, RUNS), id="an active one that runs"),
        pytest.param(
            workload(False, RUNS, ("Evicted", "True", "Deactivated")), id="on its way out"
        ),
        pytest.param(workload(False, ("Finished", "True", "Succeeded")), id="a finished one"),
        pytest.param(workload(True, ("Requeued", "False", "PodsReadyTimeout")), id="in backoff"),
    ],
)
def test_nothing_is_written_where_nothing_is_to_say(quiet: dict[str, Any]) -> None:
    assert activation_patch(quiet, now=0.0) is None


def test_a_patch_is_said_only_once() -> None:
    first = workload(False)
    patch = activation_patch(first, now=0.0)
    assert patch is not None
    first["status"]["conditions"] = patch["status"]["conditions"]
    assert activation_patch(first, now=5.0) is None
