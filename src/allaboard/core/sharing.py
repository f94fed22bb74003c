"""Who uses more than its fair share? Dominant resource shares, and who goes first by them.

The share of a ClusterQueue or Cohort is what it borrows of its most borrowed resource, as a
fraction of what its parent's tree could give of it, over its weight:

    share(n) = max over resources of 1000 · borrowed / lendable ÷ weight

Nobody who stays within its own quota has a share. Who borrows with weight 0 is beyond everybody
else. Shares are compared between children of one cohort only, so the order of nominees is a
tournament: each cohort sends up the best of its children, judged by what their shares would be
after the admission. Same rules as Kueue (KEP-1714, fair sharing).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import Generic, TypeVar

from allaboard.core.pending import Order
from allaboard.core.quota import Charges, Node, potential
from allaboard.core.values import FlavorResource

# Beyond all weights or not, then the share itself: comparable, and equal fractions are equal.
Share = tuple[int, float]
NO_SHARE: Share = (0, 0.0)
REPORTED_INFINITY = 9223372036854775807

T = TypeVar("T")


def share_of(node: Node) -> Share:
    parent = node.parent
    if parent is None:
        return NO_SHARE
    borrowed: dict[str, int] = {}
    for key, cell in node.cells.items():
        if cell.usage > cell.subtree:
            borrowed[key.resource] = borrowed.get(key.resource, 0) + cell.usage - cell.subtree
    if not borrowed:
        return NO_SHARE
    lendable = dict.fromkeys(borrowed, 0)
    for key in parent.cells:
        if key.resource in lendable:
            lendable[key.resource] += potential(parent, key)
    weight = node.weight_milli
    worst = max(
        1_000_000 * amount / (lendable[resource] * (weight or 1000)) if lendable[resource] else inf
        for resource, amount in borrowed.items()
    )
    return (0 if weight else 1, worst)


def reported_share(node: Node) -> int:
    """As status shows it: rounded up."""
    beyond, share = share_of(node)
    return REPORTED_INFINITY if beyond or share == inf else ceil(share)


def borrows(node: Node, keys: Iterable[FlavorResource]) -> bool:
    cells = node.cells
    return any(key in cells and cells[key].usage > cells[key].subtree for key in keys)


@dataclass(slots=True, eq=False)
class Entrant(Generic[T]):
    leaf: Node
    usage: Mapping[FlavorResource, int]
    order: Order
    item: T


Standing = tuple[bool, Share, Order]


class Tournament(Generic[T]):
    """Gives entrants one by one, each judged by the state that those before it left."""

    def __init__(self, entrants: Iterable[Entrant[T]], charges: Charges) -> None:
        self._charges = charges
        self._entrants: dict[Node, Entrant[T]] = {}
        self._below: dict[Node, dict[Node, None]] = {}  # cohort -> children with entrants
        self._roots: dict[Node, None] = {}
        self._best: dict[Node, Entrant[T]] = {}
        self._standings: dict[Node, Standing] = {}
        for entrant in entrants:
            self._enter(entrant)

    def _enter(self, entrant: Entrant[T]) -> None:
        self._entrants[entrant.leaf] = entrant
        child = entrant.leaf
        while child.parent is not None:
            self._below.setdefault(child.parent, {})[child] = None
            child = child.parent
        self._roots[child] = None

    def pop(self) -> T | None:
        """The next of the first tree that has any; trees do not touch one another."""
        for root in self._roots:
            winner = self._champion(root)
            self._remove(winner.leaf)
            return winner.item
        return None

    def _champion(self, node: Node) -> Entrant[T]:
        found = self._best.get(node)
        if found is None:
            children = self._below.get(node)
            found = self._entrants[node] if not children else self._winner(children)
            self._best[node] = found
        return found

    def _winner(self, children: Iterable[Node]) -> Entrant[T]:
        return self._champion(min(children, key=self._standing))

    def _standing(self, child: Node) -> Standing:
        """How `child` would stand among its siblings once its champion is in."""
        standing = self._standings.get(child)
        if standing is None:
            entrant = self._champion(child)
            with self._charges.trial():
                self._charges.charge(entrant.leaf, entrant.usage)
                standing = (borrows(child, entrant.usage), share_of(child), entrant.order)
            self._standings[child] = standing
        return standing

    def _remove(self, leaf: Node) -> None:
        """Whatever lies on its way up must be judged again: usage there may have changed."""
        del self._entrants[leaf]
        child = leaf
        for node in leaf.path():
            self._best.pop(node, None)
            self._standings.pop(node, None)
            if node is not leaf:
                if child is leaf or not self._below.get(child):
                    self._below[node].pop(child, None)
                child = node
        if not self._below.get(child):
            self._roots.pop(child, None)
