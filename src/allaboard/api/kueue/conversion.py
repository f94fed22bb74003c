"""How does an object of `kueue.x-k8s.io` become one of the other version?

`convert` is pure: it moves what has another name, leaves everything else alone and never changes
metadata. What both versions can say survives in both directions. A topology assignment that
contradicts itself has no other form: a writer of v1beta1 is refused with ConversionError, a reader
of v1beta1 is shown none, so that one spoilt object cannot break a list.

Renames: reference §1.3. Dropped on the way up, because v1beta2 has no word for it: a ClusterQueue's
`status.pendingWorkloadsStatus`, a LocalQueue's `status.flavors`, an AdmissionCheck's
`spec.retryDelayMinutes`, and a priority class of unknown source.
"""

from collections.abc import Callable
from typing import Any

from allaboard.api.errors import BadRequest
from allaboard.api.kueue import topology_encoding as encoding
from allaboard.api.kueue.crd.v1beta1 import POD_SOURCE, WORKLOAD_SOURCE
from allaboard.api.kueue.types.shared import GROUP, OLD, STORED
from allaboard.api.meta import Json

_REFS = {
    WORKLOAD_SOURCE: ("kueue.x-k8s.io", "WorkloadPriorityClass"),
    POD_SOURCE: ("scheduling.k8s.io", "PriorityClass"),
}
_SOURCES = {ref: source for source, ref in _REFS.items()}
_MISSPELT = "accumulatedPastExexcutionTimeSeconds"
_SPELT = "accumulatedPastExecutionTimeSeconds"


class ConversionError(ValueError):
    """The object cannot be said in the other version; the message names field and reason."""


def convert(obj: Json, to_version: str) -> Json:
    """`obj` in `to_version` ("v1beta2" or with the group before it). Never changes `obj`."""
    version = to_version.removeprefix(f"{GROUP}/")
    if version not in (OLD, STORED):
        raise ConversionError(f"{to_version} is none of {GROUP}/{OLD} and {GROUP}/{STORED}")
    target = f"{GROUP}/{version}"
    if obj.get("apiVersion") == target:
        return obj
    if obj.get("apiVersion") not in (f"{GROUP}/{OLD}", f"{GROUP}/{STORED}"):
        raise ConversionError(f"{obj.get('apiVersion')} cannot be converted to {target}")
    changes = (_UP if version == STORED else _DOWN).get(str(obj.get("kind")), {})
    converted = {**obj, "apiVersion": target}
    for part, change in changes.items():
        if isinstance(obj.get(part), dict):
            converted[part] = change(dict(obj[part]))
    return converted


async def convert_all(objects: list[Json], target: str) -> list[Json]:
    """The shape in which a server in the same process wants it."""
    try:
        return [convert(obj, target) for obj in objects]
    except ConversionError as error:
        raise BadRequest(f"the object cannot be converted to {target}: {error}") from error


def _move(part: Json, name: str, to: str) -> None:
    if name in part:
        part[to] = part.pop(name)


# --- ClusterQueue -----------------------------------------------------------------------------


def _queue_up(spec: Json) -> Json:
    _move(spec, "cohort", "cohortName")
    fungibility = spec.get("flavorFungibility")
    if isinstance(fungibility, dict):
        synonyms = {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}
        changed = {
            name: "MayStopSearch"
            for name, synonym in synonyms.items()
            if fungibility.get(name) == synonym
        }
        spec["flavorFungibility"] = {**fungibility, **changed}
    names = spec.pop("admissionChecks", None)
    if isinstance(names, list) and names:
        spec["admissionChecksStrategy"] = _with_checks(spec.get("admissionChecksStrategy"), names)
    return spec


