"""How is a group of Pods queued as one?

The label `pod-group-name` asks to be a member, the annotation `pod-group-total-count` says how
many there will be. Members that are alike form a role, which is a pod set. One Workload, named
as the group and owned by all members, stands for them. Surplus members are deleted, the newest
first. A failed member may be replaced by a new pod of its role, unless a member says
`retriable-in-group: "false"`. The finalizer `kueue.x-k8s.io/managed` keeps a succeeded member
until the group is over, so that its success is not forgotten; no other member is kept.
"""

from collections.abc import Sequence

from allaboard.api.kueue import names, reasons
from allaboard.api.kueue.types import Workload
from allaboard.api.meta import Json
from allaboard.api.types.pods import Pod
from allaboard.queueing.jobs import workload_state as state
from allaboard.queueing.jobs.adapter import (
    Delete,
    Finish,
    JobKey,
    Patch,
    PodSetInfo,
    Subject,
    Write,
    annotations_of,
    count_in,
    is_deleting,
    labels_of,
    reference_to,
)
from allaboard.queueing.jobs.pod import (
    has_ended,
    is_gated,
    is_loose,
    is_ready,
    pod_set_of,
    started,
)
from allaboard.queueing.jobs.shapes import role_of

FRAMEWORK = "pod-group"


class PodGroups:
    framework = FRAMEWORK
    kind = Pod.KIND

    def key_of(self, obj: Json) -> JobKey | None:
        labels = labels_of(obj)
        if labels.get(names.MANAGED) != "true" or not labels.get(names.POD_GROUP):
            return None
        return JobKey(FRAMEWORK, obj["metadata"]["namespace"], labels[names.POD_GROUP])

    def workload_name(self, subject: Subject) -> str:
        return subject.name

    def owner_references(self, subject: Subject) -> list[Json]:
        return [reference_to(pod, self.kind, controller=False) for pod in counted(subject)]

    def pod_sets(self, subject: Subject) -> list[Json]:
        roles: dict[str, list[Json]] = {}
        for pod in counted(subject):
            roles.setdefault(role(pod), []).append(pod)
        return [pod_set_of(pods[0], name, len(pods)) for name, pods in sorted(roles.items())]

    def notes(self, subject: Subject) -> Json:
        return {names.IS_GROUP_WORKLOAD: "true"}

    def incomplete(self, subject: Subject) -> str | None:
        totals = {
            annotations_of(pod).get(names.POD_GROUP_TOTAL_COUNT, "") for pod in subject.objects
        }
        if len(totals) > 1:
            return f"pods of group {subject.name!r} disagree about {names.POD_GROUP_TOTAL_COUNT}"
        if total(subject) < 1:
            return f"pod group {subject.name!r} has no valid {names.POD_GROUP_TOTAL_COUNT}"
        if len({labels_of(pod).get(names.QUEUE_NAME, "") for pod in subject.objects}) > 1:
            return f"pods of group {subject.name!r} are in different queues"
        return None if len(counted(subject)) >= total(subject) else ""

    def same_pod_sets(self, wanted: Sequence[Json], asked: Sequence[Json]) -> bool:
        return [(p["name"], p["count"]) for p in wanted] == [(p["name"], p["count"]) for p in asked]

    def matches(self, subject: Subject, workload: Json) -> bool:
        """Members may be missing, waiting for replacement; none may be of an unknown role."""
        counts = {p["name"]: p["count"] for p in workload["spec"].get("podSets") or ()}
        there: dict[str, int] = {}
        for pod in counted(subject):
            there[role(pod)] = there.get(role(pod), 0) + 1
        return all(count <= counts.get(name, 0) for name, count in there.items())

    def is_suspended(self, subject: Subject) -> bool:
        return any(is_gated(pod) for pod in counted(subject))

    def is_running(self, subject: Subject) -> bool:
        return any(is_loose(pod) and not is_deleting(pod) for pod in subject.objects)

    def is_active(self, subject: Subject) -> bool:
        return any(is_loose(pod) for pod in subject.objects)

    def finish(self, subject: Subject) -> Finish | None:
        wanted = total(subject)
        succeeded = sum(_phase(pod) == "Succeeded" for pod in subject.objects)
        message = f"Pods succeeded: {succeeded}/{wanted}."
        if 0 < wanted <= succeeded:
            return Finish(True, message)
        final = any(
            _phase(pod) == "Failed"
            and annotations_of(pod).get(names.POD_GROUP_RETRIABLE) == "false"
            for pod in subject.objects
        )
        return Finish(False, message) if final and not self.is_active(subject) else None

    def is_ready(self, subject: Subject) -> bool:
        return sum(is_ready(pod) for pod in counted(subject)) >= total(subject)

    def reclaimable(self, subject: Subject) -> list[Json]:
        done: dict[str, int] = {}
        for pod in subject.objects:
            if _phase(pod) == "Succeeded":
                done[role(pod)] = done.get(role(pod), 0) + 1
        return [{"name": name, "count": count} for name, count in sorted(done.items())]

    def start(self, subject: Subject, infos: Sequence[PodSetInfo], workload: Json) -> list[Write]:
        by_role = {info.name: info for info in infos}
        return [started(pod, by_role[role(pod)]) for pod in counted(subject) if is_gated(pod)]

    def stop(self, subject: Subject, workload: Json | None) -> list[Write]:
        return [
            Delete(self.kind, pod)
            for pod in subject.objects
            if is_loose(pod) and not is_deleting(pod)
        ]

    def hold(self, subject: Subject) -> list[Write]:
        return []

    def let_go(self, subject: Subject) -> list[Write]:
        return []

    def tidy(self, subject: Subject, workload: Json | None) -> list[Write]:
        """Surplus members go; members that need not be remembered lose the finalizer."""
        writes: list[Write] = [
            Delete(self.kind, pod) for pod in surplus(subject, workload) if not is_deleting(pod)
        ]
        owning = self._owned_by_all(subject, workload) if workload is not None else []
        if owning:  # before old members go, and the Workload with the last of its owners
            return [*writes, *owning]
        for pod in self._forgettable(subject, workload):
            body = {"metadata": {"finalizers": _other_finalizers(pod) or None}}
            writes.append(Patch(self.kind, pod, body))
        return writes

    def _forgettable(self, subject: Subject, workload: Json | None) -> list[Json]:
        """Members whose finalizer has no purpose any more.

        Those that an eviction stopped are kept until others take their place, because the
        Workload, and with it its place in the queue, lives as long as its owners.
        """
        ended = workload is not None and (state.is_finished(workload) or is_deleting(workload))
        waits = workload is not None and not ended and _waits(workload)
        over = ended or (not waits and all(is_deleting(pod) for pod in subject.objects))
        full = len(counted(subject)) >= total(subject)
        found = []
        for pod in subject.objects:
            if names.MANAGED not in (pod["metadata"].get("finalizers") or ()):
                continue
            left = is_deleting(pod) and not (waits and not is_gated(pod) and not full)
            lost = left or (_phase(pod) == "Failed" and full)
            if (over and (has_ended(pod) or is_deleting(pod))) or (
                lost and _phase(pod) != "Succeeded"
            ):
                found.append(pod)
        return found

    def missing(self, subject: Subject, workload: Json) -> tuple[str, str] | None:
        if len(counted(subject)) >= total(subject):
            return None
        for type_ in (reasons.EVICTED, reasons.WAITING_FOR_REPLACEMENT_PODS):
            if state.is_true(workload, type_):
                said = state.find(workload, type_) or {}
                return str(said.get("reason")), str(said.get("message"))
        failed = any(_phase(pod) == "Failed" for pod in subject.objects)
        return (reasons.PODS_FAILED, "Some Failed pods need replacement") if failed else None

    def _owned_by_all(self, subject: Subject, workload: Json) -> list[Write]:
        """A replacement is an owner too, or the Workload goes with the members it replaced."""
        owners = list(workload["metadata"].get("ownerReferences") or ())
        known = {owner.get("uid") for owner in owners}
        more = [r for r in self.owner_references(subject) if r["uid"] not in known]
        if not more or is_deleting(workload) or state.is_finished(workload):
            return []
        body = {"metadata": {"ownerReferences": [*owners, *more]}}
        return [Patch(Workload.KIND, workload, body)]

    def is_parent_of(self, owner: Json, child: Json) -> bool:
        return False


