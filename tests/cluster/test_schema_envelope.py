"""Request bodies: what cannot be read, what is of another kind, what is complained about."""

import pytest

from allaboard.api.errors import BadRequest
from allaboard.api.meta import Kind
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.envelope import decode_body, read_body, refuse_complaints

KIND = Kind("", "v1", "ConfigMap", "configmaps")
SCHEMA = schema_of("", "v1", "ConfigMap")
UNRECOGNIZED = (
    "the object provided is unrecognized (must be of type ConfigMap): "
    "couldn't get version/kind; json parse error: "
)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a":', 'unexpected end of JSON input ({"a":)'),
        (b"", "unexpected end of JSON input (<empty>)"),
        (b'{"kind":5}', "json: cannot unmarshal number into Go struct field .kind of type string"
         ' ({"kind":5})'),
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_read_is_shown_by_its_beginning(raw: bytes, reason: str) -> None:
    with pytest.raises(BadRequest) as caught:
        read_body(raw, "ConfigMap")
    assert caught.value.message == UNRECOGNIZED + reason


def test_what_is_not_text_is_shown_in_hexadecimal() -> None:
    with pytest.raises(BadRequest, match=r"\(5b312c325d\)"):
        read_body(b"[1,2]", "ConfigMap")


def test_null_is_an_empty_object() -> None:
    assert read_body(b"null", "ConfigMap").data == {}


def test_yaml_keys_given_twice_are_complained_about_with_their_line() -> None:
    body = read_body(b"data:\n  a: '1'\n  a: '2'\n", "ConfigMap", is_yaml=True, doubles=True)
    decoded = decode_body(body, KIND, SCHEMA)
    assert decoded.data["data"] == {"a": "2"}
    assert decoded.complaints == ['line 3: key "a" already set in map']
    refusal = refuse_complaints([*decoded.complaints, 'unknown field "b"'], KIND)
    assert refusal.message.endswith(
        'yaml: unmarshal errors:\n  line 3: key "a" already set in map, unknown field "b"'
    )


def test_kind_and_version_may_be_left_out() -> None:
    data = decode_body(read_body(b"{}", "ConfigMap"), KIND, SCHEMA).data
    assert (data["apiVersion"], data["kind"]) == ("v1", "ConfigMap")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(
            b'{"apiVersion":"apps/v1","kind":"ConfigMap"}',
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is '
            'registered for version "apps/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
            id="a version that has no such kind",
        ),
        pytest.param(
            b'{"apiVersion":"v1","kind":"Secret","data":{"a":"1"}}',
            'Secret in version "v1" cannot be handled as a ConfigMap: '
            "illegal base64 data at input byte 0",
            id="another kind, and wrong even so",
        ),
        pytest.param(
            b'{"apiVersion":"v1","kind":"ConfigMapList","items":[]}',
            'ConfigMapList in version "v1" cannot be handled as a ConfigMap: '
            "converting (v1.ConfigMapList) to (core.ConfigMap): unknown conversion",
            id="a list",
        ),
    ],
)
def test_an_object_of_another_kind_is_refused(raw: bytes, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        decode_body(read_body(raw, "ConfigMap"), KIND, SCHEMA)
    assert caught.value.message == message


def test_strict_validation_lists_every_complaint() -> None:
    error = refuse_complaints(['unknown field "a"', 'unknown field "b"'], KIND)
    assert error.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "a", unknown field "b"'
    )
