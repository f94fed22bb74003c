"""Which completion indexes does "1,3-5" name? The text form of index sets in Jobs."""

from dataclasses import dataclass


class BadIndexes(ValueError):
    """The text is no list of increasing indexes; the message says why."""


@dataclass(frozen=True, slots=True)
class Indexes:
    """Closed intervals in increasing order, and how many indexes they hold together."""

    intervals: tuple[tuple[int, int], ...] = ()
    count: int = 0


def parse_indexes(text: str, completions: int) -> Indexes:
    """The indexes below `completions` that a text names; linear in its length."""
    if not text:
        return Indexes()
    intervals: list[tuple[int, int]] = []
    count, last = 0, None
    for part in text.split(","):
        limits = part.split("-")
        if len(limits) > 2:
            raise BadIndexes(
                f'the fragment "{part}" violates the requirement that an index interval can have '
                "at most two parts separated by '-'"
            )
        first = _index(limits[0], completions)
        if last is not None and last >= first:
            raise BadIndexes(f"non-increasing order, previous: {last}, current: {first}")
        last = first
        if len(limits) == 2:
            last = _index(limits[1], completions)
            if first >= last:
                raise BadIndexes(f"non-increasing order, previous: {first}, current: {last}")
        intervals.append((first, last))
        count += last - first + 1
    return Indexes(tuple(intervals), count)


def _index(text: str, completions: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise BadIndexes(f'cannot convert string to integer for index: "{text}"')
    value = int(text)
    if value >= completions:
        raise BadIndexes(f'too large index: "{text}"')
    return value


def first_overlap(a: Indexes, b: Indexes) -> int | None:
    """The smallest index in both, None if there is none."""
    i = j = 0
    while i < len(a.intervals) and j < len(b.intervals):
        low = max(a.intervals[i][0], b.intervals[j][0])
        high = min(a.intervals[i][1], b.intervals[j][1])
        if low <= high:
            return low
        if a.intervals[i][1] < b.intervals[j][1]:
            i += 1
        else:
            j += 1
    return None
