"""What is filled in when an object of `kueue.x-k8s.io` is created?

`filled` gives the defaults of the schema, as an API server would; the `default_<kind>` functions
add what only a webhook can: finalizers, and what a switched-off feature takes away. They are pure,
take v1beta2 data of any shape and return the object itself when there is nothing to do.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from allaboard.api.kueue.names import RESOURCE_IN_USE
from allaboard.api.kueue.types.shared import STORED
from allaboard.api.kueue.validating.shape import schema_for
from allaboard.api.meta import Json


def default_cluster_queue(obj: Json) -> Json:
    return _with_finalizer(obj)


def default_resource_flavor(obj: Json) -> Json:
    return _with_finalizer(obj)


def default_workload(obj: Json, partial_admission: bool = True) -> Json:
    """Without partial admission nobody may start with fewer pods."""
    spec = obj.get("spec")
    pod_sets = spec.get("podSets") if isinstance(spec, dict) else None
    if partial_admission or not isinstance(spec, dict) or not isinstance(pod_sets, list):
        return obj
    whole = [_without_least(pod_set) for pod_set in pod_sets]
    return obj if whole == pod_sets else {**obj, "spec": {**spec, "podSets": whole}}


def _without_least(pod_set: Any) -> Any:
    if not isinstance(pod_set, dict) or "minCount" not in pod_set:
        return pod_set
    return {name: value for name, value in pod_set.items() if name != "minCount"}


def _with_finalizer(obj: Json) -> Json:
    """An object in use is deleted only when nobody uses it any more."""
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    finalizers = metadata.get("finalizers") or []
    if not isinstance(finalizers, list) or RESOURCE_IN_USE in finalizers:
        return obj
    return {**obj, "metadata": {**metadata, "finalizers": [*finalizers, RESOURCE_IN_USE]}}


DEFAULTS: dict[str, Callable[[Json], Json]] = {
    "ClusterQueue": default_cluster_queue,
    "ResourceFlavor": default_resource_flavor,
    "Workload": default_workload,
}


def filled(obj: Json) -> Json:
    """The object with the defaults of its v1beta2 schema."""
    schema = schema_for(str(obj.get("kind")), STORED)
    result: Json = obj if schema is None else _fill(schema, obj)
    return result


def _fill(schema: Json, value: Any) -> Any:
    if isinstance(value, dict):
        fields, extra = schema.get("properties") or {}, schema.get("additionalProperties")
        if not fields and not extra:
            return value  # somebody else's type
        done = {
            name: _fill(fields.get(name) or extra or {}, member) for name, member in value.items()
        }
        for name, below in fields.items():
            if done.get(name) is None and "default" in below:
                done[name] = _fill(below, deepcopy(below["default"]))
        return done
    if isinstance(value, list):
        return [_fill(schema.get("items") or {}, member) for member in value]
    return value
