"""Which version does Kubernetes prefer, and may a definition have the names it asks for?

Names are accepted per group: a plural, singular, short name or kind belongs to the definition
that got it first. A definition whose names are taken keeps the ones it already has.
"""

import re
from collections.abc import Iterable

from allaboard.api.meta import Json

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def version_rank(version: str) -> tuple[int, int, int, str]:
    """v2, v1, v2beta1, v1beta2, v1alpha1, then everything else by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (9, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return (stage, -int(found[1]), -int(found[3] or 0), version)


def accept_names(crd: Json, others: Iterable[Json]) -> tuple[Json, str, str]:
    """The names `crd` may have, and reason and message of the conflict ('' when there is none).

    `others` are the accepted names (`status.acceptedNames`) of the group's other definitions and
    of built-in kinds of the group.
    """
    resources: dict[str, None] = {}
    kinds: dict[str, None] = {}
    for names in others:
        for word in (names.get("plural"), names.get("singular"), *(names.get("shortNames") or ())):
            if word:
                resources[word] = None
        for word in (names.get("kind"), names.get("listKind")):
            if word:
                kinds[word] = None
    wanted = crd["spec"]["names"]
    held = (crd.get("status") or {}).get("acceptedNames") or {}
    accepted: Json = {}
    reason = message = ""

    def take(key: str, why: str, taken: dict[str, None]) -> None:
        nonlocal reason, message
        word = wanted.get(key)
        if word and word in taken:
            reason, message = why, f'"{word}" is already in use'
            if held.get(key):
                accepted[key] = held[key]
        elif word:
            accepted[key] = word

    take("plural", "PluralConflict", resources)
    take("singular", "SingularConflict", resources)
    short = [w for w in wanted.get("shortNames") or () if w in resources]
    if short:
        reason, message = "ShortNamesConflict", f'"{short[0]}" is already in use'
        if held.get("shortNames"):
            accepted["shortNames"] = held["shortNames"]
    elif wanted.get("shortNames"):
        accepted["shortNames"] = list(wanted["shortNames"])
    take("kind", "KindConflict", kinds)
    take("listKind", "ListKindConflict", kinds)
    if wanted.get("categories"):
        accepted["categories"] = list(wanted["categories"])
    accepted.setdefault("plural", "")
    accepted.setdefault("kind", "")
    return accepted, reason, message
