"""Whom must a workload displace to run, and may it? Classical preemption; pure but for a trial.

Candidates are taken away one after the other until the newcomer fits, then given back, last taken
first, as long as it still fits: no victim is left that was not needed. Who may be a candidate:

    own queue      lower priority, or equal and newer, as `withinClusterQueue` says
    other queues   `reclaimWithinCohort`, and only while they, and every cohort up to the one
                   shared with the newcomer, use more than their own quota

A newcomer that would borrow may take from other queues only what `borrowWithinCohort` allows;
otherwise two borrowers could displace one another for ever. Order: those already evicted, other
queues before the own, lower priority, newest reservation, UID. Same rules as Kueue (KEP-1714 and
KEP-1337, classical).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from allaboard.core.quota import NOTHING, Charges, Node, available
from allaboard.core.values import FlavorResource, PreemptionPolicy, Workload


class Because(Enum):
    """Why a victim may be taken."""

    IN_CLUSTER_QUEUE = "InClusterQueue"
    RECLAMATION = "InCohortReclamation"
    RECLAIM_WHILE_BORROWING = "InCohortReclaimWhileBorrowing"
    FAIR_SHARING = "InCohortFairSharing"


@dataclass(slots=True, eq=False)
class Running:
    """A workload that holds quota."""

    workload: Workload
    node: Node
    usage: Mapping[FlavorResource, int]
    evicting: bool = False  # its eviction was decided, though its status may not say so yet


Residents = Callable[[Node], Iterable[Running]]  # who holds quota in a ClusterQueue


@dataclass(frozen=True, slots=True)
class Victim:
    running: Running
    because: Because


@dataclass(frozen=True, slots=True)
class Newcomer:
    workload: Workload
    node: Node
    policy: PreemptionPolicy
    needs: Mapping[FlavorResource, int]  # everything it would take
    short: Sequence[FlavorResource]  # what is not there


@dataclass(frozen=True, slots=True)
class _Candidate:
    running: Running
    because: Because
    may_borrow: bool  # legal although the newcomer would borrow


def find_victims(newcomer: Newcomer, residents: Residents, charges: Charges) -> tuple[Victim, ...]:
    """The victims, in the order they are to be evicted; empty when nobody's going would help."""
    candidates = sorted(_candidates(newcomer, residents), key=lambda c: _order(newcomer, c))
    own = [c for c in candidates if c.running.node is newcomer.node]
    if len(own) == len(candidates):
        return _minimal(newcomer, own, charges, borrow=True)
    if newcomer.policy.borrow_within_cohort:
        legal = (
            candidates if _is_under_nominal(newcomer) else [c for c in candidates if c.may_borrow]
        )
        return _minimal(newcomer, legal, charges, borrow=True)
    if _is_under_nominal(newcomer):
        found = _minimal(newcomer, candidates, charges, borrow=False)
        if found:
            return found
    return _minimal(newcomer, own, charges, borrow=True)


def _candidates(newcomer: Newcomer, residents: Residents) -> Iterator[_Candidate]:
    within = newcomer.policy.within_cluster_queue
    for own in residents(newcomer.node) if within != "Never" else ():
        if _matters(newcomer, own) and _may_displace_own(newcomer.workload, own.workload, within):
            yield _Candidate(own, Because.IN_CLUSTER_QUEUE, may_borrow=True)
    if newcomer.policy.reclaim_within_cohort == "Never":
        return
    below = newcomer.node
    for ancestor in newcomer.node.path():
        for child in ancestor.children.values():
            if child is not below:
                for other in _borrowers(newcomer, child, residents):
                    yield from _foreign(newcomer, other)
        below = ancestor


def _borrowers(newcomer: Newcomer, node: Node, residents: Residents) -> Iterator[Running]:
    """Who holds quota below `node`, leaving out whatever stays within its own."""
    if not any(_exceeds_own(node, key) for key in newcomer.short):
        return
    if not node.is_cohort:
        yield from (other for other in residents(node) if _matters(newcomer, other))
    for child in node.children.values():
        yield from _borrowers(newcomer, child, residents)


