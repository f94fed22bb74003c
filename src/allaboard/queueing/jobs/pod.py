"""How is a single Pod queued?

It waits by the scheduling gate `kueue.x-k8s.io/admission`. It is started by one patch that narrows
its placement and lifts the gate. A pod cannot be gated again: stopping it is deleting it.
"""

from collections.abc import Sequence

from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.api.types.pods import Pod
from allaboard.queueing.jobs.adapter import (
    Delete,
    Finish,
    JobKey,
    Patch,
    PodSetInfo,
    Subject,
    Write,
    is_deleting,
    labels_of,
    reference_to,
)
from allaboard.queueing.jobs.injection import injected, placement_patch
from allaboard.queueing.jobs.naming import workload_name
from allaboard.queueing.jobs.shapes import same_needs, topology_request

FRAMEWORK = "pod"
_ENDED = ("Succeeded", "Failed")


class Pods:
    framework = FRAMEWORK
    kind = Pod.KIND

    def key_of(self, obj: Json) -> JobKey | None:
        meta, labels = obj["metadata"], labels_of(obj)
        if labels.get(names.MANAGED) != "true" or labels.get(names.POD_GROUP):
            return None
        return JobKey(FRAMEWORK, meta["namespace"], meta["name"])

    def workload_name(self, subject: Subject) -> str:
        return workload_name(self.kind, subject.name, subject.uid)

    def owner_references(self, subject: Subject) -> list[Json]:
        return [reference_to(subject.object, self.kind, controller=True)]

    def pod_sets(self, subject: Subject) -> list[Json]:
        return [pod_set_of(subject.object, names.DEFAULT_POD_SET, 1)]

    def notes(self, subject: Subject) -> Json:
        return {}

    def incomplete(self, subject: Subject) -> str | None:
        return None

    def same_pod_sets(self, wanted: Sequence[Json], asked: Sequence[Json]) -> bool:
        return list(wanted) == list(asked)

    def matches(self, subject: Subject, workload: Json) -> bool:
        pod_sets = workload["spec"].get("podSets") or []
        return (
            len(pod_sets) == 1
            and pod_sets[0].get("count") == 1
            and same_needs(template_of(subject.object), pod_sets[0]["template"])
        )

    def is_suspended(self, subject: Subject) -> bool:
        return is_gated(subject.object) and not is_deleting(subject.object)

    def is_running(self, subject: Subject) -> bool:
        return is_loose(subject.object)

    def is_active(self, subject: Subject) -> bool:
        return is_loose(subject.object)

    def finish(self, subject: Subject) -> Finish | None:
        status = subject.object.get("status") or {}
        if status.get("phase") not in _ENDED:
            return None
        return Finish(status["phase"] == "Succeeded", status.get("message") or "")

    def is_ready(self, subject: Subject) -> bool:
        return is_ready(subject.object)

    def reclaimable(self, subject: Subject) -> list[Json]:
        return []

    def start(self, subject: Subject, infos: Sequence[PodSetInfo], workload: Json) -> list[Write]:
        return [started(subject.object, infos[0])]

    def stop(self, subject: Subject, workload: Json | None) -> list[Write]:
        pod = subject.object
        if is_loose(pod) and not is_deleting(pod):
            return [Delete(self.kind, pod)]
        return []

    def hold(self, subject: Subject) -> list[Write]:
        return []

    def let_go(self, subject: Subject) -> list[Write]:
        return []

    def tidy(self, subject: Subject, workload: Json | None) -> list[Write]:
        return []

    def missing(self, subject: Subject, workload: Json) -> tuple[str, str] | None:
        return None

    def is_parent_of(self, owner: Json, child: Json) -> bool:
        return False


def gates_of(pod: Json) -> list[Json]:
    return list((pod.get("spec") or {}).get("schedulingGates") or ())


def is_gated(pod: Json) -> bool:
    return any(gate.get("name") == names.ADMISSION_GATE for gate in gates_of(pod))


def has_ended(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") in _ENDED


def is_loose(pod: Json) -> bool:
    """Whether it runs, may run any moment, or is still terminating."""
    return not is_gated(pod) and not has_ended(pod)


def is_ready(pod: Json) -> bool:
    """Ready, or succeeded: a pod that did its work is not missing."""
    status = pod.get("status") or {}
    if status.get("phase") == "Succeeded":
        return True
    return any(
        c.get("type") == "Ready" and c.get("status") == "True"
        for c in status.get("conditions") or ()
    )


def template_of(pod: Json) -> Json:
    """A template that such a pod could have been made from, without our gate."""
    meta = {
        key: pod["metadata"][key] for key in ("labels", "annotations") if key in pod["metadata"]
    }
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    gates = [gate for gate in gates_of(pod) if gate.get("name") != names.ADMISSION_GATE]
    spec.pop("schedulingGates", None)
    if gates:
        spec["schedulingGates"] = gates
    return {"metadata": meta, "spec": spec}


def pod_set_of(pod: Json, name: str, count: int) -> Json:
    template = template_of(pod)
    notes = template["metadata"].get("annotations") or {}
    index = notes.get(names.POD_GROUP_POD_INDEX_LABEL, "")
    if not index and names.POD_GROUP_POD_INDEX in labels_of(pod):
        index = names.POD_GROUP_POD_INDEX
    pod_set: Json = {"name": name, "count": count, "template": template}
    request = topology_request(template, {}, index)
    return {**pod_set, "topologyRequest": request} if request else pod_set


def started(pod: Json, info: PodSetInfo) -> Patch:
    """Placed and without our gate, in one patch."""
    template = template_of(pod)
    current = {"metadata": template["metadata"], "spec": pod["spec"]}
    body = placement_patch(current, injected(template, info))
    gates = injected(template, info)["spec"].get("schedulingGates") or None
    body["spec"] = {**(body.get("spec") or {}), "schedulingGates": gates}
    return Patch(Pod.KIND, pod, body)
