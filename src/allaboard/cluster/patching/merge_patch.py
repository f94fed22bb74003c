"""What does a JSON merge patch make of a document? (RFC 7386)

One deviation, which kube-apiserver has too: where a patch value lands on nothing it could be merged
with, nulls are dropped from the objects inside its lists as well.
"""

from typing import Any

from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json

_NOT_AN_OBJECT = (
    "error decoding patch: json: cannot unmarshal {} into Go value of type "
    "map[string]interface {{}}"
)
TOO_DEEP = "the patch or the patched object is nested too deeply"


def apply_merge_patch(doc: Json, patch: Any) -> Json:
    """The patched document. Untouched parts are shared with `doc`; neither input is changed."""
    check_patch_is_object(patch)
    try:
        return _merge(doc, patch)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None


def check_patch_is_object(patch: Any) -> None:
    if patch is None:
        raise BadRequest("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise BadRequest(_NOT_AN_OBJECT.format(json_type(patch)))


def json_type(value: Any) -> str:
    """The name Go's decoder gives a JSON value."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"


def _merge(doc: Json, patch: Json) -> Json:
    out = doc.copy()
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
            continue
        current = out.get(key)
        if isinstance(current, dict):
            out[key] = _merge(current, value) if isinstance(value, dict) else value
        else:
            out[key] = _without_nulls(value)
    return out


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [_without_nulls(v) for v in value]
    return value
