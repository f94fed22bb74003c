"""On which flavors could this workload run, and how well? Pure: nothing is charged here.

Resources of one group get one flavor. Flavors are tried in the queue's order, from where the last
attempt ended; each is judged by the worst of its resources. `flavorFungibility` says when the
search may stop; otherwise the best seen is kept. Pod sets are placed one after the other, each
counting what those before it would take. Same rules as Kueue's flavorassigner.go.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from allaboard.core.matching import check_flavor
from allaboard.core.quota import Node, available, borrowing_height, potential
from allaboard.core.reasons import (
    ExceedsMaximum,
    FlavorReason,
    NotCovered,
    PodSetRefused,
    Short,
    UnknownFlavor,
)
from allaboard.core.values import (
    Assignment,
    ClusterQueue,
    Flavor,
    FlavorResource,
    Fungibility,
    PodSet,
    PodSetAssignment,
    ResourceGroup,
)

PODS = "pods"


class Mode(IntEnum):
    """How an assignment could come about; higher is better."""

    NO_FIT = 0
    NO_CANDIDATES = 1  # preemption would be needed, but nobody may be preempted
    PREEMPT = 2
    RECLAIM = 3  # only from others who borrow
    FIT = 4

    @property
    def needs_preemption(self) -> bool:
        return self in (Mode.NO_CANDIDATES, Mode.PREEMPT, Mode.RECLAIM)


class Judged(NamedTuple):
    """One flavor for one resource group: mode and how high it borrows."""

    mode: Mode
    height: int
    reasons: tuple[FlavorReason, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an assignment would look like; `mode` is that of its worst part."""

    assignment: Assignment
    mode: Mode
    height: int
    usage: Mapping[FlavorResource, int]
    short: tuple[FlavorResource, ...]  # what preemption would have to free
    refused: tuple[PodSetRefused, ...]
    # (pod set, resource group) -> index of the flavor to begin with next time; absent: the first
    resume: Mapping[tuple[str, int], int]


Oracle = Callable[[FlavorResource, int], Mode]


@dataclass(frozen=True, slots=True)
class Market:
    """Everything an assignment is judged by."""

    queue: ClusterQueue
    node: Node
    flavors: Mapping[str, Flavor]
    oracle: Oracle  # could preemption make room for so much of this?
    may_preempt_while_borrowing: bool = False
    excluded: Mapping[str, None] | None = None  # flavors not to be tried


def propose(
    pod_sets: Sequence[PodSet],
    market: Market,
    resume: Mapping[tuple[str, int], int] | None = None,
) -> Proposal:
    """The best assignment that the rules allow to look for; never charges anything."""
    search = _Search(market, dict(resume or {}))
    for pods in _placed_together(pod_sets):
        search.place(pods)
    return search.proposal()


def _placed_together(pod_sets: Sequence[PodSet]) -> list[list[PodSet]]:
    groups: dict[str, list[PodSet]] = {}
    for number, pods in enumerate(pod_sets):
        groups.setdefault(pods.group or f"/{number}", []).append(pods)
    return list(groups.values())


