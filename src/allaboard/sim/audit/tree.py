"""May this usage be, given these queues and cohorts? The auditor's own arithmetic.

Seen from below: a node keeps from its parent what its lending limit does not lend, and draws from
the parent what it cannot keep at home. A draw is allowed up to what the node itself lends plus its
borrowing limit, and all draws on a root together up to what the root has. Recomputed from the
objects each time it is asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from allaboard.api.meta import Json
from allaboard.sim.audit.reading import ZERO, Amounts, Cell, amount, quota_lines

Specs = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Excess:
    node: str
    cell: Cell
    allowed: Fraction
    found: Fraction


@dataclass(frozen=True, slots=True)
class Quotas:
    """The specs in force, by name."""

    queues: Specs
    cohorts: Specs
    locals: Mapping[tuple[str, str], Json] = field(default_factory=dict)  # LocalQueues

    def parent(self, node: str, is_queue: bool) -> str:
        spec = (self.queues if is_queue else self.cohorts).get(node) or {}
        return str(spec.get("cohortName" if is_queue else "parentName") or "")

    def path(self, queue: str) -> list[str] | None:
        """The cohorts above a queue, upwards; None where they go round in a circle."""
        seen: list[str] = []
        above = self.parent(queue, is_queue=True)
        while above:
            if above in seen:
                return None
            seen.append(above)
            above = self.parent(above, is_queue=False)
        return seen

    def line(self, node: str, is_queue: bool, cell: Cell) -> Json:
        spec = (self.queues if is_queue else self.cohorts).get(node) or {}
        return next((line for key, line in quota_lines(spec) if key == cell), {})

    def has(self, node: str, is_queue: bool, cell: Cell) -> Fraction:
        """Its own quota and what everybody below lends."""
        own = amount(self.line(node, is_queue, cell).get("nominalQuota") or "0")
        if is_queue:
            return own
        return own + sum((self.lends(n, q, cell) for n, q in self._below(node)), ZERO)

    def lends(self, node: str, is_queue: bool, cell: Cell) -> Fraction:
        whole = self.has(node, is_queue, cell)
        limit = self.line(node, is_queue, cell).get("lendingLimit")
        return whole if limit is None else min(whole, amount(limit))

    def draws(
        self, node: str, is_queue: bool, cell: Cell, usage: Mapping[str, Amounts]
    ) -> Fraction:
        """What it takes from its parent's pool."""
        kept = self.has(node, is_queue, cell) - self.lends(node, is_queue, cell)
        return max(ZERO, self.uses(node, is_queue, cell, usage) - kept)

    def uses(self, node: str, is_queue: bool, cell: Cell, usage: Mapping[str, Amounts]) -> Fraction:
        if is_queue:
            return usage.get(node, {}).get(cell, ZERO)
        return sum((self.draws(n, q, cell, usage) for n, q in self._below(node)), ZERO)

    def _below(self, cohort: str) -> list[tuple[str, bool]]:
        queues = [(n, True) for n in sorted(self.queues) if self.parent(n, True) == cohort]
        return queues + [
            (n, False) for n in sorted(self.cohorts) if self.parent(n, False) == cohort
        ]

    def excess(self, queue: str, added: Amounts, usage: Mapping[str, Amounts]) -> list[Excess]:
        """Where `added`, already in `usage` of `queue`, goes beyond what is allowed.

        A node that the addition does not reach is nobody's fault here: its quota may have been
        cut below what others took rightly.
        """
        path = self.path(queue)
        assert path is not None, "asked only where cohorts are a tree"
        nodes = [(queue, True), *((name, False) for name in path)]
        less = {**usage, queue: _minus(usage.get(queue, {}), added)}
        found = []
        for cell, more in added.items():
            if more > 0:
                found += self._excess_of(cell, nodes, usage, less)
        return found

    def _excess_of(
        self,
        cell: Cell,
        nodes: list[tuple[str, bool]],
        usage: Mapping[str, Amounts],
        less: Mapping[str, Amounts],
    ) -> list[Excess]:
        for node, is_queue in nodes[:-1]:
            drawn = self.draws(node, is_queue, cell, usage)
            if drawn == self.draws(node, is_queue, cell, less):
                return []  # what came is kept at home
            limit = self.line(node, is_queue, cell).get("borrowingLimit")
            if limit is not None:
                allowed = self.lends(node, is_queue, cell) + amount(limit)
                if drawn > allowed:
                    return [Excess(node, cell, allowed, drawn)]
        root, is_queue = nodes[-1]
        allowed, used = self.has(root, is_queue, cell), self.uses(root, is_queue, cell, usage)
        return [Excess(root, cell, allowed, used)] if used > allowed else []


def _minus(usage: Amounts, taken: Amounts) -> Amounts:
    return {cell: value - taken.get(cell, ZERO) for cell, value in usage.items()}
