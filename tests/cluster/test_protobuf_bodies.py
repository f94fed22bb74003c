"""Bodies in protobuf: what Go clients send instead of JSON."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api.errors import ApiError, BadRequest, UnsupportedMedia
from allaboard.cluster.server.protobuf import MAGIC, _lines, _message_fields, read_protobuf

Value = int | float | str | bytes


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, *values: Value) -> bytes:
    out = b""
    for value in values:
        match value:
            case float():
                out += varint(number << 3 | 1) + struct.pack("<d", value)
            case int():
                out += varint(number << 3) + varint(value)
            case _:
                raw = value.encode() if isinstance(value, str) else value
                out += varint(number << 3 | 2) + varint(len(raw)) + raw
    return out


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    return MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, message)


META = field(1, field(1, "a") + field(3, "") + field(7, 0) + field(8, b""))


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        pytest.param("v1 ConfigMap", field(2, field(1, "k") + field(2, "v")),
                     {"data": {"k": "v"}}, id="maps"),
        pytest.param("v1 ConfigMap", field(3, field(1, "k") + field(2, b"\xff")),
                     {"binaryData": {"k": "/w=="}}, id="bytes become base64"),
        pytest.param("batch/v1 Job", field(2, field(1, 0)), {"spec": {"parallelism": 0}},
                     id="a zero behind a pointer is meant"),
        pytest.param("v1 Pod", field(2, field(11, 0) + field(3, "")), {"spec": {}},
                     id="a zero in a plain field says nothing"),
        pytest.param("v1 Pod", field(2, field(1, field(1, "v") + field(2, field(2, b"")))),
                     {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}},
                     id="an embedded message gives its fields to its parent"),
        pytest.param("v1 Pod", field(2, field(32, field(1, "cpu") + field(2, field(1, "250m")))),
                     {"spec": {"overhead": {"cpu": "250m"}}}, id="quantities"),
        pytest.param("policy/v1 PodDisruptionBudget", field(2, field(3, field(1, 0) + field(2, 0))),
                     {"spec": {"maxUnavailable": 0}}, id="numbers that may be texts"),
        pytest.param("policy/v1 PodDisruptionBudget",
                     field(2, field(3, field(1, 1) + field(3, "30%"))),
                     {"spec": {"maxUnavailable": "30%"}}, id="texts that may be numbers"),
        pytest.param("coordination.k8s.io/v1 Lease",
                     field(2, field(4, field(1, 1_767_225_600) + field(2, 1_500))),
                     {"spec": {"renewTime": "2026-01-01T00:00:00.000001Z"}}, id="micro times"),
        pytest.param("v1 Pod", field(3, field(7, field(1, 1_767_225_600))),
                     {"status": {"startTime": "2026-01-01T00:00:00Z"}}, id="times"),
        pytest.param("scheduling.k8s.io/v1 PriorityClass", field(2, -5), {"value": -5},
                     id="negative numbers"),
        pytest.param("authentication.k8s.io/v1 TokenReview",
                     field(3, field(2, field(4, field(1, "k") + field(2, field(1, "x", "y"))))),
                     {"status": {"user": {"extra": {"k": ["x", "y"]}}}}, id="lists in maps"),
        pytest.param("apps/v1 ControllerRevision", field(2, field(1, b'{"a":[1]}')),
                     {"data": {"a": [1]}}, id="embedded documents"),
        pytest.param("v1 Pod", field(2, field(14, field(4, 7, 8) + field(4, b"\x09"))),
                     {"spec": {"securityContext": {"supplementalGroups": [7, 8, 9]}}},
                     id="numbers one by one or packed"),
        pytest.param("v1 ConfigMap", field(99, "new"), {}, id="fields nobody knows"),
    ],
)  # fmt: skip
def test_reads(kind: str, message: bytes, expected: dict[str, object]) -> None:
    api_version, name = kind.split()
    found = read_protobuf(envelope(api_version, name, META + message))
    head = {"apiVersion": api_version, "kind": name, "metadata": {"name": "a"}}
    assert found == {**head, **expected}


def test_schemas_of_custom_resources() -> None:
    text = field(5, "string")
    inner = field(29, field(1, "s") + field(2, text)) + field(11, 1.0) + field(9, 2.5)
    schema = (
        inner + field(24, field(1, text)) + field(30, field(1, 0)) + field(20, field(1, b'"x"'))
    )
    version = field(1, "v1") + field(2, 1) + field(4, field(1, schema))
    found = read_protobuf(
        envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, field(7, version)))
    )
    served = found["spec"]["versions"][0]
    assert served["schema"]["openAPIV3Schema"] == {
        "properties": {"s": {"type": "string"}},
        "minimum": 1,
        "maximum": 2.5,
        "items": {"type": "string"},
        "additionalProperties": False,
        "enum": ["x"],
    }


def test_options_of_a_deletion_have_no_group_of_their_own() -> None:
    body = envelope("batch/v1", "DeleteOptions", field(1, 0) + field(4, "Foreground"))
    found = read_protobuf(body)
    assert (found["gracePeriodSeconds"], found["propagationPolicy"]) == (0, "Foreground")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param(b'{"kind":"Pod"}', BadRequest, id="JSON by mistake"),
        pytest.param(envelope("v1", "Pod", b"\x0a\x05a"), BadRequest, id="cut short"),
        pytest.param(envelope("v1", "Pod", b"\x08\x01"), BadRequest, id="a number for a message"),
        pytest.param(envelope("v1", "Pod", b"\x0b"), BadRequest, id="an unknown wire type"),
        pytest.param(envelope("v1", "Pod", b"\x80" * 12), BadRequest, id="an endless number"),
        pytest.param(envelope("v1", "Pod", b"\x00\x00"), BadRequest, id="the field number 0"),
        pytest.param(envelope("v1", "Pod", field(1, field(1, b"\xff"))), BadRequest, id="no text"),
        pytest.param(
            envelope("v1", "Pod", field(1, field(8, field(1, 2**62)))), BadRequest, id="far future"
        ),
        pytest.param(envelope("x/v1", "Train", b""), UnsupportedMedia, id="a custom resource"),
    ],
)
def test_refuses(body: bytes, error: type[ApiError]) -> None:
    with pytest.raises(error):
        read_protobuf(body)


def test_nesting_is_bounded() -> None:
    schema = b""
    for _ in range(2_000):
        schema = field(28, schema)
    version = field(7, field(4, field(1, schema)))
    with pytest.raises(BadRequest, match="nest deeper"):
        read_protobuf(
            envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", field(2, version))
        )


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    try:
        read_protobuf(envelope("v1", "Pod", raw))
    except BadRequest:
        pass


def test_every_type_of_the_table_is_known() -> None:
    """A word that nobody can read would be found only when a client sends it."""
    for head in _lines():
        if " " not in head:
            for entry in _message_fields(head).values():
                assert "." not in entry.type or entry.type in _lines()
