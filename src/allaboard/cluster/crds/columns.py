"""Which columns does `kubectl get` show for a custom resource?

The first is always the name. Without columns of its own a kind gets its age. A column reads one
JSON path; what is missing or of another type than declared is an empty cell.
"""

import json
from collections.abc import Callable
from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.crds.jsonpath import parse, select
from allaboard.cluster.kinds.columns.basic import NAME, human_duration, seconds_of
from allaboard.cluster.resource import Column

_AGE: Json = {
    "name": "Age",
    "type": "date",
    "jsonPath": ".metadata.creationTimestamp",
    "description": "How long ago the object was created.",
}


def columns_of(version: Json) -> tuple[Column, ...]:
    """The columns that one entry of `spec.versions` declares."""
    declared = version.get("additionalPrinterColumns") or [_AGE]
    return (NAME, *(_column(entry) for entry in declared))


def _column(entry: Json) -> Column:
    return Column(
        name=entry["name"],
        type=entry["type"],
        cell=_cell(entry["type"], entry.get("jsonPath") or ""),
        format=entry.get("format") or "",
        description=entry.get("description") or "",
        priority=entry.get("priority") or 0,
    )


def _cell(kind: str, path: str) -> Callable[[Json, float], Any]:
    steps = parse(path) or ()

    def cell(obj: Json, now: float) -> Any:
        found = select(steps, obj) if steps else []
        return None if not found else _shown(kind, found[0], now)

    return cell


def _shown(kind: str, value: Any, now: float) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "string":
            return _text(value)
        case "integer":
            return int(value) if is_number else None
        case "number":
            return value if is_number else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "date":
            if not isinstance(value, str):
                return None
            at = seconds_of(value)
            return "<invalid>" if at is None else human_duration(now - at)
    return None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
