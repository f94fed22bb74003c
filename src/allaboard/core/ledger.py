"""The one state machine: events in, decisions out.

`put_…` and `drop_…` take news about queues, flavors and workloads; `cycle.step` decides. A step
assumes what it decides: quota is charged at once, the workload's own news confirm it, `refuse`
undoes it. Every workload is in exactly one place:

    idle      finished, deactivated, evicted and waiting out its backoff, or without a usable queue
    pending   in the line of its ClusterQueue, maybe parked
    holding   preempted others and holds what they free, so that nobody steals it
    reserved  charged: decided by us and not yet seen, or seen in its status

State is kept incrementally; nothing is copied per cycle. A hold is adopted from a workload's status
when the workload is first seen, that is after a restart; later the ledger's own memory counts.
"""

import heapq
from collections.abc import Iterable, Mapping

from allaboard.core.consumption import Consumption
from allaboard.core.forest import Forest
from allaboard.core.matching import selects
from allaboard.core.pending import Bucket, Pending, shape_of
from allaboard.core.preemption import Running, exceeds_own
from allaboard.core.quota import Node
from allaboard.core.state import Agenda, Entry, QueueState
from allaboard.core.values import (
    Assignment,
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorResource,
    Instant,
    LocalQueue,
    LocalQueueKey,
    Policies,
    Workload,
)
from allaboard.core.waking import Wakes

__all__ = ["Entry", "Ledger", "QueueState"]


