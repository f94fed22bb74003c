"""Which Workload stands for a job, and what of it may still change? Pure.

A Workload is made once and then belongs to the quota that was reserved for it: before the
reservation it follows its job in everything, after it only a WorkloadPriorityClass may be exchanged
for another. (Reference §§1.9, 4.8, 4.9.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from allaboard.api.kueue import names
from allaboard.api.kueue.types import Workload
from allaboard.api.meta import Json
from allaboard.queueing.jobs.adapter import (
    JobAdapter,
    Subject,
    annotations_of,
    count_in,
    labels_of,
)
from allaboard.queueing.jobs.shapes import Surroundings, filled

_COPIED = (names.ADMISSION_GATED_BY, names.PODS_READY_TIMEOUT, names.RECOVERY_TIMEOUT)
_FOLLOWED = ("queueName", "podSets", "maximumExecutionTimeSeconds")
_OWN_CLASS = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass"}
_PODS_CLASS = {"group": "scheduling.k8s.io", "kind": "PriorityClass"}


class PriorityClassMissing(LookupError):
    """The job names a WorkloadPriorityClass that is not there; it may come."""

    def __init__(self, name: str) -> None:
        super().__init__(f"WorkloadPriorityClass {name!r} is not there")
        self.name = name


@dataclass(frozen=True, slots=True)
class Context:
    """What the cluster says about flavors, priorities and pods of a namespace."""

    flavors: Mapping[str, Json] = field(default_factory=dict)
    workload_classes: Mapping[str, Json] = field(default_factory=dict)
    pod_classes: Mapping[str, Json] = field(default_factory=dict)
    around: Surroundings = field(default_factory=Surroundings)


def queue_name(subject: Subject) -> str:
    return labels_of(subject.object).get(names.QUEUE_NAME, "")


def max_execution_s(subject: Subject) -> int | None:
    return count_in(labels_of(subject.object).get(names.MAX_EXEC_TIME_SECONDS, "")) or None


def priority(subject: Subject, pod_sets: list[Json], context: Context) -> Json:
    """`priority` and `priorityClassRef` of the Workload; raises PriorityClassMissing."""
    name = labels_of(subject.object).get(names.PRIORITY_CLASS, "")
    if name:
        found = context.workload_classes.get(name)
        if found is None:
            raise PriorityClassMissing(name)
        return _of_class(found, _OWN_CLASS)
    wanted = (p["template"]["spec"].get("priorityClassName") or "" for p in pod_sets)
    name = next((name for name in wanted if name), "")
    of_pods = context.pod_classes.get(name) if name else _global_default(context.pod_classes)
    return {"priority": 0} if of_pods is None else _of_class(of_pods, _PODS_CLASS)


def _of_class(found: Json, ref: Json) -> Json:
    named = {**ref, "name": found["metadata"]["name"]}
    return {"priority": found.get("value") or 0, "priorityClassRef": named}


def _global_default(classes: Mapping[str, Json]) -> Json | None:
    """The one marked so; of several the lowest, as Kubernetes takes it."""
    marked = [c for c in classes.values() if c.get("globalDefault")]
    return min(marked, key=lambda c: (c.get("value") or 0, c["metadata"]["name"]), default=None)


def wanted_spec(adapter: JobAdapter, subject: Subject, context: Context) -> Json:
    """What the job's Workload asks for, as long as nothing is reserved."""
    pod_sets = [
        {**pod_set, "template": filled(pod_set["template"], context.around)}
        for pod_set in adapter.pod_sets(subject)
    ]
    spec: Json = {"podSets": pod_sets, **priority(subject, pod_sets, context)}
    if queue_name(subject):
        spec["queueName"] = queue_name(subject)
    limit = max_execution_s(subject)
    if limit is not None:
        spec["maximumExecutionTimeSeconds"] = limit
    return spec


def build(adapter: JobAdapter, subject: Subject, context: Context) -> Json:
    """The Workload to create."""
    spec = {**wanted_spec(adapter, subject, context), "active": True}
    owners = adapter.owner_references(subject)
    metadata: Json = {
        "name": adapter.workload_name(subject),
        "namespace": subject.namespace,
        "ownerReferences": owners,
        "finalizers": [names.RESOURCE_IN_USE],
    }
    if any(owner.get("controller") for owner in owners):
        metadata["labels"] = {names.JOB_UID: subject.uid}
    annotations = _annotations(adapter, subject)
    if annotations:
        metadata["annotations"] = annotations
    kind = Workload.KIND
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": spec,
    }


def _annotations(adapter: JobAdapter, subject: Subject) -> Json:
    notes = annotations_of(subject.object)
    return {key: notes[key] for key in _COPIED if key in notes} | adapter.notes(subject)


def drift(adapter: JobAdapter, subject: Subject, workload: Json, context: Context) -> Json:
    """What an unreserved Workload no longer says as its job says it, as a merge patch."""
    spec = _spec_drift(adapter, wanted_spec(adapter, subject, context), workload["spec"])
    patch: Json = {"spec": spec} if spec else {}
    wanted, there = _annotations(adapter, subject), annotations_of(workload)
    keys = dict.fromkeys((*_COPIED, *wanted))
    changed = {key: wanted.get(key) for key in keys if wanted.get(key) != there.get(key)}
    return {**patch, "metadata": {"annotations": changed}} if changed else patch


def _spec_drift(adapter: JobAdapter, wanted: Json, spec: Json) -> Json:
    patch: Json = {}
    for key in _FOLLOWED:
        if key == "podSets":
            same = adapter.same_pod_sets(wanted[key], spec.get(key) or ())
        else:
            same = (wanted.get(key) or None) == (spec.get(key) or None)
        if not same:
            patch[key] = wanted.get(key)
    # A class whose value changed does not touch Workloads that there are.
    if wanted.get("priorityClassRef") != spec.get("priorityClassRef"):
        patch["priority"] = wanted["priority"]
        patch["priorityClassRef"] = wanted.get("priorityClassRef")
    return patch


def reserved_drift(subject: Subject, workload: Json, context: Context) -> Json:
    """What may follow the job although quota is reserved: one WorkloadPriorityClass for another."""
    ref = workload["spec"].get("priorityClassRef") or {}
    name = labels_of(subject.object).get(names.PRIORITY_CLASS, "")
    found = context.workload_classes.get(name)
    if not name or found is None or ref.get("kind") != _OWN_CLASS["kind"]:
        return {}
    return {} if ref.get("name") == name else {"spec": _of_class(found, _OWN_CLASS)}
