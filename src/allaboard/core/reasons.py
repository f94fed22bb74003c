"""Why not? Refusals as values: which flavor, which resource, how much is missing.

`queueing/messages.py` renders them in Kueue's words. None of them names another tenant.
"""

from dataclasses import dataclass

from allaboard.core.values import Taint


@dataclass(frozen=True, slots=True)
class NotCovered:
    """The ClusterQueue has no quota for this resource at all."""

    resource: str


@dataclass(frozen=True, slots=True)
class UnknownFlavor:
    flavor: str


@dataclass(frozen=True, slots=True)
class Untolerated:
    flavor: str
    taint: Taint


@dataclass(frozen=True, slots=True)
class WrongNodes:
    """The pods' selector or affinity excludes the flavor's nodes."""

    flavor: str


@dataclass(frozen=True, slots=True)
class ExceedsMaximum:
    """More than could ever be available here, with nobody else in the way."""

    flavor: str
    resource: str
    before: int  # of pod sets considered earlier
    request: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Short:
    """It could fit, but not now: `missing` units must be freed."""

    flavor: str
    resource: str
    missing: int


FlavorReason = NotCovered | UnknownFlavor | Untolerated | WrongNodes | ExceedsMaximum | Short


@dataclass(frozen=True, slots=True)
class PodSetRefused:
    pod_set: str
    reasons: tuple[FlavorReason, ...]


@dataclass(frozen=True, slots=True)
class NamespaceNotSelected:
    """The ClusterQueue's namespaceSelector does not choose the workload's namespace."""

    namespace: str


@dataclass(frozen=True, slots=True)
class Overtaken:
    """It fitted when the cycle began; somebody before it took the room."""


@dataclass(frozen=True, slots=True)
class VictimsTaken:
    """The workloads it would have preempted are already being preempted for another."""


@dataclass(frozen=True, slots=True)
class Preempting:
    """Waits until this many preempted workloads have given their quota back."""

    victims: int


@dataclass(frozen=True, slots=True)
class HoldLost:
    """What it held after preempting others is gone: taken by another, or no longer enough."""


Reason = PodSetRefused | NamespaceNotSelected | Overtaken | VictimsTaken | Preempting | HoldLost


def gist(reasons: tuple[Reason, ...]) -> object:
    """The reasons without their amounts: what all of a shape need to hear, and once."""
    return tuple(_part_gist(r) if isinstance(r, PodSetRefused) else r for r in reasons)


def _part_gist(part: PodSetRefused) -> object:
    return (part.pod_set, tuple(Short(r.flavor, r.resource, 0) if isinstance(r, Short) else r
                                for r in part.reasons))  # fmt: skip
