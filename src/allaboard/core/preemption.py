"""Whom must a workload displace to run, and may it? Classical preemption; pure but for a trial.

Candidates are taken away one after the other until the newcomer fits, then given back, last taken
first, as long as it still fits: no victim is left that was not needed. Who may be a candidate:

    own queue      lower priority, or equal and newer, as `withinClusterQueue` says
    other queues   as `reclaimWithinCohort` says, and only while they, and every cohort up to the
                   one shared with the newcomer, use more than their own quota

Where some subtree of the newcomer has quota enough for it, whoever is outside merely borrows from
that subtree and gives back; otherwise the newcomer would borrow itself, and may take from others
only what `borrowWithinCohort` allows: two borrowers must not displace one another for ever.
Order: those already evicted, mere holds, other queues before the own, [the LocalQueue that consumed
most], lower priority, newest reservation, UID. Same rules as Kueue (KEP-1714, KEP-1337, KEP-79).

A preemptor that waits for its victims is a candidate like any other: whoever could displace it
once it runs may as well take its hold. Nothing runs yet, so nothing is evicted for that.
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
    holds: bool = False  # it waits for victims of its own: nothing of it runs


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
    load: Callable[[Workload], float] | None = None  # what a workload's LocalQueue consumed


@dataclass(frozen=True, slots=True)
class Candidate:
    running: Running
    because: Because
    may_borrow: bool  # legal although the newcomer would borrow
    is_inherited: bool = False  # it borrows from a subtree that has room for the newcomer


def find_victims(
    newcomer: Newcomer, residents: Residents, charges: Charges, leaving: Sequence[Running] = ()
) -> tuple[Victim, ...]:
    """The victims, in the order they are to be evicted; empty when nobody's going would help.

    Those `leaving` anyway are counted on too, where somebody must go besides.
    """
    candidates = find_candidates(newcomer, residents)
    if not candidates:
        return ()
    for borrow in _attempts(newcomer, candidates):
        found = _minimal(newcomer, candidates, charges, borrow)
        if found:
            return found
    legal = {c.running.workload.uid for c in candidates}
    others = [one for one in leaving if one.workload.uid not in legal and _matters(newcomer, one)]
    if not others:
        return ()
    gone = [Candidate(one, Because.RECLAMATION, may_borrow=True) for one in others]
    found = _minimal(newcomer, [*gone, *candidates], charges, borrow=True)
    return found if any(v.running.workload.uid in legal for v in found) else ()


def _attempts(newcomer: Newcomer, candidates: Sequence[Candidate]) -> tuple[bool, ...]:
    """Whether to try with the newcomer borrowing, without, or one after the other."""
    foreign = [c for c in candidates if c.running.node is not newcomer.node]
    no_borrowing = not newcomer.policy.borrow_within_cohort
    if not foreign or (no_borrowing and not is_under_nominal(newcomer)):
        return (True,)
    if no_borrowing and not any(c.is_inherited for c in foreign):
        return (False, True)
    return (True, False)


def find_candidates(newcomer: Newcomer, residents: Residents) -> list[Candidate]:
    """Everybody who may be displaced, the first to go first."""
    found = [*_own(newcomer, residents), *_foreign(newcomer, residents)]
    if len(found) > 1:
        found.sort(key=lambda c: _order(newcomer, c.running))
    return found


def find_candidates_in(leaf: Node, newcomer: Newcomer, residents: Residents) -> list[Candidate]:
    """Those of one ClusterQueue whom the priorities allow to take, the first to go first."""
    if leaf is newcomer.node:
        found = list(_own(newcomer, residents))
    else:
        others = (other for other in residents(leaf) if _matters(newcomer, other))
        found = [c for other in others for c in _classify(newcomer, other, has_room=False)]
    found.sort(key=lambda c: _order(newcomer, c.running))
    return found


def _own(newcomer: Newcomer, residents: Residents) -> Iterator[Candidate]:
    within = newcomer.policy.within_cluster_queue
    if within == "Never":
        return
    for own in residents(newcomer.node):
        if may_displace_own(newcomer.workload, own.workload, within) and _matters(newcomer, own):
            yield Candidate(own, Because.IN_CLUSTER_QUEUE, may_borrow=True)


def _foreign(newcomer: Newcomer, residents: Residents) -> Iterator[Candidate]:
    if newcomer.policy.reclaim_within_cohort == "Never" or newcomer.node.parent is None:
        return
    below = newcomer.node
    has_room, left = _room_within(below, newcomer.needs)
    ancestor = below.parent
    while ancestor is not None:
        if has_room or newcomer.policy.borrow_within_cohort or is_under_nominal(newcomer):
            for child in ancestor.children.values():
                if child is not below:
                    for other in borrowers(newcomer, child, residents):
                        yield from _classify(newcomer, other, has_room)
        room_here, left = _room_within(ancestor, left)
        has_room = has_room or room_here
        below, ancestor = ancestor, ancestor.parent


def _room_within(
    node: Node, needs: Mapping[FlavorResource, int]
) -> tuple[bool, dict[FlavorResource, int]]:
    """Whether the subtree's own quota holds it all, and what would be asked of its parent."""
    fits_in, left = True, {}
    for key, amount in needs.items():
        cell = node.cells.get(key) or NOTHING
        fits_in = fits_in and cell.usage + amount <= cell.subtree
        left[key] = max(0, amount - max(0, cell.local - cell.usage))
    return fits_in, left


