"""What is a decision about a Job made of?

A `JobPlan` is carried out in this order, so that nothing is lost between two steps: pods are made
or deleted, the status is written (it names the ended pods that are about to be counted), their
tracking finalizers are removed, and `settle` says what the status becomes once that is done.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.clock import Instant
from allaboard.cluster.controllers.job.backoff import Backoff
from allaboard.cluster.controllers.job.facts import PodFacts

COMPLETE, FAILED, SUSPENDED = "Complete", "Failed", "Suspended"
FAILURE_TARGET, SUCCESS_CRITERIA_MET = "FailureTarget", "SuccessCriteriaMet"


class Note(NamedTuple):
    """An Event to record about the Job."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


class Ending(NamedTuple):
    """Why the Job is over; `type` is the condition that says so."""

    type: str
    reason: str
    message: str

    @property
    def is_success(self) -> bool:
        return self.type in (SUCCESS_CRITERIA_MET, COMPLETE)


@dataclass(slots=True)
class JobPlan:
    status: Json
    backoff: Backoff
    create: list[Json] = field(default_factory=list)
    delete: list[PodFacts] = field(default_factory=list)
    # Whether the deleted pods lose the finalizer first: they are surplus and count as nothing.
    delete_uncounted: bool = False
    write_status: bool = False
    release: list[PodFacts] = field(default_factory=list)
    tracked: set[str] = field(default_factory=set)  # pods whose end still has to be counted
    ending: Ending | None = None  # the condition to set when nothing is left to count or to stop
    notes: list[Note] = field(default_factory=list)
    wake_after_s: float | None = None

    def wake(self, after_s: float) -> None:
        if self.wake_after_s is None or after_s < self.wake_after_s:
            self.wake_after_s = after_s


def settle(plan: JobPlan, released: set[str], now: Instant) -> tuple[Json | None, list[Note]]:
    """The status after the finalizers of `released` are gone, or None if it stays as written."""
    status = dict(plan.status)
    changed = count_untracked(status, plan.tracked - released)
    notes: list[Note] = []
    ending = plan.ending
    if ending and not _uncounted(status) and not status.get("terminating"):
        changed = True
        status["conditions"] = with_condition(
            status.get("conditions") or [], condition(ending.type, ending, now)
        )
        if ending.is_success:
            status["completionTime"] = format_time(now)
        notes.append(_finished(ending))
    return (status if changed else None), notes


def _finished(ending: Ending) -> Note:
    if ending.is_success:
        return Note("Normal", "Completed", "Job completed")
    return Note("Warning", ending.reason, ending.message)


def _uncounted(status: Json) -> bool:
    pending = status.get("uncountedTerminatedPods") or {}
    return bool(pending.get("succeeded") or pending.get("failed"))


def count_untracked(status: Json, tracked: set[str]) -> bool:
    """Move ended pods that lost their finalizer from the waiting lists into the counters."""
    pending = status.get("uncountedTerminatedPods") or {}
    if not pending:
        return False
    left: Json = {}
    moved = False
    for outcome in ("succeeded", "failed"):
        uids = pending.get(outcome) or []
        kept = [uid for uid in uids if uid in tracked]
        if len(kept) != len(uids):
            moved = True
            status[outcome] = status.get(outcome, 0) + len(uids) - len(kept)
        if kept:
            left[outcome] = kept
    status["uncountedTerminatedPods"] = left
    return moved


def condition(type_: str, ending: Ending, now: Instant, status: str = "True") -> Json:
    stamp = format_time(now)
    return {
        "type": type_,
        "status": status,
        "lastProbeTime": stamp,
        "lastTransitionTime": stamp,
        "reason": ending.reason,
        "message": ending.message,
    }


def find_condition(job: Json, type_: str) -> Json | None:
    for found in (job.get("status") or {}).get("conditions") or ():
        if found.get("type") == type_ and found.get("status") == "True":
            return dict(found)
    return None


def with_condition(conditions: list[Json], new: Json) -> list[Json]:
    """`conditions` with `new` in it; the same list when it already says so.

    A condition that is absent does not need to be denied.
    """
    for position, old in enumerate(conditions):
        if old.get("type") == new["type"]:
            if all(old.get(k) == new[k] for k in ("status", "reason", "message")):
                return conditions
            return [*conditions[:position], new, *conditions[position + 1 :]]
    return conditions if new["status"] == "False" else [*conditions, new]


def is_finished(job: Json) -> bool:
    return bool(find_condition(job, COMPLETE) or find_condition(job, FAILED))
