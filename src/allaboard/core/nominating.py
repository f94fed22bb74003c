"""What would it take to admit this workload now? A proposal, and the victims it would need."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from allaboard.core.fair_preemption import find_fair_victims
from allaboard.core.flavors import Market, Mode, Proposal, propose
from allaboard.core.ledger import Ledger
from allaboard.core.preemption import Newcomer, Victim, find_victims
from allaboard.core.quota import available
from allaboard.core.state import Entry, QueueState
from allaboard.core.values import FlavorResource, PodSet, Workload


def propose_for(ledger: Ledger, entry: Entry, state: QueueState) -> Proposal:
    """The whole workload if that could be admitted; else the largest part of it that could.

    Part of it only where its pod sets allow fewer pods. All of them shrink on one scale, from the
    full counts down to the minimal ones, and the scale is searched by halves.
    """
    pods = needed_pods(entry.workload)
    market = _market(ledger, entry, state)
    full = propose(pods, market, entry.resume)
    spare = sum(spare_pods(one) for one in pods)
    if not spare or _would_do(ledger, entry, state, full):
        return full
    best: Proposal | None = None
    low, high = 1, spare  # pods to go without
    while low <= high:
        middle = (low + high) // 2
        tried = propose(shrunk(pods, middle, spare), market)
        if _would_do(ledger, entry, state, tried):
            best, high = tried, middle - 1
        else:
            low = middle + 1
    return best if best is not None else full


def _would_do(ledger: Ledger, entry: Entry, state: QueueState, proposal: Proposal) -> bool:
    if proposal.mode is Mode.FIT:
        return True
    if proposal.mode <= Mode.NO_CANDIDATES:
        return False
    return bool(find_victims_for(ledger, entry, state, proposal))


def spare_pods(pods: PodSet) -> int:
    """How many it could do without."""
    return max(0, pods.count - pods.min_count) if pods.min_count is not None else 0


def shrunk(pod_sets: Sequence[PodSet], without: int, of: int) -> list[PodSet]:
    """Every pod set shorter by its part of `without`, on a scale of `of` pods."""
    return [replace(pods, count=pods.count - spare_pods(pods) * without // of) for pods in pod_sets]


def _market(ledger: Ledger, entry: Entry, state: QueueState) -> Market:
    config = state.config
    policy = config.preemption
    fair = ledger.policies.fair_sharing and policy.reclaim_within_cohort != "Never"

    def oracle(key: FlavorResource, total: int) -> Mode:
        newcomer = Newcomer(entry.workload, state.node, policy, {key: total}, (key,))
        victims = _search(ledger, newcomer)
        if not victims:
            return Mode.NO_CANDIDATES
        own = any(victim.running.node is state.node for victim in victims)
        return Mode.PREEMPT if own else Mode.RECLAIM

    return Market(
        config,
        state.node,
        ledger.flavors,
        oracle,
        may_preempt_while_borrowing=policy.borrow_within_cohort or fair,
    )


def find_victims_for(
    ledger: Ledger, entry: Entry, state: QueueState, proposal: Proposal
) -> tuple[Victim, ...]:
    policy = state.config.preemption
    load: Callable[[Workload], float] | None = None
    if state.config.usage_based:
        load = lambda workload: ledger.consumption.load(workload.local_queue_key)  # noqa: E731
    newcomer = Newcomer(entry.workload, state.node, policy, proposal.usage, proposal.short, load)
    return _search(ledger, newcomer)


def _search(ledger: Ledger, newcomer: Newcomer) -> tuple[Victim, ...]:
    policies, charges = ledger.policies, ledger.forest.charges
    if policies.fair_sharing:
        return find_fair_victims(newcomer, ledger.residents, charges, policies.strategies)
    return find_victims(newcomer, ledger.residents, charges, ledger.leaving(newcomer.node))


@contextmanager
def room_of_replaced(ledger: Ledger, workload: Workload) -> Iterator[None]:
    """Whoever replaces another counts that one's room as free."""
    replaced = ledger.entries.get(workload.replaces) if workload.replaces else None
    if replaced is None or not replaced.charged:
        yield
        return
    with ledger.forest.charges.trial():
        node = ledger.queues[replaced.queue].node
        ledger.forest.charges.release(node, replaced.charged)
        yield


def still_fits(state: QueueState, proposal: Proposal) -> bool:
    return all(
        amount <= available(state.node, key) for key, amount in proposal.usage.items() if amount
    )


def needed_pods(workload: Workload) -> Sequence[PodSet]:
    """Pod sets without the pods that will not be needed again."""
    if not workload.reclaimable:
        return workload.pod_sets
    return [
        replace(pods, count=pods.count - min(pods.count, workload.reclaimable.get(pods.name, 0)))
        for pods in workload.pod_sets
    ]
