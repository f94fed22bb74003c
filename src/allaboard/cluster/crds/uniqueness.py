"""Does a set hold a member twice, or a keyed list a key? What JSON schemas cannot say.

Lists that are neither sets nor keyed, and the fields that lead to none, are never visited. A first
pass only answers yes or no, since the answer is nearly always no.
"""

from dataclasses import dataclass
from typing import Any

from allaboard.api.fields import FieldError, duplicate
from allaboard.api.meta import Json
from allaboard.cluster.crds.messages import as_json, key_of


@dataclass(frozen=True, slots=True)
class Lists:
    """Where sets and keyed lists are in a schema, so that only they are visited."""

    fields: tuple[tuple[str, "Lists"], ...] = ()
    values: "Lists | None" = None
    items: "Lists | None" = None
    unique: bool = False
    keys: tuple[str, ...] = ()


def lists_of(schema: Json) -> Lists | None:
    """The keyed lists below `schema`; None when there are none."""
    fields = tuple(
        (name, found)
        for name, sub in (schema.get("properties") or {}).items()
        if (found := lists_of(sub)) is not None
    )
    extra, items = schema.get("additionalProperties"), schema.get("items")
    values = lists_of(extra) if isinstance(extra, dict) else None
    below = lists_of(items) if isinstance(items, dict) else None
    kind = schema.get("x-kubernetes-list-type")
    keys = tuple(schema.get("x-kubernetes-list-map-keys") or ()) if kind == "map" else ()
    if not (fields or values or below or keys or kind == "set"):
        return None
    return Lists(fields, values, below, kind == "set", keys)


def duplicates(lists: Lists, obj: Json) -> list[FieldError]:
    """Members that occur twice in a set, or keys twice in a keyed list."""
    return _explained(lists, obj, "") if _may_repeat(lists, obj) else []


def _may_repeat(lists: Lists, value: Any) -> bool:
    """Whether something could occur twice; never wrongly False."""
    if type(value) is dict:
        for name, below in lists.fields:
            member = value.get(name)
            if member and _may_repeat(below, member):
                return True
        if lists.values is not None:
            return any(_may_repeat(lists.values, member) for member in value.values())
    elif type(value) is list:
        if len(value) > 1 and (lists.keys or lists.unique) and not _all_differ(lists.keys, value):
            return True
        if lists.items is not None:
            for member in value:
                if _may_repeat(lists.items, member):
                    return True
    return False


def _all_differ(keys: tuple[str, ...], value: list[Any]) -> bool:
    try:
        if len(keys) == 1:
            key = keys[0]
            return len({member.get(key) for member in value}) == len(value)
        if keys:
            return len({tuple([m.get(key) for key in keys]) for m in value}) == len(value)
        return len(set(value)) == len(value)
    except (TypeError, AttributeError):  # not hashable, or no objects: look closer
        return False


def _explained(lists: Lists, value: Any, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if isinstance(value, dict):
        for name, below in lists.fields:
            member = value.get(name)
            if member:
                found += _explained(below, member, f"{path}.{name}" if path else name)
        if lists.values is not None:
            for name, member in value.items():
                found += _explained(lists.values, member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        if lists.keys and len(value) > 1:
            found += _repeated_keys(lists.keys, value, path)
        elif lists.unique and len(value) > 1:
            seen: set[str] = set()
            for index, member in enumerate(value):
                text = as_json(member)
                if text in seen:
                    found.append(duplicate(f"{path}[{index}]", member))
                seen.add(text)
        if lists.items is not None:
            for index, member in enumerate(value):
                found += _explained(lists.items, member, f"{path}[{index}]")
    return found


def _repeated_keys(keys: tuple[str, ...], value: list[Any], path: str) -> list[FieldError]:
    found = []
    seen: set[str] = set()
    for index, member in enumerate(value):
        if not isinstance(member, dict):
            continue
        key = key_of(member, keys)
        if key in seen:
            shown = {k: member[k] for k in keys if k in member}
            found.append(duplicate(f"{path}[{index}]", shown))
        seen.add(key)
    return found
