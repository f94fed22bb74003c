"""What a decision writes into a Workload: one merge patch each. Pure.

A patch names the resourceVersion it was computed from, so that it changes exactly the object the
core decided about, and it carries whole lists, since a merge patch cannot change a member. None
means that the object says so already.
"""

from collections.abc import Sequence
from math import ceil

from allaboard.api.kueue import reasons
from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.clock import Instant
from allaboard.core.cycle import checks_for
from allaboard.core.decisions import (
    Admit,
    CheckRetry,
    Deactivate,
    Evict,
    EvictionCause,
    Park,
    Preempted,
    QueueStopped,
    Reserve,
    Resume,
)
from allaboard.core.values import ClusterQueue
from allaboard.queueing import messages
from allaboard.queueing.conditions import Say, changed, find, says
from allaboard.queueing.translate import admission

ADMITTED = Say(reasons.ADMITTED, "True", reasons.ADMITTED, messages.ADMITTED)


def reservation_patch(obj: Json, decision: Reserve, queue: ClusterQueue, now: Instant) -> Json:
    assignment = decision.assignment
    told = messages.reserved(assignment.cluster_queue)
    wanted = [Say(reasons.QUOTA_RESERVED, "True", reasons.QUOTA_RESERVED, told)]
    wanted += [ADMITTED] if decision.admitted else []
    wanted += _no_longer(obj, reasons.EVICTED) + _no_longer(obj, reasons.PREEMPTED)
    status: Json = {
        "conditions": _conditions(obj, wanted, now),
        "admission": admission(assignment),
        "resourceRequests": None,
        "preemptionHold": None,
    }
    checks = [check.name for check in checks_for(queue, assignment)]
    if checks:
        status["admissionChecks"] = _pending_checks(obj, checks, now)
    return _patch(obj, status)


def admission_patch(obj: Json, decision: Admit, now: Instant) -> Json:
    return _patch(obj, {"conditions": _conditions(obj, [ADMITTED], now)})


def pending_patch(obj: Json, decision: Park, now: Instant) -> Json | None:
    found = decision.reasons
    say = Say(
        reasons.QUOTA_RESERVED, "False", messages.pending_reason(found), messages.pending(found)
    )
    hold = (obj.get("status") or {}).get("preemptionHold")
    wanted = _hold(decision, hold, now)
    if says(_current(obj), say) and wanted == hold:
        return None
    status: Json = {"conditions": _conditions(obj, [say], now)}
    if wanted != hold:
        status["preemptionHold"] = wanted
    return _patch(obj, status)


def _hold(decision: Park, current: Json | None, now: Instant) -> Json | None:
    """What it preempted for and keeps; a restarted controller reads it from here."""
    if decision.hold is None:
        return None
    since = (current or {}).get("since") or format_time(now)
    return {**admission(decision.hold), "since": since}


def eviction_patch(obj: Json, decision: Evict, paths: tuple[str, str], now: Instant) -> Json:
    """Phase one: it is told to go. Its quota comes back when its pods are gone."""
    reason, message = _eviction_words(decision.cause, paths)
    wanted = [Say(reasons.EVICTED, "True", reason, message)]
    if isinstance(decision.cause, Preempted):
        because = decision.cause.because.value
        wanted.append(Say(reasons.PREEMPTED, "True", because, message))
    status: Json = {"conditions": _conditions(obj, wanted, now)}
    checks = (obj.get("status") or {}).get("admissionChecks") or []
    if checks:
        status["admissionChecks"] = [_reset_check(check, now) for check in checks]
        pauses = [int(c.get("requeueAfterSeconds") or 0) for c in checks if c["state"] == "Retry"]
        if any(pauses):
            status["requeueState"] = {"requeueAt": format_time(ceil(now + max(pauses)))}
    status["schedulingStats"] = {"evictions": _counted(obj, reason)}
    return _patch(obj, status)


def deactivation_patches(obj: Json, decision: Deactivate, now: Instant) -> tuple[Json, Json]:
    """The status that says why, and the spec that takes it out of its queue."""
    if decision.cause == reasons.MAXIMUM_EXECUTION_TIME_EXCEEDED:
        words = "exceeding the maximum execution time"
    else:
        words = f"Admission check(s): {','.join(_rejected(obj))}, were rejected"
    target = Say(reasons.DEACTIVATION_TARGET, "True", decision.cause, words)
    return _patch(obj, {"conditions": _conditions(obj, [target], now)}), {"spec": {"active": False}}


