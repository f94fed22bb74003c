"""How is a value of this schema owned: as one, by field, or by list member?

A `Shape` is a schema seen by server-side apply. It is compiled lazily, once per schema, because
every write walks it. What has no schema is deduced from the value: objects by key, all else as one.

Source of the rules: structured-merge-diff's typed package and Kubernetes' conversion of OpenAPI
into its schemas (facts only).
"""

import json
from dataclasses import replace
from functools import lru_cache
from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.schema.builtin import meta_schema
from allaboard.cluster.schema.node import Schema

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT"})()
_ZEROES: dict[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# The same few finalizers, condition types and names of containers come again and again; long texts
# are not worth their memory.
_SHORT = 256


@lru_cache(maxsize=4096)
def _value_element(value: str) -> str:
    return f"v:{_text(value)}"


@lru_cache(maxsize=4096)
def _key_element(name: str, value: str) -> str:
    return f"k:{_text({name: value})}"


class KeyMissing(ValueError):
    """A member of a keyed list that cannot be told from the others."""


class Shape:
    """`kind` is leaf, map (also structs), set, keyed, or any (deduced from the value)."""

    __slots__ = ("_keys", "declared", "fields", "items", "kind", "schema", "values", "zero")

    def __init__(self, schema: Schema | None) -> None:
        self.schema = schema
        self.kind = _kind(schema)
        self.zero = ABSENT if schema is None else _zero(schema)
        # Compiled so far, by name: (path element, shape). Maps fill it with the keys they meet.
        self.fields: dict[str, tuple[str, Shape]] = {}
        self.declared = schema.properties if schema is not None else {}
        self.items: Shape | None = None
        self.values: Shape | None = None
        self._keys: tuple[tuple[str, Any], ...] = ()
        if schema is not None and self.kind == "keyed" and schema.items is not None:
            members = schema.items.properties
            self._keys = tuple((k, _key_default(members.get(k))) for k in sorted(schema.list_keys))
            self.items = shape_of(schema.items)
        elif schema is not None and self.kind == "set":
            self.items = shape_of(schema.items)

    def field(self, name: str) -> tuple[str, "Shape"]:
        """The path element of a member and its shape."""
        found = self.fields.get(name)
        if found is not None:
            return found
        child = self.declared.get(name)
        if child is not None:
            found = self.fields[name] = (f"f:{name}", shape_of(child))
            return found
        if self.values is None:
            inner = self.schema.values if self.schema is not None else None
            self.values = Shape(inner)
            self.values.zero = ABSENT  # unlike a field, a key is there or it is not
        # Keys of maps are the users' words: remembering them would grow without bound.
        return f"f:{name}", self.values

    def element(self, member: Any) -> str:
        """The path element of a list member. KeyMissing when it has none."""
        if self.kind == "set":
            is_short = member.__class__ is str and len(member) <= _SHORT
            return _value_element(member) if is_short else "v:" + _text(member)
        if not isinstance(member, dict):
            what = "a null element" if member is None else "non-map elements"
            raise KeyMissing(f"associative list with keys may not have {what}")
        if len(self._keys) == 1:
            name, default = self._keys[0]
            value = member.get(name, default)
            if value.__class__ is str and len(value) <= _SHORT:
                return _key_element(name, value)
        return "k:" + _text(self.key(member))

    def key(self, member: Json) -> Json:
        """What tells a member from the others: its key fields, as far as it has them."""
        keys = {}
        for name, default in self._keys:
            value = member.get(name, default)
            if value is not ABSENT:
                keys[name] = value
        if not keys:
            names = " ".join(f'"{name}"' for name, _ in self._keys)
            raise KeyMissing(
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
        return keys

    def is_open(self) -> bool:
        """May it hold members nobody declared?"""
        schema = self.schema
        return (
            schema is None
            or schema.values is not None
            or schema.preserve_unknown
            or not schema.properties
        )


def _kind(schema: Schema | None) -> str:
    if schema is None:
        return "any"
    if schema.type == "object":
        if schema.format == "raw-extension":
            return "any"
        return "leaf" if schema.map_type == "atomic" else "map"
    if schema.type == "array":
        if schema.list_type == "map" and schema.list_keys:
            return "keyed"
        return "set" if schema.list_type == "set" else "leaf"
    if schema.type == "" and schema.format != "int-or-string":
        return "any"
    return "leaf"


def _zero(schema: Schema) -> Any:
    """What a Go struct of a built-in kind holds in this field when nobody set it."""
    if not schema.go or schema.pointer or schema.omit_zero:
        return ABSENT
    if schema.name:
        return {}
    if schema.format in ("date-time", "micro-time"):
        return None
    return _ZEROES.get(schema.type) if schema.always else ABSENT


def _key_default(schema: Schema | None) -> Any:
    return schema.default if schema is not None and schema.has_default else ABSENT


@lru_cache(maxsize=16384)
def shape_of(schema: Schema | None) -> Shape:
    """The shape of a schema; the same one each time, until many others were asked for."""
    if schema is not None and schema.embedded:
        return object_shape(schema)
    return Shape(schema)


@lru_cache(maxsize=4096)
def object_shape(schema: Schema) -> Shape:
    """The shape of a whole object: whatever its schema says, it has metadata."""
    metadata = schema.properties.get("metadata")
    if metadata is None or not metadata.properties:
        text = Schema(type="string")
        added = {"apiVersion": text, "kind": text, "metadata": meta_schema("ObjectMeta")}
        schema = replace(schema, type="object", properties={**schema.properties, **added})
    return Shape(schema)


DEDUCED = shape_of(None)
