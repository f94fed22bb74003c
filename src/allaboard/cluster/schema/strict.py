"""The slow way through decoding: what is wrong with an object, and where?

Follows Go's JSON decoder (sigs.k8s.io/json, case-sensitive): the first wrong type is reported with
the Go struct and the path of field names without indexes; decoding goes on past it. What decodes
itself (quantities, times, base64) ends the walk at once and takes precedence. Unknown and doubled
fields are complaints in document order, with indexes, at most a hundred.
"""

from typing import Any

from allaboard.api.codec import Doubled
from allaboard.api.quantity import FORMAT_MESSAGE, canonical, canonical_milli
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.schema.scalars import normal_base64, normal_micro_time, normal_time
from allaboard.cluster.schema.zero import (
    DROP,
    absent_value,
    fills,
    is_struct,
    vanishes_when_empty,
    zero_of,
)

_MAX_COMPLAINTS = 100
# Ours: looking after a list of structs costs far more than its text. Few have a limit of their own.
MAX_STRUCTS = 10_000
_NAMES: dict[type, str] = {
    str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object",
}  # fmt: skip


class DecodeError(ValueError):
    """The data does not fit the kind. `field` is the path with indexes, where it is known."""

    def __init__(self, message: str, field: str = "") -> None:
        super().__init__(message)
        self.field = field


class Walk:
    """One slow decoding: collects the first type error and every complaint on the way."""

    def __init__(self) -> None:
        self.error: DecodeError | None = None
        self.complaints: dict[str, None] = {}
        self.path: list[str] = []  # with indexes, for complaints
        self.names: list[str] = []  # field names only, for type errors
        self.struct = ""

    def value(self, schema: Schema, value: Any) -> Any:
        """The normal form of `value`, which is not null."""
        if schema.preserve_unknown:
            return value
        if schema.format in ("quantity", "date-time", "micro-time", "byte", "int-or-string"):
            return self._special(schema, value)
        if schema.type == "object":
            if not isinstance(value, dict):
                return self._mismatch(schema, value)
            return self._map(schema, value) if schema.values else self.fields(schema, value)
        if schema.type == "array":
            return self._list(schema, value)
        return self._scalar(schema, value)

    def fields(self, schema: Schema, data: dict[str, Any]) -> dict[str, Any]:
        outer = self.struct
        self.struct = schema.name
        out: dict[str, Any] = {}
        seen: set[str] = set()
        for name, value in _pairs(data):
            field = schema.properties.get(name)
            if field is None:
                self._complain("unknown", name)
                continue
            if name in seen:
                self._complain("duplicate", name)
            seen.add(name)
            self._enter(name)
            self.names.append(name)
            value = self._field(field, value)
            self.names.pop()
            self.path.pop()
            if value is DROP:
                out.pop(name, None)
            else:
                out[name] = value
        for name, constant, make in fills(schema):
            if name not in out:
                out[name] = constant if make is None else make()
        self.struct = outer
        return out

    def _field(self, schema: Schema, value: Any) -> Any:
        if value is None:
            return absent_value(schema)
        value = self.value(schema, value)
        if value is DROP:  # a wrong type: Go leaves the field as it was
            return absent_value(schema)
        return DROP if not value and vanishes_when_empty(schema) else value

    def _map(self, schema: Schema, data: dict[str, Any]) -> dict[str, Any]:
        assert schema.values is not None
        rounds = schema.go == "v1.ResourceList"
        out: dict[str, Any] = {}
        for key, value in _pairs(data):
            if key in out:
                self._complain("duplicate", key)
            self._enter(key)
            out[key] = self._rounded(value) if rounds else self._member(schema.values, value)
            self.path.pop()
        return out

    def _list(self, schema: Schema, data: Any) -> Any:
        assert schema.items is not None
        if not isinstance(data, list):
            return self._mismatch(schema, data)
        if len(data) > MAX_STRUCTS and is_struct(schema.items):
            problem = f"Too many: {len(data)}: must have at most {MAX_STRUCTS} items"
            raise DecodeError(f"{self._where()}: {problem}", self._where())
        out = []
        for index, value in enumerate(data):
            self.path.append(f"[{index}]")
            out.append(self._member(schema.items, value))
            self.path.pop()
        return out

    def _member(self, schema: Schema, value: Any) -> Any:
        if value is not None:
            value = self.value(schema, value)
        return zero_of(schema) if value is None or value is DROP else value

    def _scalar(self, schema: Schema, value: Any) -> Any:
        kind = type(value)
        if schema.type == "integer":
            limit = 1 << (31 if schema.format == "int32" else 63)
            if kind is int and -limit <= value < limit:
                return value
            if kind in (int, float):
                return self._mismatch(schema, value, f"number {value!r}")
        elif (schema.type == "number" and kind in (int, float)) or (
            kind is {"string": str, "boolean": bool}.get(schema.type)
        ):
            return value
        return self._mismatch(schema, value)

    def _special(self, schema: Schema, value: Any) -> Any:
        try:
            if schema.format == "quantity":
                return canonical(value)
            if schema.format == "int-or-string":
                return _int_or_string(value)
            if schema.format == "byte":
                return normal_base64(value) if type(value) is str else self._mismatch(schema, value)
            if type(value) is not str:
                raise ValueError(_into("string", value))
            return (normal_time if schema.format == "date-time" else normal_micro_time)(value)
        except ValueError as error:
            raise DecodeError(str(error), self._where()) from error

    def _rounded(self, value: Any) -> str:
        try:
            if isinstance(value, bool | dict | list):
                raise ValueError(FORMAT_MESSAGE)
            return canonical_milli(value)
        except ValueError as error:
            raise DecodeError(str(error), self._where()) from error

    def _mismatch(self, schema: Schema, value: Any, found: str = "") -> Any:
        if self.error is None:
            found = found or _NAMES.get(type(value), "object")
            target = f"Go struct field {self.struct}.{'.'.join(self.names)} of type {schema.go}"
            if not self.names:
                target = f"Go value of type {schema.go}"
            message = f"json: cannot unmarshal {found} into {target}"
            self.error = DecodeError(message, self._where())
        return DROP

    def _complain(self, what: str, name: str) -> None:
        if len(self.complaints) < _MAX_COMPLAINTS:
            path = "".join([*self.path, f".{name}" if self.path else name])
            self.complaints[f"{what} field {_quoted(path)}"] = None

    def _enter(self, name: str) -> None:
        self.path.append(f".{name}" if self.path else name)

    def _where(self) -> str:
        return "".join(self.path)


def _pairs(data: dict[str, Any]) -> Any:
    return data.pairs if isinstance(data, Doubled) else data.items()


def _quoted(text: str) -> str:
    """As Go's strconv.Quote, near enough: what is not printable is escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped)
    return f'"{escaped}"'


def _into(go_type: str, value: Any) -> str:
    found = _NAMES.get(type(value), "object")
    if go_type == "int32" and found == "number":
        found = f"number {value!r}"
    return f"json: cannot unmarshal {found} into Go value of type {go_type}"


def _int_or_string(value: Any) -> Any:
    if type(value) is str or (type(value) is int and -(1 << 31) <= value < 1 << 31):
        return value
    raise ValueError(_into("int32", value))


def decode_slowly(schema: Schema, data: Any) -> tuple[Any, list[str]]:
    """The normal form and the complaints about fields; raises DecodeError."""
    walk = Walk()
    value = zero_of(schema) if data is None else walk.value(schema, data)
    if walk.error is not None:
        raise walk.error
    assert value is not DROP and (is_struct(schema) or not walk.path)
    return value, list(walk.complaints)