def release_patch(obj: Json, now: Instant) -> Json:
    """Phase two: nothing of it runs, so its quota goes back."""
    told = messages.NO_RESERVATION
    wanted = [
        Say(reasons.QUOTA_RESERVED, "False", reasons.PENDING_EVALUATION, told),
        Say(reasons.ADMITTED, "False", reasons.NO_RESERVATION, told),
    ]
    return _patch(obj, {"conditions": _conditions(obj, wanted, now), "admission": None})


def resumption_patch(obj: Json, decision: Resume, now: Instant) -> Json:
    told = messages.RESUMED[decision.because]
    wanted = Say(reasons.REQUEUED, "True", decision.because, told)
    status: Json = {"conditions": _conditions(obj, [wanted], now)}
    if (obj.get("status") or {}).get("requeueState"):
        status["requeueState"] = {"requeueAt": None}
    return _patch(obj, status)


def _rejected(obj: Json) -> list[str]:
    checks = (obj.get("status") or {}).get("admissionChecks") or []
    return sorted(str(c["name"]) for c in checks if c.get("state") == "Rejected")


def _patch(obj: Json, status: Json) -> Json:
    version = obj["metadata"]["resourceVersion"]
    return {
        "metadata": {"resourceVersion": version, "uid": obj["metadata"]["uid"]},
        "status": status,
    }


def _current(obj: Json) -> Sequence[Json]:
    return (obj.get("status") or {}).get("conditions") or []


def _conditions(obj: Json, wanted: Sequence[Say], now: Instant) -> list[Json]:
    return changed(_current(obj), wanted, now, int(obj["metadata"].get("generation") or 0))


def _no_longer(obj: Json, type_: str) -> list[Say]:
    """A reservation ends what an eviction began, and remembers its words."""
    old = find(_current(obj), type_)
    if old is None or old.get("status") != "True":
        return []
    return [Say(type_, "False", reasons.QUOTA_RESERVED, f"Previously: {old.get('message', '')}")]


def _pending_checks(obj: Json, names: Sequence[str], now: Instant) -> list[Json]:
    known = {c["name"]: c for c in (obj.get("status") or {}).get("admissionChecks") or []}
    fresh = {"state": "Pending", "lastTransitionTime": format_time(now), "message": ""}
    return [known.get(name) or {"name": name, **fresh} for name in names]


def _reset_check(check: Json, now: Instant) -> Json:
    if check.get("state") == "Pending":
        return check
    kept = {k: v for k, v in check.items() if k in ("name", "retryCount", "requeueAfterSeconds")}
    if check.get("state") == "Retry":
        kept["retryCount"] = int(check.get("retryCount") or 0) + 1
    before = check.get("state")
    message = f"Reset to Pending after eviction. Previously: {before}"
    return {**kept, "state": "Pending", "message": message, "lastTransitionTime": format_time(now)}


def _eviction_words(cause: EvictionCause, paths: tuple[str, str]) -> tuple[str, str]:
    match cause:
        case Preempted(by_uid, by_job_uid, because):
            return reasons.PREEMPTED, messages.preempted(by_uid, by_job_uid, because, paths)
        case QueueStopped(is_local):
            what = "LocalQueue" if is_local else "ClusterQueue"
            reason = reasons.LOCAL_QUEUE_STOPPED if is_local else reasons.CLUSTER_QUEUE_STOPPED
            return reason, f"The {what} is stopped"
        case CheckRetry():
            return reasons.ADMISSION_CHECK, "At least one admission check is false"


def _counted(obj: Json, reason: str, cause: str = "") -> list[Json]:
    stats = ((obj.get("status") or {}).get("schedulingStats") or {}).get("evictions") or []
    counts = {(s["reason"], s.get("underlyingCause", "")): int(s["count"]) for s in stats}
    counts[reason, cause] = counts.get((reason, cause), 0) + 1
    return [{"reason": r, "underlyingCause": c, "count": n} for (r, c), n in counts.items()]
