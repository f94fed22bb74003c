"""What did a client send as a custom resource: which object, with which complaints?

Only metadata is decoded as Go would; the rest keeps the values it came with, is pruned and gets
its defaults. A value of the wrong type is no matter of reading: validation answers it.
"""

import marshal
import re
from typing import Any

import msgspec

from allaboard.api.codec import Doubled
from allaboard.api.meta import Json
from allaboard.cluster.crds.rules import CustomStrategy
from allaboard.cluster.resource import Resource
from allaboard.cluster.schema.builtin import meta_schema
from allaboard.cluster.schema.decode import Decoded, DecodeError, decode

_MAX_COMPLAINTS = 100
_WHOLE_FLOAT = re.compile(rb"\.0[,}\]]")  # or a string that looks like one
_NO_REFERENCES = 2  # the marshal version that does not look for objects it has seen
_encode = msgspec.json.Encoder().encode
_BIGGEST_WHOLE = 1e21  # above it Go writes floats with an exponent


def read_custom(resource: Resource, data: Json, old: Json | None = None) -> Decoded:
    """Read `data`, whose apiVersion is a served one. Raises DecodeError for bad metadata.

    What is the very same as in `old`, a stored object, was read when it was stored.
    """
    try:
        return _read(resource, data, old or {})
    except RecursionError:
        raise DecodeError("exceeded max depth") from None


def _read(resource: Resource, data: Json, old: Json) -> Decoded:
    strategy = resource.strategy
    assert isinstance(strategy, CustomStrategy)
    complaints: list[str] = []
    changed = {k: v for k, v in data.items() if old.get(k) is not v or v is None}
    if _is_odd(data if isinstance(data, Doubled) else changed):
        obj = {**data, **_plain(data, "", complaints)}
    else:
        obj = dict(data)
    meta = obj.get("metadata")
    if meta is not None:
        decoded = decode(meta_schema("ObjectMeta"), meta)
        obj["metadata"] = decoded.data
        complaints += [c.replace(' field "', ' field "metadata.', 1) for c in decoded.complaints]
    obj, dropped = strategy.decode(obj)
    complaints += [f'unknown field "{path}"' for path in dropped]
    return Decoded(obj, sorted(dict.fromkeys(complaints))[:_MAX_COMPLAINTS])


def _is_odd(data: Json) -> bool:
    """Whether a body repeats a key or spells a whole number as a float. Sometimes wrongly True."""
    try:
        marshal.dumps(
            data, _NO_REFERENCES
        )  # refuses `Doubled`, as all that is not exactly built in
    except ValueError:
        return True
    text = _encode(data)
    return b".0" in text and _WHOLE_FLOAT.search(text) is not None


def _plain(value: Any, path: str, complaints: list[str]) -> Any:
    """The same data without repeated keys, each of which is complained about.

    Go writes a whole float without a fraction, so 1.0 is stored as 1.
    """
    if isinstance(value, dict):
        if isinstance(value, Doubled):
            names = [name for name, _ in value.pairs]
            twice = dict.fromkeys(n for i, n in enumerate(names) if n in names[:i])
            complaints += [f'duplicate field "{_join(path, name)}"' for name in twice]
        return {name: _plain(v, _join(path, name), complaints) for name, v in value.items()}
    if isinstance(value, list):
        return [_plain(v, f"{path}[{i}]", complaints) for i, v in enumerate(value)]
    if isinstance(value, float) and value.is_integer() and abs(value) < _BIGGEST_WHOLE:
        return int(value)
    return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
