"""What does a strategic merge patch make of an object of a built-in kind?

Maps are merged, null removes. A list is replaced unless its field says `merge`: then members are
matched by the field's merge key (plain values by themselves), new ones come first. Directives in
the patch: `$patch: replace | delete`, `$retainKeys`, `$setElementOrder/<list>`,
`$deleteFromPrimitiveList/<list>`. Custom resources have no such rules; the server refuses them.

Messages of bad patches are the real server's, which answers them with a bare 500; here they are
400. Source: apimachinery's strategicpatch package (facts only).
"""

from typing import Any

from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json
from allaboard.cluster.patching import go_text
from allaboard.cluster.patching.list_order import arrange, key_of, tagged
from allaboard.cluster.patching.merge_patch import TOO_DEEP, check_patch_is_object
from allaboard.cluster.patching.refusal import find_misfit, unrestorable
from allaboard.cluster.schema.node import Schema

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
SET_ORDER = "$setElementOrder"
DELETE_FROM = "$deleteFromPrimitiveList"
_NONE = Schema()


def apply_strategic_patch(doc: Json, patch: Any, schema: Schema) -> Json:
    """The patched object. Untouched parts are shared with `doc`; no input is changed."""
    out = merge_strategically(doc, patch, schema)
    check_restorable(out, patch, schema)
    return out


def merge_strategically(doc: Json, patch: Any, schema: Schema) -> Json:
    """As `apply_strategic_patch`, for callers who decode the result.

    What `check_restorable` refuses cannot be decoded either, so it is asked only when that fails.
    """
    check_patch_is_object(patch)
    try:
        return _merge_map(doc, patch, schema)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None


def check_restorable(patched: Json, patch: Any, schema: Schema) -> None:
    """Refuse a patch that set a value of the wrong type."""
    try:
        problem = find_misfit(patched, patch, schema)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None
    if problem:
        raise unrestorable(patch, problem)


def _merge_map(original: Json, patch: Json, schema: Schema) -> Json:
    if "$" not in "".join(patch):
        return _merge_plainly(original, patch, schema)
    if DIRECTIVE in patch:
        return _directed(patch)
    out = original.copy()
    rest = patch
    if RETAIN_KEYS in patch:
        rest = {k: v for k, v in patch.items() if k != RETAIN_KEYS}
        _retain(out, rest, patch[RETAIN_KEYS])
    done = _merge_ordered_lists(out, rest, schema)
    for key, value in rest.items():
        if key in done:
            continue
        if key.startswith(DELETE_FROM):
            _delete_values(out, _field_of(key, DELETE_FROM, "primitive"), value)
        elif value is None:
            out.pop(key, None)
        else:
            out[key] = _merge_value(out.get(key), value, _child(schema, key))
    return out


def _merge_plainly(original: Json, patch: Json, schema: Schema) -> Json:
    """As `_merge_map` of a patch without directives, which nearly all are.

    A patch that says what is there already gives back `original` itself.
    """
    out = original
    for key, value in patch.items():
        current = original.get(key)
        if value is None:
            if key not in original:
                continue
            merged = None
        elif value.__class__ is str:
            if current.__class__ is str and current == value:
                continue
            merged = value
        else:
            merged = _merge_value(current, value, _child(schema, key))
            if merged is current:
                continue
        if out is original:
            out = original.copy()
        if value is None:
            del out[key]
        else:
            out[key] = merged
    return out


def _merge_value(original: Any, value: Any, schema: Schema) -> Any:
    if isinstance(value, dict) and isinstance(original, dict):
        if "replace" in schema.patch_strategy:
            return value
        return _merge_map(original, value, schema)
    if isinstance(value, list) and isinstance(original, list):
        return _merge_list(original, value, schema) if "merge" in schema.patch_strategy else value
    return _cleaned(value)