class _Search:
    def __init__(self, market: Market, resume: dict[tuple[str, int], int]) -> None:
        self._market = market
        self._resume = resume
        self._next: dict[tuple[str, int], int] = {}
        self._usage: dict[FlavorResource, int] = {}
        self._parts: list[PodSetAssignment] = []
        self._refused: list[PodSetRefused] = []
        self._short: dict[FlavorResource, None] = {}
        self._mode = Mode.FIT
        self._height = 0

    def place(self, together: list[PodSet]) -> None:
        """Pod sets that share a group get the same flavors."""
        counted = [_counted(pods, self._market.queue) for pods in together]
        wanted: dict[str, int] = {}
        for amounts in counted:
            for resource, amount in amounts.items():
                wanted[resource] = wanted.get(resource, 0) + amount
        chosen: dict[str, str] = {}
        reasons: list[FlavorReason] = []
        mode = Mode.FIT
        for number, group in enumerate(self._market.queue.groups):
            needed = {r: wanted[r] for r in group.resources if r in wanted}
            if not needed:
                continue
            flavor, judged = self._choose(together, number, group, needed)
            reasons += judged.reasons
            mode = min(mode, judged.mode)
            self._height = max(self._height, judged.height)
            if flavor is not None:
                chosen |= dict.fromkeys(needed, flavor)
        if len(chosen) < len(wanted):
            uncovered = [NotCovered(r) for r in sorted(wanted) if r not in self._covered()]
            if uncovered:
                mode, reasons = Mode.NO_FIT, [*reasons, *uncovered]
        self._take(together, counted, chosen, mode, reasons)

    def _covered(self) -> dict[str, None]:
        return {r: None for group in self._market.queue.groups for r in group.resources}

    def _take(
        self,
        together: list[PodSet],
        counted: list[dict[str, int]],
        chosen: dict[str, str],
        mode: Mode,
        reasons: list[FlavorReason],
    ) -> None:
        self._mode = min(self._mode, mode)
        for pods, amounts in zip(together, counted, strict=True):
            usage = {r: amount for r, amount in amounts.items() if r in chosen}
            flavors = {resource: chosen[resource] for resource in usage}
            self._parts.append(PodSetAssignment(pods.name, flavors, usage, pods.count))
            if reasons:
                self._refused.append(PodSetRefused(pods.name, tuple(reasons)))
            for resource, amount in usage.items():
                key = FlavorResource(chosen[resource], resource)
                self._usage[key] = self._usage.get(key, 0) + amount
        if mode.needs_preemption:
            for reason in reasons:
                if isinstance(reason, Short) and chosen.get(reason.resource) == reason.flavor:
                    self._short[FlavorResource(reason.flavor, reason.resource)] = None

    def _choose(
        self, together: list[PodSet], number: int, group: ResourceGroup, needed: dict[str, int]
    ) -> tuple[str | None, Judged]:
        market = self._market
        keys: Mapping[str, None] = {}
        if any(pods.selector or pods.affinity is not None for pods in together):
            keys = _label_keys(group, market.flavors)
        slot = (together[0].name, number)
        first = self._resume.get(slot, 0)
        best: tuple[str, Judged] | None = None
        reasons: list[FlavorReason] = []
        last = len(group.flavors) - 1
        for index in range(first if first <= last else 0, len(group.flavors)):
            name = group.flavors[index].flavor
            if market.excluded is not None and name in market.excluded:
                continue
            judged = self._judge(together, name, keys, needed)
            reasons += judged.reasons
            if judged.mode is Mode.NO_FIT:
                continue
            if best is None or is_better(judged, best[1], market.queue.fungibility):
                best = (name, judged)
            if may_stop(judged, market.queue.fungibility):
                if index < last:
                    self._next[slot] = index + 1
                break
        if best is None:
            return None, Judged(Mode.NO_FIT, 0, tuple(reasons))
        return best[0], Judged(best[1].mode, best[1].height, tuple(reasons))

    def _judge(
        self,
        together: list[PodSet],
        name: str,
        keys: Mapping[str, None],
        needed: dict[str, int],
    ) -> Judged:
        flavor = self._market.flavors.get(name)
        if flavor is None:
            return Judged(Mode.NO_FIT, 0, (UnknownFlavor(name),))
        for pods in together:
            mismatch = check_flavor(pods, flavor, keys)
            if mismatch is not None:
                return Judged(Mode.NO_FIT, 0, (mismatch,))
        mode, height = Mode.FIT, 0
        reasons: list[FlavorReason] = []
        for resource, amount in needed.items():
            judged = self._judge_resource(FlavorResource(name, resource), amount)
            mode, height = min(mode, judged.mode), max(height, judged.height)
            reasons += judged.reasons
            if mode is Mode.NO_FIT:
                break
        return Judged(mode, height, tuple(reasons))

    def _judge_resource(self, key: FlavorResource, amount: int) -> Judged:
        market = self._market
        before = self._usage.get(key, 0)
        total = before + amount
        maximum = potential(market.node, key)
        if total > maximum:
            reason = ExceedsMaximum(key.flavor, key.resource, before, amount, maximum)
            return Judged(Mode.NO_FIT, 0, (reason,))
        height = borrowing_height(market.node, key, total)
        free = available(market.node, key)
        if total <= free or not amount:  # whoever asks for nothing takes nothing
            return Judged(Mode.FIT, height)
        short = (Short(key.flavor, key.resource, total - free),)
        return Judged(self._preemption_mode(key, total, height), height, short)

    def _preemption_mode(self, key: FlavorResource, total: int, height: int) -> Mode:
        """Who would borrow may only preempt where the policy says so."""
        market = self._market
        cell = market.node.cells.get(key)
        within_own = total <= (cell.nominal if cell is not None else 0)
        reclaims_above = height < market.node.root.height
        if within_own or reclaims_above or market.may_preempt_while_borrowing:
            return market.oracle(key, total)
        return Mode.NO_FIT

    def proposal(self) -> Proposal:
        return Proposal(
            Assignment(self._market.queue.name, tuple(self._parts)),
            self._mode,
            self._height,
            self._usage,
            tuple(self._short),
            tuple(self._refused),
            self._next,
        )


def _label_keys(group: ResourceGroup, flavors: Mapping[str, Flavor]) -> dict[str, None]:
    """The labels that flavors of this group speak of."""
    return {
        label: None
        for quotas in group.flavors
        if quotas.flavor in flavors
        for label in flavors[quotas.flavor].labels
    }


def _counted(pods: PodSet, queue: ClusterQueue) -> dict[str, int]:
    """What all its pods ask for; the pods themselves count where the queue counts them."""
    amounts = {resource: amount * pods.count for resource, amount in pods.requests.items()}
    if any(PODS in group.resources for group in queue.groups):
        amounts[PODS] = pods.count
    return amounts


def is_better(a: Judged, b: Judged, fungibility: Fungibility) -> bool:
    """Strictly better; among equals the earlier flavor stays."""
    if fungibility.preference == "PreemptionOverBorrowing":
        return (-a.height, a.mode) > (-b.height, b.mode)
    return (a.mode, -a.height) > (b.mode, -b.height)


def may_stop(judged: Judged, fungibility: Fungibility) -> bool:
    """Whether the queue's administrator is content with this flavor."""
    if judged.mode <= Mode.NO_CANDIDATES:
        return False
    if judged.mode.needs_preemption and fungibility.when_can_preempt == "TryNextFlavor":
        return False
    return judged.height == 0 or fungibility.when_can_borrow == "MayStopSearch"
