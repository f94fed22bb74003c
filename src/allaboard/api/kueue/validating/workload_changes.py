"""How may a Workload change? Rules on its old and new state together. (Reference §1.9.)

"Immutable" means that adding, changing and removing are refused alike: what could be removed could
be added again with another value.
"""

from typing import Any

from allaboard.api.fields import FieldError, required
from allaboard.api.kueue.names import ELASTIC_JOB
from allaboard.api.kueue.reasons import ADMITTED, QUOTA_RESERVED
from allaboard.api.kueue.validating.reading import (
    IMMUTABLE,
    bad,
    entries,
    number,
    part,
    text,
)
from allaboard.api.meta import Json

_DECIDED_LATER = ("topologyAssignment", "delayedTopologyRequest")
_READY = "Ready"


def has_condition(obj: Json, type_: str) -> bool:
    """Whether the condition is True."""
    return any(
        condition.get("type") == type_ and condition.get("status") == "True"
        for _, condition in entries(part(obj, "status"), "conditions")
    )


def workload_changes(obj: Json, old: Json) -> list[FieldError]:
    spec, before = part(obj, "spec"), part(old, "spec")
    errors: list[FieldError] = []
    was_reserved, is_reserved = (
        has_condition(old, QUOTA_RESERVED),
        has_condition(obj, QUOTA_RESERVED),
    )
    if was_reserved and spec != before:
        errors += _pod_sets(spec, before, may_shrink=_is_elastic(old))
        errors += _priority_class(spec, before)
    if was_reserved and is_reserved:
        name, was = text(spec, "queueName"), text(before, "queueName")
        if name != was:
            detail = f"queueName is immutable while workload quota reserved; it is {was!r}"
            errors.append(bad("spec.queueName", name, detail))
        errors += _reclaimable(part(obj, "status"), part(old, "status"))
    if has_condition(old, ADMITTED) and has_condition(obj, ADMITTED):
        field = "maximumExecutionTimeSeconds"
        if spec.get(field) != before.get(field):
            detail = f"{field} is immutable while admitted"
            errors.append(bad(f"spec.{field}", spec.get(field), detail))
    errors += _admission(obj, old)
    errors += _check_updates(part(obj, "status"), part(old, "status"))
    name, was = text(part(obj, "status"), "clusterName"), text(part(old, "status"), "clusterName")
    if name and was and name != was:
        detail = f"clusterName is immutable once set; it is {was!r}"
        errors.append(bad("status.clusterName", name, detail))
    return errors


def _is_elastic(obj: Json) -> bool:
    return text(part(obj, "metadata", "annotations"), ELASTIC_JOB) == "true"


def _pod_sets(spec: Json, before: Json, *, may_shrink: bool) -> list[FieldError]:
    new, old = spec.get("podSets"), before.get("podSets")
    if new == old or (may_shrink and _only_shrinks(new, old)):
        return []
    detail = f"{IMMUTABLE} while workload quota reserved"
    if may_shrink:
        detail += ", except that counts may decrease"
    names = [text(pod_set, "name") for _, pod_set in entries(spec, "podSets")]
    return [bad("spec.podSets", names, detail)]


def _only_shrinks(new: Any, old: Any) -> bool:
    """An elastic job may give pods back; everything else stays as it was reserved."""
    if not isinstance(new, list) or not isinstance(old, list) or len(new) != len(old):
        return False
    for now, was in zip(new, old, strict=True):
        if not isinstance(now, dict) or not isinstance(was, dict):
            return False
        if {**now, "count": 0} != {**was, "count": 0}:
            return False
        if number(now, "count", 1) > number(was, "count", 1):
            return False
    return True


def _priority_class(spec: Json, before: Json) -> list[FieldError]:
    path = "spec.priorityClassRef"
    new, old = spec.get("priorityClassRef"), before.get("priorityClassRef")
    when = "is immutable while workload quota reserved"
    if (new is None) != (old is None):
        detail = f"priorityClassRef {when}: it can be neither added nor removed"
        return [bad(path, new, detail)]
    errors: list[FieldError] = []
    for field in ("group", "kind"):
        if text(new, field) != text(old, field):
            detail = f"priorityClassRef.{field} {when}; it is {text(old, field)!r}"
            errors.append(bad(f"{path}.{field}", text(new, field), detail))
    is_pods = text(old, "group") == "scheduling.k8s.io"
    if is_pods and text(new, "name") != text(old, "name"):
        detail = (
            "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload"
            f" quota reserved; it is {text(old, 'name')!r}"
        )
        errors.append(bad(f"{path}.name", text(new, "name"), detail))
    return errors


def _admission(obj: Json, old: Json) -> list[FieldError]:
    """It is given and taken back as a whole; only the place of the pods may be decided later."""
    new, was = part(obj, "status").get("admission"), part(old, "status").get("admission")
    if new is None or was is None or new == was or _settled(new) == _settled(was):
        return []
    detail = f"{IMMUTABLE} once set, except {' and '.join(_DECIDED_LATER)}; clear it first"
    return [bad("status.admission", text(new, "clusterQueue"), detail)]


def _settled(admission: Any) -> Any:
    if not isinstance(admission, dict):
        return admission
    settled = [
        {key: value for key, value in assignment.items() if key not in _DECIDED_LATER}
        for _, assignment in entries(admission, "podSetAssignments")
    ]
    return {**admission, "podSetAssignments": settled}


def _reclaimable(status: Json, before: Json) -> list[FieldError]:
    """While quota is reserved a pod that was given back stays given back."""
    new = {
        text(entry, "name"): number(entry, "count")
        for _, entry in entries(status, "reclaimablePods")
    }
    errors: list[FieldError] = []
    for _, entry in entries(before, "reclaimablePods"):
        name, was = text(entry, "name"), number(entry, "count")
        place = f"status.reclaimablePods[{name[:63]}]"
        if name not in new:
            errors.append(required(place, "cannot be removed while workload quota reserved"))
        elif new[name] < was:
            errors.append(bad(f"{place}.count", new[name], f"cannot be less than {was}"))
    return errors


def _check_updates(status: Json, before: Json) -> list[FieldError]:
    """What a check wants added to pods stands while the check stays Ready."""
    if status.get("admissionChecks") == before.get("admissionChecks"):
        return []
    old = {text(check, "name"): check for _, check in entries(before, "admissionChecks")}
    errors: list[FieldError] = []
    for index, check in entries(status, "admissionChecks"):
        was = old.get(text(check, "name"), {})
        if text(check, "state") != _READY or text(was, "state") != _READY:
            continue
        if (check.get("podSetUpdates") or []) != (was.get("podSetUpdates") or []):
            field = f"status.admissionChecks[{index}].podSetUpdates"
            detail = f"{IMMUTABLE} while the check stays {_READY}"
            errors.append(bad(field, text(check, "name"), detail))
    return errors
