"""Whom may a workload displace where shares decide? Preemption under fair sharing.

Victims are sought where the share is highest, from the root down, one at a time, since every one
changes the shares. Compared are the two children of the lowest cohort that both have in common:
the newcomer's with the newcomer in, the victim's before or after the victim leaves.

    LessThanOrEqualToFinalShare   newcomer's share ≤ the victim's side without the victim
    LessThanInitialShare          newcomer's share < the victim's side as it is

The second is asked only about those whom the first refused, once per ClusterQueue. A newcomer that
stays within its own queue's quota takes back what others borrowed, whatever the shares. In its own
ClusterQueue `withinClusterQueue` decides as ever. Same rules as Kueue (KEP-1714).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from allaboard.core.preemption import (
    Because,
    Candidate,
    Newcomer,
    Residents,
    Victim,
    exceeds_own,
    find_candidates,
    fits,
    spare,
)
from allaboard.core.quota import NOTHING, Charges, Node
from allaboard.core.sharing import NO_SHARE, Share, share_of
from allaboard.core.values import FairStrategy


def find_fair_victims(
    newcomer: Newcomer,
    residents: Residents,
    charges: Charges,
    strategies: Sequence[FairStrategy],
) -> tuple[Victim, ...]:
    """The victims, in the order they are to be evicted; empty when nobody's going would help."""
    candidates = find_candidates(_as_borrower(newcomer), residents)
    if not candidates:
        return ()
    search = _Search(newcomer, charges, _keeps_within_own(newcomer))
    with charges.trial():
        refused = search.run(candidates, strategies[0])
        if refused is not None and len(strategies) > 1:
            refused = search.run(refused, strategies[1], once_per_queue=True)
        if refused is not None:
            return ()
        return spare(newcomer, search.taken, charges, borrow=True)


def _as_borrower(newcomer: Newcomer) -> Newcomer:
    """Shares, not `borrowWithinCohort`, say who may be displaced by a borrower."""
    policy = replace(newcomer.policy, borrow_within_cohort=True, borrow_threshold=None)
    return replace(newcomer, policy=policy)


def _keeps_within_own(newcomer: Newcomer) -> bool:
    cells = newcomer.node.cells
    return all(
        (cells.get(key) or NOTHING).usage + newcomer.needs.get(key, 0)
        <= (cells.get(key) or NOTHING).nominal
        for key in newcomer.short
    )


@dataclass(slots=True)
class _Search:
    newcomer: Newcomer
    charges: Charges
    takes_back: bool  # it asks for its own quota only
    taken: list[Candidate] = field(default_factory=list)

    def run(
        self, candidates: Sequence[Candidate], strategy: FairStrategy, once_per_queue: bool = False
    ) -> list[Candidate] | None:
        """None once the newcomer fits; else those whom the strategy refused."""
        waiting: dict[Node, list[Candidate]] = {}
        for candidate in candidates:
            waiting.setdefault(candidate.running.node, []).append(candidate)
        refused: list[Candidate] = []
        while True:
            with self.charges.trial():
                self.charges.charge(self.newcomer.node, self.newcomer.needs)
                leaf = self._highest(self.newcomer.node.root, waiting)
            if leaf is None:
                return refused
            chosen = self._choose(waiting[leaf], strategy, refused)
            if once_per_queue or not waiting[leaf]:
                del waiting[leaf]
            if chosen is not None:
                self.charges.release(chosen.running.node, chosen.running.usage)
                self.taken.append(chosen)
                if fits(self.newcomer, borrow=True):
                    return None

    def _choose(
        self, line: list[Candidate], strategy: FairStrategy, refused: list[Candidate]
    ) -> Candidate | None:
        """The first of one ClusterQueue's line that may be taken."""
        while line:
            candidate = line.pop(0)
            if candidate.running.node is self.newcomer.node:
                return candidate
            if self.takes_back:
                return replace(candidate, because=Because.RECLAMATION)
            if self._is_fair(candidate, strategy):
                return replace(candidate, because=Because.FAIR_SHARING)
            refused.append(candidate)
        return None

    def _is_fair(self, candidate: Candidate, strategy: FairStrategy) -> bool:
        mine, theirs = below_common_ancestor(self.newcomer.node, candidate.running.node)
        with self.charges.trial():
            self.charges.charge(self.newcomer.node, self.newcomer.needs)
            after = share_of(mine)
            if strategy == "LessThanInitialShare":
                return after < share_of(theirs)
            self.charges.release(candidate.running.node, candidate.running.usage)
            return after <= share_of(theirs)

    def _highest(self, node: Node, waiting: dict[Node, list[Candidate]]) -> Node | None:
        """The ClusterQueue to take from next: down the highest shares, names break ties."""
        if not node.is_cohort:
            return node if waiting.get(node) else None
        ranked: list[tuple[Share, Node]] = []
        for name in sorted(node.children):
            child = node.children[name]
            if self._may_give(child):
                ranked.append((share_of(child), child))
        ranked.sort(key=lambda pair: pair[0], reverse=True)
        for _, child in ranked:
            leaf = self._highest(child, waiting)
            if leaf is not None:
                return leaf
        return None

    def _may_give(self, child: Node) -> bool:
        """Who stays within its own gives nothing, unless it is on the newcomer's own side."""
        if any(child is mine for mine in self.newcomer.node.path()):
            return True
        return share_of(child) > NO_SHARE and exceeds_own(child, self.newcomer.short)


def below_common_ancestor(mine: Node, theirs: Node) -> tuple[Node, Node]:
    """The two children of the lowest common ancestor on whose sides both are."""
    ways = list(mine.path())
    other = theirs
    while other.parent is not None and not any(other.parent is node for node in ways):
        other = other.parent
    for node in ways:
        if node.parent is other.parent:
            return node, other
    return mine, theirs