def _waits(workload: Json) -> bool:
    """Whether an eviction stopped its members and they have not been replaced."""
    waiting = state.is_true(workload, reasons.WAITING_FOR_REPLACEMENT_PODS)
    return waiting or state.is_evicted(workload)


def total(subject: Subject) -> int:
    """How many members there shall be, as the oldest says."""
    oldest = min(subject.objects, key=_age)
    return count_in(annotations_of(oldest).get(names.POD_GROUP_TOTAL_COUNT, "")) or 0


def role(pod: Json) -> str:
    """The role it was given at admission; what a start injects must not change it."""
    given = annotations_of(pod).get(names.ROLE_HASH)
    if not given and not is_gated(pod):
        given = labels_of(pod).get(names.POD_SET)
    return given or role_of(pod)


def _phase(pod: Json) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _filling(subject: Subject) -> list[Json]:
    """Members that fill a place: not failed, not leaving; those that did most come first."""
    pods = [
        pod
        for pod in subject.objects
        if _phase(pod) == "Succeeded" or (_phase(pod) != "Failed" and not is_deleting(pod))
    ]
    return sorted(pods, key=lambda pod: (not has_ended(pod), is_gated(pod), *_age(pod)))


def _age(pod: Json) -> tuple[str, str]:
    meta = pod["metadata"]
    return str(meta.get("creationTimestamp") or ""), str(meta["name"])


def counted(subject: Subject) -> list[Json]:
    wanted = total(subject)
    return _filling(subject)[:wanted] if wanted else _filling(subject)


def surplus(subject: Subject, workload: Json | None) -> list[Json]:
    """Members beyond the total, and beyond what quota was reserved for."""
    wanted = total(subject)
    filling = _filling(subject) if wanted else []
    extra = [pod for pod in filling[wanted:] if not has_ended(pod)]
    if workload is None or not state.is_reserved(workload):
        return extra
    free = {p["name"]: p["count"] for p in workload["spec"].get("podSets") or ()}
    for pod in filling[:wanted]:
        free[role(pod)] = free.get(role(pod), 0) - 1
        if free[role(pod)] < 0 and is_gated(pod):
            extra.append(pod)
    return extra


def _other_finalizers(pod: Json) -> list[str]:
    return [f for f in pod["metadata"].get("finalizers") or () if f != names.MANAGED]
