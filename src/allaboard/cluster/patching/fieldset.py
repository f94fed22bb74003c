"""Which fields are in a set of fields? Set algebra on Kubernetes' own notation.

A set is kept exactly as `fieldsV1` writes it, so nothing is decoded or encoded on a write:

    {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}}}}}

Path elements are `f:<field>`, `k:<key fields as JSON>`, `v:<value as JSON>`, `i:<index>`. A node
without children is a member; one with children is a member if it holds `"."`. The empty dict at the
root is the empty set. Sets are shared freely and never changed: an operation that changes nothing
returns its first argument itself.

Source of the meaning: structured-merge-diff's fieldpath.Set (facts only).
"""

import json
from collections.abc import Iterator
from typing import Any

FieldSet = dict[str, Any]

# The node of a member without children; shared, so it must never be written to.
LEAF: FieldSet = {}
SELF = "."


def is_member(node: FieldSet) -> bool:
    return not node or SELF in node


def as_member(node: FieldSet) -> FieldSet:
    return node if is_member(node) else {SELF: LEAF, **node}


def union(a: FieldSet, b: FieldSet) -> FieldSet:
    if not b:
        return a
    return _union(a, b) if a else b


def _union(a: FieldSet, b: FieldSet) -> FieldSet:
    if a is b:
        return a
    if not a or not b:
        return as_member(a or b)
    out = a
    for key, theirs in b.items():
        ours = a.get(key)
        joined = theirs if ours is None else _union(ours, theirs)
        if joined is not ours:
            if out is a:
                out = a.copy()
            out[key] = joined
    return out


def difference(a: FieldSet, b: FieldSet) -> FieldSet:
    """The members of `a` that are not members of `b`; children of a removed member stay."""
    return (_difference(a, b) or LEAF) if a and b else a


def _difference(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if not a:
        return None if is_member(b) else a
    if not b:
        return _without_self(a)
    out = a
    for key, theirs in b.items():
        ours = a.get(key)
        if ours is None:
            continue
        left = None if key == SELF else _difference(ours, theirs)
        if left is not ours:
            if out is a:
                out = a.copy()
            if left is None:
                del out[key]
            else:
                out[key] = left
    return _node(out)


def _without_self(node: FieldSet) -> FieldSet | None:
    if SELF not in node:
        return node
    return {k: v for k, v in node.items() if k != SELF} or None


def _node(node: FieldSet) -> FieldSet | None:
    """A node after removals: nothing left is no node, only itself left is a leaf."""
    if not node:
        return None
    return LEAF if len(node) == 1 and SELF in node else node


def intersection(a: FieldSet, b: FieldSet) -> FieldSet:
    return (_intersection(a, b) or LEAF) if a and b else LEAF


def _intersection(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if not a or not b:
        return LEAF if is_member(a) and is_member(b) else None
    if len(b) < len(a):
        a, b = b, a
    out: FieldSet = {}
    for key, ours in a.items():
        theirs = b.get(key)
        if theirs is None:
            continue
        both = LEAF if key == SELF else _intersection(ours, theirs)
        if both is not None:
            out[key] = both
    return _node(out)


def without_trees(a: FieldSet, b: FieldSet) -> FieldSet:
    """`a` without the members of `b` and without everything below them."""
    return (_without_trees(a, b) or LEAF) if a and b else a


def _without_trees(a: FieldSet, b: FieldSet) -> FieldSet | None:
    if is_member(b):
        return None
    out = a
    for key, theirs in b.items():
        ours = a.get(key)
        if ours is None:
            continue
        left = _without_trees(ours, theirs)
        if left is not ours:
            if out is a:
                out = a.copy()
            if left is None:
                del out[key]
            else:
                out[key] = left
    return out if out is a else _node(out)


def from_paths(paths: tuple[tuple[str, ...], ...]) -> FieldSet:
    """A set of named fields, e.g. (("metadata", "labels"), ("spec",))."""
    out: FieldSet = {}
    for path in paths:
        node = LEAF
        for name in reversed(path):
            node = {f"f:{name}": node}
        out = union(out, node)
    return out


# Sets seen lately, by their first two levels. It only saves memory: the thousand pods of a job have
# equal sets of about a hundred dicts each.
_SEEN: dict[tuple[str, ...], FieldSet] = {}
_MAX_SEEN = 4096


def shared(fields: FieldSet) -> FieldSet:
    """An equal set that uses parts of earlier ones where they are equal."""
    out = {}
    for element, node in fields.items():
        if node:
            key = (element, *node)
            known = _SEEN.get(key)
            if known is not node and known == node:
                node = known
            elif known is None and len(_SEEN) >= _MAX_SEEN:
                _SEEN.clear()
            _SEEN[key] = node
        out[element] = node
    return out


def iterate_paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Every member as messages write it, `.spec.containers[name="a"].image`, members first."""
    elements = sorted((_sort_key(key), key) for key in fields if key != SELF)
    for _, key in elements:
        if is_member(fields[key]):
            yield prefix + render_element(key)
    for _, key in elements:
        if fields[key]:
            yield from iterate_paths(fields[key], prefix + render_element(key))


def _sort_key(element: str) -> tuple[int, Any]:
    kind, text = "fkvi".index(element[0]), element[2:]
    return (kind, int(text)) if kind == 3 else (kind, text)


def render_element(element: str) -> str:
    kind, text = element[0], element[2:]
    if kind == "f":
        return f".{text}"
    if kind == "i":
        return f"[{text}]"
    if kind == "v":
        return f"[={text}]"
    pairs = json.loads(text).items()
    return "[" + ",".join(f"{k}={render_scalar(v)}" for k, v in pairs) + "]"


def render_scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def canonical(fields: Any, depth: int = 0) -> FieldSet:
    """A client's `fieldsV1` in our form. ValueError when it is not one."""
    if not isinstance(fields, dict) or depth > 100:
        raise ValueError("fieldsV1 must be nested objects")
    out: FieldSet = {}
    for key, value in fields.items():
        if key == SELF:
            if depth:
                out[SELF] = LEAF
        else:
            out[_canonical_element(key)] = canonical(value, depth + 1)
    return LEAF if len(out) == 1 and SELF in out else out


def _canonical_element(element: str) -> str:
    kind, text = element[:2], element[2:]
    match kind:
        case "f:":
            return element
        case "i:":
            return f"i:{int(text)}"
        case "v:":
            return f"v:{render_scalar(_read(text))}"
        case "k:":
            keys = _read(text)
            if not isinstance(keys, dict):
                raise ValueError("a key element must hold an object")
            return "k:" + render_scalar(dict(sorted(keys.items())))
    raise ValueError(f"{element!r} is not a path element")


def _read(text: str) -> Any:
    return json.loads(text, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
