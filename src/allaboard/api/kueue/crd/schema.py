"""What is the OpenAPI schema of a type?

Walks a view's annotations (notation: `rules.py`) and writes a structural schema as apiextensions
demands it: every field typed, no `additionalProperties` beside `properties`, defaults only where
the server may fill them in. Same types, same bytes.
"""

import types
import typing
from typing import Any

import msgspec

from allaboard.api.kueue.crd.rules import Rule, described, rules_of
from allaboard.api.meta import Json
from allaboard.api.types.model import Model, Object

_SCALARS: dict[Any, Json] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
}
# Three of an object's fields are the server's own; nothing may be said about them.
_ENVELOPE: Json = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}


def schema_of(view: type[Object]) -> Json:
    """The `openAPIV3Schema` of a kind."""
    schema = _struct(view)
    schema["properties"] = _ENVELOPE | schema["properties"]
    return schema


def _struct(cls: type[Model]) -> Json:
    hints = typing.get_type_hints(cls, include_extras=True)
    properties: Json = {}
    required: list[str] = []
    fields = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    for info, (name, wire) in zip(msgspec.structs.fields(cls), fields, strict=True):
        if typing.get_origin(hints[name]) is not typing.Annotated:
            continue
        schema, rules = _annotated(hints[name])
        if any(rule.filled for rule in rules):
            schema["default"] = msgspec.to_builtins(_default(info))
        if any(rule.required for rule in rules):
            required.append(wire)
        properties[wire] = schema
    schema = {"description": _first_line(cls), "type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if rules_over_fields := cls.__dict__.get("CEL"):
        schema["x-kubernetes-validations"] = [
            {"rule": rule, "message": message} for rule, message in rules_over_fields
        ]
    return schema


def _default(info: msgspec.structs.FieldInfo) -> Any:
    """The default of a field; a container's is made by a factory."""
    return info.default_factory() if info.default is msgspec.NODEFAULT else info.default


def _annotated(hint: Any) -> tuple[Json, list[Rule]]:
    """The schema of one type, and the rules that speak about it as somebody's field."""
    metadata: tuple[Any, ...] = ()
    if typing.get_origin(hint) is typing.Annotated:
        hint, *rest = typing.get_args(hint)
        metadata = tuple(rest)
    rules = rules_of(metadata)
    schema = _plain(hint, rules)
    for rule in rules:
        for word, value in rule.words.items():
            joined = word == "x-kubernetes-validations" and word in schema
            schema[word] = [*schema[word], *value] if joined else value
        if rule.items:
            schema["items"] |= rule.items
    if text := described(metadata):
        schema = {"description": text} | {k: v for k, v in schema.items() if k != "description"}
    return schema, rules


def _plain(hint: Any, rules: list[Rule]) -> Json:
    if any(rule.opaque for rule in rules):
        return {"type": "object"}
    if hint in _SCALARS:
        return dict(_SCALARS[hint])
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        some = [arg for arg in args if arg is not type(None)]
        if len(some) == 1:
            return _annotated(some[0])[0]
        # the one union there is, int or string: its rule says all that is to say
        assert any("x-kubernetes-int-or-string" in rule.words for rule in rules), hint
        return {}
    if origin is list:
        return {"type": "array", "items": _annotated(args[0])[0]}
    if origin is dict:
        value = _annotated(args[1])[0] if args[1] is not Any else None
        return {"type": "object"} | ({"additionalProperties": value} if value else {})
    assert isinstance(hint, type) and issubclass(hint, Model), hint
    return _struct(hint)


def _first_line(cls: type[Model]) -> str:
    return (cls.__doc__ or cls.__name__).strip().split("\n\n")[0].replace("\n", " ")
