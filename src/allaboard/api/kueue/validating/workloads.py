"""What may a Workload say, and how may it change? (Reference §1.9.)

The same rules hold for writes to the object and to its status: a user who may write one cannot do
through it what the other forbids. `workload_changes.py` has the rules on old and new together.
"""

from allaboard.api.fields import FieldError, not_found, required, too_many
from allaboard.api.kueue.reasons import QUOTA_RESERVED
from allaboard.api.kueue.topology_encoding import EncodingError, decode
from allaboard.api.kueue.types.workloads import MAX_POD_SETS
from allaboard.api.kueue.validating.pod_sets import pod_set_name, validate_pod_sets
from allaboard.api.kueue.validating.reading import (
    NOT_NEGATIVE,
    amount_errors,
    annotation_errors,
    bad,
    bounded,
    changed,
    counted,
    duplicate,
    entries,
    label_errors,
    name_errors,
    not_supported,
    number,
    parsed,
    part,
    text,
)
from allaboard.api.kueue.validating.selectors import toleration_errors
from allaboard.api.kueue.validating.workload_changes import has_condition, workload_changes
from allaboard.api.meta import Json

_KIND_OF_GROUP = {
    "scheduling.k8s.io": "PriorityClass",
    "kueue.x-k8s.io": "WorkloadPriorityClass",
}


def validate_workload(obj: Json, old: Json | None = None) -> list[FieldError]:
    errors: list[FieldError] = []
    is_new_spec = changed(obj, old, "spec")
    if is_new_spec:
        errors += _spec(part(obj, "spec"), part(old, "spec") if old is not None else None)
    if is_new_spec or changed(obj, old, "status"):
        errors += _status(obj, None if is_new_spec else old)
    if old is not None:
        errors += workload_changes(obj, old)
    return bounded(errors)