def borrowers(newcomer: Newcomer, node: Node, residents: Residents) -> Iterator[Running]:
    """Who holds quota below `node`, leaving out whatever stays within its own."""
    if not exceeds_own(node, newcomer.short):
        return
    if not node.is_cohort:
        yield from (other for other in residents(node) if _matters(newcomer, other))
    for child in node.children.values():
        yield from borrowers(newcomer, child, residents)


def _matters(newcomer: Newcomer, other: Running) -> bool:
    uid, mine = other.workload.uid, newcomer.workload
    if uid == mine.uid or uid == mine.replaces:
        return False
    return any(other.usage.get(key) for key in newcomer.short)


def _classify(newcomer: Newcomer, other: Running, has_room: bool) -> Iterator[Candidate]:
    policy = newcomer.policy
    lower = other.workload.priority < newcomer.workload.priority
    if policy.reclaim_within_cohort == "LowerPriority" and not lower:
        return
    if has_room:
        yield Candidate(other, Because.RECLAMATION, may_borrow=True, is_inherited=True)
        return
    limit = policy.borrow_threshold
    cheap = lower and (limit is None or other.workload.priority <= limit)
    may_borrow = policy.borrow_within_cohort and cheap
    because = Because.RECLAIM_WHILE_BORROWING if may_borrow else Because.RECLAMATION
    yield Candidate(other, because, may_borrow)


def may_displace_own(mine: Workload, other: Workload, policy: str) -> bool:
    if policy == "Never":
        return False
    if other.priority < mine.priority:
        return True
    newer = other.priority == mine.priority and other.queued_at > mine.queued_at
    return policy == "LowerOrNewerEqualPriority" and newer


def _is_reclaimable(newcomer: Newcomer, other: Running) -> bool:
    """Below the ancestor both share, everything on the other's way up uses more than its own."""
    mine = dict.fromkeys(newcomer.node.path())
    for node in other.node.path():
        if node in mine:
            return node is not other.node
        if not exceeds_own(node, newcomer.short):
            return False
    return False  # another tree


def exceeds_own(node: Node, keys: Iterable[FlavorResource]) -> bool:
    cells = node.cells
    for key in keys:
        cell = cells.get(key)
        if cell is not None and cell.usage > cell.subtree:
            return True
    return False


def _order(newcomer: Newcomer, running: Running) -> tuple[bool, bool, bool, float, int, float, str]:
    workload = running.workload
    is_own = running.node is newcomer.node
    stays = not (running.evicting or workload.evicted)
    load = newcomer.load(workload) if newcomer.load is not None and is_own else 0.0
    return (stays, not running.holds, is_own, -load, workload.priority, -workload.reserved_at,
            workload.uid)  # fmt: skip


def is_under_nominal(newcomer: Newcomer) -> bool:
    cells = newcomer.node.cells
    return all((cells.get(k) or NOTHING).usage < (cells.get(k) or NOTHING).nominal
               for k in newcomer.short)  # fmt: skip


def _minimal(
    newcomer: Newcomer, candidates: Sequence[Candidate], charges: Charges, borrow: bool
) -> tuple[Victim, ...]:
    with charges.trial():
        taken: list[Candidate] = []
        for candidate in candidates:
            if _is_legal(newcomer, candidate, borrow):
                charges.release(candidate.running.node, candidate.running.usage)
                taken.append(candidate)
                if fits(newcomer, borrow):
                    return spare(newcomer, taken, charges, borrow)
    return ()


def _is_legal(newcomer: Newcomer, candidate: Candidate, borrow: bool) -> bool:
    if candidate.running.node is newcomer.node or candidate.running.evicting:
        return True
    # Earlier victims may have brought its queue back within its own quota.
    return (candidate.may_borrow or not borrow) and _is_reclaimable(newcomer, candidate.running)


def spare(
    newcomer: Newcomer, taken: Sequence[Candidate], charges: Charges, borrow: bool
) -> tuple[Victim, ...]:
    """Give back, last taken first, whom the newcomer can do without. The last one is needed."""
    needed: list[Candidate] = [taken[-1]]
    for candidate in reversed(taken[:-1]):
        charges.charge(candidate.running.node, candidate.running.usage)
        if not fits(newcomer, borrow):
            charges.release(candidate.running.node, candidate.running.usage)
            needed.append(candidate)
    return tuple(Victim(c.running, c.because) for c in reversed(needed))


def fits(newcomer: Newcomer, borrow: bool) -> bool:
    for key, amount in newcomer.needs.items():
        if amount > available(newcomer.node, key):
            return False
        cell = newcomer.node.cells.get(key) or NOTHING
        if not borrow and newcomer.node.parent is not None and cell.usage + amount > cell.subtree:
            return False
    return True
