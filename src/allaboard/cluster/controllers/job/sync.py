"""What should happen to a Job now? One pure decision from the Job, its pods and the time.

The decision follows the Job controller of Kubernetes: ended pods are counted exactly once (by the
tracking finalizer and `uncountedTerminatedPods`), a Job that is over first says so in an interim
condition, loses its pods, and is Complete or Failed only when none is left.
"""

from collections.abc import Sequence

from allaboard.api.meta import Json
from allaboard.api.times import format_time, parse_time
from allaboard.clock import Instant
from allaboard.cluster.controllers.job import indexes, policies
from allaboard.cluster.controllers.job.backoff import Backoff
from allaboard.cluster.controllers.job.counting import count_ended
from allaboard.cluster.controllers.job.facts import PodFacts, restarts
from allaboard.cluster.controllers.job.making import make_pods
from allaboard.cluster.controllers.job.plan import (
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    Ending,
    JobPlan,
    Note,
    condition,
    find_condition,
    is_finished,
    with_condition,
)
from allaboard.cluster.controllers.job.sheet import Sheet
from allaboard.cluster.controllers.job.surplus import surplus

OURS = "kubernetes.io/job-controller"
MOST_PODS_PER_SYNC = 500

_BACKOFF_EXCEEDED = Ending(
    FAILURE_TARGET, "BackoffLimitExceeded", "Job has reached the specified backoff limit"
)
_DEADLINE_EXCEEDED = Ending(
    FAILURE_TARGET, "DeadlineExceeded", "Job was active longer than specified deadline"
)
_TOO_MANY_FAILED_INDEXES = Ending(
    FAILURE_TARGET,
    "MaxFailedIndexesExceeded",
    "Job has exceeded the specified maximal number of failed indexes",
)
_FAILED_INDEXES = Ending(FAILURE_TARGET, "FailedIndexes", "Job has failed indexes")
_COMPLETIONS_REACHED = Ending(
    SUCCESS_CRITERIA_MET, "CompletionsReached", "Reached expected number of succeeded pods"
)
_JOB_SUSPENDED = Ending(SUSPENDED, "JobSuspended", "Job suspended")
_JOB_RESUMED = Ending(SUSPENDED, "JobResumed", "Job resumed")


def is_ours(job: Json) -> bool:
    return job["spec"].get("managedBy") in (None, OURS)


def sync(job: Json, pods: Sequence[PodFacts], now: Instant, backoff: Backoff) -> JobPlan | None:
    """The plan for this Job; None if it is finished or somebody else's.

    `pods` are those the Job controls. `backoff` is what the last plan for it said.
    """
    if not is_ours(job) or is_finished(job):
        return None
    sheet = Sheet(job, pods, now)
    plan = JobPlan(status=dict(job.get("status") or {}), backoff=backoff)
    plan.status.setdefault("uncountedTerminatedPods", {})
    plan.backoff = backoff.after(sheet.new_succeeded, sheet.new_failed)
    if not plan.status.get("startTime") and not sheet.suspended:
        plan.status["startTime"] = format_time(now)
    sheet.ending = _ending(sheet, plan)
    if sheet.ending:
        plan.delete = sheet.active_pods
        _forget_deleted(sheet, plan)
    else:
        _manage(sheet, plan)
    plan.write_status |= _set_counts(sheet, plan.status)
    count_ended(sheet, plan)
    return plan


def _ending(sheet: Sheet, plan: JobPlan) -> Ending | None:
    """Why the Job is over although pods may be running; None while it goes on."""
    if met := find_condition(sheet.job, SUCCESS_CRITERIA_MET):
        return Ending(SUCCESS_CRITERIA_MET, met["reason"], met["message"])
    if target := find_condition(sheet.job, FAILURE_TARGET):
        return Ending(FAILED, target["reason"], target["message"])
    if message := _fail_job_message(sheet):
        return Ending(FAILURE_TARGET, "PodFailurePolicy", message)
    if sheet.failed > sheet.spec.get("backoffLimit", 6) or _restarted_too_often(sheet):
        return _BACKOFF_EXCEEDED
    deadline_in = _seconds_to_deadline(sheet, plan)
    if deadline_in is not None:
        if deadline_in <= 0:
            return _DEADLINE_EXCEEDED
        plan.wake(deadline_in)
    return _ending_by_index(sheet)


