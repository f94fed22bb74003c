"""Kueue's sentences for the core's reasons. Pure, and the only place where they are written.

A condition carries a stable sentence: no position, no holder, no other tenant's name, so that it
need not be rewritten while nothing changes for this workload. Wording: reference §§2.8 and 4.1.
"""

from collections.abc import Sequence

from allaboard.api.kueue import reasons as words
from allaboard.core.preemption import Because
from allaboard.core.reasons import (
    ExceedsMaximum,
    FlavorReason,
    HoldLost,
    NamespaceNotSelected,
    NotCovered,
    Overtaken,
    PodSetRefused,
    Preempting,
    Reason,
    Short,
    UnknownFlavor,
    Untolerated,
    VictimsTaken,
    WrongNodes,
)
from allaboard.queueing.translate import render_amount

ADMITTED = "The workload is admitted"
NO_RESERVATION = "The workload has no reservation"
RESUMED = {
    "BackoffFinished": "The workload backoff was finished",
    "ClusterQueueRestarted": "The ClusterQueue was restarted after being stopped",
    "LocalQueueRestarted": "The LocalQueue was restarted after being stopped",
}
OVERTAKEN = "Workload no longer fits after processing another workload"
VICTIMS_TAKEN = "Workload has overlapping preemption targets with another workload"
HOLD_LOST = "What the workload freed by preemption is no longer enough for it"
NAMESPACE = "Workload namespace doesn't match ClusterQueue selector"

DUE_TO = {
    Because.IN_CLUSTER_QUEUE: "prioritization in the ClusterQueue",
    Because.RECLAMATION: "reclamation within the cohort",
    Because.FAIR_SHARING: "Fair Sharing within the cohort",
    Because.RECLAIM_WHILE_BORROWING: "reclamation within the cohort while borrowing",
}


def reserved(cluster_queue: str) -> str:
    return f"Quota reserved in ClusterQueue {cluster_queue}"


def preempted(by_uid: str, by_job_uid: str, because: Because, paths: tuple[str, str]) -> str:
    """`paths` are those of preemptor and preemptee in the cohort tree."""
    return (
        f"Preempted to accommodate a workload (UID: {by_uid}, JobUID: {by_job_uid or 'UNKNOWN'}) "
        f"due to {DUE_TO[because]}; preemptor path: {paths[0]}; preemptee path: {paths[1]}"
    )


def pending_reason(found: Sequence[Reason]) -> str:
    """The one word for programs: what would have to change."""
    if any(isinstance(r, Preempting) for r in found):
        return words.WAITING_FOR_PREEMPTED_WORKLOADS
    if any(isinstance(r, NamespaceNotSelected) for r in found):
        return words.MISCONFIGURED
    parts = [reason for r in found if isinstance(r, PodSetRefused) for reason in r.reasons]
    if any(isinstance(p, Short) for p in parts):
        return words.WAITING_FOR_QUOTA
    if any(isinstance(p, ExceedsMaximum) for p in parts):
        return words.EXCEEDS_MAX_QUOTA
    if parts:
        return words.NO_MATCHING_FLAVOR
    return words.WAITING_FOR_QUOTA


def pending(found: Sequence[Reason]) -> str:
    """The sentence for people."""
    sentences = [_sentence(r) for r in found if not isinstance(r, Preempting)]
    text = "; ".join(dict.fromkeys(sentences))
    waits = next((r for r in found if isinstance(r, Preempting)), None)
    if waits is not None:
        text += f". Pending the preemption of {waits.victims} workload(s)"
    return text


def _sentence(reason: Reason) -> str:
    match reason:
        case PodSetRefused(pod_set, parts):
            told = ", ".join(sorted(dict.fromkeys(_flavor_sentence(p) for p in parts)))
            return f"couldn't assign flavors to pod set {pod_set}: {told}"
        case NamespaceNotSelected():
            return NAMESPACE
        case Overtaken():
            return OVERTAKEN
        case VictimsTaken():
            return VICTIMS_TAKEN
        case HoldLost():
            return HOLD_LOST
        case Preempting():
            return ""


def _flavor_sentence(reason: FlavorReason) -> str:
    match reason:
        case NotCovered(resource):
            return f"resource {resource} unavailable in ClusterQueue"
        case UnknownFlavor(flavor):
            return f"flavor {flavor} not found"
        case Untolerated(flavor, taint):
            shown = f"{{{taint.key} {taint.value} {taint.effect} <nil>}}"  # as Go prints a taint
            return f"untolerated taint {shown} in flavor {flavor}"
        case WrongNodes(flavor):
            return f"flavor {flavor} doesn't match node affinity"
        case Short(flavor, resource, missing):
            more = render_amount(resource, missing)
            return (
                f"insufficient unused quota for {resource} in flavor {flavor}, {more} more needed"
            )
        case ExceedsMaximum(flavor, resource, before, request, maximum):
            return (
                f"insufficient quota for {resource} in flavor {flavor}, previously considered "
                f"podsets requests ({render_amount(resource, before)}) + current podset request "
                f"({render_amount(resource, request)}) > maximum capacity "
                f"({render_amount(resource, maximum)})"
            )
