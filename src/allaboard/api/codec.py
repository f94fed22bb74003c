"""How do bytes become plain data, and plain data bytes?

JSON is read by msgspec; only when keys may be doubled, or to say what is wrong with a text, a
slower reader has a look. Integers are exact however long; NaN and infinities are refused, and so
is what is nested deeper than any real object. YAML is in `yaml_reader.py`.
"""

import json
import re
from typing import Any

import msgspec

from allaboard.api.json_syntax import MAX_DEPTH, explain

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_SPACED_KEY = re.compile(rb'"\s+:')
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
# Three MiB can hold a million empty objects, each of which costs a server a hundred times its
# length. No real object has so many members: those of the largest definitions have some 50,000.
MAX_VALUES = 100_000


class Malformed(ValueError):
    """The text is not JSON or YAML; the message says what was found where it should not be."""


class Doubled(dict[str, Any]):
    """An object in which a key occurred twice; the last value counts. `pairs` has all of them."""

    pairs: list[tuple[str, Any]]


def read_json(raw: bytes, *, doubles: bool = False, max_values: int = 0) -> Any:
    """Plain data from JSON. With `doubles`, objects that repeat a key come as `Doubled`.

    With `max_values`, a text that holds more members than that is refused before it is read.
    """
    if max_values and has_more_values(raw, max_values):
        raise Malformed(f"more than {max_values} values in one document")
    try:
        data = _decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Malformed(explain(raw)) from error
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and is_deeper_than(data, MAX_DEPTH):
        raise Malformed(explain(raw))
    if doubles and may_repeat_keys(raw, data):
        return json.loads(raw, object_pairs_hook=_object)
    return data


def has_more_values(raw: bytes, limit: int) -> bool:
    """Whether a JSON text has more than `limit` members in all its containers together."""
    if raw.count(b",") + raw.count(b"{") + raw.count(b"[") <= limit:
        return False
    bare = _STRING.sub(b"", raw)
    return bare.count(b",") + bare.count(b"{") + bare.count(b"[") > limit


def may_repeat_keys(raw: bytes, data: Any) -> bool:
    """Whether `raw`, which was read as `data`, could hold a key twice. Never wrongly False.

    Every key is followed by `":`. Writing the data again gives each key once, and inside strings
    the same sequences, unless a quote is spelled as a code point.
    """
    if _SPACED_KEY.search(raw) or b"\\u0022" in raw:
        return True
    return raw.count(b'":') != _encode(data).count(b'":')


def is_deeper_than(data: Any, limit: int) -> bool:
    """Whether containers are nested more than `limit` deep. Level by level, never recursive."""
    level = [data]
    for _ in range(limit):
        below: list[Any] = []
        for value in level:
            if type(value) is dict:
                below.extend(v for v in value.values() if type(v) is dict or type(v) is list)
            elif type(value) is list:
                below.extend(v for v in value if type(v) is dict or type(v) is list)
        if not below:
            return False
        level = below
    return True


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    doubled = Doubled(plain)
    doubled.pairs = pairs
    return doubled


def write_json(data: Any) -> bytes:
    """Compact JSON, members in the order they have."""
    return _encode(data)


def write_sorted_json(data: Any) -> bytes:
    """Compact JSON, members sorted by name: equal data gives equal bytes."""
    return _encode_sorted(data)


def write_pretty_json(data: Any) -> bytes:
    """JSON for people: four spaces, as kubectl prints it."""
    return msgspec.json.format(_encode(data), indent=4) + b"\n"
