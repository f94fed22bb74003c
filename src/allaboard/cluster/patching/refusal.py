"""How is a patch refused whose result is no object of its kind?

JSON and merge patches are refused with the patched document as JSON: the parts a patch went
through in alphabetical order, the rest in the kind's own order. A strategic merge patch is refused
with the patch as Go prints it, and the first value that does not fit its field.
"""

import json
from typing import Any

from allaboard.api.errors import Invalid
from allaboard.api.meta import Json
from allaboard.cluster.patching import go_text
from allaboard.cluster.schema.node import Schema

MAX_SHOWN = 10_000
_GO_KINDS = {"string": "string", "boolean": "bool", "number": "float64", "integer": "int64"}


def undecodable(patched: Json, schema: Schema, problem: str) -> Invalid:
    """The answer to a JSON or merge patch whose result cannot be decoded."""
    ordered = {k: _ordered(patched[k], schema.properties.get(k)) for k in sorted(patched)}
    return _invalid(json.dumps(ordered, ensure_ascii=False, separators=(",", ":")), problem)


def _ordered(value: Any, schema: Schema | None) -> Any:
    if isinstance(value, dict):
        names = list(schema.properties) if schema is not None else []
        first = [n for n in names if n in value]
        rest = sorted(k for k in value if k not in first)
        values = schema.values if schema is not None else None
        return {
            k: _ordered(value[k], (schema.properties.get(k) or values) if schema else None)
            for k in (*first, *rest)
        }
    if isinstance(value, list):
        return [_ordered(v, schema.items if schema is not None else None) for v in value]
    return value


def unrestorable(patch: Json, problem: str) -> Invalid:
    """The answer to a strategic merge patch that sets a value of the wrong type."""
    return _invalid(go_text.plain(patch), problem)


def _invalid(shown: str, problem: str) -> Invalid:
    if len(shown) > MAX_SHOWN:
        shown = shown[:MAX_SHOWN] + "..."
    text = f"Invalid value: {json.dumps(shown, ensure_ascii=False)}: {problem}"
    cause = {"reason": "FieldValueInvalid", "message": text, "field": "patch"}
    return Invalid(f' "" is invalid: patch: {text}', details={"causes": [cause]})


def find_misfit(value: Any, patch: Any, schema: Schema) -> str:
    """Why a patched value cannot be put into its Go type, looking only where `patch` went."""
    problem = _mismatch(value, schema)
    if problem or value is None:
        return problem
    if isinstance(value, dict) and isinstance(patch, dict):
        for name, change in patch.items():
            child = schema.properties.get(name) or schema.values
            if child is not None and name in value:
                problem = find_misfit(value[name], change, child)
                if problem:
                    return problem
    elif isinstance(value, list) and schema.items is not None:
        for member in value:
            problem = find_misfit(member, member, schema.items)
            if problem:
                return problem
    return ""


def _mismatch(value: Any, schema: Schema) -> str:
    if value is None or schema.format or schema.type == "" or schema.preserve_unknown:
        return ""
    kind = go_text.go_kind(value)
    match schema.type:
        case "object" if kind != "map":
            what = "map from" if schema.values is not None else "struct from:"
            return f"cannot restore {what} {kind}"
        case "array" if kind != "slice":
            return f"cannot restore slice from {kind}"
        case "string" if kind in ("int64", "float64"):
            return f"cannot convert {kind} to string"
        case "string" | "boolean" if kind != _GO_KINDS[schema.type]:
            return f"unrecognized type: {_GO_KINDS[schema.type]}"
    return ""
