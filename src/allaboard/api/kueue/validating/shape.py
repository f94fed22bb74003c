"""Does an object have the shape its schema demands?

What an API server checks against the schema before anybody's webhook is asked, for places where
no server stands in front: types, bounds, patterns, enumerations, required fields, duplicates in
lists with keys. Unknown fields are left alone (a server prunes them), null means absent.
"""

import re
from functools import lru_cache
from typing import Any

from allaboard.api.fields import FieldError, required, too_many
from allaboard.api.kueue.crd import v1beta1
from allaboard.api.kueue.crd.definitions import DEFINITIONS
from allaboard.api.kueue.crd.schema import schema_of
from allaboard.api.kueue.types.shared import OLD
from allaboard.api.kueue.validating.reading import (
    MAX_REPORTED,
    bad,
    duplicate,
    not_supported,
    shown,
)
from allaboard.api.meta import Json
from allaboard.api.times import TimeError, parse_time

_PYTHON: dict[str, type] = {
    "object": dict, "array": list, "string": str, "integer": int, "boolean": bool,
}  # fmt: skip
_INTEGERS = {"int32": 2**31, "int64": 2**63}


@lru_cache(maxsize=64)
def schema_for(kind: str, version: str) -> Json | None:
    """The schema of a kind; None if there is no such kind here."""
    for entry in DEFINITIONS:
        if entry.view.KIND.kind == kind:
            schema = schema_of(entry.view)
            return v1beta1.older(schema, entry.edits) if version == OLD else schema
    return None


def check_shape(schema: Json, obj: Any, path: str = "") -> list[FieldError]:
    found: list[FieldError] = []
    _check(schema, obj, path, found)
    return found[:MAX_REPORTED]


def _check(schema: Json, value: Any, path: str, found: list[FieldError]) -> None:
    if len(found) >= MAX_REPORTED:
        return
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, int | str):
            found.append(_wrong_type(path, value, "integer or string"))
        elif isinstance(value, str):
            _text(schema, value, path, found)
        return
    kind = schema.get("type")
    if kind is None:
        return
    is_flag = isinstance(value, bool)
    if not isinstance(value, _PYTHON[kind]) or (is_flag and kind == "integer"):
        found.append(_wrong_type(path, value, kind))
    elif isinstance(value, dict):
        _object(schema, value, path, found)
    elif isinstance(value, list):
        _list(schema, value, path, found)
    elif isinstance(value, str):
        _text(schema, value, path, found)
    elif isinstance(value, int) and not is_flag:
        _number(schema, value, path, found)


def _wrong_type(path: str, value: Any, wanted: str) -> FieldError:
    got = {dict: "object", list: "array", type(None): "null"}.get(type(value))
    detail = f"must be of type {wanted}"
    return bad(path, got or shown(value), f"{detail}, not {got}" if got else detail)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _object(schema: Json, value: Json, path: str, found: list[FieldError]) -> None:
    for name in schema.get("required") or ():
        if value.get(name) is None:
            found.append(required(_join(path, name)))
    for name, below in (schema.get("properties") or {}).items():
        if value.get(name) is not None:
            _check(below, value[name], _join(path, name), found)
    most = schema.get("maxProperties")
    if most is not None and len(value) > most:
        found.append(too_many(path, len(value), most))
        return
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        for key, member in value.items():
            if member is not None:
                _check(extra, member, f"{path}[{shown(key)}]", found)


def _list(schema: Json, value: list[Any], path: str, found: list[FieldError]) -> None:
    least, most = schema.get("minItems"), schema.get("maxItems")
    if least is not None and len(value) < least:
        found.append(bad(path, len(value), f"must have at least {least} items"))
    if most is not None and len(value) > most:
        found.append(too_many(path, len(value), most))
        return
    below = schema["items"]
    for index, member in enumerate(value):
        _check(below, member, f"{path}[{index}]", found)
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map":
        keys = schema["x-kubernetes-list-map-keys"]
        defaults = {name: below["properties"][name].get("default") for name in keys}
        _unique([_key(member, defaults) for member in value], path, found)
    elif kind == "set":
        _unique(value, path, found)


def _key(member: Any, defaults: Json) -> Any:
    """What tells members of a list apart; a single key speaks for itself."""
    if not isinstance(member, dict):
        return None
    said = {name: member.get(name, default) for name, default in defaults.items()}
    return next(iter(said.values())) if len(said) == 1 else said


def _unique(values: list[Any], path: str, found: list[FieldError]) -> None:
    seen: dict[str, None] = {}
    for index, value in enumerate(values):
        mark = repr(value)
        if value is not None and mark in seen:
            found.append(duplicate(f"{path}[{index}]", value))
        seen[mark] = None


def _text(schema: Json, value: str, path: str, found: list[FieldError]) -> None:
    least, most = schema.get("minLength"), schema.get("maxLength")
    if most is not None and len(value) > most:
        found.append(bad(path, value, f"must be no more than {most} characters"))
        return  # a pattern is not asked about what is too long anyway
    if least is not None and len(value) < least:
        found.append(bad(path, value, f"must be at least {least} characters"))
    elif "enum" in schema and value not in schema["enum"]:
        found.append(not_supported(path, shown(value), schema["enum"]))
    elif "pattern" in schema and not _pattern(schema["pattern"]).search(value):
        found.append(bad(path, value, f"must match '{schema['pattern']}'"))
    elif schema.get("format") == "date-time":
        try:
            parse_time(value[:64])
        except TimeError:
            found.append(bad(path, value, "must be a time such as 2006-01-02T15:04:05Z"))


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> re.Pattern[str]:
    # Python's `$` also matches before a newline at the end; the API server's does not.
    return re.compile(pattern.replace("$", r"\Z"), re.ASCII)


def _number(schema: Json, value: int, path: str, found: list[FieldError]) -> None:
    bound = _INTEGERS.get(schema.get("format") or "int64", 2**63)
    least = max(schema.get("minimum", -bound), -bound)
    if not least <= value < bound:
        found.append(bad(path, value, f"must be between {least} and {bound - 1}"))
