"""Who may try again now that something came free?

Shapes that were refused wait for amounts of flavors and resources in their cohort tree. A release
is noted; before the next cycle everybody who waits for that in the same tree is looked at, and
woken only if it could fit now or if the release could have opened a way to preempt. The check may
wake in vain, but it never lets somebody sleep who could run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from allaboard.core.pending import Bucket
from allaboard.core.quota import NOTHING, Node, available
from allaboard.core.state import QueueState
from allaboard.core.values import FlavorResource

Sleepers = dict[Bucket, QueueState]


@dataclass(slots=True)
class Wakes:
    _freed: dict[Node, dict[FlavorResource, None]] = field(default_factory=dict)  # by leaf
    _sleepers: dict[Node, dict[FlavorResource, Sleepers]] = field(default_factory=dict)  # by root
    _blocked: dict[Node, dict[QueueState, None]] = field(default_factory=dict)  # by root

    def note_freed(self, leaf: Node, keys: Iterable[FlavorResource]) -> None:
        noted = self._freed.get(leaf)
        if noted is None:
            noted = self._freed[leaf] = {}
        for key in keys:
            noted[key] = None

    def sleep(self, state: QueueState, bucket: Bucket) -> None:
        assert bucket.parked is not None
        by_key = self._sleepers.setdefault(state.node.root, {})
        for key, _ in bucket.parked.waits_for:
            by_key.setdefault(key, {})[bucket] = state

    def block(self, state: QueueState) -> None:
        state.blocked = True
        self._blocked.setdefault(state.node.root, {})[state] = None

    def forget(self) -> None:
        """Everybody was woken: the configuration changed."""
        self._freed.clear()
        self._sleepers.clear()
        self._blocked.clear()

    def due(self, fair_sharing: bool) -> Iterator[tuple[QueueState, Bucket | None]]:
        """Whom to wake; None: a blocked StrictFIFO queue. Clears what was noted."""
        freed: dict[Node, dict[FlavorResource, None]] = {}
        for leaf, keys in self._freed.items():
            freed.setdefault(leaf.root, {}).update(keys)
        self._freed.clear()
        for root, keys in freed.items():
            for state in self._blocked.pop(root, ()):
                yield state, None
            by_key = self._sleepers.get(root)
            if by_key is not None:
                for key in keys:
                    yield from _awake(by_key.get(key), fair_sharing)


def _awake(sleepers: Sleepers | None, fair_sharing: bool) -> Iterator[tuple[QueueState, Bucket]]:
    for bucket, state in list(sleepers.items()) if sleepers else ():
        assert sleepers is not None
        if bucket.parked is None or not bucket.members:
            del sleepers[bucket]
        elif fair_sharing or _may_help(state, bucket):
            del sleepers[bucket]
            yield state, bucket


def _may_help(state: QueueState, bucket: Bucket) -> bool:
    """Whether it could fit now, or preempt where it could not before. Doubt means yes."""
    parked, node, policy = bucket.parked, state.node, state.config.preemption
    if parked is None:
        return False
    for key, amount in parked.waits_for:
        if available(node, key) >= amount:
            return True
    within, reclaim = policy.within_cluster_queue, policy.reclaim_within_cohort
    if within != "Never" and state.priorities:
        lowest = min(state.priorities)
        may_be_equal = within == "LowerOrNewerEqualPriority"
        if lowest < bucket.priority or (may_be_equal and lowest == bucket.priority):
            return True
    if reclaim == "Never" or node.parent is None:
        return False
    if policy.borrow_within_cohort or node.parent.parent is not None:
        return True
    return any(_is_below_nominal(node, key) for key, _ in parked.waits_for)


def _is_below_nominal(node: Node, key: FlavorResource) -> bool:
    cell = node.cells.get(key) or NOTHING
    return cell.usage < cell.nominal
