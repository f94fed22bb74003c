"""What did the client send: which object, with which mistakes?

JSON or YAML, checked against the endpoint's kind and the schema of its version. Unknown and
duplicate fields are refused, warned about or dropped, as `fieldValidation` says. What comes out is
new and the server's own: callers in process keep what they handed in.
"""

import msgspec

from allaboard.api.codec import MAX_VALUES, Malformed, read_json
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
        data = read_json(request.body, max_values=MAX_VALUES)
    except Malformed as error:
        raise BadRequest(f"couldn't get version/kind; json parse error: {error}") from None
    if not isinstance(data, dict):
        raise BadRequest("couldn't get version/kind; json parse error: the body is not an object")
    return data


def decode_object(
    request: ApiRequest,
    body: Body,
    resource: Resource,
    version: Version,
    kind: Kind,
    old: Json | None = None,
) -> Json:
    """An object of this kind and version, new and ours, from what a client sent.

    A custom resource may come with the stored object it shares its unchanged parts with.
    """
    if resource.custom:
        data, complaints = _decode_custom(request, body, resource, kind, old)
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

    What is the very same as in `old` was decoded when it was stored, so only the rest is looked at:
    changed fields, and of metadata and status their changed members. Deeper nothing is shared,
    because defaults are written into what they find.
    """
    resource, kind = target.resource, target.kind
    if resource.custom:
        changed = {k: v for k, v in patched.items() if old.get(k, _ABSENT) is not v}
        if request.data is not None:  # what callers hand in stays theirs
            patched = {**patched, **_private(changed)}
        return decode_object(request, Body(patched), resource, target.version, kind, old)
    data: Json = {}
    kept: Json = {}
    for name, value in patched.items():
        before = old.get(name)
        if value is before and value.__class__ in (dict, list):
            kept[name] = value
            data[name] = value.__class__()
        elif name in ("metadata", "status") and before.__class__ is value.__class__ is dict:
            data[name] = {k: v for k, v in value.items() if before.get(k, _ABSENT) is not v}
        else:
            data[name] = value
    obj = decode_object(request, Body(data), resource, target.version, kind)
    obj.update(kept)
    for name in ("metadata", "status"):
        value = patched.get(name)
        if isinstance(value, dict) and name not in kept and value is not data[name]:
            obj[name] = _joined(value, old[name], obj.get(name) or {})
    return obj


_ABSENT = object()


def _joined(patched: Json, old: Json, decoded: Json) -> Json:
    """The members of `patched` in their order, as decoded where they are not those of `old`."""
    out: Json = {}
    for name, value in patched.items():
        if old.get(name, _ABSENT) is value:
            out[name] = value
        elif name in decoded:
            out[name] = decoded[name]
    for name, value in decoded.items():
        if name not in patched:
            out[name] = value
    return out


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
    request: ApiRequest, body: Body, resource: Resource, kind: Kind, old: Json | None
) -> tuple[Json, list[str]]:
    _check_custom_type(body.data, kind, request.body)
    given = body.data
    if request.data is not None and old is None:  # what callers hand in stays theirs
        given = _private(given)
    try:
        decoded = read_custom(resource, given, old)
    except DecodeError as error:
        raise BadRequest(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {error}'
        ) from None
    data = decoded.data
    meta = data.get("metadata")
    if isinstance(meta, dict) and meta.get("creationTimestamp", "") is None:
        del meta["creationTimestamp"]
    return data, body.complaints + decoded.complaints


def _private(data: Json) -> Json:
    """A deep copy at the speed of C."""
    try:
        copied: Json = msgspec.to_builtins(data)
    except RecursionError:
        raise BadRequest("exceeded max depth") from None
    return copied


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
