"""One yes-or-no question per write: is this object clean, that is valid and in no need of work?

A structural schema is rewritten into a stricter JSON schema: unknown fields are forbidden where
they would be pruned, fields with defaults are required, nulls are forbidden where they would be
dropped, integers may not be written as floats. What passes it needs neither pruning nor
defaulting and breaks no rule of the schema; what fails goes through the slow walks of `tidy.py`
and `messages.py`, which are the authority. The reverse must hold: nothing that the walks would
change or refuse may pass, except duplicates in lists keyed by fields and embedded metadata, which
`messages.py` checks apart.
"""

from typing import Any

import jsonschema_rs

from allaboard.api.meta import Json
from allaboard.cluster.crds.formats import CHECKS, pattern_check

INT64_MAX, INT64_MIN = 2**63 - 1, -(2**63)
INT32_MAX, INT32_MIN = 2**31 - 1, -(2**31)
# Checked by the engine itself, which is stricter than Go here and faster than a call back.
_NATIVE = ("date-time", "email", "hostname", "ipv4", "ipv6", "uri")
_COPIED = (
    "enum", "exclusiveMaximum", "exclusiveMinimum", "maxItems", "maxLength", "maxProperties",
    "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf",
)  # fmt: skip


def checker(schema: Json) -> jsonschema_rs.Draft4Validator:
    """The compiled question for the schema of one version (its `openAPIV3Schema`).

    A schema the engine does not take (a repeated enum value, say) gets the answer no every time:
    the slow walks then do all the work.
    """
    try:
        return jsonschema_rs.Draft4Validator(
            _resource(schema),
            validate_formats=True,
            formats={name: check for name, check in CHECKS.items() if name not in _NATIVE},
            pattern_options=jsonschema_rs.RegexOptions(),
        )
    except ValueError:
        return jsonschema_rs.Draft4Validator({"not": {}})


def _resource(schema: Json) -> Json:
    """The root, or an embedded resource: apiVersion, kind and metadata are always known."""
    strict = _structural(schema)
    known = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    properties = strict.setdefault("properties", {})
    properties.update(known)
    # Metadata is decoded and checked by rules of its own.
    properties["metadata"] = {"type": "object"}
    strict["required"] = list(dict.fromkeys([*strict.get("required", ()), "apiVersion", "kind"]))
    return strict


def _structural(schema: Json) -> Json:
    strict = _values(schema)
    names = schema.get("properties")
    required = list(strict.get("required", ()))
    if names:
        strict["properties"] = {name: _field(sub) for name, sub in names.items()}
        required += [name for name, sub in names.items() if "default" in sub]
    if required:
        strict["required"] = list(dict.fromkeys(required))
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict):
        strict["additionalProperties"] = _field(extra)
    elif schema.get("type") == "object" and not (
        extra is True or schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        strict["additionalProperties"] = False
    items = schema.get("items")
    if isinstance(items, dict):
        strict["items"] = _field(items)
    if schema.get("x-kubernetes-list-type") == "set":
        strict["uniqueItems"] = True
    return strict


def _field(schema: Json) -> Json:
    if schema.get("x-kubernetes-embedded-resource"):
        return _resource(schema)
    return _structural(schema)


def _values(schema: Json) -> Json:
    """What is said about values, here and in nested combinations of schemas."""
    strict: Json = {key: schema[key] for key in _COPIED if key in schema}
    kinds = _types(schema)
    if kinds:
        strict["type"] = kinds if len(kinds) > 1 else kinds[0]
    if "integer" in kinds:
        _bound_integers(schema, strict)
    if schema.get("uniqueItems"):
        strict["uniqueItems"] = True
    form = schema.get("format")
    if isinstance(form, str) and form in CHECKS:
        strict["format"] = form
    pattern = schema.get("pattern")
    if pattern and pattern_check(pattern) is not None:
        strict["pattern"] = pattern
    if schema.get("required"):
        strict["required"] = list(schema["required"])
    for word in ("allOf", "anyOf", "oneOf"):
        if schema.get(word):
            strict[word] = [_branch(sub) for sub in schema[word]]
    if schema.get("not"):
        strict["not"] = _branch(schema["not"])
    return strict


def _branch(schema: Json) -> Json:
    """A member of allOf, anyOf, oneOf or not: it only judges, it neither prunes nor fills in."""
    strict = _values(schema)
    if schema.get("properties"):
        strict["properties"] = {k: _branch(v) for k, v in schema["properties"].items()}
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            strict[word] = _branch(schema[word])
    if schema.get("additionalProperties") is False:
        strict["additionalProperties"] = False
    return strict


def _types(schema: Json) -> list[str]:
    if schema.get("x-kubernetes-int-or-string"):
        kinds = ["integer", "string"]
    else:
        kinds = [schema["type"]] if schema.get("type") else []
    if kinds and schema.get("nullable"):
        kinds.append("null")
    return kinds


def _bound_integers(schema: Json, strict: Json) -> None:
    low, high = (INT64_MIN, INT64_MAX)
    if schema.get("format") == "int32":
        low, high = INT32_MIN, INT32_MAX
    bounds: list[tuple[str, Any, str]] = [
        ("minimum", low, "exclusiveMinimum"),
        ("maximum", high, "exclusiveMaximum"),
    ]
    for word, bound, exclusive in bounds:
        own = strict.get(word)
        if own is None or (own < low if word == "minimum" else own > high):
            strict[word] = bound
            strict.pop(exclusive, None)
