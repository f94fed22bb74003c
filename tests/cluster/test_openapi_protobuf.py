"""The v2 document in protobuf says what its JSON twin says."""

from typing import Any

import pytest

from allaboard.api.codec import read_json
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.openapi.protobuf import MEDIA, encode_document, first_choice
from allaboard.cluster.openapi.publication import Publication
from allaboard.cluster.server.protobuf import fields

TEXTS = {1: "$ref", 2: "format", 3: "title", 4: "description", 13: "pattern"}


def named(raw: Any) -> tuple[str, Any]:
    parts = dict(fields(raw))
    return str(parts[1], "utf-8"), parts.get(2, b"")


def schema(raw: Any) -> dict[str, Any]:
    """Read a Schema message back, by the numbers of OpenAPIv2.proto."""
    found: dict[str, Any] = {}
    for number, value in fields(raw):
        match number:
            case 19:
                found.setdefault("required", []).append(str(value, "utf-8"))
            case 20:
                found.setdefault("enum", []).append(free(value))
            case 21:
                inner = dict(fields(value))
                found["additionalProperties"] = schema(inner[1]) if 1 in inner else bool(inner[2])
            case 22:
                found["type"] = str(dict(fields(value))[1], "utf-8")
            case 23:
                found["items"] = schema(dict(fields(value))[1])
            case 25:
                pairs = (named(entry) for _, entry in fields(value))
                found["properties"] = {name: schema(inner) for name, inner in pairs}
            case 31:
                name, inner = named(value)
                found[name] = free(inner)
            case 5 | 30:
                found["default" if number == 5 else "example"] = free(value)
            case _:
                found[TEXTS[number]] = str(value, "utf-8")
    return found


def free(raw: Any) -> Any:
    return read_json(bytes(dict(fields(raw))[2]))


def test_every_definition_survives() -> None:
    publication = Publication(builtin_resources)
    document = read_json(publication.v2().body)
    parts = dict(fields(publication.v2_protobuf().body))
    pairs = (named(entry) for _, entry in fields(parts[9]))
    assert {name: schema(raw) for name, raw in pairs} == document["definitions"]


def test_closed_and_open_objects_and_limits() -> None:
    shapes = {"a": {"additionalProperties": False}, "b": {"maxLength": 300}}
    raw = encode_document(
        {"swagger": "2.0", "info": {"title": "t", "version": "v"}, "definitions": shapes}
    )
    a, b = (named(entry)[1] for _, entry in fields(dict(fields(raw))[9]))
    assert schema(a) == shapes["a"]
    assert dict(fields(b)) == {11: 300}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param([MEDIA], True, id="nothing else"),
        pytest.param([MEDIA, "application/json"], True, id="first of two"),
        pytest.param(["application/json", MEDIA], False, id="JSON first"),
        pytest.param(["*/*"], False, id="anything"),
        pytest.param([], False, id="nothing said"),
    ],
)
def test_who_gets_it(asked: list[str], expected: bool) -> None:
    assert first_choice(asked) is expected
