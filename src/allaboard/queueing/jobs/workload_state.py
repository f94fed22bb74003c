"""What do a Workload's conditions say, and what shall they say next? Pure.

A change of conditions is a whole new list, sent with the resourceVersion it was computed from.
"""

from collections.abc import Sequence
from typing import Literal

from allaboard.api.kueue import reasons
from allaboard.api.meta import Json
from allaboard.api.times import parse_time
from allaboard.clock import Instant
from allaboard.queueing.conditions import Say, changed, says

NO_RESERVATION_MESSAGE = "The workload has no reservation"
DEACTIVATED_MESSAGE = "The workload is deactivated"
NOT_READY = "Not all pods are ready or succeeded"
READY = "All pods reached readiness and the workload is running"
RECOVERING = "At least one pod has failed, waiting for recovery"

# These come back at once; whoever evicted for another reason says when.
_REQUEUED_AT_ONCE = (reasons.PREEMPTED, reasons.NODE_FAILURES, reasons.FLAVOR_FALLBACK)


def _status(holds: bool) -> Literal["True", "False"]:
    return "True" if holds else "False"


def find(workload: Json, type_: str) -> Json | None:
    for condition in (workload.get("status") or {}).get("conditions") or ():
        if condition.get("type") == type_:
            return dict(condition)
    return None


def is_true(workload: Json, type_: str) -> bool:
    condition = find(workload, type_)
    return condition is not None and condition.get("status") == "True"


def is_reserved(workload: Json) -> bool:
    return is_true(workload, reasons.QUOTA_RESERVED)


def is_admitted(workload: Json) -> bool:
    return is_true(workload, reasons.ADMITTED)


def is_evicted(workload: Json) -> bool:
    return is_true(workload, reasons.EVICTED)


def is_finished(workload: Json) -> bool:
    return is_true(workload, reasons.FINISHED)


def with_conditions(workload: Json, wanted: Sequence[Say], now: Instant) -> list[Json] | None:
    """The conditions with these said; None if they say so already."""
    before = (workload.get("status") or {}).get("conditions") or ()
    if all(says(before, say) for say in wanted):
        return None
    return changed(before, wanted, now, workload["metadata"].get("generation") or 0)


def pods_ready(workload: Json, ready: bool) -> Say:
    """What PodsReady says. (Reference §2.1.)"""
    was = find(workload, reasons.PODS_READY) or {}
    recovering = was.get("reason") == reasons.WAIT_FOR_RECOVERY
    if not is_admitted(workload):
        return Say(reasons.PODS_READY, "False", reasons.WAIT_FOR_START, NOT_READY)
    if ready:
        again = recovering or was.get("reason") == reasons.RECOVERED
        return Say(
            reasons.PODS_READY, "True", reasons.RECOVERED if again else reasons.STARTED, READY
        )
    if was.get("status") == "True" or recovering:
        return Say(reasons.PODS_READY, "False", reasons.WAIT_FOR_RECOVERY, RECOVERING)
    return Say(reasons.PODS_READY, "False", reasons.WAIT_FOR_START, NOT_READY)


def release(
    workload: Json, now: Instant, also: Sequence[Say] = (), *, track_pods_ready: bool = False
) -> Json:
    """The status patch that gives an evicted workload's quota back. (Reference §§2.3, 2.5, 2.8.)"""
    evicted = find(workload, reasons.EVICTED) or {}
    reason, message = str(evicted.get("reason") or ""), str(evicted.get("message") or "")
    told = [
        Say(reasons.REQUEUED, _status(reason in _REQUEUED_AT_ONCE), reason, message),
        _unreserved(reason, message),
        *also,
    ]
    if find(workload, reasons.ADMITTED) is not None:
        no_reservation = reasons.NO_RESERVATION
        told.append(Say(reasons.ADMITTED, "False", no_reservation, NO_RESERVATION_MESSAGE))
    if track_pods_ready and find(workload, reasons.PODS_READY) is not None:
        told.append(Say(reasons.PODS_READY, "False", reasons.WAIT_FOR_START, NOT_READY))
    status: Json = {"conditions": with_conditions(workload, told, now), "admission": None}
    if workload["spec"].get("maximumExecutionTimeSeconds") is not None:
        status["accumulatedPastExecutionTimeSeconds"] = _executed_s(workload, now)
    return status


def _unreserved(reason: str, message: str) -> Say:
    if reasons.is_deactivation(reason):
        return Say(reasons.QUOTA_RESERVED, "False", reasons.DEACTIVATED, DEACTIVATED_MESSAGE)
    return Say(reasons.QUOTA_RESERVED, "False", reasons.PENDING_EVALUATION, message)


def _executed_s(workload: Json, now: Instant) -> int:
    """Seconds it was admitted, with this time."""
    past = int((workload.get("status") or {}).get("accumulatedPastExecutionTimeSeconds") or 0)
    admitted = find(workload, reasons.ADMITTED)
    if admitted is None or admitted.get("status") != "True":
        return past
    return past + max(0, int(now - parse_time(admitted["lastTransitionTime"])))
