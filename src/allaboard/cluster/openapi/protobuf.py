"""How does the v2 document look as protobuf, for clients that take nothing else?

kubectl reads it when it meets a `List` or a kind it does not know. It is the message `Document` of
gnostic's OpenAPIv2.proto; only what such clients look at is written, which is the definitions.
What JSON holds freely (defaults, extensions) is text in YAML there, and JSON is YAML.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from allaboard.api.codec import write_json
from allaboard.api.meta import Json

MEDIA = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
TEXTS = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
FREE = {"default": 5, "example": 30}
NUMBERS = {
    "maxLength": 11, "minLength": 12, "maxItems": 14, "minItems": 15, "maxProperties": 17,
    "minProperties": 18,
}  # fmt: skip
REQUIRED, ENUM, ADDITIONAL, TYPE, ITEMS, PROPERTIES, EXTENSION = 19, 20, 21, 22, 23, 25, 31


def encode_document(document: Json) -> bytes:
    info = document["info"]
    definitions = [_named(name, _schema(s)) for name, s in document["definitions"].items()]
    return b"".join(
        (
            _field(1, document["swagger"].encode()),
            _field(2, _field(1, info["title"].encode()) + _field(2, info["version"].encode())),
            _field(8, b""),
            _field(9, b"".join(_field(1, definition) for definition in definitions)),
        )
    )


def _schema(schema: Mapping[str, Any]) -> bytes:
    parts: list[bytes] = []
    for key, value in schema.items():
        if key in TEXTS:
            parts.append(_field(TEXTS[key], value.encode()))
        elif key in FREE:
            parts.append(_field(FREE[key], _any(value)))
        elif key in NUMBERS:
            parts.append(_varint(NUMBERS[key] << 3) + _varint(value))
        elif key == "required":
            parts += (_field(REQUIRED, name.encode()) for name in value)
        elif key == "enum":
            parts += (_field(ENUM, _any(choice)) for choice in value)
        elif key == "additionalProperties":
            parts.append(_field(ADDITIONAL, _schema_or_bool(value)))
        elif key == "type":
            parts.append(_field(TYPE, _field(1, value.encode())))
        elif key == "items":
            parts.append(_field(ITEMS, _field(1, _schema(value))))
        elif key == "properties":
            inner = (_field(1, _named(name, _schema(s))) for name, s in value.items())
            parts.append(_field(PROPERTIES, b"".join(inner)))
        elif key.startswith("x-"):
            parts.append(_field(EXTENSION, _named(key, _any(value))))
    return b"".join(parts)


def _schema_or_bool(value: Any) -> bytes:
    return (
        _varint(2 << 3) + _varint(value) if isinstance(value, bool) else _field(1, _schema(value))
    )


def _any(value: Any) -> bytes:
    return _field(2, write_json(value))


def _named(name: str, value: bytes) -> bytes:
    return _field(1, name.encode()) + _field(2, value)


def _field(number: int, content: bytes) -> bytes:
    return b"".join((_varint(number << 3 | 2), _varint(len(content)), content))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def first_choice(asked: Iterable[str]) -> bool:
    """Whether protobuf comes before JSON among the media a client asks for, best first."""
    for media in asked:
        if media == MEDIA:
            return True
        if media in ("application/json", "*/*", "application/*"):
            return False
    return False
