"""What did the client send, before anybody asks whether it is a good one?

A request body becomes plain data, or a refusal in the API server's words. What the data says about
its own kind is compared with the endpoint; its fields are decoded against the kind's schema.
"""

from dataclasses import dataclass, field
from typing import Any

from allaboard.api.codec import MAX_VALUES, Malformed, read_json
from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json, Kind
from allaboard.api.yaml_text import read_first
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.decode import Decoded, DecodeError, decode
from allaboard.cluster.schema.node import Schema

_HEAD = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)
_PREVIEW = 30  # bytes of a body that cannot be read are shown
_KINDS = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}


@dataclass(slots=True)
class Body:
    """Plain data as sent. `complaints` are about its text: YAML keys that are given twice."""

    data: Json
    complaints: list[str] = field(default_factory=list)


def read_body(raw: bytes, expected: str, *, is_yaml: bool = False, doubles: bool = False) -> Body:
    """The object in a request body that should be of kind `expected`. null is an empty object.

    With `doubles` (fieldValidation Strict or Warn) repeated keys are noticed: in JSON by `decode`,
    in YAML here.
    """
    complaints: list[str] = []
    try:
        if is_yaml:
            document = read_first(raw, MAX_VALUES)
            data = document.data
            complaints = document.repeated if doubles else []
        else:
            data = read_json(raw, doubles=doubles, max_values=MAX_VALUES)
    except Malformed as error:
        prefix = "" if is_yaml else "couldn't get version/kind; json parse error: "
        raise _unrecognized(raw, expected, f"{prefix}{error}") from error
    if data is None:
        data = {}
    problem = _head_problem(data)
    if problem:
        problem = f"couldn't get version/kind; json parse error: {problem}"
        raise _unrecognized(raw, expected, problem)
    return Body(data, complaints)


def _head_problem(data: Any) -> str:
    if not isinstance(data, dict):
        return f"json: cannot unmarshal {_KINDS[type(data)]} into Go value of type {_HEAD}"
    for name in ("apiVersion", "kind"):
        value = data.get(name)
        if value is not None and not isinstance(value, str):
            found = _KINDS.get(type(value), "object")
            return f"json: cannot unmarshal {found} into Go struct field .{name} of type string"
    return ""


def _unrecognized(raw: bytes, expected: str, reason: str) -> BadRequest:
    if not raw:
        shown = "<empty>"
    else:
        head = raw[:_PREVIEW]
        shown = head.decode("utf-8", "replace") if raw[:1] == b"{" else head.hex()
        shown += " ..." if len(raw) > _PREVIEW else ""
    return BadRequest(
        f"the object provided is unrecognized (must be of type {expected}): {reason} ({shown})"
    )


def decode_body(body: Body, kind: Kind, schema: Schema) -> Decoded:
    """The body as an object of a built-in kind; raises BadRequest. Complaints are not yet judged.

    The data may leave out apiVersion and kind, and they are filled in.
    """
    said_kind = body.data.get("kind") or kind.kind
    said_version = body.data.get("apiVersion") or kind.api_version
    if type(said_kind) is not str or type(said_version) is not str:
        problem = f"couldn't get version/kind; json parse error: {_head_problem(body.data)}"
        raise _unrecognized(b"", kind.kind, problem)
    try:
        if said_kind != kind.kind or said_version != kind.api_version:
            raise DecodeError(_conversion_problem(body.data, said_version, said_kind, kind))
        decoded = decode(schema, body.data)
    except DecodeError as error:
        raise BadRequest(
            f'{said_kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error}'
        ) from error
    decoded.data["apiVersion"], decoded.data["kind"] = kind.api_version, kind.kind
    decoded.complaints[:0] = body.complaints
    return decoded


def _conversion_problem(data: Json, said_version: str, said_kind: str, kind: Kind) -> str:
    """Why an object of another kind cannot be taken: it is unknown, broken itself, or different."""
    group, _, version = said_version.rpartition("/")
    is_list = said_kind.endswith("List")
    try:
        schema = schema_of(group, version, said_kind.removesuffix("List") if is_list else said_kind)
    except KeyError:
        return (
            f'no kind "{said_kind}" is registered for version "{said_version}" '
            'in scheme "pkg/api/legacyscheme/scheme.go:30"'
        )
    if not is_list:
        try:
            decode(schema, data)
        except DecodeError as error:
            return str(error)
    inner = kind.group.partition(".")[0] or "core"
    return f"converting (v1.{said_kind}) to ({inner}.{kind.kind}): unknown conversion"


def refuse_complaints(complaints: list[str], kind: Kind) -> BadRequest:
    """What fieldValidation=Strict answers. Complaints about lines of YAML are one of its parts."""
    lines = [c for c in complaints if c.startswith("line ")]
    parts = ["\n  ".join(["yaml: unmarshal errors:", *lines])] if lines else []
    parts += [c for c in complaints if not c.startswith("line ")]
    return BadRequest(
        f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
        f"strict decoding error: {', '.join(parts)}"
    )
