"""What is to be done about a job and its Workload now? One pure decision.

In: the job, the Workloads that are its own by UID, and what the cluster says. Out: at most one
write per object, and what to tell people. Every state that a crash between two writes can leave is
a state that this function is made for, so whoever carries the plan out may stop anywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from allaboard.api.kueue import names, reasons
from allaboard.api.kueue.types import ResourceFlavor, Workload, WorkloadPriorityClass
from allaboard.api.meta import Json, Kind, key_of
from allaboard.clock import Instant
from allaboard.queueing.conditions import Say, without
from allaboard.queueing.jobs import workload_state as state
from allaboard.queueing.jobs.adapter import (
    Create,
    Delete,
    Finish,
    JobAdapter,
    Patch,
    PodSetConflict,
    Subject,
    Write,
    is_deleting,
)
from allaboard.queueing.jobs.injection import FlavorMissing, pod_set_infos
from allaboard.queueing.jobs.workload_for import (
    Context,
    PriorityClassMissing,
    build,
    drift,
    reserved_drift,
)

OUT_OF_SYNC = "The prebuilt workload is out of sync with its user job"
MISSING = "Missing Workload; unable to restore pod templates"
NOT_MATCHING = "No matching Workload; restoring pod templates according to existent Workload"
NOT_ADMITTED = "Not admitted by cluster queue"
WORKLOAD_DELETED = "Workload is deleted"


class Note(NamedTuple):
    """An Event about the job."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Writes, then events; and whose coming would change the decision, if somebody is missed.

    `if_invalid` is what to do instead when the server says that a write can never be right.
    """

    writes: Sequence[Write] = ()
    notes: Sequence[Note] = ()
    waits_for: str = ""  # as `awaited` names it
    if_invalid: Callable[[str], "Plan"] | None = None


def awaited(kind: Kind, name: str, namespace: str = "") -> str:
    """The name under which an object that is missed, or in the way, is waited for."""
    return f"{kind.kind}/{namespace}/{name}"


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything the decision depends on."""

    adapter: JobAdapter
    subject: Subject
    workloads: Sequence[Json]  # owned by the job's UID, the oldest first
    context: Context
    now: Instant
    pods_ready: bool = False
    prebuilt: str = ""  # name of a Workload that somebody else made for this job

    @property
    def is_deleting(self) -> bool:
        return all(is_deleting(obj) for obj in self.subject.objects)


def decide(facts: Facts) -> Plan:
    adapter, subject = facts.adapter, facts.subject
    workload = _chosen(facts)
    extra = [w for w in facts.workloads if w is not workload]
    if extra:
        return _without_extra(facts, extra)
    tidying = adapter.tidy(subject, workload)
    if tidying:
        return Plan(tidying)
    finish = adapter.finish(subject)
    if workload is None:
        return _without_workload(facts, finish)
    if is_deleting(workload):
        return _leaving(facts, workload, finish)
    if state.is_finished(workload):
        return _over(facts, workload, finish)
    if finish is not None:
        return _finished(facts, workload, finish)
    if state.is_evicted(workload) and state.is_reserved(workload):
        return _evicted(facts, workload)
    told = _told_missing(facts, workload)
    if told is not None or facts.is_deleting:
        return told or Plan()
    if state.is_reserved(workload) or state.is_admitted(workload):
        return _reserved(facts, workload)
    return _pending(facts, workload)


def _chosen(facts: Facts) -> Json | None:
    """The Workload that counts: one that holds quota, else the oldest that stays."""
    if not facts.workloads:
        return None
    return min(
        facts.workloads,
        key=lambda w: (state.is_finished(w), not state.is_reserved(w), is_deleting(w)),
    )


def _without_extra(facts: Facts, extra: Sequence[Json]) -> Plan:
    writes: list[Write] = []
    for workload in extra:
        if is_deleting(workload):
            writes += let_go(workload)
        else:
            writes.append(Delete(Workload.KIND, workload))
    told = [_deleted(w.target) for w in writes if isinstance(w, Delete)]
    return Plan(writes, told)


