"""The fast way through decoding: copy an object that has nothing wrong with it.

Equals `strict.decode_slowly` for every object without defects, and raises `Unclean` for all others
(and for some odd ones without), so that only those pay for the walk that can say what and where.
Closures are made once per struct; a pod takes some tens of microseconds.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from allaboard.api.quantity import canonical, canonical_milli
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.schema.scalars import normal_base64, normal_micro_time, normal_time
from allaboard.cluster.schema.strict import MAX_STRUCTS
from allaboard.cluster.schema.zero import fills, is_struct, vanishes_when_empty, zero_of

Clean = Callable[[Any], Any]


class Unclean(Exception):
    """Something is wrong, or unusual: look closely."""


_UNCLEAN = Unclean()  # raised without a traceback worth keeping


@cache
def cleaner(schema: Schema) -> Clean:
    """The closure for a root schema, or for one field's value."""
    return _Maker().value(schema)


class _Maker:
    """Makes closures; a struct is made once per root, however often it occurs in it."""

    def __init__(self) -> None:
        self.structs: dict[int, Clean] = {}

    def value(self, schema: Schema) -> Clean:
        if schema.preserve_unknown:
            return _anything
        if schema.format in _SCALARS:
            return _SCALARS[schema.format](schema)
        if is_struct(schema):
            return self.struct(schema)
        if schema.go == "v1.ResourceList":
            return _map(_text(canonical_milli)(schema), schema)
        if schema.values is not None:
            return _map(self.element(schema.values), schema.values)
        if schema.items is not None:
            return _list(self.element(schema.items), schema.items)
        return _exactly({"string": str, "boolean": bool}[schema.type])

    def element(self, schema: Schema) -> Clean:
        """A member of a list or map: null stands for the zero value."""
        clean = self.value(schema)
        if is_struct(schema):
            return clean
        zero = zero_of(schema)
        return lambda value: zero if value is None else clean(value)

    def struct(self, schema: Schema) -> Clean:
        key = id(schema.properties)
        made = self.structs.get(key)
        if made is not None:
            return made
        handlers: dict[str, Clean] = {}
        plain: set[str] = set()  # optional strings, the most frequent fields by far
        kept: set[str] = set()  # written even when empty
        missing = fills(schema)

        def clean(data: Any) -> dict[str, Any]:
            out: dict[str, Any] = {}
            if type(data) is not dict:
                if data is not None:
                    raise _UNCLEAN
                data = out
            for name, value in data.items():
                if type(value) is str and name in plain:
                    if value:
                        out[name] = value
                    continue
                handler = handlers.get(name)
                if handler is None:
                    raise _UNCLEAN
                if value is None:  # as if it were not there
                    continue
                value = handler(value)
                if value or name in kept:
                    out[name] = value
            for name, constant, make in missing:
                if name not in out:
                    out[name] = constant if make is None else make()
            return out

        self.structs[key] = clean
        for name, field in schema.properties.items():
            handlers[name] = self.value(field)
            if not vanishes_when_empty(field):
                kept.add(name)
            elif field.type == "string" and not field.format:
                plain.add(name)
        return clean


def _anything(value: Any) -> Any:
    return value


def _exactly(wanted: type) -> Clean:
    def clean(value: Any) -> Any:
        if type(value) is not wanted:
            raise _UNCLEAN
        return value

    return clean


def _integer(schema: Schema) -> Clean:
    limit = 1 << (31 if schema.format == "int32" else 63)

    def clean(value: Any) -> Any:
        if type(value) is not int or not -limit <= value < limit:
            raise _UNCLEAN
        return value

    return clean


def _double(_: Schema) -> Clean:
    def clean(value: Any) -> Any:
        if type(value) is not float and type(value) is not int:
            raise _UNCLEAN
        return value

    return clean


def _text(normal: Callable[[str], str]) -> Callable[[Schema], Clean]:
    def make(_: Schema) -> Clean:
        def clean(value: Any) -> Any:
            if type(value) is not str:
                raise _UNCLEAN
            try:
                return normal(value)
            except ValueError:
                raise _UNCLEAN from None

        return clean

    return make


def _int_or_string(_: Schema) -> Clean:
    def clean(value: Any) -> Any:
        if type(value) is str:
            return value
        if type(value) is not int or not -(1 << 31) <= value < 1 << 31:
            raise _UNCLEAN
        return value

    return clean


_SCALARS: dict[str, Callable[[Schema], Clean]] = {
    "int32": _integer,
    "int64": _integer,
    "double": _double,
    "byte": _text(normal_base64),
    "date-time": _text(normal_time),
    "micro-time": _text(normal_micro_time),
    "duration": _text(str),
    "quantity": _text(lru_cache(maxsize=4096)(canonical)),
    "int-or-string": _int_or_string,
}


def _map(element: Clean, schema: Schema) -> Clean:
    if schema.type == "string" and not schema.format:

        def strings(data: Any) -> dict[str, Any]:
            if type(data) is not dict:
                raise _UNCLEAN
            for value in data.values():
                if type(value) is not str:
                    raise _UNCLEAN
            return data.copy()

        return strings

    def clean(data: Any) -> dict[str, Any]:
        if type(data) is not dict:
            raise _UNCLEAN
        return {key: element(value) for key, value in data.items()}

    return clean


def _list(element: Clean, schema: Schema) -> Clean:
    if schema.type == "string" and not schema.format:

        def strings(data: Any) -> list[Any]:
            if type(data) is not list:
                raise _UNCLEAN
            for value in data:
                if type(value) is not str:
                    raise _UNCLEAN
            return data.copy()

        return strings

    def clean(data: Any) -> list[Any]:
        if type(data) is not list or len(data) > MAX_STRUCTS:
            raise _UNCLEAN
        return [element(value) for value in data]

    return clean