def _with_checks(strategy: Any, names: list[Any]) -> Json:
    """Checks for all flavors join those that are there; one that is there keeps its flavors."""
    strategy = dict(strategy) if isinstance(strategy, dict) else {}
    known = strategy.get("admissionChecks")
    known = list(known) if isinstance(known, list) else []
    taken = [check.get("name") for check in known if isinstance(check, dict)]
    known += [{"name": name} for name in names if name not in taken]
    return {**strategy, "admissionChecks": known}


def _queue_down(spec: Json) -> Json:
    _move(spec, "cohortName", "cohort")
    return spec


def _without(name: str) -> Callable[[Json], Json]:
    def change(part: Json) -> Json:
        part.pop(name, None)
        return part

    return change


# --- LocalQueue -------------------------------------------------------------------------------


def _local_status_up(status: Json) -> Json:
    status.pop("flavors", None)
    _move(status, "flavorUsage", "flavorsUsage")
    return status


def _local_status_down(status: Json) -> Json:
    _move(status, "flavorsUsage", "flavorUsage")
    return status


# --- Workload ---------------------------------------------------------------------------------


def _workload_up(spec: Json) -> Json:
    name, source = spec.pop("priorityClassName", None), spec.pop("priorityClassSource", None)
    if name and source in _REFS:
        group, kind = _REFS[source]
        spec["priorityClassRef"] = {"group": group, "kind": kind, "name": name}
    return spec


def _workload_down(spec: Json) -> Json:
    ref = spec.pop("priorityClassRef", None)
    if isinstance(ref, dict):
        source = _SOURCES.get((str(ref.get("group")), str(ref.get("kind"))))
        if source:
            spec |= {"priorityClassName": ref.get("name"), "priorityClassSource": source}
    return spec


def _workload_status_up(status: Json) -> Json:
    _move(status, _MISSPELT, _SPELT)
    return _assignments(status, _assignment_up)


def _workload_status_down(status: Json) -> Json:
    _move(status, _SPELT, _MISSPELT)
    return _assignments(status, _assignment_down)


def _assignments(status: Json, change: Callable[[Json, str], Json | None]) -> Json:
    for holder in ("admission", "preemptionHold"):
        held = status.get(holder)
        parts = held.get("podSetAssignments") if isinstance(held, dict) else None
        if not isinstance(held, dict) or not isinstance(parts, list):
            continue
        place = f"status.{holder}.podSetAssignments"
        changed = [_part(part, change, f"{place}[{index}]") for index, part in enumerate(parts)]
        status[holder] = {**held, "podSetAssignments": changed}
    return status


def _part(part: Any, change: Callable[[Json, str], Json | None], place: str) -> Any:
    if not isinstance(part, dict) or not isinstance(part.get("topologyAssignment"), dict):
        return part
    rest = {name: value for name, value in part.items() if name != "topologyAssignment"}
    assignment = change(part["topologyAssignment"], f"{place}.topologyAssignment")
    return rest if assignment is None else {**rest, "topologyAssignment": assignment}


def _assignment_up(assignment: Json, place: str) -> Json:
    try:
        return encoding.encode(assignment.get("levels") or (), encoding.domains_of(assignment))
    except encoding.EncodingError as error:
        raise ConversionError(f"{place}.{error}") from error


def _assignment_down(assignment: Json, place: str) -> Json | None:
    try:
        return encoding.listed(assignment.get("levels") or (), encoding.decode(assignment))
    except encoding.EncodingError:
        return None


_Change = Callable[[Json], Json]
_UP: dict[str, dict[str, _Change]] = {
    "ClusterQueue": {"spec": _queue_up, "status": _without("pendingWorkloadsStatus")},
    "LocalQueue": {"status": _local_status_up},
    "Workload": {"spec": _workload_up, "status": _workload_status_up},
    "AdmissionCheck": {"spec": _without("retryDelayMinutes")},
}
_DOWN: dict[str, dict[str, _Change]] = {
    "ClusterQueue": {"spec": _queue_down},
    "LocalQueue": {"status": _local_status_down},
    "Workload": {"spec": _workload_down, "status": _workload_status_down},
}