def _without_workload(facts: Facts, finish: Finish | None) -> Plan:
    adapter, subject = facts.adapter, facts.subject
    if finish is not None or facts.is_deleting:
        return Plan()
    if adapter.is_running(subject):
        stopping = adapter.stop(subject, None)
        return Plan(stopping, [Note("Normal", "Stopped", MISSING)] if stopping else ())
    if adapter.is_active(subject) or facts.prebuilt:
        return Plan()
    problem = adapter.incomplete(subject)
    if problem is not None:
        return Plan((), [Note("Warning", "ErrWorkloadCompose", problem)] if problem else ())
    try:
        workload = build(adapter, subject, facts.context)
    except PriorityClassMissing as missing:
        return _class_missing(missing)
    told = Note("Normal", "CreatedWorkload", f"Created Workload: {key_of(workload)}")
    return Plan([Create(Workload.KIND, workload)], [told], if_invalid=_not_composed)


def _not_composed(problem: str) -> Plan:
    """Until the job is changed there is nothing to try again."""
    return Plan((), [Note("Warning", "ErrWorkloadCompose", problem)])


def _leaving(facts: Facts, workload: Json, finish: Finish | None) -> Plan:
    """Its Workload is being deleted: the job stands still before the quota goes."""
    adapter, subject = facts.adapter, facts.subject
    if finish is None and not facts.is_deleting and not state.is_finished(workload):
        held = state.is_reserved(workload) or adapter.is_running(subject)
        stopping = adapter.stop(subject, workload if held else None)
        if stopping:
            return Plan(stopping, [Note("Normal", "Stopped", WORKLOAD_DELETED)])
        if adapter.is_active(subject):
            return Plan()
    return Plan(let_go(workload))


def let_go(workload: Json) -> list[Write]:
    """Take our finalizer off a Workload that is being deleted."""
    kept = [f for f in workload["metadata"].get("finalizers") or () if f != names.RESOURCE_IN_USE]
    if len(kept) == len(workload["metadata"].get("finalizers") or ()):
        return []
    return [Patch(Workload.KIND, workload, {"metadata": {"finalizers": kept or None}})]


def _over(facts: Facts, workload: Json, finish: Finish | None) -> Plan:
    """A finished Workload: a job that never ended itself must not run on."""
    if finish is None and facts.adapter.is_running(facts.subject):
        return Plan(facts.adapter.stop(facts.subject, workload))
    return Plan()


def _finished(facts: Facts, workload: Json, finish: Finish) -> Plan:
    reason = reasons.SUCCEEDED if finish.success else reasons.FAILED
    return _finish(facts, workload, reason, finish.message)


def _finish(facts: Facts, workload: Json, reason: str, message: str) -> Plan:
    told = [Say(reasons.FINISHED, "True", reason, message)]
    status = {"conditions": state.with_conditions(workload, told, facts.now)}
    note = f"Workload '{key_of(workload)}' is declared finished"
    return Plan([_status(workload, status)], [Note("Normal", "FinishedWorkload", note)])


def _evicted(facts: Facts, workload: Json) -> Plan:
    """First the job stands still, then the quota is given back. (Reference §2.3.)"""
    adapter, subject = facts.adapter, facts.subject
    message = str((state.find(workload, reasons.EVICTED) or {}).get("message") or "")
    running = adapter.is_running(subject)
    stopping = adapter.stop(subject, workload)
    if stopping:
        return Plan(stopping, [Note("Normal", "Stopped", message)] if running else ())
    if adapter.is_active(subject):
        return Plan()
    missing = adapter.missing(subject, workload)
    also = [Say(reasons.WAITING_FOR_REPLACEMENT_PODS, "True", *missing)] if missing else []
    status = state.release(workload, facts.now, also, track_pods_ready=facts.pods_ready)
    return Plan([_status(workload, status)])


def _reserved(facts: Facts, workload: Json) -> Plan:
    adapter, subject = facts.adapter, facts.subject
    if not adapter.matches(subject, workload):
        return _mismatch(facts, workload)
    changed = reserved_drift(subject, workload, facts.context)
    if changed:
        return _updated(workload, changed)
    if not state.is_admitted(workload):
        return _held_back(facts, workload)
    if adapter.is_suspended(subject):
        return _start(facts, workload)
    return _observed(facts, workload)


def _mismatch(facts: Facts, workload: Json) -> Plan:
    """The job needs something else than was reserved: back to the start of the queue."""
    adapter, subject = facts.adapter, facts.subject
    if facts.prebuilt:
        return _finish(facts, workload, reasons.OUT_OF_SYNC, OUT_OF_SYNC)
    stopping = adapter.stop(subject, workload)
    if stopping:
        return Plan(stopping, [Note("Normal", "Stopped", NOT_MATCHING)])
    return Plan([Delete(Workload.KIND, workload)], [_deleted(workload)])


