"""What the store holds: states of objects, and the changes between them.

A `Record` is one state of one object, immutable once stored. `obj` and `data` (its JSON) are
derived from one another on demand, so a state nobody looks at costs only one of them. Both are
shared by everybody who asks: never change them.
"""

from collections import deque
from typing import Any, Literal

import msgspec

from allaboard.api.meta import Json
from allaboard.clock import Instant

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_canonical = msgspec.json.Encoder(order="sorted").encode


class Record:
    """One state of one object; `rev` is its resourceVersion."""

    __slots__ = ("_data", "_obj", "_warm", "name", "namespace", "resource", "rev")

    def __init__(
        self, resource: str, namespace: str, name: str, rev: int, obj: Json | None = None
    ) -> None:
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.rev = rev
        self._obj = obj
        self._data: bytes | None = None
        self._warm: Warm | None = None

    @property
    def obj(self) -> Json:
        obj = self._obj
        if obj is None:
            assert self._data is not None
            obj = self._obj = _decode(self._data)
            if self._warm is not None:
                self._warm.add(self, len(self._data))
        return obj

    @property
    def data(self) -> bytes:
        data = self._data
        if data is None:
            data = self._data = _encode(self._obj)
        return data

    def keep(self, data: bytes, warm: "Warm") -> None:
        """Hold the JSON for good; `obj` becomes something that can be made again."""
        self._data = data
        self._warm = warm
        if self._obj is not None:
            warm.add(self, len(data))

    def cool(self) -> None:
        self._obj = None

    def __repr__(self) -> str:
        return f"<{self.resource} {self.namespace}/{self.name} @{self.rev}>"


class Warm:
    """Which records have both JSON and objects: the latest to be written or decoded.

    Objects take several times the memory of their JSON, and decoding again takes microseconds, so
    beyond `limit_bytes` of JSON the oldest let go of their objects.
    """

    __slots__ = ("_bytes", "_records", "limit_bytes")

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._bytes = 0
        self._records: deque[Record] = deque()

    def add(self, record: Record, size: int) -> None:
        self._records.append(record)
        self._bytes += size
        while self._bytes > self.limit_bytes:
            oldest = self._records.popleft()
            self._bytes -= len(oldest.data)
            oldest.cool()


class Change:
    """One committed change. For DELETED, `record` is the last state at the deletion's revision."""

    __slots__ = ("_cache", "previous", "record", "rev", "time", "type")

    def __init__(
        self, type_: ChangeType, record: Record, previous: Record | None, time: Instant
    ) -> None:
        self.rev = record.rev
        self.type = type_
        self.record = record
        self.previous = previous
        self.time = time
        self._cache: dict[Any, Any] | None = None

    @property
    def cache(self) -> dict[Any, Any]:
        """For whoever renders changes for many watchers: rendered once, forgotten with the change.

        The store never looks inside.
        """
        if self._cache is None:
            self._cache = {}
        return self._cache

    def __repr__(self) -> str:
        return f"<{self.type} {self.record!r}>"


def with_revision(obj: Json, rev: int) -> Json:
    """A copy of `obj` that says `rev`; only the outer dict and `metadata` are copied."""
    return {**obj, "metadata": {**(obj.get("metadata") or {}), "resourceVersion": str(rev)}}


def same_content(new: Json, stored: Json) -> bool:
    """Whether writing `new` over `stored` would change nothing but the resourceVersion."""
    if not _equal_but_revision(new, stored):
        return False
    # Python's == takes 1, 1.0 and True for equal; JSON does not.
    return _canonical(with_revision(new, 0)) == _canonical(with_revision(stored, 0))


def _equal_but_revision(new: Json, stored: Json) -> bool:
    if len(new) != len(stored):
        return False
    for key, value in new.items():
        if key == "metadata":
            continue
        if key not in stored:
            return False
        before = stored[key]
        if value is not before and value != before:
            return False
    old_meta = {**(stored.get("metadata") or {}), "resourceVersion": ""}
    return {**(new.get("metadata") or {}), "resourceVersion": ""} == old_meta
