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
    find_candidates_in,
)
from allaboard.core.quota import NOTHING, Charges, Node, available
from allaboard.core.sharing import NO_SHARE, Share, share_of
from allaboard.core.values import FairStrategy


def find_fair_victims(
    newcomer: Newcomer,
    residents: Residents,
    charges: Charges,
    strategies: Sequence[FairStrategy],
) -> tuple[Victim, ...]:
    """The victims, in the order they are to be evicted; empty when nobody's going would help."""
    policy = newcomer.policy
    if policy.within_cluster_queue == policy.reclaim_within_cohort == "Never":
        return ()
    search = _Search(newcomer, residents, charges, _keeps_within_own(newcomer))
    with charges.trial():
        charges.charge(newcomer.node, newcomer.needs)
        if not any(search.run(s, is_second=n > 0) for n, s in enumerate(strategies)):
            return ()
        return search.needed(strategies)


def _keeps_within_own(newcomer: Newcomer) -> bool:
    cells = newcomer.node.cells
    return all(
        (cells.get(key) or NOTHING).usage + newcomer.needs.get(key, 0)
        <= (cells.get(key) or NOTHING).nominal
        for key in newcomer.short
    )


@dataclass(slots=True)
class _Search:
    """One search, with the newcomer charged already and its victims released one by one."""

    newcomer: Newcomer
    residents: Residents
    charges: Charges
    takes_back: bool  # it asks for its own quota only
    taken: list[Candidate] = field(default_factory=list)
    _lines: dict[Node, list[Candidate]] = field(default_factory=dict)
    _begin: dict[Node, int] = field(default_factory=dict)  # those before were refused
    _closed: dict[Node, None] = field(default_factory=dict)
    _shares: dict[Node, Share] = field(default_factory=dict)
    _ranked: dict[Node, list[Node]] = field(default_factory=dict)
    _mine: list[Node] = field(default_factory=list)  # the newcomer's way up

    def run(self, strategy: FairStrategy, is_second: bool) -> bool:
        """Whether the newcomer fits in the end. What was taken stays taken."""
        self._mine = list(self.newcomer.node.path())
        self._ranked.clear()
        self._closed.clear()
        self._begin.clear()
        root = self.newcomer.node.root
        while True:
            leaf = self._highest(root)
            if leaf is None:
                return False
            chosen = self._choose(leaf, strategy)
            if chosen is None or is_second:
                self._closed[leaf] = None
            if chosen is not None:
                self._take(chosen)
                if self._fits():
                    return True

    def needed(self, strategies: Sequence[FairStrategy]) -> tuple[Victim, ...]:
        """Give back, last taken first, whom the newcomer can do without and still be fair."""
        # Kueue differs: giving back one of the own queue makes the newcomer's share larger, which
        # may make others unfair victims, and two workloads displace one another for ever (#14543).
        kept = list(self.taken)
        for candidate in reversed(self.taken[:-1]):
            self.charges.charge(candidate.running.node, candidate.running.usage)
            kept.remove(candidate)
            self._shares.clear()
            is_own = candidate.running.node is self.newcomer.node
            if self._fits() and (not is_own or self._are_fair(kept, strategies)):
                continue
            self.charges.release(candidate.running.node, candidate.running.usage)
            kept.append(candidate)
        return tuple(Victim(c.running, c.because) for c in self.taken if c in kept)

    def _are_fair(self, kept: Sequence[Candidate], strategies: Sequence[FairStrategy]) -> bool:
        by_shares = [c for c in kept if c.because is Because.FAIR_SHARING]
        return all(self._is_fair_to(c, strategies) for c in by_shares)

    def _is_fair_to(self, victim: Candidate, strategies: Sequence[FairStrategy]) -> bool:
        """With everybody else gone: would it still be taken?"""
        mine, theirs = below_common_ancestor(self.newcomer.node, victim.running.node)
        after = share_of(mine)
        if "LessThanOrEqualToFinalShare" in strategies and after <= share_of(theirs):
            return True
        if "LessThanInitialShare" not in strategies:
            return False
        with self.charges.trial():
            self.charges.charge(victim.running.node, victim.running.usage)
            return after < share_of(theirs)

    def _fits(self) -> bool:
        node = self.newcomer.node
        return all(available(node, k) >= 0 for k, n in self.newcomer.needs.items() if n)

    def _take(self, chosen: Candidate) -> None:
        self.charges.release(chosen.running.node, chosen.running.usage)
        self.taken.append(chosen)
        for node in chosen.running.node.path():
            self._shares.pop(node, None)
            self._ranked.pop(node, None)

    def _choose(self, leaf: Node, strategy: FairStrategy) -> Candidate | None:
        """The first of one ClusterQueue's line that may be taken."""
        is_own = leaf is self.newcomer.node
        if not is_own and not self.takes_back and not self._is_in_question(leaf, strategy):
            return None
        line = self._line(leaf)
        index = self._begin.get(leaf, 0)
        while index < len(line):
            candidate = line[index]
            if is_own:
                return line.pop(index)
            if self.takes_back:
                return replace(line.pop(index), because=Because.RECLAMATION)
            if strategy == "LessThanInitialShare" or self._is_fair_without(candidate):
                return replace(line.pop(index), because=Because.FAIR_SHARING)
            index = self._begin[leaf] = index + 1
        return None

    def _line(self, leaf: Node) -> list[Candidate]:
        line = self._lines.get(leaf)
        if line is None:
            line = self._lines[leaf] = find_candidates_in(leaf, self.newcomer, self.residents)
        return line

    def _is_in_question(self, leaf: Node, strategy: FairStrategy) -> bool:
        """Without any victim gone, the other side must have as much, or more, than the newcomer."""
        mine, theirs = below_common_ancestor(self.newcomer.node, leaf)
        if strategy == "LessThanInitialShare":
            return self._share(mine) < self._share(theirs)
        return self._share(mine) <= self._share(theirs)

    def _is_fair_without(self, candidate: Candidate) -> bool:
        mine, theirs = below_common_ancestor(self.newcomer.node, candidate.running.node)
        with self.charges.trial():
            self.charges.release(candidate.running.node, candidate.running.usage)
            return self._share(mine) <= share_of(theirs)

    def _share(self, node: Node) -> Share:
        share = self._shares.get(node)
        if share is None:
            share = self._shares[node] = share_of(node)
        return share

    def _highest(self, node: Node) -> Node | None:
        """The ClusterQueue to take from next: down the highest shares, names break ties."""
        if not node.is_cohort:
            return node if node not in self._closed else None
        ranked = self._ranked.get(node)
        if ranked is None:
            ranked = self._ranked[node] = self._rank(node)
        while ranked:
            leaf = self._highest(ranked[-1])
            if leaf is not None:
                return leaf
            ranked.pop()
        return None

    def _rank(self, cohort: Node) -> list[Node]:
        """Children from whom something may be had, the highest share last."""
        mine = next((node for node in self._mine if node.parent is cohort), None)
        found = []
        for name, child in cohort.children.items():
            share = self._share(child)
            # Below the common ancestor nobody with less than the newcomer's side gives anything.
            is_asked = mine is None or self.takes_back or self._share(mine) <= share
            if child is mine or (is_asked and share > NO_SHARE and self._may_give(child)):
                found.append((share, name, child))
        found.sort(key=lambda one: one[:2])
        return [child for _, _, child in found]

    def _may_give(self, child: Node) -> bool:
        """Who stays within its own gives nothing; nor does anybody if it is not to be asked."""
        if self.newcomer.policy.reclaim_within_cohort == "Never":
            return False
        return exceeds_own(child, self.newcomer.short)


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
