"""Does every keyword of a schema have a value of its kind?

The server decodes definitions, but not what lies below `items` and `additionalProperties`, which
may be several things. Everything after this check may rely on the shapes.
"""

from collections.abc import Callable
from typing import Any

from allaboard.api.fields import FieldError, bad_value
from allaboard.cluster.crds.strictness import INT64_MAX

_TEXTS = (
    "id", "$schema", "$ref", "description", "type", "format", "title", "pattern",
    "x-kubernetes-list-type", "x-kubernetes-map-type",
)  # fmt: skip
_FLAGS = (
    "exclusiveMaximum", "exclusiveMinimum", "uniqueItems", "nullable",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
)  # fmt: skip
_NUMBERS = ("maximum", "minimum", "multipleOf")
_COUNTS = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
_NAMES = ("required", "x-kubernetes-list-map-keys")
_LISTS = ("allOf", "anyOf", "oneOf")
_MAPS = ("properties", "patternProperties", "definitions")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) <= INT64_MAX


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _is_rules(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(rule, dict)
        and all(isinstance(rule.get(k, ""), str | None) for k in ("rule", "message", "fieldPath"))
        for rule in value
    )


_CHECKS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    **{word: ("a string", lambda v: isinstance(v, str)) for word in _TEXTS},
    **{word: ("a boolean", lambda v: isinstance(v, bool)) for word in _FLAGS},
    **dict.fromkeys(_NUMBERS, ("a number", _is_number)),
    **dict.fromkeys(_COUNTS, ("an integer", _is_count)),
    **dict.fromkeys(_NAMES, ("a list of strings", _is_names)),
    **{word: ("a list", lambda v: isinstance(v, list)) for word in (*_LISTS, "enum")},
    **{word: ("an object", lambda v: isinstance(v, dict)) for word in (*_MAPS, "not")},
    "items": ("a schema or a list of schemas", lambda v: isinstance(v, dict | list)),
    "additionalProperties": ("a schema or a boolean", lambda v: isinstance(v, dict | bool)),
    "x-kubernetes-validations": ("a list of rules", _is_rules),
}


def check_shapes(schema: Any, path: str) -> list[FieldError]:
    """Every keyword with a value of the wrong kind, here and below."""
    found: list[FieldError] = []
    if not isinstance(schema, dict):
        return [_wrong(path, schema, "a schema")]
    for word, value in schema.items():
        if word not in _CHECKS or value is None:
            continue
        kind, fits = _CHECKS[word]
        if not fits(value):
            found.append(_wrong(f"{path}.{word}", value, kind))
            continue
        for place, below in _below(word, value, f"{path}.{word}"):
            found += check_shapes(below, place)
    return found


def _below(word: str, value: Any, path: str) -> list[tuple[str, Any]]:
    if word in _MAPS:
        return [(f"{path}[{name}]", sub) for name, sub in sorted(value.items())]
    if word in ("not", "items", "additionalProperties") and isinstance(value, dict):
        return [(path, value)]
    if word in _LISTS:
        return [(f"{path}[{index}]", sub) for index, sub in enumerate(value)]
    return []


def _wrong(path: str, value: Any, kind: str) -> FieldError:
    text = bad_value(path, value, f"must be {kind}").text
    return FieldError("FieldValueTypeInvalid", path, text[:500])