def _deleted(workload: Json) -> Note:
    message = f"Deleted not matching Workload: {key_of(workload)}"
    return Note("Normal", "DeletedWorkload", message)


def _pending(facts: Facts, workload: Json) -> Plan:
    adapter, subject = facts.adapter, facts.subject
    if adapter.is_running(subject):
        return _held_back(facts, workload)
    if adapter.is_active(subject) or adapter.incomplete(subject) is not None:
        return Plan()
    try:
        changed = drift(adapter, subject, workload, facts.context)
    except PriorityClassMissing as missing:
        return _class_missing(missing)
    if facts.prebuilt and not adapter.matches(subject, workload):
        return _finish(facts, workload, reasons.OUT_OF_SYNC, OUT_OF_SYNC)
    return _updated(workload, changed) if changed else Plan()


def _updated(workload: Json, changed: Json) -> Plan:
    message = f"Updated not matching Workload for suspended job: {key_of(workload)}"
    patch = Patch(Workload.KIND, workload, changed)
    return Plan([patch], [Note("Normal", "UpdatedWorkload", message)], if_invalid=_not_composed)


def _class_missing(missing: PriorityClassMissing) -> Plan:
    note = Note("Warning", "WorkloadPriorityClassNotFound", str(missing))
    return Plan((), [note], awaited(WorkloadPriorityClass.KIND, missing.name))


def _held_back(facts: Facts, workload: Json) -> Plan:
    """Nothing of it may run before it is admitted, whoever let it run."""
    adapter, subject = facts.adapter, facts.subject
    if not adapter.is_running(subject):
        return Plan()
    stopping = adapter.stop(subject, workload)
    return Plan(stopping, [Note("Normal", "Stopped", NOT_ADMITTED)] if stopping else ())


def _start(facts: Facts, workload: Json) -> Plan:
    try:
        infos = pod_set_infos(workload, facts.context.flavors)
        starting = facts.adapter.start(facts.subject, infos, workload)
    except PodSetConflict as conflict:
        return _finish(facts, workload, reasons.FAILED_TO_START, str(conflict))
    except FlavorMissing as missing:
        note = Note("Warning", "ErrorStarting", str(missing))
        return Plan((), [note], awaited(ResourceFlavor.KIND, missing.name))
    cluster_queue = workload["status"]["admission"]["clusterQueue"]
    told = Note("Normal", "Started", f"Admitted by clusterQueue {cluster_queue}")

    def refused(problem: str) -> Plan:
        return _finish(facts, workload, reasons.FAILED_TO_START, problem)

    return Plan(starting, [told] if starting else (), if_invalid=refused)


def _told_missing(facts: Facts, workload: Json) -> Plan | None:
    """Say that members of a group must be replaced, and unsay it when they are."""
    type_ = reasons.WAITING_FOR_REPLACEMENT_PODS
    missing = facts.adapter.missing(facts.subject, workload)
    if missing is not None:
        conditions = state.with_conditions(workload, [Say(type_, "True", *missing)], facts.now)
    elif state.find(workload, type_) is not None:
        conditions = without(workload["status"]["conditions"], type_)
    else:
        return None
    return None if conditions is None else Plan([_status(workload, {"conditions": conditions})])


def _observed(facts: Facts, workload: Json) -> Plan:
    """It runs: say what became ready and what is not needed again, in one write."""
    adapter, subject = facts.adapter, facts.subject
    status: Json = {}
    if facts.pods_ready:
        ready = state.pods_ready(workload, adapter.is_ready(subject))
        conditions = state.with_conditions(workload, [ready], facts.now)
        if conditions is not None:
            status["conditions"] = conditions
    reclaimable = _more_reclaimable(workload, adapter.reclaimable(subject))
    if reclaimable is not None:
        status["reclaimablePods"] = reclaimable
    return Plan([_status(workload, status)] if status else ())


def _more_reclaimable(workload: Json, found: Sequence[Json]) -> list[Json] | None:
    """What was given back stays given back; None if there is nothing new."""
    told = list((workload.get("status") or {}).get("reclaimablePods") or ())
    counts = {entry["name"]: entry["count"] for entry in told}
    for entry in found:
        counts[entry["name"]] = max(entry["count"], counts.get(entry["name"], 0))
    result = [{"name": name, "count": count} for name, count in counts.items()]
    return None if result == told else result


def _status(workload: Json, status: Json) -> Patch:
    return Patch(Workload.KIND, workload, {"status": status}, "status")
