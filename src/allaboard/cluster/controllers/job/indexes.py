"""Which completion indexes are in a set that is written as text, such as `0-2,5`?

A set is a sorted tuple of disjoint, non-adjacent closed intervals. Two neighbours are written
`3,4`, three and more `3-5`, as Kubernetes writes them.
"""

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter

Indexes = tuple[tuple[int, int], ...]

EMPTY: Indexes = ()


def parse(text: str, completions: int) -> Indexes:
    """The set that `text` names, without what lies at or beyond `completions`."""
    if not text:
        return EMPTY
    parts: list[tuple[int, int]] = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        try:
            low = int(first)
            high = int(last) if last else low
        except ValueError:
            return EMPTY  # somebody wrote nonsense into a status: count again from the pods
        if low >= completions:
            break
        parts.append((low, min(high, completions - 1)))
    return _merged(parts)


def text_of(indexes: Indexes) -> str:
    pieces = []
    for low, high in indexes:
        if low == high:
            pieces.append(str(low))
        else:
            pieces.append(f"{low}{'-' if high > low + 1 else ','}{high}")
    return ",".join(pieces)


def with_members(indexes: Indexes, members: Iterable[int]) -> Indexes:
    new = [(m, m) for m in members]
    if not new:
        return indexes
    return _merged(sorted([*indexes, *new]))


def union(one: Indexes, other: Indexes) -> Indexes:
    return _merged(sorted([*one, *other])) if other else one


def total(indexes: Indexes) -> int:
    return sum(high - low + 1 for low, high in indexes)


def contains(indexes: Indexes, member: int) -> bool:
    position = bisect_right(indexes, member, key=itemgetter(0)) - 1
    return position >= 0 and member <= indexes[position][1]


def common(one: Indexes, other: Indexes) -> int:
    """How many members both sets have."""
    count, mine, theirs = 0, 0, 0
    while mine < len(one) and theirs < len(other):
        (low, high), (other_low, other_high) = one[mine], other[theirs]
        count += max(0, min(high, other_high) - max(low, other_low) + 1)
        if high < other_high:
            mine += 1
        else:
            theirs += 1
    return count


def first_missing(indexes: Indexes, count: int, completions: int) -> list[int]:
    """The lowest `count` numbers below `completions` that are not in the set."""
    found: list[int] = []
    candidate = 0
    for low, high in (*indexes, (completions, completions)):
        stop = min(low, completions, candidate + count - len(found))
        found.extend(range(candidate, stop))
        if len(found) >= count:
            break
        candidate = max(candidate, high + 1)
    return found


def _merged(parts: list[tuple[int, int]]) -> Indexes:
    merged: list[tuple[int, int]] = []
    for low, high in parts:
        if merged and low <= merged[-1][1] + 1:
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)
