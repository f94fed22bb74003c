"""Do two pod templates ask for the same, and what do pods made from one really ask for? Pure.

A template says less than its pods will: the API server copies limits to missing requests, a
LimitRange fills in defaults, a RuntimeClass adds overhead. `filled` does to a template what the
server will do to the pods, so that quota is charged for what runs.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.queueing.jobs.adapter import count_in

CONTAINERS = ("initContainers", "containers")
_HASH_CHARACTERS = 8
# What makes pods of a group alike; names, volumes and commands do not.
_ROLE_FIELDS = (
    "affinity", "nodeSelector", "overhead", "priority", "priorityClassName", "resourceClaims",
    "runtimeClassName", "topologySpreadConstraints",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the cluster adds to pods of a namespace: LimitRanges and RuntimeClasses."""

    limit_ranges: Sequence[Json] = ()
    runtime_classes: Mapping[str, Json] = field(default_factory=dict)


def filled(template: Json, around: Surroundings) -> Json:
    """The template with requests, limits and overhead as its pods will have them."""
    spec = dict(template.get("spec") or {})
    limits, requests = _range_defaults(around.limit_ranges)
    for key in CONTAINERS:
        if spec.get(key):
            spec[key] = [_filled_container(c, limits, requests) for c in spec[key]]
    overhead = _overhead(spec, around)
    if overhead and not spec.get("overhead"):
        spec["overhead"] = overhead
    return template if spec == template.get("spec") else {**template, "spec": spec}


def _filled_container(container: Json, limits: Json, requests: Json) -> Json:
    resources = container.get("resources") or {}
    own_limits, own_requests = resources.get("limits") or {}, resources.get("requests") or {}
    # The server copies limits to requests before a LimitRange is asked.
    all_limits = {**limits, **own_limits}
    all_requests = {**all_limits, **requests, **own_limits, **own_requests}
    result = dict(resources)
    if all_limits != own_limits:
        result["limits"] = all_limits
    if all_requests != own_requests:
        result["requests"] = all_requests
    return container if result == resources else {**container, "resources": result}


def _range_defaults(ranges: Sequence[Json]) -> tuple[Json, Json]:
    limits: Json = {}
    requests: Json = {}
    for limit_range in ranges:
        for item in (limit_range.get("spec") or {}).get("limits") or ():
            if item.get("type") == "Container":
                limits |= item.get("default") or {}
                requests |= item.get("defaultRequest") or {}
    return limits, requests


def _overhead(spec: Json, around: Surroundings) -> Json:
    found = around.runtime_classes.get(spec.get("runtimeClassName") or "") or {}
    return dict((found.get("overhead") or {}).get("podFixed") or {})


def same_needs(wanted: Json, asked: Json) -> bool:
    """Whether a template still needs what a Workload's copy of it asked for.

    Only what quota depends on counts. Amounts that the copy has and the template has not were
    filled in; every amount that the template names must be in the copy.
    """
    new, old = wanted.get("spec") or {}, asked.get("spec") or {}
    if (new.get("runtimeClassName") or "") != (old.get("runtimeClassName") or ""):
        return False
    return all(_same_containers(new.get(k) or (), old.get(k) or ()) for k in CONTAINERS)


def _same_containers(new: Sequence[Json], old: Sequence[Json]) -> bool:
    if len(new) != len(old):
        return False
    for one, other in zip(new, old, strict=True):
        if any(one.get(key) != other.get(key) for key in ("name", "restartPolicy")):
            return False
        for key in ("requests", "limits"):
            named = (one.get("resources") or {}).get(key) or {}
            held = (other.get("resources") or {}).get(key) or {}
            if any(held.get(resource) != amount for resource, amount in named.items()):
                return False
    return True


def role_of(pod: Json) -> str:
    """Which pods of a group are alike: a short hash of what placing and paying for one needs."""
    spec = pod.get("spec") or {}
    shape: Json = {key: spec[key] for key in _ROLE_FIELDS if spec.get(key)}
    for key in CONTAINERS:
        shape[key] = [
            {k: c.get(k) for k in ("image", "resources", "ports", "restartPolicy")}
            for c in spec.get(key) or ()
        ]
    text = json.dumps(shape, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARACTERS]


_TOPOLOGY = (
    ("required", (names.REQUIRED_TOPOLOGY, names.REQUIRED_TOPOLOGY_KEP)),
    ("preferred", (names.PREFERRED_TOPOLOGY, names.PREFERRED_TOPOLOGY_KEP)),
    ("podSetGroupName", (names.POD_SET_GROUP,)),
    ("podSetSliceRequiredTopology", (names.SLICE_REQUIRED_TOPOLOGY,)),
)


def topology_request(
    template: Json, job_annotations: Mapping[str, str], index_label: str
) -> Json | None:
    """What annotations say about closeness; those of the template win over those of the job."""
    of_template = (template.get("metadata") or {}).get("annotations") or {}
    notes = {**job_annotations, **of_template}
    request: Json = {"podIndexLabel": index_label} if index_label else {}
    for field_name, spellings in _TOPOLOGY:
        value = next((notes[key] for key in spellings if notes.get(key)), "")
        if value:
            request[field_name] = value
    if notes.get(names.UNCONSTRAINED_TOPOLOGY) == "true":
        request["unconstrained"] = True
    size = count_in(notes.get(names.SLICE_SIZE, ""))
    if size is not None:
        request["podSetSliceSize"] = size
    constraints = _slice_constraints(notes.get(names.SLICE_CONSTRAINTS, ""))
    if constraints:
        request["podsetSliceRequiredTopologyConstraints"] = constraints
    return request or None


def _slice_constraints(text: str) -> list[Json]:
    try:
        found = json.loads(text) if text else []
    except ValueError:
        return []  # refused at admission; here there is nobody to tell
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
