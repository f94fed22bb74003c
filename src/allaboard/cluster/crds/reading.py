"""What did a client send as a custom resource: which object, with which complaints?

Only metadata is decoded as Go would; the rest keeps the values it came with, is pruned and gets
its defaults. A value of the wrong type is no matter of reading: validation answers it.
"""

from typing import Any

from allaboard.api.codec import Doubled
from allaboard.api.meta import Json
from allaboard.cluster.crds.rules import CustomStrategy
from allaboard.cluster.resource import Resource
from allaboard.cluster.schema.builtin import meta_schema
from allaboard.cluster.schema.decode import Decoded, decode

_MAX_COMPLAINTS = 100


def read_custom(resource: Resource, data: Json) -> Decoded:
    """Read `data`, whose apiVersion is a served one. Raises DecodeError for bad metadata."""
    strategy = resource.strategy
    assert isinstance(strategy, CustomStrategy)
    complaints: list[str] = []
    obj = _plain(data, "", complaints) if _has_doubles(data) else dict(data)
    meta = obj.get("metadata")
    if meta is not None:
        decoded = decode(meta_schema("ObjectMeta"), meta)
        obj["metadata"] = decoded.data
        complaints += [c.replace(' field "', ' field "metadata.', 1) for c in decoded.complaints]
    obj, dropped = strategy.decode(obj)
    complaints += [f'unknown field "{path}"' for path in dropped]
    return Decoded(obj, sorted(dict.fromkeys(complaints))[:_MAX_COMPLAINTS])


def _has_doubles(data: Json) -> bool:
    """Whether any object in a body repeats a key. Level by level, containers only."""
    level: list[Any] = [data]
    while level:
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is Doubled:
                return True
            members = value.values() if kind is dict else value
            below += [v for v in members if isinstance(v, dict | list)]
        level = below
    return False


def _plain(value: Any, path: str, complaints: list[str]) -> Any:
    """The same data without repeated keys, each of which is complained about."""
    if isinstance(value, dict):
        if isinstance(value, Doubled):
            names = [name for name, _ in value.pairs]
            twice = dict.fromkeys(n for i, n in enumerate(names) if n in names[:i])
            complaints += [f'duplicate field "{_join(path, name)}"' for name in twice]
        return {name: _plain(v, _join(path, name), complaints) for name, v in value.items()}
    if isinstance(value, list):
        return [_plain(v, f"{path}[{i}]", complaints) for i, v in enumerate(value)]
    return value


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
