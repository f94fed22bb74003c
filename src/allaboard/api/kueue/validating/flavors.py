"""What may ResourceFlavors and Topologies say? (Reference §§1.6, 1.7.)"""

from typing import Final

from allaboard.api.fields import FieldError, required, too_many
from allaboard.api.kueue.names import HOSTNAME
from allaboard.api.kueue.validating.reading import (
    IMMUTABLE,
    bad,
    bounded,
    changed,
    duplicate,
    entries,
    label_errors,
    label_key_errors,
    name_errors,
    part,
    text,
)
from allaboard.api.kueue.validating.selectors import taint_errors, toleration_errors
from allaboard.api.meta import Json

MAX_LABELS: Final = 8
MAX_LEVELS: Final = 16


def validate_resource_flavor(obj: Json, old: Json | None = None) -> list[FieldError]:
    spec, before = part(obj, "spec"), text(part(old, "spec"), "topologyName")
    errors: list[FieldError] = []
    name = text(spec, "topologyName")
    if changed(obj, old, "spec"):
        labels = part(spec, "nodeLabels")
        if len(labels) > MAX_LABELS:
            errors.append(too_many("spec.nodeLabels", len(labels), MAX_LABELS))
        errors += label_errors(labels, "spec.nodeLabels")
        errors += taint_errors(spec, "spec.nodeTaints")
        errors += toleration_errors(spec, "spec.tolerations")
        for field in ("nodeTaints", "tolerations"):
            if len(entries(spec, field)) > MAX_LABELS:
                errors.append(too_many(f"spec.{field}", len(entries(spec, field)), MAX_LABELS))
        if name:
            errors += name_errors(name, "spec.topologyName")
        if name and not labels:
            detail = "at least one nodeLabel is required when topology is set"
            errors.append(required("spec.nodeLabels", detail))
    if before and name != before:
        # It may be set later, but neither changed nor removed: removed, it could be set anew.
        errors.append(bad("spec.topologyName", name, f"{IMMUTABLE} once set; it is {before!r}"))
    return bounded(errors)


def validate_topology(obj: Json, old: Json | None = None) -> list[FieldError]:
    if not changed(obj, old, "spec"):
        return []
    path = "spec.levels"
    labels = _levels(obj)
    errors: list[FieldError] = []
    if not labels:
        errors.append(required(path, f"from 1 to {MAX_LEVELS} levels, the widest first"))
    if len(labels) > MAX_LEVELS:
        return [too_many(path, len(labels), MAX_LEVELS)]
    for index, label in enumerate(labels):
        place = f"{path}[{index}].nodeLabel"
        errors += label_key_errors(label, place)
        if label in labels[:index]:
            errors.append(duplicate(place, label))
        elif label == HOSTNAME and index < len(labels) - 1:
            detail = f"the {HOSTNAME} label can only be used at the lowest level of topology"
            errors.append(bad(place, label, detail))
    if old is not None and labels != _levels(old) and not (_ends_at_nodes(obj, old)):
        detail = f"levels can only be changed while {HOSTNAME} is the lowest level"
        errors.append(bad(path, labels, f"{detail}; they are {_levels(old)}"))
    return bounded(errors)


def _levels(obj: Json) -> list[str]:
    return [text(level, "nodeLabel") for _, level in entries(part(obj, "spec"), "levels")]


def _ends_at_nodes(*topologies: Json) -> bool:
    return all(_levels(topology)[-1:] == [HOSTNAME] for topology in topologies)
