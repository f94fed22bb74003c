"""In which order do the members of a strategically merged list stand?

The patch's members keep the patch's order, the others keep theirs, and the live list arbitrates
between the two: a live member comes before a patched one only if it did so in the live list. So
members that the patch adds come first.
"""

from typing import Any

from allaboard.api.errors import BadRequest
from allaboard.cluster.patching import go_text


def key_of(member: Any, merge_key: str) -> Any:
    """What a member is matched by: its merge key, or a plain value itself."""
    key = member
    if isinstance(member, dict):
        if merge_key not in member:
            raise BadRequest(
                f"map: {go_text.plain(member)} does not contain declared merge key: {merge_key}"
            )
        key = member[merge_key]
    if isinstance(key, dict | list):
        raise BadRequest(f"the merge key of map: {go_text.plain(member)} is not a plain value")
    return key


def tagged(value: Any) -> tuple[type, Any]:
    """A plain value for sets and dicts; unlike Python's own hash it tells true from 1."""
    plain = go_text.plain(value) if isinstance(value, dict | list) else value
    return type(value), plain


def arrange(merged: list[Any], wanted: list[Any], live: list[Any], merge_key: str) -> list[Any]:
    """`merged` in order: its members that are in `wanted` as there, the others as in `live`."""
    wanted_place = _places(wanted, merge_key)
    live_place = _places(live, merge_key)
    patched: list[tuple[Any, Any]] = []
    others: list[tuple[Any, Any]] = []
    for member in merged:
        key = _loose_key(member, merge_key)
        (patched if key in wanted_place else others).append((key, member))
    patched.sort(key=lambda pair: wanted_place[pair[0]])
    others.sort(key=lambda pair: live_place.get(pair[0], len(live)))
    out: list[Any] = []
    rest = iter(patched)
    ahead = next(rest, None)
    for key, member in others:
        here = live_place.get(key)
        while ahead is not None:
            there = live_place.get(ahead[0])
            if here is not None and there is not None and here < there:
                break
            out.append(ahead[1])
            ahead = next(rest, None)
        out.append(member)
    while ahead is not None:
        out.append(ahead[1])
        ahead = next(rest, None)
    return out


def _places(members: list[Any], merge_key: str) -> dict[Any, int]:
    places: dict[Any, int] = {}
    for place, member in enumerate(members):
        places.setdefault(_loose_key(member, merge_key), place)
    return places


def _loose_key(member: Any, merge_key: str) -> Any:
    return tagged(member.get(merge_key) if isinstance(member, dict) else member)
