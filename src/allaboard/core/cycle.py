"""Who is admitted next? One step: cycles back to back until nothing more can be decided.

A cycle takes the head of every ClusterQueue, proposes flavors for each against the same state,
orders the proposals (least borrowing, then priority and age; or by fair shares) and carries them
out one after the other, looking again before each. A head that does not fit is parked with its
whole shape, or in StrictFIFO blocks its queue. A head that must preempt evicts its victims and
holds what they will free until it fits. Every cycle changes something, so a step ends.

A step does a limited amount of work. A cycle that is not finished is continued by the next step;
nominees about whom there was news meanwhile are left for the next cycle.

A hold ends when its owner fits, by the normal rules of preemption when somebody else may displace
its owner, or, with nothing left to wait for, from the least important on. It does not matter which
victims it waits for: any eviction under way in its tree may still help.
"""

import heapq
from collections import deque
from dataclasses import replace

from allaboard.core.decisions import Decision, Evict, Park, Preempted, Reserve, Resume
from allaboard.core.flavors import Mode, Proposal
from allaboard.core.ledger import Entry, Ledger, QueueState
from allaboard.core.nominating import (
    find_victims_for,
    needed_pods,
    propose_for,
    room_of_replaced,
    spare_pods,
    still_fits,
)
from allaboard.core.pending import Parked, order_of
from allaboard.core.preemption import Victim
from allaboard.core.quota import available
from allaboard.core.reasons import (
    HoldLost,
    NamespaceNotSelected,
    PodSetRefused,
    Preempting,
    Reason,
    Short,
    gist,
)
from allaboard.core.settling import checks_for, settle_reserved
from allaboard.core.sharing import Entrant, Tournament
from allaboard.core.state import Agenda, Nominee
from allaboard.core.values import Assignment, FlavorResource, Instant

__all__ = ["checks_for", "needed_pods", "step"]


def step(
    ledger: Ledger, now: Instant, limit: int = 10_000
) -> tuple[list[Decision], Instant | None]:
    """Decisions, and when to step again without news; `now` if the limit cut the step short.

    `limit` bounds the work: about so many heads looked at, proposals carried out, owners told.
    """
    run = _Step(ledger, now, limit)
    run.settle()
    run.admit_holders()
    while run.has_time():
        if not run.cycle():
            run.tell()
            if run.has_time():
                return run.decisions, run.next_deadline()
    return run.decisions, now