class Ledger:
    def __init__(self, policies: Policies | None = None) -> None:
        self.policies = policies or Policies()
        self.forest = Forest()
        self.flavors: dict[str, Flavor] = {}
        self.queues: dict[str, QueueState] = {}
        self.local_queues: dict[LocalQueueKey, LocalQueue] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.entries: dict[str, Entry] = {}
        self.backoffs: dict[str, Instant] = {}  # UID -> when it may come back
        self.execution_ends: dict[str, Instant] = {}  # UID -> when its time is used up
        self.deadlines: list[tuple[Instant, str]] = []  # heap of both, with what became void
        self.touched: dict[str, None] = {}  # reserved ones about whom there is news
        self.restarted: dict[str, None] = {}  # evicted by a stopped queue that runs again
        self.lost_holds: dict[str, None] = {}  # whose hold ended without an admission
        self.evicting: dict[str, Entry] = {}  # eviction decided, quota not yet back
        self.consumption = Consumption(self.policies)
        self.wakes = Wakes()
        self.ready: dict[QueueState, None] = {}  # queues that may have a head to look at
        self.untold: dict[Bucket, None] = {}  # where somebody must hear why it waits
        self.generation = 0  # of the configuration
        self.agenda: Agenda | None = None  # the cycle under way
        self._woken_generation = 0
        self._holders: dict[str, Entry] = {}
        self._successors: dict[str, str] = {}  # UID -> who took its place
        self._homeless: dict[str, Entry] = {}  # they have quota in a queue that does not exist
        self._by_local: dict[LocalQueueKey, dict[str, Entry]] = {}
        self._locals: dict[str, dict[LocalQueueKey, None]] = {}  # by ClusterQueue

    # Configuration

    def put_cluster_queue(self, config: ClusterQueue) -> None:
        state = self.queues.get(config.name)
        if state is not None and state.config == config:
            return
        node = self.forest.put_queue(config)
        if state is None:
            state = self.queues[config.name] = QueueState(config, node)
        state.config = config
        state.pending.load = self.consumption.load if config.usage_based else None
        self._replace_queue(state)
        self._configured()

    def drop_cluster_queue(self, name: str) -> None:
        state = self.queues.get(name)
        if state is None:
            return
        here = [*state.reserved.values(), *state.holders.values()]
        here += [self.entries[w.uid] for w in state.pending.in_order()]
        for entry in here:
            self._uncharge(entry)
        del self.queues[name]
        self.ready.pop(state, None)
        self.forest.drop_queue(name)
        for entry in here:
            entry.queue = ""
            self._place(entry)
        self._configured()

    def put_cohort(self, cohort: Cohort) -> None:
        self.forest.put_cohort(cohort)
        self._configured()

    def drop_cohort(self, name: str) -> None:
        self.forest.drop_cohort(name)
        self._configured()

    def put_flavor(self, flavor: Flavor) -> None:
        if self.flavors.get(flavor.name) != flavor:
            self.flavors[flavor.name] = flavor
            self._configured()

    def drop_flavor(self, name: str) -> None:
        if self.flavors.pop(name, None) is not None:
            self._configured()

    def put_local_queue(self, queue: LocalQueue) -> None:
        old = self.local_queues.get(queue.key)
        if old == queue:
            return
        if old is not None:
            self._locals[old.cluster_queue].pop(queue.key, None)
        self.local_queues[queue.key] = queue
        self._locals.setdefault(queue.cluster_queue, {})[queue.key] = None
        self.consumption.put_weight(queue.key, queue.weight_milli)
        self._replace_local(queue.key)

    def drop_local_queue(self, key: LocalQueueKey) -> None:
        old = self.local_queues.pop(key, None)
        if old is not None:
            self._locals[old.cluster_queue].pop(key, None)
            self.consumption.forget(key)
            self._replace_local(key)

    def put_consumption(self, key: LocalQueueKey, used: Mapping[str, float], at: Instant) -> None:
        """What a LocalQueue had consumed by `at`, per resource, as sampled by the shell."""
        self.consumption.sample(key, used, at)

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        if self.namespaces.get(name) != labels:
            self.namespaces[name] = labels
            self._configured()

    def _configured(self) -> None:
        """The configuration changed: nobody's refusal is worth anything any more."""
        self.generation += 1

    # Workloads

    def put_workload(self, workload: Workload) -> None:
        """What the server shows now. While a decision is under way, older news do not undo it."""
        uid, key = workload.uid, workload.local_queue_key
        entry = self.entries.get(uid)
        if entry is None:
            entry = self.entries[uid] = Entry(workload, hold=workload.hold)
            self._by_local.setdefault(key, {})[uid] = entry
        elif entry.workload.local_queue_key != key:
            self._by_local[entry.workload.local_queue_key].pop(uid, None)
            self._by_local.setdefault(key, {})[uid] = entry
        entry.workload = workload
        if workload.assignment is not None:
            entry.assumed = entry.hold = None
        if workload.evicted or workload.assignment is None:
            self.mark_evicting(entry, workload.evicted and workload.assignment is not None)
        self._place(entry)

    def drop_workload(self, uid: str) -> None:
        entry = self.entries.pop(uid, None)
        if entry is not None:
            self._by_local[entry.workload.local_queue_key].pop(uid, None)
            self._leave(entry)

    def refuse(self, uid: str) -> None:
        """The write was refused: what was assumed goes, and the workload waits again."""
        entry = self.entries.get(uid)
        if entry is None:
            return
        if entry.assumed is not None:
            self.consumption.refund(entry.workload.local_queue_key, uid)
        entry.assumed = None
        self.mark_evicting(entry, entry.workload.evicted and entry.workload.assignment is not None)
        self._place(entry)

    # Places

    def _replace_queue(self, state: QueueState) -> None:
        for key in list(self._locals.get(state.config.name, ())):
            self._replace_local(key)
        moved = [*state.reserved.values(), *state.holders.values(), *self._homeless.values()]
        for entry in moved:
            self._place(entry)

    def _replace_local(self, key: LocalQueueKey) -> None:
        for entry in list(self._by_local.get(key, {}).values()):
            self._place(entry)

    def _place(self, entry: Entry) -> None:
        """Put a workload where its state says it belongs, and charge what it holds."""
        workload = entry.workload
        assignment = workload.assignment or entry.assumed
        self._homeless.pop(workload.uid, None)
        self.restarted.pop(workload.uid, None)
        if workload.finished:
            self._note_penalty(entry)
            self._leave(entry)
        elif workload.uid in self._successors:
            self._leave(entry)
        elif assignment is not None:
            self._charge(entry, assignment)
        elif entry.hold is None or not self._keep_hold(entry, entry.hold):
            self._uncharge(entry)
            self._queue(entry)

    def _keep_hold(self, entry: Entry, assignment: Assignment) -> bool:
        """A preemptor holds on while it asks for the same and its queue still runs."""
        workload, name = entry.workload, self.queue_of(entry.workload)
        if name is None:
            return False  # the hold sleeps until its queue is there
        shape = shape_of(workload)
        if entry.held_shape is None:
            entry.held_shape = shape
        runs = self.may_be_considered(workload, self.queues[name])
        if name != assignment.cluster_queue or shape != entry.held_shape or not runs:
            self.lose_hold(entry)
            return False
        self._line_of(entry).remove(workload.uid)
        self._take(entry, name, workload.usage_on(assignment))
        state = self.queues[name]
        state.holders[workload.uid] = self._holders[workload.uid] = entry
        self._reside(state, entry, holds=True)
        return True

    def _charge(self, entry: Entry, assignment: Assignment) -> None:
        name, workload = assignment.cluster_queue, entry.workload
        uid = workload.uid
        self._line_of(entry).remove(uid)
        self.backoffs.pop(uid, None)
        if name not in self.queues:
            self._uncharge(entry)
            self._homeless[uid] = entry
            return
        self._take(entry, name, workload.usage_on(assignment))
        state = self.queues[name]
        if self._holders.pop(uid, None) is not None:
            state.holders.pop(uid, None)
        state.reserved[uid] = entry
        entry.hold, entry.told = None, None
        self.lost_holds.pop(uid, None)
        self._reside(state, entry, holds=False)
        self.touched[uid] = None
        self._note_execution_end(workload)
        self._note_penalty(entry)
        if workload.replaces:
            self._succeed(workload.replaces, uid)

    def _take(self, entry: Entry, name: str, wanted: dict[FlavorResource, int]) -> None:
        if entry.charged != wanted or entry.queue != name:
            self._uncharge(entry)
            node = self.queues[name].node
            kept_own = [key for key in wanted if not exceeds_own(node, (key,))]
            self.forest.charges.charge(node, wanted)
            entry.charged, entry.queue = wanted, name
            borrowed = [key for key in kept_own if exceeds_own(node, (key,))]
            if borrowed:
                self.wakes.note_freed(node, borrowed)  # its workloads may be preempted from now on

    def _succeed(self, old: str, new: str) -> None:
        """The new one has quota: the old one's is given back, for its pods are the new one's."""
        self._successors[old] = new
        predecessor = self.entries.get(old)
        if predecessor is not None:
            self._place(predecessor)

    def _reside(self, state: QueueState, entry: Entry, holds: bool) -> None:
        workload, running = entry.workload, entry.running
        if running is None:
            running = Running(workload, state.node, entry.charged, entry.evicting, holds)
            entry.running = state.residents[workload.uid] = running
            _count(state.priorities, workload.priority, 1)
        elif running.workload.priority != workload.priority:
            _count(state.priorities, running.workload.priority, -1)
            _count(state.priorities, workload.priority, 1)
        running.workload, running.usage, running.holds = workload, entry.charged, holds
        if entry.evicting:
            self.evicting[workload.uid] = entry

    def _note_execution_end(self, workload: Workload) -> None:
        limit = workload.max_execution_s
        if limit is None or not workload.admitted:
            self.execution_ends.pop(workload.uid, None)
            return
        end = workload.admitted_at + limit - workload.executed_s
        if self.execution_ends.get(workload.uid) != end:
            self.execution_ends[workload.uid] = end
            heapq.heappush(self.deadlines, (end, workload.uid))

    def _note_penalty(self, entry: Entry) -> None:
        workload, assignment = entry.workload, entry.assignment
        state = self.queues.get(assignment.cluster_queue) if assignment else None
        if state is None or assignment is None or not state.config.usage_based:
            return
        asked: dict[str, int] = {}
        for key, amount in assignment.usage().items():
            asked[key.resource] = asked.get(key.resource, 0) + amount
        at = workload.reserved_at if workload.assignment is not None else entry.assumed_at
        self.consumption.charge(workload.local_queue_key, workload.uid, asked, at)

    def _uncharge(self, entry: Entry) -> None:
        """Give back what it holds, and note whom that could help."""
        uid, state = entry.workload.uid, self.queues.get(entry.queue)
        self._holders.pop(uid, None)
        self.evicting.pop(uid, None)
        self.execution_ends.pop(uid, None)
        replaced = entry.workload.replaces
        if replaced and self._successors.get(replaced) == uid:
            del self._successors[replaced]
            predecessor = self.entries.get(replaced)
            if predecessor is not None:
                self._place(predecessor)
        if state is None:
            return
        state.reserved.pop(uid, None)
        state.holders.pop(uid, None)
        if entry.running is not None:
            state.residents.pop(uid, None)
            _count(state.priorities, entry.running.workload.priority, -1)
            entry.running = None
        if entry.charged:
            self.forest.charges.release(state.node, entry.charged)
            self.wakes.note_freed(state.node, entry.charged)
            entry.charged = {}

    def _queue(self, entry: Entry) -> None:
        """In line, if its queues exist and run and it may be considered."""
        uid, workload = entry.workload.uid, entry.workload
        self.backoffs.pop(uid, None)
        name = self.queue_of(workload)
        if entry.queue != name:
            self._line_of(entry).remove(uid)
        entry.queue = name or ""
        if name is None:
            return
        state = self.queues[name]
        if self.may_be_considered(workload, state):
            self.requeue(entry)
            return
        state.pending.remove(uid)
        if not workload.active:
            return
        if workload.requeue_at is not None:
            self.backoffs[uid] = workload.requeue_at
            heapq.heappush(self.deadlines, (workload.requeue_at, uid))
        elif workload.stopped and self._runs(workload, state):
            self.restarted[uid] = None

    def requeue(self, entry: Entry) -> None:
        state = self.queues[entry.queue]
        bucket = state.pending.add(entry.workload)
        if bucket.parked is None:
            self.ready[state] = None
        elif bucket.untold:
            self.untold[bucket] = None
        state.blocked = False

    def _leave(self, entry: Entry) -> None:
        self.backoffs.pop(entry.workload.uid, None)
        self._homeless.pop(entry.workload.uid, None)
        self._uncharge(entry)
        self._line_of(entry).remove(entry.workload.uid)

    def _line_of(self, entry: Entry) -> Pending:
        state = self.queues.get(entry.queue)
        return state.pending if state is not None else Pending()

    def queue_of(self, workload: Workload) -> str | None:
        """The ClusterQueue behind its LocalQueue, if both exist."""
        local = self.local_queues.get(workload.local_queue_key)
        return local.cluster_queue if local and local.cluster_queue in self.queues else None

    def may_be_considered(self, workload: Workload, state: QueueState) -> bool:
        may = workload.active and workload.may_queue and workload.requeue_at is None
        return may and not workload.stopped and self._runs(workload, state)

    def _runs(self, workload: Workload, state: QueueState) -> bool:
        local = self.local_queues[workload.local_queue_key]
        return state.config.stop == "None" and local.stop == "None"

    def namespace_is_selected(self, workload: Workload, config: ClusterQueue) -> bool:
        return selects(config.namespaces, self.namespaces.get(workload.key.namespace, {}))

    # What a step assumes

    def assume(self, entry: Entry, assignment: Assignment, now: Instant) -> None:
        """Decided: charged from now on, though its status does not say so yet."""
        entry.assumed, entry.assumed_at = assignment, now
        self.mark_evicting(entry, False)
        self._charge(entry, assignment)

    def mark_evicting(self, entry: Entry, evicting: bool) -> None:
        entry.evicting = evicting
        if entry.running is not None:
            entry.running.evicting = evicting
            if evicting:
                self.evicting[entry.workload.uid] = entry
        if not evicting:
            self.evicting.pop(entry.workload.uid, None)

    def hold(self, entry: Entry, assignment: Assignment) -> None:
        """Charge in advance what the victims will free, so that nobody else takes it."""
        entry.hold, entry.held_shape, entry.told = assignment, None, None
        self.lost_holds.pop(entry.workload.uid, None)
        self._place(entry)

    def lose_hold(self, entry: Entry) -> None:
        """The hold is over for good; whoever reads the status must hear of it."""
        entry.hold = entry.held_shape = None
        entry.told = None
        self.lost_holds[entry.workload.uid] = None

    def end_hold(self, entry: Entry) -> None:
        """Back to the line, and the room it held is anybody's."""
        self.lose_hold(entry)
        self._place(entry)

    def holders(self) -> list[Entry]:
        return list(self._holders.values())

    # Waking

    def wake(self) -> None:
        """Before heads are looked at: wake those whom what happened meanwhile could help."""
        self.forest.refresh()
        if self._woken_generation != self.generation:
            self._woken_generation = self.generation
            self.wakes.forget()
            self.agenda = None
            for state in self.queues.values():
                state.blocked = False
                state.pending.wake_all()
                self.ready[state] = None
            return
        for state, bucket in self.wakes.due(self.policies.fair_sharing):
            if bucket is None:
                state.blocked = False
            else:
                state.pending.wake(bucket)
            self.ready[state] = None

    def has_news(self) -> bool:
        """Whether the configuration changed since heads were last looked at."""
        return self._woken_generation != self.generation

    # Reading

    def residents(self, node: Node) -> Iterable[Running]:
        """Everybody who holds quota in this ClusterQueue; whoever asks puts them in order."""
        state = self.queues.get(node.name)
        return state.residents.values() if state is not None else ()

    def leaving(self, node: Node) -> list[Running]:
        """Those in the same tree whose eviction is under way."""
        if not self.evicting:
            return []
        root = node.root
        here = [e.running for e in self.evicting.values() if e.running is not None]
        return [running for running in here if running.node.root is root]


def _count(counts: dict[int, int], key: int, by: int) -> None:
    left = counts.get(key, 0) + by
    if left:
        counts[key] = left
    else:
        del counts[key]
