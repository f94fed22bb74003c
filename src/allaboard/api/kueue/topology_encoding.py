"""How is a topology assignment written: domain by domain, or by columns?

v1beta1 lists domains. v1beta2 has slices, each by columns: the values of one level for all domains
(one universal value, or prefix + root + suffix for each) and the pod counts likewise. Order is
kept and nothing is lost. `decode` reads every valid form and refuses the rest; `encode` writes one
slice, or one per run of equal `…-` prefixes when that is shorter.

Shape and limits: reference §3.8.
"""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from allaboard.api.meta import Json

MAX_DOMAINS = 100_000
MAX_SLICES = 1_000
MAX_LEVELS = 16


class Domain(NamedTuple):
    values: tuple[str, ...]  # one for each level
    pods: int


class EncodingError(ValueError):
    """The assignment contradicts itself; `field` says where, below the assignment."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


# --- reading ----------------------------------------------------------------------------------


def decode(assignment: Json) -> list[Domain]:
    """The domains of a v1beta2 assignment, in order; EncodingError if it makes no sense."""
    levels = _level_count(assignment)
    slices = assignment.get("slices") or []
    if not isinstance(slices, list) or len(slices) > MAX_SLICES:
        raise EncodingError("slices", f"must be a list of at most {MAX_SLICES}")
    total = 0
    for index, part in enumerate(slices):
        place = f"slices[{index}]"
        count: Any = part.get("domainCount") if isinstance(part, dict) else None
        if not _is_count(count):
            raise EncodingError(f"{place}.domainCount", "must be a whole number of at least 1")
        total += count
        if total > MAX_DOMAINS:
            # A universal slice of two billion domains would be a few bytes of input.
            raise EncodingError(f"{place}.domainCount", f"more than {MAX_DOMAINS} domains in all")
    found: list[Domain] = []
    for index, part in enumerate(slices):
        found += _slice(part, levels, f"slices[{index}]")
    return found


def _level_count(assignment: Json) -> int:
    levels = assignment.get("levels") or []
    if not isinstance(levels, list) or len(levels) > MAX_LEVELS:
        raise EncodingError("levels", f"must be a list of at most {MAX_LEVELS}")
    return len(levels)


def _slice(part: Json, levels: int, place: str) -> list[Domain]:
    count = part["domainCount"]
    columns = part.get("valuesPerLevel")
    if not isinstance(columns, list) or len(columns) != levels:
        raise EncodingError(f"{place}.valuesPerLevel", f"must have one entry per level, {levels}")
    values = [
        _values(column, count, f"{place}.valuesPerLevel[{index}]")
        for index, column in enumerate(columns)
    ]
    counts = _counts(part.get("podCounts"), count, f"{place}.podCounts")
    rows = zip(*values, strict=True) if values else iter([()] * count)
    return [Domain(row, pods) for row, pods in zip(rows, counts, strict=True)]


def _one(holder: Any, place: str) -> tuple[Any, Any]:
    """`universal` and `individual`, of which exactly one is set."""
    if not isinstance(holder, dict):
        raise EncodingError(place, "must be an object")
    universal, individual = holder.get("universal"), holder.get("individual")
    if (universal is None) == (individual is None):
        raise EncodingError(place, "exactly one of universal and individual must be set")
    return universal, individual


def _values(column: Any, count: int, place: str) -> list[str]:
    universal, individual = _one(column, place)
    if individual is None:
        if not isinstance(universal, str):
            raise EncodingError(f"{place}.universal", "must be a string")
        return [universal] * count
    roots = individual.get("roots") if isinstance(individual, dict) else None
    if not isinstance(roots, list) or len(roots) != count:
        raise EncodingError(f"{place}.individual.roots", f"must have one per domain, {count}")
    prefix, suffix = individual.get("prefix") or "", individual.get("suffix") or ""
    if not all(isinstance(part, str) for part in (prefix, suffix, *roots)):
        raise EncodingError(f"{place}.individual", "must hold strings")
    return [f"{prefix}{root}{suffix}" for root in roots]


def _counts(holder: Any, count: int, place: str) -> list[int]:
    universal, individual = _one(holder, place)
    if individual is None:
        if not _is_count(universal):
            raise EncodingError(f"{place}.universal", "must be a whole number of at least 1")
        return [universal] * count
    if not isinstance(individual, list) or len(individual) != count:
        raise EncodingError(f"{place}.individual", f"must have one per domain, {count}")
    if not all(_is_count(pods) for pods in individual):
        raise EncodingError(f"{place}.individual", "must hold whole numbers of at least 1")
    return list(individual)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31


# --- writing ----------------------------------------------------------------------------------


def encode(levels: Sequence[str], domains: Sequence[Domain]) -> Json:
    """The v1beta2 assignment of these domains, in the shorter of two forms."""
    if not domains:
        return {"levels": list(levels), "slices": []}
    single = [_encoded(domains)]
    runs = [list(run) for _, run in groupby(domains, key=_family)]
    slices = single
    if 1 < len(runs) <= MAX_SLICES:
        several = [_encoded(run) for run in runs]
        slices = min(single, several, key=_size)
    return {"levels": list(levels), "slices": slices}


def _family(domain: Domain) -> str:
    """What the names of neighbouring nodes share: all up to the last hyphen."""
    value = domain.values[-1] if domain.values else ""
    return value[: value.rfind("-") + 1]


def _size(slices: list[Json]) -> int:
    return len(json.dumps(slices, separators=(",", ":"), ensure_ascii=False))


def _encoded(domains: Sequence[Domain]) -> Json:
    columns = [_column(list(values)) for values in zip(*(d.values for d in domains), strict=True)]
    counts = [d.pods for d in domains]
    alike = len(set(counts)) == 1
    return {
        "domainCount": len(domains),
        "valuesPerLevel": columns,
        "podCounts": {"universal": counts[0]} if alike else {"individual": counts},
    }


def _column(values: list[str]) -> Json:
    low, high = min(values), max(values)
    if low == high:
        return {"universal": low}
    prefix = _shared_beginning(low, high)  # what the extremes share, all do
    rest = [value[len(prefix) :] for value in values]
    mirrored = [value[::-1] for value in rest]
    suffix = _shared_beginning(min(mirrored), max(mirrored))[::-1]
    end = -len(suffix) if suffix else None
    individual: Json = {"roots": [value[:end] for value in rest]}
    if suffix:
        individual = {"suffix": suffix, **individual}
    if prefix:
        individual = {"prefix": prefix, **individual}
    return {"individual": individual}


def _shared_beginning(one: str, other: str) -> str:
    length = 0
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            break
        length += 1
    return one[:length]


# --- v1beta1 ----------------------------------------------------------------------------------


def domains_of(assignment: Json) -> list[Domain]:
    """The domains of a v1beta1 assignment."""
    found: list[Domain] = []
    levels = _level_count(assignment)
    domains = assignment.get("domains") or []
    if not isinstance(domains, list) or len(domains) > MAX_DOMAINS:
        raise EncodingError("domains", f"must be a list of at most {MAX_DOMAINS}")
    for index, domain in enumerate(domains):
        place = f"domains[{index}]"
        values = domain.get("values") if isinstance(domain, dict) else None
        if not isinstance(values, list) or len(values) != levels:
            raise EncodingError(f"{place}.values", f"must have one per level, {levels}")
        if not all(isinstance(value, str) for value in values):
            raise EncodingError(f"{place}.values", "must hold strings")
        if not _is_count(domain.get("count")):
            raise EncodingError(f"{place}.count", "must be a whole number of at least 1")
        found.append(Domain(tuple(values), domain["count"]))
    return found


def listed(levels: Sequence[str], domains: Sequence[Domain]) -> Json:
    """The v1beta1 assignment of these domains."""
    return {
        "levels": list(levels),
        "domains": [{"values": list(d.values), "count": d.pods} for d in domains],
    }