def _spec(spec: Json, before: Json | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if before is None or spec.get("podSets") != before.get("podSets"):
        errors += validate_pod_sets(spec)
    queue = text(spec, "queueName")
    if queue:
        errors += name_errors(queue, "spec.queueName")
    errors += _priority(spec)
    longest = spec.get("maximumExecutionTimeSeconds")
    if isinstance(longest, int) and longest < 1:
        errors.append(bad("spec.maximumExecutionTimeSeconds", longest, "must be at least 1"))
    gates = [text(gate, "name") for _, gate in entries(spec, "preemptionGates")]
    for index, name in enumerate(gates):
        if name in gates[:index]:
            errors.append(duplicate(f"spec.preemptionGates[{index}].name", name))
    return errors


def _priority(spec: Json) -> list[FieldError]:
    if spec.get("priorityClassRef") is None:
        return []
    path, ref = "spec.priorityClassRef", part(spec, "priorityClassRef")
    errors: list[FieldError] = []
    group, kind, name = (text(ref, field) for field in ("group", "kind", "name"))
    wanted = _KIND_OF_GROUP.get(group)
    if wanted is None:
        errors.append(not_supported(f"{path}.group", group, sorted(_KIND_OF_GROUP)))
    elif kind != wanted:
        detail = f"only the {wanted} kind is allowed for the {group} group"
        errors.append(bad(f"{path}.kind", kind, detail))
    errors += name_errors(name, f"{path}.name")
    if spec.get("priority") is None:
        detail = "priority should not be nil when priorityClassRef is set"
        errors.append(required("spec.priority", detail))
    return errors


# --- status -----------------------------------------------------------------------------------


def _status(obj: Json, old: Json | None) -> list[FieldError]:
    """What the status says about the spec. Parts that equal those of `old` are not judged again."""
    status, spec = part(obj, "status"), part(obj, "spec")
    counts = {
        pod_set_name(pod_set): number(pod_set, "count", 1)
        for _, pod_set in entries(spec, "podSets")
    }
    errors: list[FieldError] = []
    if has_condition(obj, QUOTA_RESERVED) and status.get("admission") is None:
        detail = f"must be set while the condition {QUOTA_RESERVED} is True"
        errors.append(required("status.admission", detail))
    if status.get("admission") is not None and changed(obj, old, "status", "admission"):
        errors += _admission(part(status, "admission"), counts, "status.admission")
    if status.get("preemptionHold") is not None and changed(obj, old, "status", "preemptionHold"):
        errors += _admission(part(status, "preemptionHold"), counts, "status.preemptionHold")
    if changed(obj, old, "status", "reclaimablePods"):
        errors += _reclaimable(status, counts)
    if changed(obj, old, "status", "admissionChecks"):
        errors += _checks(status, counts)
    if text(status, "clusterName") and status.get("nominatedClusterNames"):
        detail = "clusterName and nominatedClusterNames are mutually exclusive"
        errors.append(bad("status.clusterName", text(status, "clusterName"), detail))
    for field in (
        "accumulatedPastExecutionTimeSeconds",
        "accumulatedNotReadySeconds",
        "flavorFallbackRounds",
    ):
        if number(status, field) < 0:
            errors.append(bad(f"status.{field}", status[field], NOT_NEGATIVE))
    if number(part(status, "requeueState"), "count") < 0:
        value = part(status, "requeueState")["count"]
        errors.append(bad("status.requeueState.count", value, NOT_NEGATIVE))
    return errors


def _admission(admission: Json, counts: dict[str, int], path: str) -> list[FieldError]:
    errors = name_errors(text(admission, "clusterQueue"), f"{path}.clusterQueue")
    assignments = entries(admission, "podSetAssignments")
    if len(assignments) > MAX_POD_SETS:
        return [too_many(f"{path}.podSetAssignments", len(assignments), MAX_POD_SETS)]
    if len(assignments) != len(counts):
        detail = f"must have the same number of podSets as the spec, which has {len(counts)}"
        errors.append(bad(f"{path}.podSetAssignments", len(assignments), detail))
    seen: dict[str, None] = {}
    for index, assignment in assignments:
        place = f"{path}.podSetAssignments[{index}]"
        name = pod_set_name(assignment)
        if name not in counts:
            errors.append(not_found(f"{place}.name", name))
        if name in seen:
            errors.append(duplicate(f"{place}.name", name))
        seen[name] = None
        for resource, flavor in part(assignment, "flavors").items():
            if isinstance(flavor, str):
                errors += name_errors(flavor, f"{place}.flavors[{resource[:317]}]")
        errors += _usage(assignment, f"{place}.resourceUsage")
        errors += _topology(assignment, f"{place}.topologyAssignment")
    return errors


def _usage(assignment: Json, path: str) -> list[FieldError]:
    """Usage is that of all pods together, so that each of them can give back its part."""
    errors: list[FieldError] = []
    count = number(assignment, "count")
    for resource, value in part(assignment, "resourceUsage").items():
        place = f"{path}[{resource[:317]}]"
        if found := amount_errors(resource, value, place):
            errors += found
            continue
        amount = parsed(value)
        if count > 0 and amount is not None and counted(resource, amount) % count:
            errors.append(bad(place, value, f"is not a multiple of {count}"))
    return errors


def _topology(assignment: Json, path: str) -> list[FieldError]:
    if assignment.get("topologyAssignment") is None:
        return []
    try:
        decode(part(assignment, "topologyAssignment"))
    except EncodingError as error:
        return [bad(f"{path}.{error.field}", "", error.problem)]
    return []


def _reclaimable(status: Json, counts: dict[str, int]) -> list[FieldError]:
    errors: list[FieldError] = []
    for _, entry in entries(status, "reclaimablePods"):
        name, count = text(entry, "name"), number(entry, "count")
        place = f"status.reclaimablePods[{name[:63]}]"
        if name not in counts:
            errors.append(not_supported(f"{place}.name", name[:64], list(counts)))
        elif not 0 <= count <= counts[name]:
            detail = f"should be less or equal to {counts[name]} and not negative"
            errors.append(bad(f"{place}.count", count, detail))
    return errors


def _checks(status: Json, counts: dict[str, int]) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, check in entries(status, "admissionChecks"):
        for at, update in entries(check, "podSetUpdates"):
            place = f"status.admissionChecks[{index}].podSetUpdates[{at}]"
            name = text(update, "name")
            if name not in counts:
                errors.append(not_supported(f"{place}.name", name[:64], list(counts)))
            errors += toleration_errors(update, f"{place}.tolerations")
            errors += annotation_errors(update.get("annotations"), f"{place}.annotations")
            errors += label_errors(update.get("nodeSelector"), f"{place}.nodeSelector")
            errors += label_errors(update.get("labels"), f"{place}.labels")
    return errors