class _Step:
    def __init__(self, ledger: Ledger, now: Instant, limit: int) -> None:
        self._ledger = ledger
        self._now = now
        self._left = limit
        self.decisions: list[Decision] = []
        ledger.consumption.now = now
        ledger.forest.refresh()

    def has_time(self) -> bool:
        return self._left > 0

    # Time, and workloads that hold quota

    def settle(self) -> None:
        ledger = self._ledger
        late = self._pass_deadlines()
        for uid in sorted(ledger.restarted):
            entry = ledger.entries.get(uid)
            if entry is not None:
                is_local = entry.workload.stopped == "LocalQueue"
                because = "LocalQueueRestarted" if is_local else "ClusterQueueRestarted"
                self.decisions.append(Resume(entry.workload, because))  # type: ignore[arg-type]
                ledger.put_workload(replace(entry.workload, stopped="", may_queue=True))
        ledger.restarted.clear()
        self.decisions += settle_reserved(ledger, self._now, late)

    def _pass_deadlines(self) -> list[str]:
        """Ends backoffs that are over; gives whose execution time is up."""
        ledger, late = self._ledger, []
        while ledger.deadlines and ledger.deadlines[0][0] <= self._now:
            at, uid = heapq.heappop(ledger.deadlines)
            if ledger.backoffs.get(uid) == at:
                entry = ledger.entries[uid]
                self.decisions.append(Resume(entry.workload))
                ledger.put_workload(replace(entry.workload, requeue_at=None, may_queue=True))
            elif ledger.execution_ends.get(uid) == at:
                late.append(uid)
        return late

    def next_deadline(self) -> Instant | None:
        ledger, heap = self._ledger, self._ledger.deadlines
        while heap:
            at, uid = heap[0]
            if at in (ledger.backoffs.get(uid), ledger.execution_ends.get(uid)):
                return at
            heapq.heappop(heap)
        return None

    # Preemptors that wait for their victims

    def admit_holders(self) -> None:
        ledger = self._ledger
        waiting = sorted(ledger.holders(), key=lambda e: order_of(e.workload))
        while waiting:
            waiting = [entry for entry in waiting if not self._admit_holder(entry)]
            hopeless = [entry for entry in waiting if not self._may_still_hope(entry)]
            if not hopeless:
                return
            waiting.remove(hopeless[-1])
            ledger.end_hold(hopeless[-1])

    def _admit_holder(self, entry: Entry) -> bool:
        """Its own advance apart, does it fit? Then the advance becomes its reservation."""
        state, hold = self._ledger.queues[entry.queue], entry.hold
        assert hold is not None
        if self._ledger.forest.is_broken(entry.queue):
            return False
        if any(available(state.node, key) < 0 for key, n in entry.charged.items() if n):
            return False
        self._reserve(entry, state, hold)
        self._ledger.ready[state] = None
        return True

    def _may_still_hope(self, entry: Entry) -> bool:
        root = self._ledger.queues[entry.queue].node.root
        return any(
            self._ledger.queues[other.queue].node.root is root
            and any(key in entry.charged for key in other.charged)
            for other in self._ledger.evicting.values()
        )

    # Cycles

    def cycle(self) -> bool:
        """Continue the cycle under way or begin one; False when there is no head to look at."""
        ledger = self._ledger
        if ledger.agenda is None or ledger.agenda.generation != ledger.generation:
            ledger.wake()
            heads = sorted(ledger.ready, key=lambda state: state.config.name)
            ledger.ready.clear()
            if not heads:
                ledger.agenda = None
                return False
            ledger.agenda = Agenda(ledger.generation, deque(heads))
        agenda = ledger.agenda
        self._nominate_heads(agenda)
        if agenda.heads:
            return True
        if agenda.ordered is None:
            agenda.ordered = self._in_order(agenda.nominees)
        self._carry_out(agenda)
        return True

    def _nominate_heads(self, agenda: Agenda) -> None:
        ledger = self._ledger
        while agenda.heads and self._left > 0:
            state = agenda.heads.popleft()
            name = state.config.name
            if state.blocked or ledger.queues.get(name) is not state:
                continue
            if ledger.forest.is_broken(name):
                continue
            head = state.pending.head()
            if head is None or _is_held_up(state, head.uid, ledger):
                continue
            self._left -= 1
            ledger.ready[state] = None  # there may be another one behind this
            entry = ledger.entries[head.uid]
            nominee = self._nominate(entry, state)
            if nominee is not None:
                agenda.nominees.append(nominee)

    def _in_order(self, nominees: list[Nominee]) -> "Tournament[Nominee] | deque[Nominee]":
        ledger = self._ledger
        if ledger.policies.fair_sharing:
            ranked = sorted(nominees, key=lambda n: order_of(n.entry.workload))
            return Tournament(
                [
                    Entrant(n.state.node, n.proposal.usage, order_of(n.entry.workload), n)
                    for n in ranked
                ],
                ledger.forest.charges,
            )
        return deque(
            sorted(nominees, key=lambda n: (n.proposal.height, order_of(n.entry.workload)))
        )

    def _carry_out(self, agenda: Agenda) -> None:
        ledger, ordered = self._ledger, agenda.ordered
        assert ordered is not None
        while self._left > 0:
            if isinstance(ordered, Tournament):
                nominee = ordered.pop()
            else:
                nominee = ordered.popleft() if ordered else None
            if nominee is None:
                ledger.agenda = None
                return
            self._left -= 1
            uid = nominee.entry.workload.uid
            if (
                nominee.bucket is not None
                and nominee.state.pending.bucket_of(uid) is nominee.bucket
            ):
                self._process(nominee, agenda.taken)

    def _nominate(self, entry: Entry, state: QueueState) -> Nominee | None:
        """Flavors for a head; None when it was parked at once."""
        workload = entry.workload
        if not self._ledger.namespace_is_selected(workload, state.config):
            self._park(entry, state, (NamespaceNotSelected(workload.key.namespace),), ())
            return None
        with room_of_replaced(self._ledger, workload):
            proposal = propose_for(self._ledger, entry, state)
        entry.resume = proposal.resume
        if proposal.mode <= Mode.NO_CANDIDATES:
            self._give_up(entry, state, proposal)
            return None
        return Nominee(entry, state, proposal, state.pending.bucket_of(workload.uid))

    def _process(self, nominee: Nominee, taken: dict[str, None]) -> None:
        entry, state, proposal = nominee.entry, nominee.state, nominee.proposal
        victims: tuple[Victim, ...] = ()
        with room_of_replaced(self._ledger, entry.workload):
            does_fit = still_fits(state, proposal)
            if not does_fit and proposal.mode is not Mode.FIT:
                victims = find_victims_for(self._ledger, entry, state, proposal)
        if does_fit:
            self._reserve(entry, state, proposal.assignment)
        elif proposal.mode is Mode.FIT:
            return  # overtaken: it stays the head and is looked at again in the next cycle
        elif not victims:
            self._give_up(entry, state, proposal)
        elif not any(victim.running.workload.uid in taken for victim in victims):
            taken.update(dict.fromkeys(v.running.workload.uid for v in victims))
            self._preempt(entry, proposal, victims)

    # Outcomes

    def _reserve(self, entry: Entry, state: QueueState, assignment: Assignment) -> None:
        entry.resume = {}
        checks = checks_for(state.config, assignment)
        self._ledger.assume(entry, assignment, self._now)
        self.decisions.append(Reserve(entry.workload, assignment, admitted=not checks))

    def _preempt(self, entry: Entry, proposal: Proposal, victims: tuple[Victim, ...]) -> None:
        """Evict who runs, take over what others merely hold, and hold it all."""
        ledger, waits = self._ledger, 0
        for victim in victims:
            other = ledger.entries[victim.running.workload.uid]
            if victim.running.holds:
                ledger.end_hold(other)
                continue
            waits += 1
            if not other.evicting:
                ledger.mark_evicting(other, True)
                cause = Preempted(entry.workload.uid, entry.workload.job_uid, victim.because)
                self.decisions.append(Evict(other.workload, cause))
        ledger.hold(entry, proposal.assignment)
        if not waits:
            self._admit_holder(entry)
            return
        reasons: tuple[Reason, ...] = (*proposal.refused, Preempting(waits))
        self.decisions.append(Park(entry.workload, reasons, proposal.assignment))

    def _give_up(self, entry: Entry, state: QueueState, proposal: Proposal) -> None:
        """Not on these flavors. If the search stopped early the others come next cycle."""
        if proposal.resume:
            return
        is_partial = any(spare_pods(pods) for pods in entry.workload.pod_sets)
        waits_for = tuple(
            (
                key,
                0
                if is_partial or entry.workload.replaces
                else missing + available(state.node, key),
            )
            for key, missing in missing_amounts(proposal.refused).items()
        )
        self._park(entry, state, proposal.refused, waits_for)

    def _park(
        self,
        entry: Entry,
        state: QueueState,
        reasons: tuple[Reason, ...],
        waits_for: tuple[tuple[FlavorResource, int], ...],
    ) -> None:
        entry.resume = {}
        ledger, uid = self._ledger, entry.workload.uid
        mismatch = any(isinstance(reason, NamespaceNotSelected) for reason in reasons)
        parked = Parked(reasons, waits_for, gist(reasons))
        if state.is_strict and not mismatch:
            ledger.wakes.block(state)
            self._tell(entry, parked, exactly=True)
            return
        bucket = state.pending.park(uid, parked)
        ledger.wakes.sleep(state, bucket)
        self._tell(entry, parked, exactly=True)
        bucket.untold.pop(uid, None)
        if bucket.untold:
            ledger.untold[bucket] = None

    # Telling

    def tell(self) -> None:
        """Those of a parked shape whose owners have not heard why, as far as the work allows."""
        ledger = self._ledger
        for uid in sorted(ledger.lost_holds):
            entry = ledger.entries.get(uid)
            if entry is not None and not entry.workload.finished:
                self.decisions.append(Park(entry.workload, (HoldLost(),)))
        ledger.lost_holds.clear()
        for bucket in list(ledger.untold):
            while bucket.untold and bucket.parked is not None and self._left > 0:
                self._left -= 1
                told, _ = bucket.untold.popitem()
                self._tell(ledger.entries[told], bucket.parked, exactly=False)
            if self._left <= 0:
                return
            del ledger.untold[bucket]

    def _tell(self, entry: Entry, parked: Parked, exactly: bool) -> None:
        """Once each; the one that was looked at hears of new amounts too."""
        told = entry.told
        is_known = told is not None and told.gist == parked.gist
        if told is not None and is_known and (not exactly or told.reasons == parked.reasons):
            return
        entry.told = parked
        self._ledger.lost_holds.pop(entry.workload.uid, None)
        self.decisions.append(Park(entry.workload, parked.reasons))


def _is_held_up(state: QueueState, uid: str, ledger: Ledger) -> bool:
    """StrictFIFO: nobody overtakes a preemptor that waits for its victims."""
    if not state.is_strict or not state.holders:
        return False
    mine = order_of(ledger.entries[uid].workload)
    return any(order_of(holder.workload) < mine for holder in state.holders.values())


def missing_amounts(refused: tuple[PodSetRefused, ...]) -> dict[FlavorResource, int]:
    """What would have to come free; empty when only another configuration could help."""
    missing: dict[FlavorResource, int] = {}
    for part in refused:
        for reason in part.reasons:
            if isinstance(reason, Short):
                key = FlavorResource(reason.flavor, reason.resource)
                missing[key] = min(missing.get(key, reason.missing), reason.missing)
    return missing