def _directed(patch: Json) -> Json:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {k: v for k, v in patch.items() if k != DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(patch)


def _retain(out: Json, patch: Json, names: Any) -> None:
    """Drop from `out` what is not to be retained; the patch may set nothing else."""
    bad = BadRequest("invalid patch format of retainKeys")
    if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
        raise bad
    keep = set(names)
    for key, value in patch.items():
        if value is not None and not key.startswith((DELETE_FROM, SET_ORDER)) and key not in keep:
            raise bad
    for key in [k for k in out if k not in keep]:
        del out[key]


def _merge_ordered_lists(out: Json, patch: Json, schema: Schema) -> set[str]:
    """Merge the lists that come with a wanted order; the keys of the patch that are dealt with."""
    done: set[str] = set()
    for key, wanted in patch.items():
        if not key.startswith(SET_ORDER):
            continue
        name = _field_of(key, SET_ORDER, "setElementOrder")
        done.add(key)
        child = _child(schema, name)
        original, members = out.get(name), patch.get(name)
        for value in (wanted, original, members):
            if value is not None and not isinstance(value, list):
                raise BadRequest("invalid patch format of setElementOrder list")
        _check_order(members or [], wanted or [], child.patch_merge_key)
        if original is None and members is None:
            continue
        if original is None:
            merged = _cleaned(members)
        elif members is None:
            merged = original
        else:
            merged = _merge_value(original, members, child)
        done.add(name)
        out[name] = arrange(merged, wanted or [], original or [], child.patch_merge_key)
    return done


def _check_order(members: list[Any], wanted: list[Any], merge_key: str) -> None:
    """The patch's members must come in the order it asks for."""
    present = [m for m in members if not (isinstance(m, dict) and m.get(DIRECTIVE) == "delete")]
    order = iter(wanted)
    for member in present:
        key = tagged(key_of(member, merge_key))
        if not any(tagged(key_of(w, merge_key)) == key for w in order):
            raise BadRequest(
                f"The order in patch list:\n{go_text.plain(members)}\n doesn't match {SET_ORDER} "
                f"list:\n{go_text.plain(wanted)}\n"
            )


def _delete_values(out: Json, name: str, values: Any) -> None:
    original = out.get(name)
    if not isinstance(values, list):
        raise BadRequest("invalid patch format of primitive list")
    if isinstance(original, list):
        gone = {tagged(v) for v in values}
        out[name] = [v for v in original if tagged(v) not in gone]


def _merge_list(original: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if not original and not patch:
        return original
    kinds = {_element_kind(member) for member in (*original, *patch)}
    if "list" in kinds:
        raise BadRequest("lists of lists are not supported")
    if len(kinds) > 1:
        raise BadRequest("list element types are not identical")
    if kinds == {"value"}:
        merged = list({tagged(v): v for v in (*original, *patch)}.values())
        return arrange(merged, patch, original, "")
    if not schema.patch_merge_key:
        raise BadRequest(f"cannot merge lists without merge key for {schema.name}")
    in_place = _merge_in_place(original, patch, schema)
    return _merge_members(original, patch, schema) if in_place is None else in_place


def _merge_in_place(original: list[Json], patch: list[Json], schema: Schema) -> list[Any] | None:
    """As `_merge_members` where all that is patched is there, in the same order; else None."""
    merge_key = schema.patch_merge_key
    places: dict[str, int] = {}
    for place, member in enumerate(original):
        key = member.get(merge_key)
        if key.__class__ is not str:
            return None
        places[key] = place
    if len(places) != len(original):
        return None
    out, last = original, -1
    for member in patch:
        key = member.get(merge_key)
        place = places.get(key, -1) if key.__class__ is str else -1
        if place <= last or DIRECTIVE in member:
            return None
        last = place
        merged = _merge_map(original[place], member, schema.items or _NONE)
        if merged is not original[place]:
            if out is original:
                out = original.copy()
            out[place] = merged
    return out


def _element_kind(member: Any) -> str:
    if isinstance(member, dict):
        return "map"
    return "list" if isinstance(member, list) else "value"


def _merge_members(original: list[Json], patch: list[Json], schema: Schema) -> list[Any]:
    merge_key = schema.patch_merge_key
    members = [m for m in patch if DIRECTIVE not in m]
    replaced = False
    deleted: set[Any] = set()
    for member in patch:
        directive = member.get(DIRECTIVE)
        if DIRECTIVE not in member:
            continue
        if directive == "delete":
            deleted.add(tagged(key_of(member, merge_key)))
        elif directive == "replace":
            replaced = True
        elif directive == "merge":
            raise BadRequest("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(member)
    if replaced:
        return members
    live = original
    if deleted:
        live = [m for m in original if tagged(m.get(merge_key)) not in deleted]
    merged: list[Any] = list(live)
    places = {tagged(m[merge_key]): i for i, m in reversed(list(enumerate(live))) if merge_key in m}
    for member in members:
        key = tagged(key_of(member, merge_key))
        place = places.get(key)
        if place is None:
            places[key] = len(merged)
            merged.append(_cleaned(member))
        else:
            merged[place] = _merge_map(merged[place], member, schema.items or _NONE)
    return arrange(merged, members, live, merge_key)


def _child(schema: Schema, name: str) -> Schema:
    return schema.properties.get(name) or schema.values or _NONE


def _field_of(key: str, directive: str, what: str) -> str:
    head, _, name = key.partition("/")
    if head != directive or not name:
        raise BadRequest(f"invalid patch format of {what} list")
    return name


def _cleaned(value: Any) -> Any:
    """A value that is taken as it is: without nulls and without directives."""
    if isinstance(value, dict):
        if DIRECTIVE in value:
            value = _directed(value)
        return {
            k: _cleaned(v)
            for k, v in value.items()
            if v is not None and k != RETAIN_KEYS and not k.startswith((SET_ORDER, DELETE_FROM))
        }
    if isinstance(value, list):
        kept = [v for v in value if not (isinstance(v, dict) and DIRECTIVE in v)]
        return [_cleaned(v) for v in kept]
    return value


def _unknown_directive(patch: Json) -> BadRequest:
    directive = go_text.plain(patch[DIRECTIVE])
    return BadRequest(f"unknown patch type: {directive} in map: {go_text.plain(patch)}")
