"""Which ClusterQueues share quota? Cohort trees built from names, and rebuilt when names change.

A Cohort object is optional: naming one is enough. Cohorts in a cycle are out of order: none of
their queues admits anything until the cycle is gone, and all others are untouched.
"""

from collections.abc import Iterator, Mapping

from allaboard.core.quota import Charges, Node, set_quotas, settle
from allaboard.core.values import ClusterQueue, Cohort, FlavorResource, quotas_of


class Forest:
    def __init__(self) -> None:
        self.charges = Charges()
        self._queues: dict[str, ClusterQueue] = {}
        self._cohorts: dict[str, Cohort] = {}
        self._leaves: dict[str, Node] = {}
        self._inner: dict[str, Node] = {}
        self._broken: dict[str, None] = {}  # queues under a cycle of cohorts
        self._is_stale = False  # trees are rebuilt when somebody looks, not at every change

    def node(self, queue: str) -> Node:
        self.refresh()
        return self._leaves[queue]

    def cohort(self, name: str) -> Node | None:
        self.refresh()
        return self._inner.get(name)

    def cohorts(self) -> list[Cohort]:
        """Those that were declared; a name alone makes a cohort too."""
        return [self._cohorts[name] for name in sorted(self._cohorts)]

    def is_broken(self, queue: str) -> bool:
        """Whether the queue's cohorts form a cycle."""
        self.refresh()
        return queue in self._broken

    def put_queue(self, queue: ClusterQueue) -> Node:
        """Its node stays the same until the queue is dropped."""
        self._queues[queue.name] = queue
        self._is_stale = True
        leaf = self._leaves.get(queue.name)
        if leaf is None:
            leaf = self._leaves[queue.name] = Node(queue.name)
        return leaf

    def drop_queue(self, name: str) -> None:
        self._queues.pop(name, None)
        self._leaves.pop(name, None)
        self._is_stale = True

    def put_cohort(self, cohort: Cohort) -> None:
        self._cohorts[cohort.name] = cohort
        self._is_stale = True

    def drop_cohort(self, name: str) -> None:
        self._cohorts.pop(name, None)
        self._is_stale = True

    def refresh(self) -> None:
        """Bring the trees up to date with the names."""
        if self._is_stale:
            self._is_stale = False
            self._rebuild()

    def _rebuild(self) -> None:
        """Names to trees. Leaves keep their usage; cohorts are counted anew by `settle`."""
        self._inner = {}
        self._broken = {}
        for name, queue in sorted(self._queues.items()):
            leaf = self._leaves[name]
            leaf.parent, leaf.weight_milli = None, queue.weight_milli
            set_quotas(leaf, quotas_of(queue.groups))
            if not queue.cohort:
                continue
            if self._has_cycle(queue.cohort):
                self._broken[name] = None
            else:
                leaf.parent = self._cohort_node(queue.cohort)
                leaf.parent.children[f"queue/{name}"] = leaf
        for node in (*self._leaves.values(), *self._inner.values()):
            if node.parent is None:
                settle(node)

    def _cohort_node(self, name: str) -> Node:
        node = self._inner.get(name)
        if node is not None:
            return node
        node = self._inner[name] = Node(name, is_cohort=True)
        cohort = self._cohorts.get(name)
        if cohort is not None:
            node.weight_milli = cohort.weight_milli
            set_quotas(node, quotas_of(cohort.groups))
            if cohort.parent:
                node.parent = self._cohort_node(cohort.parent)
                node.parent.children[f"cohort/{name}"] = node
        return node

    def _has_cycle(self, name: str) -> bool:
        seen: dict[str, None] = {}
        while name:
            if name in seen:
                return True
            seen[name] = None
            cohort = self._cohorts.get(name)
            name = cohort.parent if cohort is not None else ""
        return False

    def relatives(self, queue: str) -> Iterator[str]:
        """The queues of the same tree, this one included, in order."""
        for leaf in self.node(queue).root.leaves():
            yield leaf.name

    def usage(self) -> Mapping[str, Mapping[FlavorResource, int]]:
        self.refresh()
        return {
            name: {key: cell.usage for key, cell in node.cells.items() if cell.usage}
            for name, node in sorted(self._leaves.items())
        }
