"""What did the client send: which object, with which mistakes?

JSON or YAML, checked against the endpoint's kind and the schema of its version. Unknown and
duplicate fields are refused, warned about or dropped, as `fieldValidation` says.
"""

from typing import Any

import msgspec

from allaboard.api.codec import Malformed, read_json
from allaboard.api.errors import BadRequest, TooLarge
from allaboard.api.meta import Json, Kind
from allaboard.cluster.resource import Resource, Version
from allaboard.cluster.schema.decode import DecodeError, decode
from allaboard.cluster.server.exchange import ApiRequest
from allaboard.cluster.server.negotiate import MEDIA, check_body_type

JSON_TYPES = ("", "application/json", "*/*")
YAML_TYPES = ("application/yaml", "application/x-yaml")
TYPE_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }'
)


def private_copy(data: Any) -> Any:
    """A deep copy of plain data, at the speed of C: what callers hand in stays theirs."""
    return msgspec.to_builtins(data)


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"Request entity too large: limit is {limit}")


def read_body(request: ApiRequest, kind: str, doubles: bool) -> Any:
    """The body as plain data; a text that cannot be read is answered as Kubernetes does."""
    if request.data is not None:
        return request.data
    content_type = request.content_type
    check_body_type(content_type, (*JSON_TYPES, *YAML_TYPES), MEDIA)
    try:
        if content_type in YAML_TYPES:
            return read_yaml(request.body, doubles)
        return read_json(request.body, doubles=doubles)
    except Malformed as error:
        about = (
            "" if content_type in YAML_TYPES else "couldn't get version/kind; json parse error: "
        )
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {kind}): {about}{error}"
            f" ({excerpt(request.body, content_type in YAML_TYPES)})"
        ) from None


def read_yaml(raw: bytes, doubles: bool) -> Any:
    from allaboard.api import yaml_codec

    return yaml_codec.read_yaml(raw, doubles=doubles)


def excerpt(raw: bytes, as_hex: bool) -> str:
    """The beginning of a body, for messages; hexadecimal where it does not look like JSON."""
    if not raw:
        return "<empty>"
    head = raw[:30]
    if as_hex or not raw.lstrip()[:1] == b"{":
        return head.hex() + (" ..." if len(raw) > 30 else "")
    return head.decode(errors="replace") + (" ..." if len(raw) > 30 else "")


def decode_object(
    request: ApiRequest, data: Any, resource: Resource, version: Version, kind: Kind
) -> Json:
    """An object of this kind and version, new and ours, from plain data of a client."""
    if not isinstance(data, dict):
        raise not_an_object(data, kind, request.body)
    check_type(data, resource, kind, request.body)
    try:
        decoded = decode(version.schema, data)
    except DecodeError as error:
        raise cannot_handle(data.get("kind") or kind.kind, kind, str(error)) from None
    complain(request, decoded.complaints, kind)
    obj: Json = {"kind": kind.kind, "apiVersion": kind.api_version}
    obj.update(decoded.data)
    obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version
    return obj


def complain(request: ApiRequest, complaints: list[str], kind: Kind) -> None:
    """Refuse, warn or be silent about unknown and doubled fields."""
    if not complaints:
        return
    strictness = request.query.get("fieldValidation") or "Warn"
    if strictness == "Strict":
        raise cannot_handle(kind.kind, kind, f"strict decoding error: {', '.join(complaints)}")
    if strictness == "Warn":
        request.warnings += complaints


def cannot_handle(found: str, kind: Kind, why: str) -> BadRequest:
    return BadRequest(
        f'{found} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'
    )


def not_an_object(data: Any, kind: Kind, raw: bytes) -> BadRequest:
    from allaboard.cluster.patching.merge_patch import json_type

    what = "null" if data is None else json_type(data)
    return BadRequest(
        f"the object provided is unrecognized (must be of type {kind.kind}): couldn't get"
        f" version/kind; json parse error: json: cannot unmarshal {what} into Go value of type"
        f" {TYPE_STRUCT} ({excerpt(raw, False)})"
    )


def check_type(data: Json, resource: Resource, kind: Kind, raw: bytes) -> None:
    """Whether the object says it is what the path says."""
    said, version = data.get("kind") or "", data.get("apiVersion") or ""
    if resource.custom:
        if not said or not version:
            missing = "Kind" if not said else "apiVersion"
            text = raw.decode(errors="replace")[:1000]
            raise BadRequest(
                f"the object provided is unrecognized (must be of type {kind.kind}): Object"
                f" '{missing}' is missing in '{text}' ({excerpt(raw, False)})"
            )
        if version != kind.api_version:
            raise BadRequest(
                f"the API version in the data ({version}) does not match the expected API version"
                f" ({kind.api_version})"
            )
    if version and version != kind.api_version:
        raise cannot_handle(
            str(said or kind.kind),
            kind,
            f'no kind "{said or kind.kind}" is registered for version "{version}" in scheme'
            ' "pkg/api/legacyscheme/scheme.go:30"',
        )
    if said and said != kind.kind:
        package = kind.group.partition(".")[0] or "core"
        raise cannot_handle(
            str(said),
            kind,
            f"converting ({kind.version}.{said}) to ({package}.{kind.kind}): unknown conversion",
        )
