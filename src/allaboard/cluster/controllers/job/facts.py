"""What does the Job controller need to know of a pod? Read once per state, then only compared.

`PodFacts` is a digest of one state of a pod. The rules it rests on: a pod is active until it has
ended or is being deleted; the tracking finalizer says that its end has not been counted yet.
"""

from allaboard.api.meta import Json
from allaboard.api.times import parse_time
from allaboard.clock import Instant

TRACKING = "batch.kubernetes.io/job-tracking"
INDEX = "batch.kubernetes.io/job-completion-index"
FAILURES = "batch.kubernetes.io/job-index-failure-count"
IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
NO_INDEX = -1


class PodFacts:
    """One state of one pod, digested. `obj` is the state itself: shared, never changed."""

    __slots__ = ("active", "deleting", "index", "obj", "phase", "ready", "tracked", "uid")

    def __init__(self, pod: Json) -> None:
        meta = pod["metadata"]
        status = pod.get("status") or {}
        self.obj = pod
        self.uid: str = meta.get("uid", "")
        self.phase: str = status.get("phase") or "Pending"
        self.deleting = bool(meta.get("deletionTimestamp"))
        self.tracked = TRACKING in (meta.get("finalizers") or ())
        self.index = completion_index(meta)
        self.active = not self.deleting and self.phase not in ("Succeeded", "Failed")
        self.ready = self.active and condition_status(status, "Ready") == "True"

    @property
    def name(self) -> str:
        return str(self.obj["metadata"]["name"])

    @property
    def terminating(self) -> bool:
        return self.deleting and self.phase not in ("Succeeded", "Failed")

    @property
    def succeeded(self) -> bool:
        return self.phase == "Succeeded"


def completion_index(meta: Json) -> int:
    text = (meta.get("annotations") or {}).get(INDEX, "")
    # Only what a controller writes counts: no sign, no spaces, no other alphabets.
    return int(text) if text.isascii() and text.isdigit() else NO_INDEX


def condition_status(status: Json, type_: str) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == type_:
            return str(condition.get("status", ""))
    return ""


def failure_count(pod: PodFacts) -> int:
    """How many counted failures its index had before this pod."""
    return _count(pod, FAILURES)


def ignored_failure_count(pod: PodFacts) -> int:
    return _count(pod, IGNORED_FAILURES)


def _count(pod: PodFacts, annotation: str) -> int:
    text = (pod.obj["metadata"].get("annotations") or {}).get(annotation, "0")
    return int(text) if text.isascii() and text.isdigit() else 0


def restarts(pod: PodFacts) -> int:
    status = pod.obj.get("status") or {}
    states = (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    )
    return sum(state.get("restartCount", 0) for state in states)


def finished_at(pod: PodFacts) -> Instant:
    """When the pod ended: by its containers, else by losing readiness, else by its deletion."""
    meta, status = pod.obj["metadata"], pod.obj.get("status") or {}
    ends = [
        ((state.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for state in status.get("containerStatuses") or ()
    ]
    if ends and all(ends):
        return max(parse_time(end) for end in ends)
    for condition in status.get("conditions") or ():
        lost = condition.get("type") == "Ready" and condition.get("status") == "False"
        if lost and condition.get("lastTransitionTime"):
            return parse_time(condition["lastTransitionTime"])
    if meta.get("deletionTimestamp"):
        grace = meta.get("deletionGracePeriodSeconds") or 0
        return parse_time(meta["deletionTimestamp"]) - grace
    return parse_time(meta["creationTimestamp"]) if meta.get("creationTimestamp") else 0.0


def removal_order(pod: PodFacts) -> tuple[object, ...]:
    """Sorts the pod that is cheapest to lose first.

    Unassigned before assigned, pending before unknown before running, not ready before ready,
    ready for a shorter before ready for a longer time, more before fewer restarts, young before
    old. The name settles the rest, so that the order is total.
    """
    meta, spec, status = pod.obj["metadata"], pod.obj["spec"], pod.obj.get("status") or {}
    since = ""
    for condition in status.get("conditions") or ():
        if pod.ready and condition.get("type") == "Ready":
            since = condition.get("lastTransitionTime") or ""
    return (
        bool(spec.get("nodeName")),
        {"Pending": 0, "Unknown": 1}.get(pod.phase, 2),
        pod.ready,
        _descending(since),
        -restarts(pod),
        _descending(meta.get("creationTimestamp") or ""),
        meta["name"],
    )


def _descending(time: str) -> float:
    return -parse_time(time) if time else -float("inf")
