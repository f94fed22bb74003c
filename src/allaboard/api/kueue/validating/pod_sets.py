"""What may a workload's pod sets say: pods, counts, topology? (Reference §§1.9, 3.1.)"""

from typing import Any, Final

from allaboard.api import names
from allaboard.api.fields import FieldError, forbidden, required, too_many
from allaboard.api.kueue.names import PODS
from allaboard.api.kueue.types.workloads import MAX_POD_SETS
from allaboard.api.kueue.validating.reading import (
    NOT_NEGATIVE,
    amount_errors,
    annotation_errors,
    bad,
    duplicate,
    entries,
    label_errors,
    label_key_errors,
    number,
    part,
    resource_name_errors,
    text,
)
from allaboard.api.meta import Json

MAX_COUNT: Final = 2**31 - 1
MAX_LAYERS: Final = 3
_RESERVED_KEY: Final = "the key is reserved for internal kueue use"
_PLACEMENTS: Final = ("required", "preferred", "unconstrained")


def validate_pod_sets(spec: Json) -> list[FieldError]:
    """All pod sets of a workload, and what they say about each other."""
    path = "spec.podSets"
    pod_sets = entries(spec, "podSets")
    if not pod_sets:
        return [required(path, f"from 1 to {MAX_POD_SETS} pod sets")]
    if len(pod_sets) > MAX_POD_SETS:
        return [too_many(path, len(pod_sets), MAX_POD_SETS)]
    errors: list[FieldError] = []
    seen: dict[str, None] = {}
    for index, pod_set in pod_sets:
        place = f"{path}[{index}]"
        name = pod_set_name(pod_set)
        problems = names.label_problems(name[:64])
        errors += [bad(f"{place}.name", name, problem) for problem in problems]
        if name in seen:
            errors.append(duplicate(f"{place}.name", name))
        seen[name] = None
        errors += _counts(pod_set, place)
        errors += template_errors(part(pod_set, "template"), f"{place}.template")
        if pod_set.get("topologyRequest") is not None:
            request = part(pod_set, "topologyRequest")
            count = number(pod_set, "count", 1)
            errors += topology_request_errors(request, count, f"{place}.topologyRequest")
    flexible = [index for index, pod_set in pod_sets if pod_set.get("minCount") is not None]
    if len(flexible) > 1:
        errors.append(bad(path, len(flexible), "at most one podSet can use minCount"))
    return errors + _groups(pod_sets, path)


def pod_set_name(pod_set: Json) -> str:
    return text(pod_set, "name") or "main"


def _counts(pod_set: Json, place: str) -> list[FieldError]:
    count, least = number(pod_set, "count", 1), pod_set.get("minCount")
    errors: list[FieldError] = []
    if not 0 <= count <= MAX_COUNT:
        errors.append(bad(f"{place}.count", count, f"must be between 0 and {MAX_COUNT}"))
    if isinstance(least, int) and not 1 <= least <= count:
        detail = f"minCount should be positive and less or equal to count, which is {count}"
        errors.append(bad(f"{place}.minCount", least, detail))
    return errors


# --- templates --------------------------------------------------------------------------------


def template_errors(template: Json, path: str) -> list[FieldError]:
    """What the controller relies on; the rest of a pod template is Kubernetes' business."""
    metadata, spec = part(template, "metadata"), part(template, "spec")
    errors = label_errors(metadata.get("labels"), f"{path}.metadata.labels")
    errors += annotation_errors(metadata.get("annotations"), f"{path}.metadata.annotations")
    for field in ("initContainers", "containers"):
        for index, container in entries(spec, field):
            place = f"{path}.spec.{field}[{index}].resources"
            errors += _resources(part(container, "resources"), place)
    errors += _resources(part(spec, "resources"), f"{path}.spec.resources")
    errors += _amounts(spec.get("overhead"), f"{path}.spec.overhead")
    return errors


def _resources(resources: Json, path: str) -> list[FieldError]:
    return [
        error
        for field in ("requests", "limits")
        for error in _amounts(resources.get(field), f"{path}.{field}")
    ]


