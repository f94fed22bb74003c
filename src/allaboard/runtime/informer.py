"""What does the server hold, as far as we know? A cache of one kind that follows the server.

List, then watch from there; after a break watch on from the last version seen, after `410 Gone`
list again and find out what was missed. Objects are told apart by UID: a namesake that replaced an
object is a deletion and an addition. Old and repeated news change nothing, so handlers see each
object's states in order, each at most once. Handlers are synchronous and see `(old, new)`.

Objects in the cache are shared by all who read it: never change one.
"""

import asyncio
import heapq
import logging
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar, cast

from msgspec import ValidationError

from allaboard.api.errors import InternalError
from allaboard.api.meta import Json, Key, Kind
from allaboard.api.selectors import parse_field_selector, parse_label_selector
from allaboard.api.types.model import Object, typed

V = TypeVar("V")

Handler = Callable[[V | None, V | None], None]
log = logging.getLogger(__name__)


class Scope(NamedTuple):
    """Which objects of a kind an informer follows."""

    kind: Kind
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def covers(self, key: Key, obj: Json) -> bool:
        """Would an object, as far as `obj` shows it, be in this scope?"""
        if self.namespace not in ("", key.namespace):
            return False
        labels = (obj.get("metadata") or {}).get("labels") or {}
        if self.labels and not parse_label_selector(self.labels).matches(labels):
            return False
        return not self.fields or parse_field_selector(self.fields).matches(
            lambda path: _text_at(obj, path)
        )


class Entry(NamedTuple, Generic[V]):
    object: V
    uid: str
    resource_version: int
    is_leaving: bool


class _Index(NamedTuple, Generic[V]):
    values_of: Callable[[V], Iterable[str]]
    found: dict[str, dict[Key, V]]


