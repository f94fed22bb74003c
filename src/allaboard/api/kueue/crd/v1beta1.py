"""How does v1beta1 differ from v1beta2? As edits of the generated schema.

Only names and spellings differ (`conversion.py` moves the values). What Kueue has in v1beta2 alone
is in both versions here, so that an object read and written back through v1beta1 loses nothing.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from allaboard.api.meta import Json

Edit = Callable[[Json], None]


def _at(schema: Json, path: str) -> Json:
    """The schema of a field; `[]` after a name means a list's items."""
    for name in path.split(".") if path else ():
        schema = schema["properties"][name.removesuffix("[]")]
        if name.endswith("[]"):
            schema = schema["items"]
    return schema


def renamed(parent: str, name: str, older: str) -> Edit:
    """The field under its older name, in its place, and in the rules of its parent."""

    def edit(root: Json) -> None:
        schema = _at(root, parent)
        fields = schema["properties"]
        schema["properties"] = {(older if k == name else k): v for k, v in fields.items()}
        for rule in schema.get("x-kubernetes-validations") or ():
            rule["rule"] = rule["rule"].replace(f".{name}", f".{older}")

    return edit


def added(parent: str, name: str, schema: Json) -> Edit:
    def edit(root: Json) -> None:
        _at(root, parent)["properties"][name] = deepcopy(schema)

    return edit


def removed(parent: str, name: str) -> Edit:
    def edit(root: Json) -> None:
        del _at(root, parent)["properties"][name]

    return edit


def said(parent: str, name: str, **words: Any) -> Edit:
    """Other keywords for a field."""

    def edit(root: Json) -> None:
        _at(root, parent)["properties"][name] |= deepcopy(words)

    return edit


def rule_changed(parent: str, changes: dict[str, str]) -> Edit:
    """Rules over the fields of `parent`, with some of their words replaced."""

    def edit(root: Json) -> None:
        for rule in _at(root, parent)["x-kubernetes-validations"]:
            for word, older in changes.items():
                rule["rule"] = rule["rule"].replace(word, older)
                rule["message"] = rule["message"].replace(word, older)

    return edit


def rules_replaced(parent: str, dropped: str, kept: list[Json]) -> Edit:
    """Rules that name `dropped` make room for others."""

    def edit(root: Json) -> None:
        schema = _at(root, parent)
        rules = [r for r in schema["x-kubernetes-validations"] if dropped not in r["rule"]]
        schema["x-kubernetes-validations"] = rules + deepcopy(kept)

    return edit


def older(schema: Json, edits: tuple[Edit, ...]) -> Json:
    schema = deepcopy(schema)
    for edit in edits:
        edit(schema)
    return schema


_CHECK_NAMES: Json = {
    "description": "AdmissionChecks for all flavors; v1beta2 says so in admissionChecksStrategy.",
    "type": "array",
    "items": {"type": "string", "maxLength": 316},
    "maxItems": 64,
    "x-kubernetes-list-type": "set",
}
_PENDING: Json = {
    "description": "The head of the queue; no longer filled in.",
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
}
_QUEUE_FLAVORS: Json = {
    "description": "Flavors to be had through this queue; no longer filled in.",
    "type": "array",
    "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "x-kubernetes-list-type": "atomic",
}
CLUSTER_QUEUE: tuple[Edit, ...] = (
    renamed("spec", "cohortName", "cohort"),
    added("spec", "admissionChecks", _CHECK_NAMES),
    said(
        "spec.flavorFungibility",
        "whenCanBorrow",
        enum=["MayStopSearch", "TryNextFlavor", "Borrow"],
    ),
    said(
        "spec.flavorFungibility",
        "whenCanPreempt",
        enum=["MayStopSearch", "TryNextFlavor", "Preempt"],
    ),
    added("status", "pendingWorkloadsStatus", _PENDING),
)
LOCAL_QUEUE: tuple[Edit, ...] = (
    renamed("status", "flavorsUsage", "flavorUsage"),
    added("status", "flavors", _QUEUE_FLAVORS),
)
ADMISSION_CHECK: tuple[Edit, ...] = (
    added(
        "spec",
        "retryDelayMinutes",
        {
            "description": "No longer used.",
            "type": "integer",
            "format": "int64",
        },
    ),
)

_CLASS_NAME: Json = {
    "description": "Name of the class the priority is from.",
    "type": "string",
    "maxLength": 253,
    "pattern": r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
}
POD_SOURCE = "scheduling.k8s.io/priorityclass"
WORKLOAD_SOURCE = "kueue.x-k8s.io/workloadpriorityclass"
_CLASS_SOURCE: Json = {
    "description": "What the class is: a pod's or a workload's.",
    "type": "string",
    "enum": [WORKLOAD_SOURCE, POD_SOURCE, ""],
    "default": "",
}
_DOMAINS: Json = {
    "description": "The domains, in order.",
    "type": "array",
    "maxItems": 100_000,
    "items": {
        "description": "One domain.",
        "type": "object",
        "required": ["values", "count"],
        "properties": {
            "values": {
                "description": "Its value for each level.",
                "type": "array",
                "minItems": 1,
                "maxItems": 16,
                "items": {"type": "string", "maxLength": 63},
                "x-kubernetes-list-type": "atomic",
            },
            "count": {
                "description": "Pods in it.",
                "type": "integer",
                "format": "int32",
                "minimum": 1,
            },
        },
    },
    "x-kubernetes-list-type": "atomic",
}
_RESERVED = (
    "has(oldSelf.status) && has(oldSelf.status.conditions) && oldSelf.status.conditions.exists(c,"
    " c.type == 'QuotaReserved' && c.status == 'True')"
)
_POD_CLASS = f"self.spec.priorityClassSource == '{POD_SOURCE}'"
_SOURCE_RULES: list[Json] = [
    {
        "rule": f"!({_RESERVED}) || has(oldSelf.spec.priorityClassSource)"
        " == has(self.spec.priorityClassSource) && (!has(self.spec.priorityClassSource)"
        " || oldSelf.spec.priorityClassSource == self.spec.priorityClassSource)",
        "message": "priorityClassSource is immutable while workload quota reserved",
    },
    {
        "rule": f"!({_RESERVED} && has(self.spec.priorityClassSource) && {_POD_CLASS})"
        " || has(oldSelf.spec.priorityClassName) == has(self.spec.priorityClassName)"
        " && (!has(self.spec.priorityClassName)"
        " || oldSelf.spec.priorityClassName == self.spec.priorityClassName)",
        "message": "priorityClassName is immutable while workload quota reserved",
    },
]


def _older_assignment(place: str) -> tuple[Edit, ...]:
    def require_domains(root: Json) -> None:
        _at(root, place)["required"] = ["levels", "domains"]

    return removed(place, "slices"), added(place, "domains", _DOMAINS), require_domains


WORKLOAD: tuple[Edit, ...] = (
    removed("spec", "priorityClassRef"),
    added("spec", "priorityClassName", _CLASS_NAME),
    added("spec", "priorityClassSource", _CLASS_SOURCE),
    rule_changed("spec", {"priorityClassRef": "priorityClassName"}),
    rules_replaced("", "priorityClassRef", _SOURCE_RULES),
    renamed(
        "status", "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds"
    ),
    *_older_assignment("status.admission.podSetAssignments[].topologyAssignment"),
    *_older_assignment("status.preemptionHold.podSetAssignments[].topologyAssignment"),
)