def _amounts(amounts: Any, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for resource, amount in amounts.items() if isinstance(amounts, dict) else ():
        place = f"{path}[{resource[:317]}]"
        if resource == PODS:
            errors.append(bad(place, resource, _RESERVED_KEY))
            continue
        errors += resource_name_errors(resource, place)
        errors += amount_errors(resource, amount, place)
    return errors


# --- topology ---------------------------------------------------------------------------------


def topology_request_errors(request: Json, count: int, path: str) -> list[FieldError]:
    """`count` is the number of pods; slices must divide it."""
    errors: list[FieldError] = []
    given = [name for name in _PLACEMENTS if request.get(name) not in (None, False, "")]
    if len(given) > 1:
        detail = f"{' and '.join(given)} exclude each other; keep one"
        errors.append(bad(path, given, detail))
    for field in ("required", "preferred", "podSetSliceRequiredTopology"):
        if text(request, field):
            errors += label_key_errors(text(request, field), f"{path}.{field}")
    groups = request.get("subGroupCount")
    if isinstance(groups, int) and groups < 0:
        errors.append(bad(f"{path}.subGroupCount", groups, NOT_NEGATIVE))
    errors += _slices(request, count, path)
    errors += _layers(request, count, f"{path}.podsetSliceRequiredTopologyConstraints")
    group = request.get("podSetGroupName")
    if isinstance(group, str) and (not group or group.isdigit()):
        detail = "must be a name that is not a number"
        errors.append(bad(f"{path}.podSetGroupName", group, detail))
    return errors


def _slices(request: Json, count: int, path: str) -> list[FieldError]:
    level, size = text(request, "podSetSliceRequiredTopology"), request.get("podSetSliceSize")
    if not level and size is None:
        return []
    if size is None:
        detail = "must be set together with podSetSliceRequiredTopology"
        return [required(f"{path}.podSetSliceSize", detail)]
    if not level:
        detail = "may only be set together with podSetSliceRequiredTopology"
        return [forbidden(f"{path}.podSetSliceSize", detail)]
    return _slice_size(size, count, f"{path}.podSetSliceSize")


def _slice_size(size: Any, count: int, field: str) -> list[FieldError]:
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        return [bad(field, size, "must be a whole number greater than 0")]
    # Kueue differs: it leaves out the pods that fill no slice.
    if count % size:
        return [bad(field, size, f"must divide the number of pods, which is {count}")]
    return []


def _layers(request: Json, count: int, path: str) -> list[FieldError]:
    layers = entries(request, "podsetSliceRequiredTopologyConstraints")
    if not layers:
        return []
    if len(layers) > MAX_LAYERS:
        return [too_many(path, len(layers), MAX_LAYERS)]
    errors: list[FieldError] = []
    for name in ("podSetSliceRequiredTopology", "podSetSliceSize", "podSetGroupName"):
        if request.get(name) is not None:
            errors.append(forbidden(path, f"may not be set together with {name}"))
    whole = count
    seen: dict[str, None] = {}
    for index, layer in layers:
        place, level = f"{path}[{index}]", text(layer, "topology")
        errors += label_key_errors(level, f"{place}.topology")
        if level in seen:
            errors.append(duplicate(f"{place}.topology", level))
        seen[level] = None
        size = number(layer, "size")
        if size < 1:
            detail = "must be a whole number greater than 0"
            errors.append(bad(f"{place}.size", layer.get("size"), detail))
        elif whole % size:
            detail = f"must divide what is above it, which is {whole}"
            errors.append(bad(f"{place}.size", size, detail))
        else:
            whole = size
    return errors


def _groups(pod_sets: list[tuple[int, Json]], path: str) -> list[FieldError]:
    """A group is a leader and its workers: two pod sets, one of them with a single pod."""
    members: dict[str, list[tuple[int, Json]]] = {}
    for index, pod_set in pod_sets:
        name = text(part(pod_set, "topologyRequest"), "podSetGroupName")
        if name:
            members.setdefault(name, []).append((index, pod_set))
    errors: list[FieldError] = []
    for name, group in members.items():
        field = f"{path}[{group[-1][0]}].topologyRequest.podSetGroupName"
        requests = [part(pod_set, "topologyRequest") for _, pod_set in group]
        if len(group) != 2:
            errors.append(bad(field, name, f"must be that of two pod sets, not {len(group)}"))
        elif all(number(pod_set, "count", 1) != 1 for _, pod_set in group):
            errors.append(bad(field, name, "one pod set of the group must have count 1"))
        elif any(requests[0].get(k) != requests[1].get(k) for k in ("required", "preferred")):
            detail = "both pod sets of the group must ask for the same level"
            errors.append(bad(field, name, detail))
        elif any(request.get("podSetSliceSize") is not None for request in requests):
            errors.append(bad(field, name, "pod sets of a group cannot have slices"))
    return errors