def _ending_by_index(sheet: Sheet) -> Ending | None:
    if not sheet.indexed:
        return None
    completions = sheet.spec["completions"]
    if sheet.per_index:
        failed = indexes.total(sheet.failed_indexes)
        most = sheet.spec.get("maxFailedIndexes")
        if most is not None and failed > most:
            return _TOO_MANY_FAILED_INDEXES
        if failed and failed + indexes.total(sheet.succeeded_indexes) >= completions:
            return _FAILED_INDEXES
    message = policies.success_message(
        sheet.spec.get("successPolicy"), sheet.succeeded_indexes, completions
    )
    return Ending(SUCCESS_CRITERIA_MET, "SuccessPolicy", message) if message else None


def _fail_job_message(sheet: Sheet) -> str:
    policy = sheet.spec.get("podFailurePolicy")
    if not policy:
        return ""
    verdicts = (policies.judge_failure(policy, p) for p in sheet.pods if sheet.has_failed(p))
    return next((verdict.message for verdict in verdicts if verdict.message), "")


def _restarted_too_often(sheet: Sheet) -> bool:
    """With restartPolicy OnFailure the kubelet retries, and its restarts count as failures."""
    if sheet.spec["template"]["spec"].get("restartPolicy") != "OnFailure":
        return False
    count = sum(restarts(p) for p in sheet.pods if p.phase in ("Running", "Pending"))
    return bool(count >= max(1, sheet.spec.get("backoffLimit", 6)))


def _seconds_to_deadline(sheet: Sheet, plan: JobPlan) -> float | None:
    limit, start = sheet.spec.get("activeDeadlineSeconds"), plan.status.get("startTime")
    if limit is None or start is None or sheet.suspended:
        return None
    return float(parse_time(start) + limit - sheet.now)


def _manage(sheet: Sheet, plan: JobPlan) -> None:
    """Bring the number of running pods to what is wanted, or see that the Job is complete."""
    in_charge = not sheet.job["metadata"].get("deletionTimestamp")
    if in_charge:
        _start_or_stop_pods(sheet, plan)
    completions = sheet.spec.get("completions")
    enough = sheet.succeeded > 0 if completions is None else sheet.succeeded >= completions
    if enough and sheet.active == 0:
        sheet.ending = _COMPLETIONS_REACHED
    elif in_charge:
        _say_whether_suspended(sheet, plan)


def _say_whether_suspended(sheet: Sheet, plan: JobPlan) -> None:
    old = plan.status.get("conditions") or []
    state, status = (_JOB_SUSPENDED, "True") if sheet.suspended else (_JOB_RESUMED, "False")
    new = with_condition(old, condition(SUSPENDED, state, sheet.now, status))
    if new is old:
        return
    plan.status["conditions"] = new
    plan.write_status = True
    # The deadline counts from the latest resumption.
    if sheet.suspended:
        plan.status.pop("startTime", None)
        plan.notes.append(Note("Normal", "Suspended", "Job suspended"))
    else:
        plan.status["startTime"] = format_time(sheet.now)
        plan.notes.append(Note("Normal", "Resumed", "Job resumed"))


def _start_or_stop_pods(sheet: Sheet, plan: JobPlan) -> None:
    wanted = 0 if sheet.suspended else _wanted_active(sheet)
    unwanted = surplus(sheet, max(0, sheet.active - wanted))
    if unwanted or sheet.suspended:
        plan.delete = unwanted if sheet.suspended else unwanted[:MOST_PODS_PER_SYNC]
        plan.delete_uncounted = True
        _forget_deleted(sheet, plan)
        return
    missing = wanted - sheet.active
    if sheet.replace_only_ended:
        missing -= sheet.terminating
    if missing <= 0:
        return
    if not sheet.per_index and (delay := plan.backoff.remaining_s(sheet.now)) > 0:
        plan.wake(delay)
        return
    plan.create, delay = make_pods(sheet, min(missing, MOST_PODS_PER_SYNC))
    if delay > 0:
        plan.wake(delay)
    sheet.active += len(plan.create)


def _wanted_active(sheet: Sheet) -> int:
    parallelism: int = sheet.spec.get("parallelism", 1)
    completions: int | None = sheet.spec.get("completions")
    if completions is None:
        # A work queue: one success means that the work is done, and the others wind down.
        return sheet.active if sheet.succeeded > 0 else parallelism
    return max(0, min(parallelism, completions - sheet.succeeded))


def _forget_deleted(sheet: Sheet, plan: JobPlan) -> None:
    sheet.active -= len(plan.delete)
    sheet.terminating += len(plan.delete)
    sheet.ready -= sum(pod.ready for pod in plan.delete)


def _set_counts(sheet: Sheet, status: Json) -> bool:
    changed: bool = (
        status.get("active", 0) != sheet.active
        or status.get("ready") != sheet.ready
        or status.get("terminating") != sheet.terminating
    )
    status["active"] = sheet.active
    status["ready"] = sheet.ready
    status["terminating"] = sheet.terminating
    return changed