class Informer(Generic[V]):
    """The cache and its readers' side; `reflector.py` feeds it."""

    def __init__(
        self,
        scope: Scope,
        view: type[Object] | None,
        transform: Callable[[Json], Json] | None = None,
    ) -> None:
        self.scope = scope
        self.kind = scope.kind
        self._view = view
        self._transform = transform
        self._entries: dict[Key, Entry[V]] = {}
        self._keys_by_uid: dict[str, Key] = {}
        self._indexes: dict[str, _Index[V]] = {}
        self._handlers: list[Handler[V]] = []
        self._sorted: list[Key] | None = []
        self._floors: dict[Key, int] = {}  # absorbed ahead of the watch: older news are stale
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._key_waiters: dict[Key, list[asyncio.Future[None]]] = {}
        self._turn = 0
        self._first_sync = asyncio.Event()
        self.resource_version = 0

    # Readers

    @property
    def synced(self) -> bool:
        return self._first_sync.is_set()

    async def wait_synced(self) -> None:
        await self._first_sync.wait()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> V | None:
        entry = self._entries.get(key)
        return entry.object if entry is not None else None

    def by_uid(self, uid: str) -> V | None:
        key = self._keys_by_uid.get(uid)
        return self._entries[key].object if key is not None else None

    def all(self) -> list[V]:
        if self._sorted is None:
            self._sorted = sorted(self._entries)
        entries = self._entries
        return [entries[key].object for key in self._sorted]

    def by_index(self, name: str, value: str) -> list[V]:
        found = self._indexes[name].found.get(value)
        if not found:
            return []
        return [found[key] for key in sorted(found)] if len(found) > 1 else list(found.values())

    def add_index(self, name: str, values_of: Callable[[V], Iterable[str]]) -> None:
        """Make `by_index(name, value)` answer; adding the same name again is an error."""
        if name in self._indexes:
            raise ValueError(f"{self.kind.resource} is already indexed by {name}")
        index = self._indexes[name] = _Index(values_of, {})
        for key, entry in self._entries.items():
            _file(index, key, entry.object)

    def has_index(self, name: str) -> bool:
        return name in self._indexes

    def on_change(self, handler: Handler[V]) -> None:
        """Hear of every change; what is there already is heard of at once, as added."""
        self._handlers.append(handler)
        for key in sorted(self._entries):
            _tell(handler, None, self._entries[key].object)

    # Catching up

    def has_seen(self, key: Key, resource_version: int) -> bool:
        if self.resource_version >= resource_version:
            return True
        entry = self._entries.get(key)
        if entry is not None and entry.resource_version >= resource_version:
            return True
        return self._floors.get(key, 0) >= resource_version

    def is_leaving(self, key: Key, uid: str) -> bool:
        """Is the object with this UID gone, or marked as being deleted?"""
        entry = self._entries.get(key)
        return entry is None or entry.is_leaving or uid not in ("?", entry.uid)

    async def wait_seen(self, resource_version: int) -> None:
        """Wait until everything up to this version is in the cache."""
        if self.resource_version < resource_version:
            await self._wait_version(resource_version)

    async def wait_change_of(self, key: Key, resource_version: int) -> None:
        """Wait until something about this object came in, or the cache passed this version."""
        if self.resource_version < resource_version:
            await self._wait_version(resource_version)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._key_waiters.setdefault(key, []).append(waiter)
        await waiter

    async def _wait_version(self, resource_version: int) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turn += 1
        heapq.heappush(self._waiters, (resource_version, self._turn, waiter))
        await waiter

    # The feeding side

    def apply(self, type_: str, raw: Json) -> int:
        """Take in one watch event and return its version. InternalError if it is none."""
        try:
            metadata = raw["metadata"]
            version = int(metadata["resourceVersion"])
            if type_ != "BOOKMARK":
                key = Key(metadata.get("namespace") or "", metadata["name"])
                if type_ == "DELETED":
                    self._remove(key, metadata.get("uid") or "", version)
                elif type_ in ("ADDED", "MODIFIED"):
                    # A watch tells its news in order: what is not newer was told before, and may
                    # be about an object that is gone by now.
                    if version > self.resource_version:
                        self._put(key, version, raw)
                else:
                    raise InternalError(f"unknown type of watch event: {type_!r}")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InternalError(f"not a watch event: {error!r}") from error
        self._advance(version)
        return version

    def replace(self, items: Iterable[Json], resource_version: int) -> None:
        """Take in a whole list: what it lacks was deleted while we did not look."""
        if resource_version < self.resource_version:
            self._start_over()
        present: dict[Key, None] = {}
        for raw in items:
            metadata = raw["metadata"]
            key = Key(metadata.get("namespace") or "", metadata["name"])
            present[key] = None
            self._put(key, int(metadata["resourceVersion"]), raw)
        for key in [key for key in self._entries if key not in present]:
            # A state newer than the list was absorbed meanwhile; the watch will tell its end.
            if self._entries[key].resource_version <= resource_version:
                self._remove(key, self._entries[key].uid, resource_version)
        self._advance(resource_version)
        self._first_sync.set()

    def absorb(self, key: Key, raw: Json | None) -> None:
        """Take in one object's live state ahead of the watch; None: it is not there."""
        entry = self._entries.get(key)
        if raw is not None:
            version = int(raw["metadata"]["resourceVersion"])
            self._put(key, version, raw)
            self._floors[key] = max(version, self._floors.get(key, 0))
        elif entry is not None:
            self._floors[key] = max(entry.resource_version + 1, self._floors.get(key, 0))
            self._remove(key, entry.uid, entry.resource_version + 1)

    def _start_over(self) -> None:
        """The server's versions went back: it was restored or begun anew. Only the list counts."""
        log.warning("the server went back in time", extra={"kind": self.kind.resource})
        self.resource_version = 0
        self._floors.clear()
        self._entries = {k: e._replace(resource_version=0) for k, e in self._entries.items()}

    def _advance(self, version: int) -> None:
        if version <= self.resource_version:
            return
        self.resource_version = version
        waiters = self._waiters
        while waiters and waiters[0][0] <= version:
            waiter = heapq.heappop(waiters)[2]
            if not waiter.done():
                waiter.set_result(None)
        if self._floors:
            self._floors = {k: v for k, v in self._floors.items() if v > version}

    def _put(self, key: Key, version: int, raw: Json) -> None:
        entry = self._entries.get(key)
        if entry is not None and version <= entry.resource_version:
            return
        if self._floors and version < self._floors.get(key, 0):
            return
        metadata = raw["metadata"]
        uid = metadata.get("uid") or ""
        data = raw if self._transform is None else self._transform(raw)
        try:
            new = cast(V, data if self._view is None else typed(self._view, data))
        except ValidationError as error:
            # One odd object must not hide all others of its kind; its last readable state stays.
            log.error(
                "an object does not fit", extra={"object": f"{self.kind.kind} {key}: {error}"}
            )
            return
        if entry is not None and entry.uid != uid:
            self._remove(key, entry.uid, version)
            entry = None
        leaving = metadata.get("deletionTimestamp") is not None
        self._entries[key] = Entry(new, uid, version, leaving)
        if entry is None:
            self._keys_by_uid[uid] = key
            self._sorted = None
        self._changed(key, None if entry is None else entry.object, new)

    def _remove(self, key: Key, uid: str, version: int) -> None:
        entry = self._entries.get(key)
        if entry is None or (entry.uid != uid and version <= entry.resource_version):
            return
        del self._entries[key]
        self._keys_by_uid.pop(entry.uid, None)
        self._sorted = None
        self._changed(key, entry.object, None)

    def _changed(self, key: Key, old: V | None, new: V | None) -> None:
        for index in self._indexes.values():
            _refile(index, key, old, new)
        for handler in self._handlers:
            try:
                handler(old, new)
            except Exception:  # one listener's bug must not keep news from the others
                log.exception("a handler of changes failed")
        if self._key_waiters:
            for waiter in self._key_waiters.pop(key, ()):
                if not waiter.done():
                    waiter.set_result(None)


def _tell(handler: Handler[V], old: V | None, new: V | None) -> None:
    try:
        handler(old, new)
    except Exception:  # one listener's bug must not keep news from the others
        log.exception("a handler of changes failed")


def _refile(index: _Index[V], key: Key, old: V | None, new: V | None) -> None:
    if old is None or new is None:
        if old is not None:
            _unfile(index, key, old)
        if new is not None:
            _file(index, key, new)
        return
    values = list(index.values_of(new))
    if values != list(index.values_of(old)):
        _unfile(index, key, old)
    for value in values:
        index.found.setdefault(value, {})[key] = new


def _file(index: _Index[V], key: Key, obj: V) -> None:
    for value in index.values_of(obj):
        index.found.setdefault(value, {})[key] = obj


def _unfile(index: _Index[V], key: Key, obj: V) -> None:
    for value in index.values_of(obj):
        found = index.found.get(value)
        if found is not None and found.pop(key, None) is not None and not found:
            del index.found[value]


def _text_at(obj: Any, path: str) -> str:
    for step in path.split("."):
        obj = obj.get(step) if isinstance(obj, dict) else None
    if isinstance(obj, bool):
        return "true" if obj else "false"
    return "" if obj is None else str(obj)
