"""Quota arithmetic over the cohort tree: how much may a queue still take, and from whom?

Amounts are plain integers per flavor and resource. A node keeps `local` back for its own subtree
(what its lending limit does not lend) and lends the rest to its parent, so a charge climbs only
with the part that `local` cannot hold, and the root never counts a unit twice:

    subtree(n)    = nominal(n) + Σ over children (subtree − local)
    local(n)      = max(0, subtree − lending limit); 0 without a limit
    available(n)  = subtree − usage                                            at the root
                  = max(0, local − usage)
                    + min(available(parent), subtree − local − borrowed + borrowing limit)

Same rules as Kueue's resource_node.go (KEP-79). Charges are recorded while a trial is on, so that
a question leaves no trace; quota itself never changes inside a trial.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from allaboard.core.values import FlavorResource, Quota


@dataclass(slots=True, eq=False)
class Cell:
    """One flavor's resource at one node."""

    nominal: int = 0
    borrowing: int | None = None  # the most it may take from others; None: no limit
    lending: int | None = None  # the most it gives to others; None: everything
    subtree: int = 0
    local: int = 0
    usage: int = 0

    @property
    def above(self) -> int:
        """The part of the usage that the parent is charged for."""
        return max(0, self.usage - self.local)


NOTHING = Cell()


@dataclass(slots=True, eq=False)
class Node:
    """A ClusterQueue or a Cohort. `height` is the longest way down to a leaf, kept by `settle`."""

    name: str
    is_cohort: bool = False
    parent: "Node | None" = None
    children: dict[str, "Node"] = field(default_factory=dict)
    cells: dict[FlavorResource, Cell] = field(default_factory=dict)
    weight_milli: int = 1000  # fair sharing
    height: int = 0

    @property
    def root(self) -> "Node":
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def path(self) -> Iterator["Node"]:
        """This node and its ancestors, upwards."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def leaves(self) -> Iterator["Node"]:
        """The ClusterQueues below, in a total order."""
        if not self.is_cohort:
            yield self
        for name in sorted(self.children):
            yield from self.children[name].leaves()


class Charges:
    """Usage on a forest of nodes, with trials that roll back."""

    def __init__(self) -> None:
        self._journal: list[tuple[Cell, int]] | None = None

    def charge(self, node: Node, amounts: Mapping[FlavorResource, int]) -> None:
        for key, amount in amounts.items():
            assert amount >= 0, f"a charge of {amount} on {node.name}"
            self._climb(node, key, amount)

    def release(self, node: Node, amounts: Mapping[FlavorResource, int]) -> None:
        for key, amount in amounts.items():
            assert amount >= 0, f"a release of {amount} on {node.name}"
            self._climb(node, key, -amount)

    def _climb(self, node: Node | None, key: FlavorResource, amount: int) -> None:
        while node is not None and amount:
            cell = node.cells.get(key)
            if cell is None:
                cell = node.cells[key] = Cell()
            if self._journal is not None:
                self._journal.append((cell, cell.usage))
            local, before = cell.local, cell.usage
            after = cell.usage = before + amount
            assert after >= 0, f"negative usage of {key} on {node.name}"
            if before < local:
                before = local
            amount = (after if after > local else local) - before
            node = node.parent

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Whatever is charged or released inside is undone at the end; trials may nest."""
        outer = self._journal
        journal: list[tuple[Cell, int]] = []
        self._journal = journal
        try:
            yield
        finally:
            for cell, usage in reversed(journal):
                cell.usage = usage
            self._journal = outer


def available(node: Node, key: FlavorResource) -> int:
    """How much more `node` may take now; negative where quota was cut below usage."""
    cell = node.cells.get(key)
    if node.parent is None:
        return cell.subtree - cell.usage if cell is not None else 0
    above = available(node.parent, key)
    if cell is None:
        return above
    own = cell.local - cell.usage  # written out: nothing is asked as often as this
    borrowed = 0
    if own < 0:
        own, borrowed = 0, -own
    if cell.borrowing is not None:
        limit = cell.subtree - cell.local - borrowed + cell.borrowing
        above = min(above, limit)
    return own + above


def potential(node: Node, key: FlavorResource) -> int:
    """The most `node` could ever take, with nobody else there."""
    cell = node.cells.get(key)
    if node.parent is None:
        return cell.subtree if cell is not None else 0
    above = potential(node.parent, key)
    if cell is None:
        return above
    if cell.borrowing is not None:
        above = min(above, cell.subtree - cell.local + cell.borrowing)
    return cell.local + above


def borrowing_height(node: Node, key: FlavorResource, amount: int) -> int:
    """Height of the lowest subtree whose own quota holds `amount` more; 0: no borrowing.

    The root's height when not even the root's quota does.
    """
    ancestor = node
    for ancestor in node.path():
        cell = ancestor.cells.get(key) or NOTHING
        if cell.usage + amount <= cell.subtree:
            return ancestor.height if ancestor is not node else 0
        # Only what does not fit into the node's own share reaches its parent.
        amount -= max(0, cell.local - cell.usage)
    return ancestor.height


def is_borrowing(node: Node, key: FlavorResource) -> bool:
    cell = node.cells.get(key)
    return cell is not None and node.parent is not None and cell.usage > cell.subtree


def set_quotas(node: Node, quotas: Mapping[FlavorResource, Quota]) -> None:
    """Give a node its own quota; usage stays. `settle` must follow for its tree."""
    for key, cell in node.cells.items():
        if key not in quotas:
            cell.nominal, cell.borrowing, cell.lending = 0, None, None
    for key, quota in quotas.items():
        cell = node.cells.setdefault(key, Cell())
        cell.nominal, cell.borrowing, cell.lending = quota.nominal, quota.borrowing, quota.lending


def settle(root: Node) -> None:
    """Recompute subtree quotas and the usage of cohorts from the leaves up, after a change."""
    assert root.parent is None
    _settle(root)


def _settle(node: Node) -> None:
    for child in node.children.values():
        _settle(child)
    node.height = 1 + max((child.height for child in node.children.values()), default=-1)
    keys = dict.fromkeys(node.cells)
    for child in node.children.values():
        keys |= dict.fromkeys(child.cells)
    for key in keys:
        cell = node.cells.setdefault(key, Cell())
        lent = usage = 0
        for child in node.children.values():
            below = child.cells.get(key)
            if below is not None:
                lent += below.subtree - below.local
                usage += below.above
        cell.subtree = cell.nominal + lent
        limited = cell.lending is not None and node.parent is not None
        cell.local = max(0, cell.subtree - (cell.lending or 0)) if limited else 0
        if node.is_cohort:
            cell.usage = usage


def usage_of(node: Node) -> dict[FlavorResource, int]:
    return {key: cell.usage for key, cell in node.cells.items() if cell.usage}


def all_keys(nodes: Iterable[Node]) -> list[FlavorResource]:
    return sorted({key: None for node in nodes for key in node.cells})
