"""How does a list of conditions change? Pure.

A condition that says the same keeps its time of transition; one that changes only its words keeps
it too, as Kubernetes has it. Nothing is written that says what is already there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.clock import Instant

LONGEST = 32768  # characters of a message


@dataclass(frozen=True, slots=True)
class Say:
    """What a condition shall say."""

    type: str
    status: Literal["True", "False"]
    reason: str
    message: str


def changed(
    current: Sequence[Json], wanted: Sequence[Say], now: Instant, generation: int
) -> list[Json]:
    """The whole list with `wanted` in it; others stay as they are and where they are."""
    result = [dict(condition) for condition in current]
    for say in wanted:
        place = next((i for i, c in enumerate(result) if c.get("type") == say.type), None)
        old = result[place] if place is not None else None
        new = _condition(say, old, now, generation)
        if place is None:
            result.append(new)
        else:
            result[place] = new
    return result


def _condition(say: Say, old: Json | None, now: Instant, generation: int) -> Json:
    message = say.message if len(say.message) <= LONGEST else say.message[: LONGEST - 1] + "…"
    same = old is not None and old.get("status") == say.status
    since = old.get("lastTransitionTime") if same and old is not None else None
    return {
        "type": say.type,
        "status": say.status,
        "reason": say.reason,
        "message": message,
        "lastTransitionTime": since or format_time(now),
        "observedGeneration": generation,
    }


def says(current: Sequence[Json], say: Say) -> bool:
    """Whether the list says so already."""
    return any(
        c.get("type") == say.type
        and c.get("status") == say.status
        and c.get("reason") == say.reason
        and c.get("message") == say.message
        for c in current
    )


def find(current: Sequence[Json], type_: str) -> Json | None:
    return next((c for c in current if c.get("type") == type_), None)


def without(current: Sequence[Json], type_: str) -> list[Json]:
    return [c for c in current if c.get("type") != type_]
