"""What are a pod set's pods given at the start, and how is it taken back? Pure.

At the start: node labels and tolerations of the assigned flavors, what admission checks ask for,
and labels that say which pod set, LocalQueue and ClusterQueue a pod is of. Two sources that want
different values under one key are a `PodSetConflict`. What is put in is computed from the
Workload's copy of the template, never from the job's, so that a start repeated is the same start;
what is taken back is whatever differs from that copy. (Reference §4.9.)
"""

from collections.abc import Mapping, Sequence

from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.queueing.jobs.adapter import PodSetConflict, PodSetInfo, difference

Flavors = Mapping[str, Json]
_MAX_LABEL = 63


class FlavorMissing(LookupError):
    """An assigned flavor is not there; it may come back."""

    def __init__(self, name: str) -> None:
        super().__init__(f"ResourceFlavor {name!r} is not there")
        self.name = name


def pod_set_infos(workload: Json, flavors: Flavors) -> list[PodSetInfo]:
    """What each pod set was given, in the order of the Workload's pod sets."""
    admission = (workload.get("status") or {}).get("admission") or {}
    assigned = {a.get("name", ""): a for a in admission.get("podSetAssignments") or ()}
    infos = []
    for pod_set in workload["spec"]["podSets"]:
        assignment = assigned.get(pod_set["name"])
        if assignment is None:
            raise PodSetConflict(f"pod set {pod_set['name']!r} has no assignment")
        info = _of_flavors(pod_set, assignment, flavors)
        info = merged(info, _of_queue(pod_set["name"], workload, admission))
        for update in _updates(workload, pod_set["name"]):
            info = merged(info, update)
        infos.append(info)
    return infos


def _of_flavors(pod_set: Json, assignment: Json, flavors: Flavors) -> PodSetInfo:
    count = assignment.get("count")
    info = PodSetInfo(pod_set["name"], pod_set.get("count", 1) if count is None else count)
    for name in sorted(set((assignment.get("flavors") or {}).values())):
        if name not in flavors:
            raise FlavorMissing(name)
        spec = flavors[name].get("spec") or {}
        given = PodSetInfo(
            info.name,
            info.count,
            node_selector=spec.get("nodeLabels") or {},
            tolerations=tuple(spec.get("tolerations") or ()),
        )
        info = merged(info, given)
    return info


def _of_queue(pod_set: str, workload: Json, admission: Json) -> PodSetInfo:
    wanted = {
        names.POD_SET: pod_set,
        names.LOCAL_QUEUE: workload["spec"].get("queueName") or "",
        names.CLUSTER_QUEUE: admission.get("clusterQueue") or "",
    }
    # A name may be longer than a label's value; such a pod goes without.
    labels = {key: value for key, value in wanted.items() if 0 < len(value) <= _MAX_LABEL}
    annotations = {names.WORKLOAD: workload["metadata"]["name"]}
    return PodSetInfo(pod_set, 0, labels, annotations)


def _updates(workload: Json, pod_set: str) -> list[PodSetInfo]:
    """What the checks want added to this pod set."""
    return [
        PodSetInfo(
            pod_set,
            0,
            labels=update.get("labels") or {},
            annotations=update.get("annotations") or {},
            node_selector=update.get("nodeSelector") or {},
            tolerations=tuple(update.get("tolerations") or ()),
        )
        for check in (workload.get("status") or {}).get("admissionChecks") or ()
        for update in check.get("podSetUpdates") or ()
        if update.get("name") == pod_set
    ]


def merged(info: PodSetInfo, more: PodSetInfo) -> PodSetInfo:
    """Both together; PodSetConflict where they disagree."""
    return PodSetInfo(
        info.name,
        info.count,
        joined("labels", info.labels, more.labels),
        joined("annotations", info.annotations, more.annotations),
        joined("nodeSelector", info.node_selector, more.node_selector),
        with_new(info.tolerations, more.tolerations),
        with_new(info.scheduling_gates, more.scheduling_gates),
    )


def joined(field: str, one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    for key in sorted(one.keys() & other.keys()):
        if one[key] != other[key]:
            values = f"value1={one[key]}, value2={other[key]}"
            raise PodSetConflict(f"conflict for {field}: conflict for key={key}, {values}")
    return {**one, **other}


def with_new(some: Sequence[Json], more: Sequence[Json]) -> tuple[Json, ...]:
    return (*some, *(item for item in more if item not in some))


def injected(template: Json, info: PodSetInfo) -> Json:
    """The template with what its pods are given."""
    meta, spec = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    for part, field, more in (
        (meta, "labels", info.labels),
        (meta, "annotations", info.annotations),
        (spec, "nodeSelector", info.node_selector),
    ):
        if more:
            part[field] = joined(field, part.get(field) or {}, more)
    for field, items in (
        ("tolerations", info.tolerations),
        ("schedulingGates", info.scheduling_gates),
    ):
        if items:
            spec[field] = list(with_new(spec.get(field) or (), items))
    return {**template, "metadata": meta, "spec": spec}


_OF_METADATA = ("labels", "annotations")
_OF_SPEC = ("nodeSelector", "tolerations", "schedulingGates")


def placement(template: Json) -> Json:
    """The part of a template that a start changes and a stop restores."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    return {
        "metadata": {key: meta[key] for key in _OF_METADATA if key in meta},
        "spec": {key: spec[key] for key in _OF_SPEC if key in spec},
    }


def placement_patch(current: Json, wanted: Json) -> Json:
    """The merge patch of a template that gives it the wanted placement; {} if it has it."""
    patch = difference(placement(current), placement(wanted))
    return {key: part for key, part in patch.items() if part}
