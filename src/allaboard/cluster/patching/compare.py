"""Which fields differ between two states of an object?

`changes(shape, old, new)` gives two field sets: what was added or modified, and what was removed.
Equal parts are skipped with one C-level comparison each, so the cost is that of what changed.

A built-in kind is a Go struct to the real server: a struct in it is there even when nobody wrote
it. So an absent field counts as its zero value wherever its parent is present.
"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.patching.fieldset import LEAF, SELF, FieldSet, is_member, without_trees
from allaboard.cluster.patching.shape import ABSENT, KeyMissing, Shape

Changes = tuple[FieldSet | None, FieldSet | None]
NO_CHANGES: Changes = (None, None)
UNTRACKED_METADATA = frozenset(
    {
        "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
        "managedFields", "resourceVersion",
    }
)  # fmt: skip


class _Several(list[Any]):
    """Members of a list that share one path element."""


def everything(shape: Shape, value: Any) -> FieldSet:
    """The node of a value that came or went as a whole: every path in it is a member."""
    if not value:
        return LEAF
    kind = shape.kind
    if kind == "leaf":
        return LEAF
    if value.__class__ is dict:
        if kind != "map" and kind != "any":
            return LEAF
        fields = shape.fields
        out: FieldSet = {SELF: LEAF}
        for name, child in value.items():
            element, inner = fields.get(name) or shape.field(name)
            out[element] = everything(inner, child) if child and inner.kind != "leaf" else LEAF
        return out
    if value.__class__ is list and kind in ("keyed", "set"):
        out = {SELF: LEAF}
        for element, member in index_members(shape, value).items():
            out[element] = _whole_member(shape, member)
        return out
    return LEAF


def _whole_member(shape: Shape, member: Any) -> FieldSet:
    if shape.kind == "set" or member.__class__ is _Several or shape.items is None:
        return LEAF
    return everything(shape.items, member)


def index_members(shape: Shape, members: list[Any]) -> dict[str, Any]:
    """List members by path element. Those that have none are left out, as nobody can own them."""
    out: dict[str, Any] = {}
    for member in members:
        try:
            element = shape.element(member)
        except KeyMissing:
            continue
        if element in out:
            earlier = out[element]
            several = earlier if earlier.__class__ is _Several else _Several([earlier])
            several.append(member)
            member = several
        out[element] = member
    return out


def changes(shape: Shape, old: Any, new: Any) -> Changes:
    """What differs between two present values that are not equal."""
    kind = shape.kind
    if kind in ("map", "any"):
        if isinstance(old, dict) and isinstance(new, dict):
            return _map_changes(shape, old, new) if old or new else (LEAF, None)
        if (old is None and isinstance(new, dict)) or (new is None and isinstance(old, dict)):
            # null is no value of its own beside an object: only members come and go
            return _map_changes(shape, old or {}, new or {}) if old or new else (LEAF, None)
        if kind == "any" and isinstance(old, dict) != isinstance(new, dict):
            lost = _below(everything(shape, old))
            came = everything(shape, new)
            return (came, lost) if isinstance(new, dict) else (LEAF, lost)
        return (LEAF, None)
    if kind in ("keyed", "set"):
        before = old if isinstance(old, list) else []
        after = new if isinstance(new, list) else []
        if before or after:
            return _list_changes(shape, before, after)
    return (LEAF, None)


def _below(node: FieldSet) -> FieldSet | None:
    return {k: v for k, v in node.items() if k != SELF} or None


def _map_changes(shape: Shape, old: dict[str, Any], new: dict[str, Any]) -> Changes:
    changed: FieldSet = {}
    removed: FieldSet = {}
    fields = shape.fields
    for name, after in new.items():
        before = old.get(name, ABSENT)
        if before is after or before == after:
            continue
        element, inner = fields.get(name) or shape.field(name)
        if before is ABSENT:
            before = inner.zero
            if before is ABSENT:
                changed[element] = everything(inner, after)
                continue
            if before == after:
                continue
        if inner.kind == "leaf":
            changed[element] = LEAF
            continue
        _note(changed, removed, element, changes(inner, before, after))
    if not old.keys() <= new.keys():
        for name, before in old.items():
            if name in new:
                continue
            element, inner = fields.get(name) or shape.field(name)
            after = inner.zero
            if after is ABSENT:
                removed[element] = everything(inner, before)
            elif after != before:
                _note(changed, removed, element, changes(inner, before, after))
    return changed or None, removed or None


def object_changes(
    shape: Shape, old: Json, new: Json, reset: FieldSet
) -> tuple[FieldSet, FieldSet]:
    """What differs between two objects, as sets; without what nobody can own, and without `reset`.

    `reset` holds the fields that this door of the API puts back to what they were.
    """
    changed: FieldSet = {}
    removed: FieldSet = {}
    for name in new if old.keys() <= new.keys() else {**new, **old}:
        before, after = old.get(name, ABSENT), new.get(name, ABSENT)
        if before is after or name in ("apiVersion", "kind"):
            continue
        element, inner = shape.fields.get(name) or shape.field(name)
        if reset and is_member(reset.get(element, _NOT_RESET)):
            continue
        if inner.kind == "leaf":
            _note_leaf(changed, removed, element, inner, (before, after))
            continue
        if name == "metadata":
            found = _map_changes(inner, _tracked(before), _tracked(after))
        else:
            found = _present_changes(inner, before, after)
        _note(changed, removed, element, found)
    if reset:
        return without_trees(changed, reset), without_trees(removed, reset)
    return changed, removed


def _note_leaf(
    changed: FieldSet, removed: FieldSet, element: str, shape: Shape, values: tuple[Any, Any]
) -> None:
    """As `_note` of `_present_changes`, where there is nothing to descend into."""
    zero = shape.zero
    before, after = (zero if value is ABSENT else value for value in values)
    if after is ABSENT:
        removed[element] = LEAF
    elif before is ABSENT or before != after:
        changed[element] = LEAF


_NOT_RESET: FieldSet = {"f:": LEAF}


def _present_changes(shape: Shape, before: Any, after: Any) -> Changes:
    before = shape.zero if before is ABSENT else before
    after = shape.zero if after is ABSENT else after
    if before is ABSENT:
        return everything(shape, after), None
    if after is ABSENT:
        return None, everything(shape, before)
    return NO_CHANGES if before == after else changes(shape, before, after)


def _tracked(metadata: Any) -> Json:
    """The part of metadata that has owners."""
    if not isinstance(metadata, dict):
        return {}
    return {k: v for k, v in metadata.items() if k not in UNTRACKED_METADATA}


def _list_changes(shape: Shape, old: list[Any], new: list[Any]) -> Changes:
    changed: FieldSet = {}
    removed: FieldSet = {}
    before_by = index_members(shape, old)
    after_by = index_members(shape, new)
    for element, after in after_by.items():
        before = before_by.get(element, ABSENT)
        if before is after or before == after:
            continue
        if before is ABSENT:
            changed[element] = _whole_member(shape, after)
        elif _Several in (before.__class__, after.__class__) or shape.items is None:
            changed[element] = LEAF
        else:
            _note(changed, removed, element, changes(shape.items, before, after))
    if not before_by.keys() <= after_by.keys():
        for element, before in before_by.items():
            if element not in after_by:
                removed[element] = _whole_member(shape, before)
    return changed or None, removed or None


def _note(changed: FieldSet, removed: FieldSet, element: str, found: Changes) -> None:
    if found[0] is not None:
        changed[element] = found[0]
    if found[1] is not None:
        removed[element] = found[1]
