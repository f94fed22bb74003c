"""Who set which field? `metadata.managedFields` after a write.

A manager is known by name, operation, subresource and, if it updates, apiVersion. A write gives it
the fields whose values it changed, takes those from everybody else, and takes removed fields from
all. What nobody may own (name, uid, resourceVersion, …) is never listed, and neither is what this
door of the API resets (status on the main resource, spec on /status). An entry that owns nothing
disappears; an object without entries is not tracked again until somebody applies to it.

Call `track_update` with the decoded and defaulted object, before the kind's strategy and admission
change it: what they add is nobody's. Source of the rules: apimachinery's managedfields package and
structured-merge-diff's merge package (facts only).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json
from allaboard.clock import Instant
from allaboard.cluster.patching.compare import object_changes
from allaboard.cluster.patching.fieldset import FieldSet, canonical, difference, shared, union
from allaboard.cluster.patching.merge_patch import TOO_DEEP
from allaboard.cluster.patching.shape import object_shape
from allaboard.cluster.schema.node import Schema

UPDATE, APPLY = "Update", "Apply"
BEFORE_FIRST_APPLY = "before-first-apply"
ANCIENT = "ancient-changes"
MAX_UPDATE_MANAGERS = 10
Entries = list[Json]


@dataclass(frozen=True, slots=True)
class Manager:
    """Who writes, and through which door."""

    name: str
    operation: str  # Update or Apply
    api_version: str
    subresource: str = ""
    reset: FieldSet = field(default_factory=dict)  # see resets.py

    def is_entry(self, entry: Json) -> bool:
        return (
            entry.get("manager", "") == (self.name or "unknown")
            and entry["operation"] == self.operation
            and entry.get("subresource", "") == self.subresource
            and (self.operation == APPLY or entry.get("apiVersion", "") == self.api_version)
        )


@dataclass(frozen=True, slots=True)
class Versions:
    """A schema, and the way to the other versions in which managers wrote.

    `convert` gives an object in another apiVersion with that version's schema, or None when the
    version is no longer served; its managers are then forgotten.
    """

    schema: Schema
    convert: Callable[[Json, str], tuple[Json, Schema] | None]


def track_update(
    old: Json | None, new: Json, schema: Schema | Versions, manager: Manager, now: Instant
) -> Entries:
    """The managedFields of `new`, written over `old` by `manager` in any way but apply.

    An empty list means that the object carries none. Entries that did not change are the very
    same dicts as before, and if none changed so is the list.
    """
    live = managed_fields(old)
    entries = _entries_to_change(live, new, manager)
    if old is not None and not entries:
        return entries
    try:
        differences = Differences(old or {}, new, schema, manager)
        changed, removed = differences.in_version(manager.api_version)
        if not changed and not removed:
            return entries
        # A scaler's entry has no time: the scale it wrote is not the object that is stored.
        time = "" if manager.subresource == "scale" else render_time(now)
        return _reassign(entries, differences, manager, time)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None


def managed_fields(obj: Json | None) -> Entries:
    if obj is None:
        return []
    return (obj.get("metadata") or {}).get("managedFields") or []


def _entries_to_change(live: Entries, new: Json, manager: Manager) -> Entries:
    """The entries a write starts from: what the client sent, if it sent something sensible."""
    given = (new.get("metadata") or {}).get("managedFields")
    if given is None or given is live or manager.subresource or given == live:
        return live
    if given in ([], [{}]):
        return []  # a client's way to start afresh
    try:
        return order(decode(given))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return live


def decode(entries: Any) -> Entries:
    """A client's entries in our form; of two with the same identity the last. ValueError if bad."""
    out: dict[tuple[str, ...], Json] = {}
    for entry in entries:
        if entry["operation"] not in (UPDATE, APPLY) or entry["fieldsType"] != "FieldsV1":
            raise ValueError("neither Update nor Apply, or not FieldsV1")
        fields = canonical(entry["fieldsV1"])
        if fields:
            out[identity(entry)] = {**entry, "fieldsV1": fields}
    return list(out.values())


def identity(entry: Json) -> tuple[str, ...]:
    operation = entry["operation"]
    version = entry.get("apiVersion", "") if operation == UPDATE else ""
    return entry.get("manager", ""), operation, version, entry.get("subresource", "")


