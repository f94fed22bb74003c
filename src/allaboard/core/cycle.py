"""Who is admitted next? One step: cycles back to back until nothing more can be decided.

A cycle takes the head of every ClusterQueue, proposes flavors for each against the same state,
orders the proposals (least borrowing, then priority and age) and carries them out one after the
other, looking again before each. A head that does not fit is parked with its whole shape, or in
StrictFIFO blocks its queue. A head that must preempt evicts its victims and holds what they will
free until they are gone. Every cycle changes something, so a step ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from allaboard.core.decisions import (
    Admit,
    CheckRetry,
    Deactivate,
    Decision,
    Evict,
    Park,
    Preempted,
    QueueStopped,
    Reserve,
    Resume,
    Unreserve,
)
from allaboard.core.flavors import Market, Mode, Proposal, propose
from allaboard.core.ledger import Entry, Ledger, QueueState
from allaboard.core.pending import Parked, order_of
from allaboard.core.preemption import Newcomer, Victim, find_victims
from allaboard.core.quota import available
from allaboard.core.reasons import NamespaceNotSelected, PodSetRefused, Preempting, Reason, Short
from allaboard.core.values import (
    Assignment,
    Check,
    ClusterQueue,
    FlavorResource,
    Instant,
    PodSet,
    Workload,
)


def step(
    ledger: Ledger, now: Instant, limit: int = 10_000
) -> tuple[list[Decision], Instant | None]:
    """Decisions, and when to step again without news; `now` if the limit cut the step short."""
    run = _Step(ledger, now)
    run.end_backoffs()
    run.settle_reserved()
    run.admit_holders()
    while len(run.decisions) < limit:
        if not run.cycle():
            return run.decisions, run.next_deadline()
    return run.decisions, now


@dataclass(frozen=True, slots=True)
class _Nominee:
    entry: Entry
    state: QueueState
    proposal: Proposal


class _Step:
    def __init__(self, ledger: Ledger, now: Instant) -> None:
        self._ledger = ledger
        self._now = now
        self.decisions: list[Decision] = []

    # Time

    def end_backoffs(self) -> None:
        due = [(at, uid) for uid, at in self._ledger.backoffs.items() if at <= self._now]
        for _, uid in sorted(due):
            entry = self._ledger.entries[uid]
            self.decisions.append(Resume(entry.workload))
            self._ledger.put_workload(replace(entry.workload, requeue_at=None, may_queue=True))

    def next_deadline(self) -> Instant | None:
        deadlines = [*self._ledger.backoffs.values(), *self._ledger.execution_ends.values()]
        return min(deadlines, default=None)

    # Workloads that hold quota

    def settle_reserved(self) -> None:
        """Checks, stopped queues and execution limits of those about whom there is news."""
        ledger = self._ledger
        touched, ledger.touched = ledger.touched, {}
        late = [uid for uid, at in ledger.execution_ends.items() if at <= self._now]
        for uid in sorted({**touched, **dict.fromkeys(late)}):
            entry = ledger.entries.get(uid)
            if entry is None or entry.workload.assignment is None or entry.evicting:
                continue
            decision = self._settle(entry, entry.workload.assignment)
            if decision is not None:
                entry.evicting = not isinstance(decision, Admit)
                self.decisions.append(decision)

    def _settle(self, entry: Entry, assignment: Assignment) -> Decision | None:
        workload, state = entry.workload, self._ledger.queues.get(assignment.cluster_queue)
        if state is None or workload.evicted or not workload.active:
            return None
        stopped = self._stopped(workload, state)
        if stopped is not None:
            return stopped
        needed = checks_for(state.config, assignment)
        states = [(check.name, workload.checks.get(check.name, "Pending")) for check in needed]
        if any(told == "Rejected" for _, told in states):
            return Deactivate(workload, "AdmissionCheck")
        for name, told in states:
            if told == "Retry":
                return Evict(workload, CheckRetry(name))
        if not workload.admitted:
            return Admit(workload) if all(told == "Ready" for _, told in states) else None
        end = self._ledger.execution_ends.get(workload.uid)
        if end is not None and end <= self._now:
            return Deactivate(workload, "MaximumExecutionTimeExceeded")
        return None

    def _stopped(self, workload: Workload, state: QueueState) -> Decision | None:
        local = self._ledger.local_queues.get(workload.local_queue_key)
        for policy, is_local in (
            (state.config.stop, False),
            (local.stop if local else "None", True),
        ):
            if policy == "HoldAndDrain":
                return Evict(workload, QueueStopped(is_local))
            if policy == "Hold" and not workload.admitted:
                return Unreserve(workload)
        return None

    # Preemptors whose victims are gone

    def admit_holders(self) -> None:
        ledger = self._ledger
        for entry in sorted(ledger.holders(), key=lambda e: order_of(e.workload)):
            gone = [uid for uid in entry.victims if not ledger.holds_quota(uid)]
            for uid in gone:
                del entry.victims[uid]
            if entry.victims:
                continue
            ledger.end_hold(entry)
            nominee = self._nominate(entry, ledger.queues[entry.queue])
            if nominee is not None:
                self._process(nominee, taken={})

    # Cycles

    def cycle(self) -> bool:
        """One head of every queue; False when there was none."""
        ledger = self._ledger
        heads = False
        nominees: list[_Nominee] = []
        for name in sorted(ledger.queues):
            state = ledger.queues[name]
            if state.blocked or ledger.forest.is_broken(name):
                continue
            head = state.pending.head()
            if head is None:
                continue
            heads = True
            nominee = self._nominate(ledger.entries[head.uid], state)
            if nominee is not None:
                nominees.append(nominee)
        nominees.sort(key=lambda n: (n.proposal.height, order_of(n.entry.workload)))
        taken: dict[str, None] = {}
        for nominee in nominees:
            self._process(nominee, taken)
        return heads

    def _nominate(self, entry: Entry, state: QueueState) -> _Nominee | None:
        """Flavors for a head; None when it was parked at once."""
        workload = entry.workload
        if not self._ledger.namespace_is_selected(workload, state.config):
            reason = NamespaceNotSelected(workload.key.namespace)
            self._park(entry, state, (reason,), waits_for=())
            return None
        proposal = propose(needed_pods(workload), self._market(entry, state), entry.resume)
        entry.resume = proposal.resume
        if proposal.mode <= Mode.NO_CANDIDATES:
            self._give_up(entry, state, proposal)
            return None
        return _Nominee(entry, state, proposal)

    def _market(self, entry: Entry, state: QueueState) -> Market:
        config, ledger = state.config, self._ledger
        node = ledger.forest.node(config.name)

        def oracle(key: FlavorResource, total: int) -> Mode:
            newcomer = Newcomer(entry.workload, node, config.preemption, {key: total}, (key,))
            victims = find_victims(newcomer, ledger.residents, ledger.forest.charges)
            if not victims:
                return Mode.NO_CANDIDATES
            own = any(victim.running.node is node for victim in victims)
            return Mode.PREEMPT if own else Mode.RECLAIM

        return Market(
            config,
            node,
            ledger.flavors,
            oracle,
            may_preempt_while_borrowing=config.preemption.borrow_within_cohort,
        )

    def _process(self, nominee: _Nominee, taken: dict[str, None]) -> None:
        entry, state, proposal = nominee.entry, nominee.state, nominee.proposal
        if proposal.mode is Mode.FIT:
            if self._still_fits(state, proposal.usage):
                self._reserve(entry, state, proposal)
            return  # overtaken: it stays the head and is looked at again in the next cycle
        victims = self._victims(entry, state, proposal)
        if not victims:
            self._give_up(entry, state, proposal)
        elif not any(victim.running.workload.uid in taken for victim in victims):
            taken.update(dict.fromkeys(v.running.workload.uid for v in victims))
            self._preempt(entry, state, proposal, victims)

    def _still_fits(self, state: QueueState, usage: Mapping[FlavorResource, int]) -> bool:
        node = self._ledger.forest.node(state.config.name)
        return all(amount <= available(node, key) for key, amount in usage.items())

    def _victims(self, entry: Entry, state: QueueState, proposal: Proposal) -> tuple[Victim, ...]:
        ledger, config = self._ledger, state.config
        node = ledger.forest.node(config.name)
        newcomer = Newcomer(entry.workload, node, config.preemption, proposal.usage, proposal.short)
        return find_victims(newcomer, ledger.residents, ledger.forest.charges)

    # Outcomes

    def _reserve(self, entry: Entry, state: QueueState, proposal: Proposal) -> None:
        checks = checks_for(state.config, proposal.assignment)
        self._ledger.assume(entry, proposal.assignment)
        decision = Reserve(entry.workload, proposal.assignment, admitted=not checks)
        self.decisions.append(decision)

    def _preempt(
        self, entry: Entry, state: QueueState, proposal: Proposal, victims: tuple[Victim, ...]
    ) -> None:
        ledger = self._ledger
        for victim in victims:
            other = ledger.entries[victim.running.workload.uid]
            if not other.evicting:
                other.evicting = True
                cause = Preempted(entry.workload.uid, entry.workload.job_uid, victim.because)
                self.decisions.append(Evict(other.workload, cause))
        ledger.hold(entry, proposal.usage, [v.running.workload.uid for v in victims])
        reasons: tuple[Reason, ...] = (*proposal.refused, Preempting(len(victims)))
        self.decisions.append(Park(entry.workload, reasons))

    def _give_up(self, entry: Entry, state: QueueState, proposal: Proposal) -> None:
        """Not on these flavors. If the search stopped early the others come next cycle."""
        if proposal.resume:
            return
        self._park(entry, state, proposal.refused, short_keys(proposal.refused))

    def _park(
        self,
        entry: Entry,
        state: QueueState,
        reasons: tuple[Reason, ...],
        waits_for: tuple[FlavorResource, ...],
    ) -> None:
        entry.resume = {}
        uid = entry.workload.uid
        if uid not in state.pending:
            self._ledger.requeue(entry)  # a preemptor whose room turned out too small
        if state.config.strategy == "StrictFIFO":
            state.blocked = True
            self.decisions.append(Park(entry.workload, reasons))
            return
        for member in state.pending.park(uid, Parked(reasons, waits_for)):
            self.decisions.append(Park(member, reasons))


def checks_for(config: ClusterQueue, assignment: Assignment) -> list[Check]:
    """The admission checks that these flavors are subject to."""
    used = {flavor for part in assignment.pod_sets for flavor in part.flavors.values()}
    return [c for c in config.checks if not c.flavors or used.intersection(c.flavors)]


def needed_pods(workload: Workload) -> list[PodSet]:
    """Pod sets without the pods that will not be needed again."""
    return [
        replace(pods, count=pods.count - min(pods.count, workload.reclaimable.get(pods.name, 0)))
        for pods in workload.pod_sets
    ]


def short_keys(refused: tuple[PodSetRefused, ...]) -> tuple[FlavorResource, ...]:
    """What would have to come free; empty when only another configuration could help."""
    return tuple(
        dict.fromkeys(
            FlavorResource(reason.flavor, reason.resource)
            for part in refused
            for reason in part.reasons
            if isinstance(reason, Short)
        )
    )
