"""What does a body in protobuf say? Read it into the plain data its JSON twin would hold.

Go clients send built-in kinds as protobuf, also when they read JSON; kubectl's `create` does. Only
bodies are read: every such client takes JSON answers. An object travels in an envelope that
names its kind. Where each field lies is data (`protobuf_fields.txt`, written by
`tests/kubectl/wire_fields.go`): one line a message, one word a field,
`name=number:type`, with `[]` for lists, `{}` for maps, `?` for scalars that are meant even when
zero, and the name `-` for a message whose fields belong to its parent.
"""

import base64
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from allaboard.api.codec import MAX_VALUES, Malformed, read_json
from allaboard.api.errors import BadRequest, UnsupportedMedia
from allaboard.api.meta import Json
from allaboard.api.times import format_duration_ns, format_micro_time, format_time

PROTOBUF = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
MAX_DEPTH = 100  # schemas of custom resources nest; nothing else does by more than a dozen
MAX_SECOND = 253_402_300_799  # the last second of the year 9999, the last that RFC 3339 can write
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class BadWire(ValueError):
    """The bytes are no message; the text says what is wrong."""


def read_protobuf(raw: bytes) -> Json:
    """The object in the envelope; BadRequest for nonsense, UnsupportedMedia for other kinds."""
    if not raw.startswith(MAGIC):
        raise BadRequest(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    try:
        envelope = dict(fields(memoryview(raw)[len(MAGIC) :]))
        type_meta = dict(fields(_bytes(envelope.get(1, b""))))
        api_version, kind = _text(type_meta.get(1, b"")), _text(type_meta.get(2, b""))
        message = message_of(api_version, kind)
        if message is None:
            raise UnsupportedMedia(
                f"{api_version} {kind} cannot be read as protobuf; send application/json"
            )
        data = _message(message, _bytes(envelope.get(2, b"")), Nesting())
    except BadWire as error:
        raise BadRequest(f"the body is not a protobuf message: {error}") from None
    return {"kind": kind, "apiVersion": api_version, **data}


class Nesting:
    """How deep we are, and how many values the whole message may still hold."""

    __slots__ = ("_left", "_level")

    def __init__(self, level: int = 0, left: list[int] | None = None) -> None:
        self._level = level
        self._left = left if left is not None else [MAX_VALUES]  # shared by all levels

    def deeper(self) -> "Nesting":
        if self._level >= MAX_DEPTH:
            raise BadWire(f"messages nest deeper than {MAX_DEPTH}")
        return Nesting(self._level + 1, self._left)

    def spend(self) -> None:
        self._left[0] -= 1
        if self._left[0] < 0:
            raise BadWire(f"more than {MAX_VALUES} values in one message")


# --- the wire ------------------------------------------------------------------------------------


def varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise BadWire("unexpected end" if at >= len(data) else "an integer is too long")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, at
        shift += 7


def fields(data: memoryview | bytes) -> Iterator[tuple[int, Any]]:
    """Number and value of every field: an int, or the bytes."""
    data = memoryview(data)
    at = count = 0
    while at < len(data):
        count += 1
        if count > MAX_VALUES:
            raise BadWire(f"more than {MAX_VALUES} values in one message")
        tag, at = varint(data, at)
        number, how = tag >> 3, tag & 7
        if number == 0:
            raise BadWire("a field has the number 0")
        if how == VARINT:
            value, at = varint(data, at)
            yield number, value
            continue
        if how == BYTES:
            size, at = varint(data, at)
        elif how in (FIXED64, FIXED32):
            size = 8 if how == FIXED64 else 4
        else:
            raise BadWire(f"illegal wire type {how}")
        if size > len(data) - at:
            raise BadWire("unexpected end")
        yield number, data[at : at + size]
        at += size


def _bytes(value: Any) -> memoryview:
    if isinstance(value, int):
        raise BadWire("an integer where a message or text belongs")
    return memoryview(value)


def _text(value: Any) -> str:
    try:
        return str(_bytes(value), "utf-8")
    except UnicodeDecodeError:
        raise BadWire("a text is not UTF-8") from None


def _int(value: Any) -> int:
    if not isinstance(value, int):
        raise BadWire("bytes where an integer belongs")
    return value - (1 << 64) if value >> 63 else value


def _double(value: Any) -> float:
    raw = _bytes(value)
    if len(raw) != 8:
        raise BadWire("a double of the wrong size")
    number: float = struct.unpack("<d", raw)[0]
    if not math.isfinite(number):
        raise BadWire("a number that JSON cannot hold")
    return int(number) if number.is_integer() else number


# --- messages ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: str
    many: str  # "", "[]" or "{}"
    keeps_zero: bool


@cache
def _lines() -> dict[str, str]:
    text = resources.files("allaboard.cluster.server").joinpath("protobuf_fields.txt").read_text()
    found = {}
    for line in text.splitlines():
        head, _, rest = line.partition(" ")
        if head == "kind":
            version, kind, message = rest.split(" ")
            found[f"{version} {kind}"] = message
        else:
            found[head] = rest
    return found


def message_of(api_version: str, kind: str) -> str | None:
    if kind == "DeleteOptions":  # every group has the same
        return "meta.DeleteOptions"
    return _lines().get(f"{api_version} {kind}")


@cache
def _message_fields(message: str) -> dict[int, Field]:
    package = message.partition(".")[0]
    found = {}
    for word in _lines()[message].split():
        name, _, rest = word.partition("=")
        number, _, kind = rest.partition(":")
        many = kind[-2:] if kind[-2:] in ("[]", "{}") else ""
        plain = kind.removesuffix(many).removesuffix("?")
        plain = package + plain if plain.startswith(".") else plain
        found[int(number)] = Field(name, plain, many, kind.endswith("?"))
    return found


def _message(message: str, data: memoryview, depth: Nesting) -> Json:
    known = _message_fields(message)
    found: Json = {}
    for number, value in fields(data):
        depth.spend()
        field = known.get(number)
        if field is None:
            continue  # of a newer release; Kubernetes skips it too
        if field.name == "-":
            found.update(_message(field.type, _bytes(value), depth.deeper()))
        elif field.many == "[]":
            found.setdefault(field.name, []).extend(_elements(field, value, depth))
        elif field.many == "{}":
            entry = dict(fields(_bytes(value)))
            key = _text(entry.get(1, b""))
            found.setdefault(field.name, {})[key] = _value(field.type, entry.get(2), depth)
        else:
            plain = _value(field.type, value, depth)
            # Go writes every scalar that is no pointer, so most zeros say nothing.
            meant = plain or field.keeps_zero if field.type in SCALARS else plain is not None
            if meant:
                found[field.name] = plain
    return found


def _elements(field: Field, value: Any, depth: Nesting) -> Iterator[Any]:
    if field.type == "int" and not isinstance(value, int):  # packed
        at = 0
        while at < len(value):
            depth.spend()
            number, at = varint(value, at)
            yield _int(number)
    else:
        yield _value(field.type, value, depth)


def _value(kind: str, value: Any, depth: Nesting) -> Any:
    reader = SCALARS.get(kind)
    if reader is not None:
        return reader(value if value is not None else ABSENT.get(kind, b""))
    data = _bytes(value if value is not None else b"")
    if kind == "strings":
        return [_text(text) for number, text in fields(data) if number == 1]
    special = MESSAGES.get(kind)
    if special is not None:
        return special(dict(fields(data)), depth)
    return _message(kind, data, depth.deeper())


# --- types with a form of their own --------------------------------------------------------------


def _time(parts: dict[int, Any], depth: Nesting) -> str | None:
    return None if not parts else format_time(_second(parts))


def _micro_time(parts: dict[int, Any], depth: Nesting) -> str | None:
    if not parts:
        return None
    return format_micro_time(_second(parts) + _int(parts.get(2, 0)) // 1000 / 1_000_000)


def _second(parts: dict[int, Any]) -> int:
    second = _int(parts.get(1, 0))
    if not -62_135_596_800 <= second <= MAX_SECOND:
        raise BadWire("a time outside the years 1 to 9999")
    return second


def _int_or_string(parts: dict[int, Any], depth: Nesting) -> int | str:
    return _text(parts.get(3, b"")) if parts.get(1, 0) else _int(parts.get(2, 0))


def _raw(parts: dict[int, Any], depth: Nesting) -> Any:
    text = bytes(_bytes(parts.get(1, b"")))
    try:
        return read_json(text) if text else None
    except Malformed as error:
        raise BadWire(f"an embedded document: {error}") from None


def _schema_or_list(parts: dict[int, Any], depth: Nesting) -> Json:
    return _schema(parts.get(1), depth)  # several schemas are refused for custom resources anyway


def _schema_or_bool(parts: dict[int, Any], depth: Nesting) -> Json | bool:
    return _schema(parts[2], depth) if 2 in parts else bool(parts.get(1, 0))


def _schema(value: Any, depth: Nesting) -> Json:
    data = _bytes(value if value is not None else b"")
    return _message("apiextensions.JSONSchemaProps", data, depth.deeper())


Reader = Callable[[Any], Any]
SCALARS: dict[str, Reader] = {
    "string": _text,
    "int": _int,
    "bool": lambda value: _int(value) != 0,
    "double": _double,
    "bytes": lambda value: base64.b64encode(_bytes(value)).decode(),
}
ABSENT: dict[str, Any] = {"int": 0, "bool": 0, "double": bytes(8)}
MESSAGES: dict[str, Callable[[dict[int, Any], Nesting], Any]] = {
    "time": _time,
    "microtime": _micro_time,
    "duration": lambda parts, _: format_duration_ns(_int(parts.get(1, 0))),
    "quantity": lambda parts, _: _text(parts.get(1, b"")) or "0",
    "intorstring": _int_or_string,
    "raw": _raw,
    "schemaorlist": _schema_or_list,
    "schemaorbool": _schema_or_bool,
    "schemaorstrings": _schema_or_bool,
}
