"""Which fields does a door of the API put back, so that nobody can own them through it?

The main resource resets status where there is a status subresource; `/status` resets spec, and for
some kinds more. Source: GetResetFields of each kind's strategy (facts only).
"""

from functools import lru_cache

from allaboard.cluster.patching.fieldset import FieldSet, from_paths

_STATUS = (("status",),)
_SPEC = (("spec",),)
_STATUS_DOOR: dict[str, tuple[tuple[str, ...], ...]] = {
    "pods": (("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
    "deployments.apps": (("spec",), ("metadata", "labels")),
    "replicationcontrollers": _SPEC,
    "customresourcedefinitions.apiextensions.k8s.io": (("metadata",), ("spec",)),
}


@lru_cache(maxsize=4096)
def reset_fields(resource: str, subresource: str, has_status: bool, custom: bool) -> FieldSet:
    """For `Manager(reset=…)`. `resource` is the store's key, such as `pods` or `jobs.batch`."""
    if subresource == "":
        return from_paths(_STATUS) if has_status else {}
    if subresource == "status":
        if custom:
            return from_paths((("metadata",), ("spec",)))
        return from_paths(_STATUS_DOOR.get(resource, _SPEC))
    return from_paths(_STATUS) if has_status and subresource not in ("scale", "finalize") else {}
