"""What does a configuration own, how is it merged into an object, how is a field set removed?

The three walks of server-side apply besides comparing. They follow the `Shape`: what is owned as
one is taken as one, what is owned by member is walked. Nothing given is changed.

Source of the rules: structured-merge-diff's typed package (facts only).
"""

from typing import Any

from allaboard.cluster.patching.compare import index_members
from allaboard.cluster.patching.fieldset import LEAF, SELF, FieldSet, as_member, is_member
from allaboard.cluster.patching.shape import KeyMissing, Shape


def owned(shape: Shape, value: Any) -> FieldSet | None:
    """What applying `value` owns: leaves, list members, keys of maps; None for nothing."""
    if value is None or value == {} or shape.kind == "leaf":
        return LEAF
    if isinstance(value, dict) and shape.kind in ("map", "any"):
        out: FieldSet = {}
        for name, child in value.items():
            element, inner = shape.field(name)
            node = owned(inner, child)
            if name not in shape.declared:
                node = as_member(node) if node is not None else LEAF
            if node is not None:
                out[element] = node
        return out or None
    if isinstance(value, list) and shape.items is not None:
        return _owned_members(shape, value)
    return LEAF


def _owned_members(shape: Shape, members: list[Any]) -> FieldSet | None:
    out: FieldSet = {}
    for element, member in index_members(shape, members).items():
        node = owned(shape.items, member) if shape.items is not None else LEAF
        out[element] = as_member(node) if node is not None else LEAF
    return out or None


def merge(shape: Shape, live: Any, config: Any) -> Any:
    """`config` laid over `live`. Order: the configuration's for its members, else the live one."""
    if live is config:
        return live
    kind = shape.kind
    if kind in ("map", "any") and isinstance(live, dict) and live:
        if config is None and kind == "map":
            return live
        if isinstance(config, dict):
            return _merge_map(shape, live, config)
    if kind in ("keyed", "set") and isinstance(live, list) and live:
        if config is None:
            return live
        if isinstance(config, list):
            return _merge_list(shape, live, config)
    return config


def _merge_map(shape: Shape, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    out = live
    for name, theirs in config.items():
        if name in live:
            ours = live[name]
            joined = merge(shape.field(name)[1], ours, theirs)
            if joined is ours or (joined == ours and joined.__class__ is ours.__class__):
                continue
        else:
            joined = theirs
        if out is live:
            out = live.copy()
        out[name] = joined
    return out


def _merge_list(shape: Shape, live: list[Any], config: list[Any]) -> list[Any]:
    """Members of both keep the configuration's order; live-only ones stay after what led them."""
    mine = _elements(shape, live)
    theirs = _elements(shape, config)
    mine_by = dict(zip(reversed(mine), reversed(live), strict=True))  # of duplicates the first
    theirs_by = dict(zip(theirs, config, strict=True))
    shared = [e for e in theirs if e in mine_by]
    out: list[Any] = []
    done: set[str] = set()
    left = right = turn = 0

    def take(element: str) -> None:
        done.add(element)
        config_member = theirs_by[element]
        if element in mine_by and shape.items is not None:
            out.append(merge(shape.items, mine_by[element], config_member))
        else:
            out.append(config_member)

    while left < len(mine) or right < len(theirs):
        if left < len(mine):
            element = mine[left]
            if element not in theirs_by:
                out.append(live[left])
                left += 1
                continue
            wanted = shared[turn] if turn < len(shared) else None
            if element in done or (right < len(theirs) and wanted not in (None, element)):
                # already taken with its counterpart, or to be taken when its turn comes
                left += 1
                continue
        element = theirs[right]
        take(element)
        if left < len(mine) and mine[left] == element:
            left += 1
        if turn < len(shared) and shared[turn] == element:
            turn += 1
        right += 1
    return out


def _elements(shape: Shape, members: list[Any]) -> list[str]:
    """Path elements of all members; one without a key gets its place, which no other can have."""
    out = []
    for place, member in enumerate(members):
        try:
            out.append(shape.element(member))
        except KeyMissing:
            out.append(f"i:{place}")
    return out


def remove(shape: Shape, value: Any, fields: FieldSet) -> Any:
    """`value` without the members of `fields`. What is owned as one is not entered."""
    if isinstance(value, dict) and shape.kind in ("map", "any"):
        out = value.copy()
        for name, child in value.items():
            element, inner = shape.field(name)
            node = fields.get(element)
            if node is None:
                continue
            if is_member(node):
                del out[name]
            else:
                out[name] = remove(inner, child, node)
        return out
    if isinstance(value, list) and shape.items is not None:
        members = []
        for element, member in zip(_elements(shape, value), value, strict=True):
            node = fields.get(element)
            if node is None:
                members.append(member)
            elif not is_member(node):
                members.append(remove(shape.items, member, node))
        return members
    return value


def fitted(shape: Shape, fields: FieldSet) -> FieldSet:
    """`fields` after a change of the schema: who owned a part of what is one now owns all of it."""
    out = fields
    for element, node in fields.items():
        if element == SELF or not node:
            continue
        inner = shape.field(element[2:])[1] if element[0] == "f" else shape.items
        if inner is None:
            continue
        fit = LEAF if inner.kind == "leaf" else fitted(inner, node)
        if fit is not node:
            if out is fields:
                out = fields.copy()
            out[element] = fit
    return out


def with_named(shape: Shape, fields: FieldSet) -> FieldSet:
    """`fields` and every declared field above one of them, which apply treats as owned too."""
    if not fields:
        return fields
    out: FieldSet = {}
    for element, node in fields.items():
        if element == SELF or not node:
            out[element] = node
            continue
        name = element[2:]
        if element[0] == "f":
            inner = shape.field(name)[1]
            below = with_named(inner, node)
            out[element] = as_member(below) if name in shape.declared else below
        else:
            out[element] = with_named(shape.items, node) if shape.items is not None else node
    return out
