"""Which rules, columns and selectable fields belong to which built-in kind?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from allaboard.api.meta import Json
from allaboard.cluster.kinds.columns.basic import AGE, NAME
from allaboard.cluster.kinds.strategy import KindStrategy
from allaboard.cluster.resource import Column, Strategy

_NO_FIELDS: Mapping[str, Callable[[Json], str]] = {}


@dataclass(frozen=True, slots=True)
class Rules:
    """What is special about one kind."""

    strategy: Strategy
    columns: tuple[Column, ...] = (NAME, AGE)
    selectable: Mapping[str, Callable[[Json], str]] = field(default_factory=dict)
    row_conditions: Callable[[Json], list[Json]] | None = None
    stored_as: str = ""
    from_stored: Callable[[Json], Json] | None = None
    to_stored: Callable[[Json], Json] | None = None


def rules_of(group: str, kind: str, namespaced: bool, has_status: bool) -> Rules:
    del group, kind
    return Rules(KindStrategy(namespaced=namespaced, has_status=has_status))
