"""A naive model of field ownership: sets of paths, recomputed from whole objects each time.

Kept as simple as possible, so that the fast implementation can be held against it.
"""

import json
from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.schema.node import Schema

Path = tuple[str, ...]


def text(**marks: Any) -> Schema:
    return Schema(type="string", **marks)


# One custom kind with everything that can be owned in its own way.
PART = Schema(
    type="object",
    properties={"name": text(), "port": Schema(type="integer", default=80, has_default=True),
                "value": text(), "tags": Schema(type="array", items=text(), list_type="set")},
)  # fmt: skip
SPEC = Schema(
    type="object",
    properties={
        "text": text(),
        "plain": Schema(type="array", items=text()),
        "set": Schema(type="array", items=text(), list_type="set"),
        "parts": Schema(type="array", items=PART, list_type="map", list_keys=("name", "port")),
        "map": Schema(type="object", values=text()),
        "whole": Schema(type="object", values=text(), map_type="atomic"),
        "free": Schema(type="object", preserve_unknown=True),
        "inner": Schema(type="object", properties={"a": text(), "b": text()}),
    },
)
KIND = Schema(type="object", properties={"spec": SPEC, "status": SPEC})


def paths_of(fields: Json, prefix: Path = ()) -> set[Path]:
    """The members of a fieldsV1."""
    out: set[Path] = set()
    for element, node in fields.items():
        if element == ".":
            continue
        path = (*prefix, element)
        if not node or "." in node:
            out.add(path)
        out |= paths_of(node, path)
    return out


def element_of(list_schema: Schema, member: Any) -> str:
    if list_schema.list_type == "set":
        return "v:" + json.dumps(member, separators=(",", ":"))
    keys = {"name": member.get("name"), "port": member.get("port", 80)}
    return "k:" + json.dumps(keys, separators=(",", ":"))


def flatten(schema: Schema | None, value: Any, path: Path = ()) -> dict[Path, Any]:
    """Every path in a value; what is owned as one maps to its value, containers to None."""
    if isinstance(value, dict) and (schema is None or schema.map_type != "atomic"):
        out: dict[Path, Any] = {path: None}
        for name, child in value.items():
            inner = (schema.properties.get(name) or schema.values) if schema else None
            out |= flatten(inner, child, (*path, f"f:{name}"))
        return out
    if isinstance(value, list) and schema is not None and schema.list_type != "atomic":
        out = {path: None}
        for member in value:
            out |= flatten(schema.items, member, (*path, element_of(schema, member)))
        return out
    return {path: json.dumps(value, sort_keys=True)}


def tracked(obj: Json | None) -> dict[Path, Any]:
    """The paths of an object that somebody can own."""
    if obj is None:
        return {}
    labels = (obj.get("metadata") or {}).get("labels")
    shown = {k: v for k, v in obj.items() if k in ("spec", "status")}
    out = flatten(KIND, shown)
    if labels is not None:
        out |= flatten(Schema(type="object", values=text()), labels, ("f:metadata", "f:labels"))
    out.pop((), None)
    return out


def differences(old: Json | None, new: Json, reset: str) -> tuple[set[Path], set[Path]]:
    before, after = tracked(old), tracked(new)
    changed = {p for p, v in after.items() if p not in before or before[p] != v}
    removed = {p for p in before if p not in after}
    skip = f"f:{reset}"
    return {p for p in changed if p[0] != skip}, {p for p in removed if p[0] != skip}


def owners_after_update(
    owners: dict[str, set[Path]], who: str, changed: set[Path], removed: set[Path]
) -> dict[str, set[Path]]:
    out = {name: fields - changed - removed for name, fields in owners.items()}
    out[who] = (owners.get(who, set()) - removed) | changed
    return {name: fields for name, fields in out.items() if fields}
