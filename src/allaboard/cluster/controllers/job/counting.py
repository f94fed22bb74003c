"""Which ended pods are counted by this decision, and which may lose their finalizer?

At most 500 pods are taken in at a time: their UIDs have to fit into the status.
"""

from allaboard.api.meta import Json
from allaboard.cluster.controllers.job import indexes, policies
from allaboard.cluster.controllers.job.facts import PodFacts
from allaboard.cluster.controllers.job.plan import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    Ending,
    JobPlan,
    condition,
    count_untracked,
    find_condition,
)
from allaboard.cluster.controllers.job.sheet import Sheet

MOST_UNCOUNTED = 500


def count_ended(sheet: Sheet, plan: JobPlan) -> None:
    plan.tracked = {pod.uid for pod in sheet.pods if pod.tracked}
    if plan.delete_uncounted:  # these lose their finalizer on the way
        plan.tracked.difference_update(pod.uid for pod in plan.delete)
    status = plan.status
    plan.write_status |= count_untracked(status, plan.tracked)
    complete = _take_in(sheet, plan)
    if sheet.indexed:
        plan.write_status |= _write_indexes(sheet, status)
    _drop_zeros(status)
    if sheet.ending:
        _say_that_it_ends(sheet, plan, complete)


def _take_in(sheet: Sheet, plan: JobPlan) -> bool:
    """Collect what ended; False when there was too much of it for one status."""
    pending = plan.status["uncountedTerminatedPods"]
    succeeded, failed = list(pending.get("succeeded") or ()), list(pending.get("failed") or ())
    before = len(succeeded) + len(failed)
    new_indexes: list[int] = []
    pods = sorted(sheet.pods, key=lambda pod: pod.index) if sheet.indexed else sheet.pods
    everything = True
    for pod in pods:
        if pod.uid not in plan.tracked:
            continue
        considered_failed = sheet.has_failed(pod)
        if not _may_release(sheet, pod, considered_failed):
            continue
        plan.release.append(pod)
        if pod.succeeded and pod.uid not in sheet.uncounted_failed:
            if not sheet.indexed:
                if pod.uid not in sheet.uncounted_succeeded:
                    succeeded.append(pod.uid)
            elif sheet.counts(pod) and not indexes.contains(sheet.old_succeeded_indexes, pod.index):
                new_indexes.append(pod.index)
        elif _counts_as_failed(sheet, pod, considered_failed):
            failed.append(pod.uid)
        if len(new_indexes) + len(succeeded) + len(failed) >= MOST_UNCOUNTED:
            everything = False
            break
    if sheet.indexed:
        sheet.succeeded_indexes = indexes.with_members(sheet.old_succeeded_indexes, new_indexes)
    plan.write_status |= len(succeeded) + len(failed) != before or bool(new_indexes)
    uncounted: Json = {"succeeded": succeeded, "failed": failed}
    plan.status["uncountedTerminatedPods"] = {k: v for k, v in uncounted.items() if v}
    return everything


def _may_release(sheet: Sheet, pod: PodFacts, considered_failed: bool) -> bool:
    if sheet.ending or pod.succeeded or sheet.job["metadata"].get("deletionTimestamp"):
        return True
    return considered_failed and sheet.kept.get(pod.index) is not pod


def _counts_as_failed(sheet: Sheet, pod: PodFacts, considered_failed: bool) -> bool:
    # When the whole Job fails, whatever has not ended by itself fails with it.
    lost = sheet.ending is not None and not sheet.ending.is_success
    if not (considered_failed or lost) or pod.succeeded:
        return False
    if pod.uid in sheet.uncounted_failed or not sheet.counts(pod):
        return False
    return policies.judge_failure(sheet.policy, pod).counted


def _write_indexes(sheet: Sheet, status: Json) -> bool:
    completed = indexes.text_of(sheet.succeeded_indexes)
    changed: bool = completed != status.get("completedIndexes", "")
    status["completedIndexes"] = completed
    status["succeeded"] = indexes.total(sheet.succeeded_indexes)
    if sheet.per_index:
        failed = indexes.text_of(sheet.failed_indexes)
        changed |= failed != status.get("failedIndexes")
        status["failedIndexes"] = failed
    return changed


def _drop_zeros(status: Json) -> None:
    """Counters that are nought are left out, as an API server leaves them out."""
    for name in ("active", "succeeded", "failed", "completedIndexes", "conditions"):
        if name in status and not status[name]:
            del status[name]


def _say_that_it_ends(sheet: Sheet, plan: JobPlan, complete: bool) -> None:
    """Put the interim condition into the status that is written before finalizers go."""
    ending = sheet.ending
    assert ending is not None
    interim = ending.type in (FAILURE_TARGET, SUCCESS_CRITERIA_MET)
    if interim and not find_condition(sheet.job, ending.type):
        said = condition(ending.type, ending, sheet.now)
        plan.status["conditions"] = [*(plan.status.get("conditions") or ()), said]
        plan.write_status = True
    final = COMPLETE if ending.is_success else FAILED
    if complete:
        plan.ending = Ending(final, ending.reason, ending.message)