class Differences:
    """What changed between two objects, seen in each version that some manager used."""

    __slots__ = ("_known", "_manager", "_new", "_old", "_only", "_versions")

    def __init__(self, old: Json, new: Json, schema: Schema | Versions, manager: Manager) -> None:
        self._old, self._new, self._manager = old, new, manager
        self._known: dict[str, tuple[FieldSet, FieldSet] | None] = {}
        self._versions: Versions | None = None
        self._only: tuple[FieldSet, FieldSet] | None = None  # where all versions are the same
        if isinstance(schema, Versions):
            self._versions = schema
        else:
            self._only = object_changes(object_shape(schema), old, new, manager.reset)

    def in_version(self, version: str) -> tuple[FieldSet, FieldSet]:
        """Empty in a version that is gone: see `is_gone`."""
        if self._only is not None:
            return self._only
        found = self._find(version)
        return found if found is not None else ({}, {})

    def is_gone(self, version: str) -> bool:
        return self._only is None and self._find(version) is None

    def _find(self, version: str) -> tuple[FieldSet, FieldSet] | None:
        if version not in self._known:
            self._known[version] = self._compare(version)
        return self._known[version]

    def _compare(self, version: str) -> tuple[FieldSet, FieldSet] | None:
        versions = self._versions
        assert versions is not None
        old, new, plain = self._old, self._new, versions.schema
        if version != self._manager.api_version:
            before, after = versions.convert(old, version), versions.convert(new, version)
            if before is None or after is None:
                return None
            old, (new, plain) = before[0], after
        return object_changes(object_shape(plain), old, new, self._manager.reset)


def _reassign(entries: Entries, differences: Differences, manager: Manager, time: str) -> Entries:
    changed, removed = differences.in_version(manager.api_version)
    out: Entries = []
    mine: Json | None = None
    same = True
    for entry in entries:
        if mine is None and manager.is_entry(entry):
            mine = entry
            continue
        left = take(entry, differences)
        same = same and left is entry
        if left is not None:
            out.append(left)
    before = difference(mine["fieldsV1"], removed) if mine is not None else {}
    after = union(before, changed)
    stamp = (mine or {}).get("time", "")
    if mine is not None and after is mine["fieldsV1"] and (not changed or stamp == time):
        if same:
            return entries
        out.append(mine)
    elif mine is not None and after is mine["fieldsV1"] and stamp and time:
        out.append({**mine, "time": time})
    elif after:
        out.append(make_entry(manager, time if changed else stamp, after))
    return order(cap(out))


def take(entry: Json, differences: "Differences") -> Json | None:
    """What another manager is left with; None for nothing."""
    version = entry.get("apiVersion", "")
    if differences.is_gone(version):
        return None
    changed, removed = differences.in_version(version)
    fields = entry["fieldsV1"]
    left = difference(difference(fields, changed), removed) if fields else fields
    if left is fields:
        return entry
    return {**entry, "fieldsV1": left} if left else None


def make_entry(manager: Manager, time: str | None, fields: FieldSet) -> Json:
    entry: Json = {
        "manager": manager.name or "unknown",
        "operation": manager.operation,
        "apiVersion": manager.api_version,
    }
    if time:
        entry["time"] = time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = shared(fields)
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def order(entries: Entries) -> Entries:
    """Appliers first, then by time; every tie is broken."""
    return sorted(entries, key=_place) if len(entries) > 1 else entries


def _place(entry: Json) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"], entry.get("time") or "", entry.get("manager", ""),
        entry.get("apiVersion", ""), entry.get("subresource", ""),
    )  # fmt: skip


def cap(entries: Entries) -> Entries:
    """Fold the oldest updaters into one entry per version until ten updaters are left."""
    if len(entries) <= MAX_UPDATE_MANAGERS:
        return entries
    updaters = sorted((e for e in entries if e["operation"] == UPDATE), key=_place)
    if len(updaters) <= MAX_UPDATE_MANAGERS:
        return entries
    kept = {identity(e): e for e in entries}
    oldest: dict[str, Json] = {}
    for entry in updaters:
        if sum(e["operation"] == UPDATE for e in kept.values()) <= MAX_UPDATE_MANAGERS:
            break
        version = entry.get("apiVersion", "")
        first = oldest.setdefault(version, entry)
        if first is entry:
            continue
        bucket = (ANCIENT, UPDATE, version, "")
        fields: FieldSet = {}
        for name in dict.fromkeys((bucket, identity(first), identity(entry))):
            if name in kept:
                fields = union(fields, kept.pop(name)["fieldsV1"])
        kept[bucket] = make_entry(Manager(ANCIENT, UPDATE, version), entry.get("time"), fields)
    return list(kept.values())


def render_time(now: Instant) -> str:
    return _render_second(int(now))


@lru_cache(maxsize=256)
def _render_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
