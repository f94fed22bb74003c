"""What did the client send: which object, with which mistakes?

JSON or YAML, checked against the endpoint's kind and the schema of its version. Unknown and
duplicate fields are refused, warned about or dropped, as `fieldValidation` says. What comes out is
new and the server's own: callers in process keep what they handed in.
"""

import msgspec

from allaboard.api.codec import Malformed, read_json
from allaboard.api.errors import BadRequest, TooLarge
from allaboard.api.meta import Json, Kind
from allaboard.cluster.crds.reading import read_custom
from allaboard.cluster.resource import Resource, Version
from allaboard.cluster.schema.decode import DecodeError
from allaboard.cluster.schema.envelope import Body, decode_body, refuse_complaints
from allaboard.cluster.schema.envelope import read_body as read_envelope
from allaboard.cluster.server.exchange import ApiRequest
from allaboard.cluster.server.negotiate import MEDIA, check_body_type
from allaboard.cluster.server.routes import Target

JSON_TYPES = ("", "application/json", "*/*")
YAML_TYPES = ("application/yaml", "application/x-yaml")


def too_large(limit: int) -> TooLarge:
    return TooLarge(f"Request entity too large: limit is {limit}")


def read_body(request: ApiRequest, kind: str) -> Body:
    """The body as plain data; a text that cannot be read is answered as Kubernetes does."""
    if request.data is not None:
        if not isinstance(request.data, dict):
            raise BadRequest(f"the body must be an object of type {kind}")
        return Body(request.data)
    content_type = request.content_type
    check_body_type(content_type, (*JSON_TYPES, *YAML_TYPES), MEDIA)
    doubles = request.query.get("fieldValidation") != "Ignore"
    return read_envelope(request.body, kind, is_yaml=content_type in YAML_TYPES, doubles=doubles)


def read_options(request: ApiRequest) -> Json:
    """The options in the body of a DELETE."""
    if request.data is not None:
        return read_body(request, "DeleteOptions").data
    content_type = request.content_type
    check_body_type(content_type, (*JSON_TYPES, *YAML_TYPES), MEDIA)
    if content_type in YAML_TYPES:
        return read_body(request, "DeleteOptions").data
    try:
        data = read_json(request.body)
    except Malformed as error:
        raise BadRequest(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(data, dict):
        raise BadRequest("couldn't get version/kind; json parse error: the body is not an object")
    return data


def decode_object(
    request: ApiRequest, body: Body, resource: Resource, version: Version, kind: Kind
) -> Json:
    """An object of this kind and version, new and ours, from what a client sent."""
    if resource.custom:
        data, complaints = _decode_custom(request, body, resource, kind)
    else:
        decoded = decode_body(body, kind, version.schema)
        data, complaints = decoded.data, decoded.complaints
    complain(request, complaints, kind)
    # Kind first: lists cut it off the stored JSON without decoding.
    obj: Json = {"kind": kind.kind, "apiVersion": kind.api_version}
    obj.update(data)
    meta = obj.get("metadata")
    obj["metadata"] = meta if isinstance(meta, dict) else {}
    return obj


def decode_patched(request: ApiRequest, patched: Json, old: Json, target: Target) -> Json:
    """As `decode_object` of `patched`, which shares every untouched part with the stored `old`.

    What is the very same as in `old` was decoded when it was stored, so only the rest is looked at.
    """
    resource, kind = target.resource, target.kind
    if resource.custom:
        return decode_object(request, Body(patched), resource, target.version, kind)
    kept = {k: v for k, v in patched.items() if isinstance(v, dict | list) and old.get(k) is v}
    data = {k: type(v)() if k in kept else v for k, v in patched.items()} if kept else patched
    obj = decode_object(request, Body(data), resource, target.version, kind)
    obj.update(kept)
    return obj


def complain(request: ApiRequest, complaints: list[str], kind: Kind) -> None:
    """Refuse, warn or be silent about unknown and doubled fields."""
    if not complaints:
        return
    strictness = request.query.get("fieldValidation") or "Warn"
    if strictness == "Strict":
        raise refuse_complaints(complaints, kind)
    if strictness == "Warn":
        request.warnings += [c for c in complaints if c not in request.warnings]


def _decode_custom(
    request: ApiRequest, body: Body, resource: Resource, kind: Kind
) -> tuple[Json, list[str]]:
    _check_custom_type(body.data, kind, request.body)
    try:
        decoded = read_custom(resource, body.data)
    except DecodeError as error:
        raise BadRequest(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error}'
        ) from None
    data = decoded.data
    if request.data is not None:
        data = msgspec.to_builtins(data)
    meta = data.get("metadata")
    if isinstance(meta, dict) and meta.get("creationTimestamp", "") is None:
        del meta["creationTimestamp"]
    return data, body.complaints + decoded.complaints


def _check_custom_type(data: Json, kind: Kind, raw: bytes) -> None:
    said, version = data.get("kind"), data.get("apiVersion")
    if not said or not version:
        missing = "apiVersion" if said else "Kind"
        text = raw.decode(errors="replace")
        head = text[:30] + (" ..." if len(text) > 30 else "")
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {kind.kind}): Object"
            f" '{missing}' is missing in '{text[:2000]}' ({head})"
        )
    if version != kind.api_version:
        raise BadRequest(
            f"the API version in the data ({version}) does not match the expected API version"
            f" ({kind.api_version})"
        )