def _matters(newcomer: Newcomer, other: Running) -> bool:
    is_itself = other.workload.uid == newcomer.workload.uid
    return not is_itself and any(other.usage.get(key) for key in newcomer.short)


def _foreign(newcomer: Newcomer, other: Running) -> Iterator[_Candidate]:
    policy = newcomer.policy
    lower = other.workload.priority < newcomer.workload.priority
    if policy.reclaim_within_cohort == "LowerPriority" and not lower:
        return
    limit = policy.borrow_threshold
    cheap = lower and (limit is None or other.workload.priority <= limit)
    may_borrow = policy.borrow_within_cohort and cheap
    because = Because.RECLAIM_WHILE_BORROWING if may_borrow else Because.RECLAMATION
    yield _Candidate(other, because, may_borrow)


def _may_displace_own(mine: Workload, other: Workload, policy: str) -> bool:
    if policy == "Never":
        return False
    if other.priority < mine.priority:
        return True
    newer = other.priority == mine.priority and other.queued_at > mine.queued_at
    return policy == "LowerOrNewerEqualPriority" and newer


def _is_reclaimable(newcomer: Newcomer, other: Running) -> bool:
    """Below the ancestor both share, everything on the other's way up uses more than its own."""
    mine = list(newcomer.node.path())
    for node in other.node.path():
        if any(node is ancestor for ancestor in mine):
            return node is not other.node
        if not any(_exceeds_own(node, key) for key in newcomer.short):
            return False
    return False  # another tree


def _exceeds_own(node: Node, key: FlavorResource) -> bool:
    cell = node.cells.get(key) or NOTHING
    return cell.usage > cell.subtree


def _order(newcomer: Newcomer, candidate: _Candidate) -> tuple[bool, bool, int, float, str]:
    running, workload = candidate.running, candidate.running.workload
    is_own = running.node is newcomer.node
    stays = not (running.evicting or workload.evicted)
    return (stays, is_own, workload.priority, -workload.reserved_at, workload.uid)


def _is_under_nominal(newcomer: Newcomer) -> bool:
    cells = newcomer.node.cells
    return all((cells.get(k) or NOTHING).usage < (cells.get(k) or NOTHING).nominal
               for k in newcomer.short)  # fmt: skip


def _minimal(
    newcomer: Newcomer, candidates: Sequence[_Candidate], charges: Charges, borrow: bool
) -> tuple[Victim, ...]:
    with charges.trial():
        taken = _take_until_it_fits(newcomer, candidates, charges, borrow)
        if taken is None:
            return ()
        needed: list[_Candidate] = [taken[-1]]
        for candidate in reversed(taken[:-1]):
            charges.charge(candidate.running.node, candidate.running.usage)
            if not fits(newcomer, borrow):
                charges.release(candidate.running.node, candidate.running.usage)
                needed.append(candidate)
    return tuple(Victim(c.running, c.because) for c in reversed(needed))


def _take_until_it_fits(
    newcomer: Newcomer, candidates: Sequence[_Candidate], charges: Charges, borrow: bool
) -> list[_Candidate] | None:
    taken: list[_Candidate] = []
    for candidate in candidates:
        foreign = candidate.running.node is not newcomer.node
        if foreign and not _is_reclaimable(newcomer, candidate.running):
            continue  # earlier victims brought its queue back within its own quota
        charges.release(candidate.running.node, candidate.running.usage)
        taken.append(candidate)
        if fits(newcomer, borrow and _may_still_borrow(taken, newcomer)):
            return taken
    return None


def _may_still_borrow(taken: Sequence[_Candidate], newcomer: Newcomer) -> bool:
    """Borrowing is off as soon as a victim was taken that is only legal without it."""
    return all(c.may_borrow for c in taken if c.running.node is not newcomer.node)


def fits(newcomer: Newcomer, borrow: bool) -> bool:
    for key, amount in newcomer.needs.items():
        if amount > available(newcomer.node, key):
            return False
        cell = newcomer.node.cells.get(key) or NOTHING
        if not borrow and newcomer.node.parent is not None and cell.usage + amount > cell.subtree:
            return False
    return True
