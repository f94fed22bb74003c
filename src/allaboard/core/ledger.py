"""The one state machine: events in, decisions out.

`put_…` and `drop_…` take news about queues, flavors and workloads; `cycle.step` decides. A step
assumes what it decides: quota is charged at once, the workload's own news confirm it, `refuse`
undoes it. Every workload is in exactly one place:

    idle      finished, deactivated, evicted and waiting out its backoff, or without a usable queue
    pending   in the line of its ClusterQueue, maybe parked
    holding   preempted others and holds what they free, so that nobody steals it
    reserved  charged: decided by us and not yet seen, or seen in its status

State is kept incrementally; nothing is copied per cycle. `cycle.py` holds the decisions themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from allaboard.core.forest import Forest
from allaboard.core.matching import selects
from allaboard.core.pending import Pending, Shape, shape_of
from allaboard.core.preemption import Running
from allaboard.core.quota import Node
from allaboard.core.values import (
    Assignment,
    ClusterQueue,
    Cohort,
    Flavor,
    FlavorResource,
    Instant,
    LocalQueue,
    LocalQueueKey,
    Workload,
)


@dataclass(slots=True)
class Entry:
    """All that is known of one workload."""

    workload: Workload
    queue: str = ""  # the ClusterQueue it waits in or is charged to
    assumed: Assignment | None = None  # decided, but not yet seen in its status
    charged: dict[FlavorResource, int] = field(default_factory=dict)
    victims: dict[str, None] = field(default_factory=dict)  # UIDs it waits for
    held_shape: Shape = ()
    evicting: bool = False  # an eviction was decided
    resume: Mapping[tuple[str, int], int] = field(default_factory=dict)

    @property
    def assignment(self) -> Assignment | None:
        return self.workload.assignment or self.assumed


@dataclass(slots=True)
class QueueState:
    config: ClusterQueue
    pending: Pending = field(default_factory=Pending)
    reserved: dict[str, Entry] = field(default_factory=dict)  # by UID
    blocked: bool = False  # StrictFIFO: its head waits, so everybody does


class Ledger:
    def __init__(self) -> None:
        self.forest = Forest()
        self.flavors: dict[str, Flavor] = {}
        self.queues: dict[str, QueueState] = {}
        self.local_queues: dict[LocalQueueKey, LocalQueue] = {}
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.entries: dict[str, Entry] = {}
        self.backoffs: dict[str, Instant] = {}  # UID -> when it may come back
        self.execution_ends: dict[str, Instant] = {}  # UID -> when its time is used up
        self.touched: dict[str, None] = {}  # reserved ones about whom there is news
        self._holders: dict[str, Entry] = {}

    # Configuration

    def put_cluster_queue(self, config: ClusterQueue) -> None:
        state = self.queues.get(config.name)
        if state is None:
            self.queues[config.name] = QueueState(config)
        else:
            state.config = config
        self.forest.put_queue(config)
        self._replace_workloads()
        self.touched |= dict.fromkeys(self.queues[config.name].reserved)
        self.wake_all()

    def drop_cluster_queue(self, name: str) -> None:
        state = self.queues.pop(name, None)
        if state is None:
            return
        self.forest.drop_queue(name)
        for entry in self.entries.values():
            if entry.queue == name:
                entry.queue, entry.charged = "", {}
        self._replace_workloads()
        self.wake_all()

    def put_cohort(self, cohort: Cohort) -> None:
        self.forest.put_cohort(cohort)
        self.wake_all()

    def drop_cohort(self, name: str) -> None:
        self.forest.drop_cohort(name)
        self.wake_all()

    def put_flavor(self, flavor: Flavor) -> None:
        self.flavors[flavor.name] = flavor
        self.wake_all()

    def drop_flavor(self, name: str) -> None:
        self.flavors.pop(name, None)
        self.wake_all()

    def put_local_queue(self, queue: LocalQueue) -> None:
        self.local_queues[queue.key] = queue
        self._replace_workloads(queue.key)

    def drop_local_queue(self, key: LocalQueueKey) -> None:
        self.local_queues.pop(key, None)
        self._replace_workloads(key)

    def put_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        self.namespaces[name] = labels
        self.wake_all()

    # Workloads

    def put_workload(self, workload: Workload) -> None:
        """What the server shows now. While a decision is under way, older news do not undo it."""
        entry = self.entries.get(workload.uid)
        if entry is None:
            entry = self.entries[workload.uid] = Entry(workload)
        entry.workload = workload
        if workload.assignment is not None:
            entry.assumed = None
        if workload.evicted or workload.assignment is None:
            entry.evicting = workload.evicted
        self._place(entry)

    def drop_workload(self, uid: str) -> None:
        entry = self.entries.pop(uid, None)
        if entry is not None:
            self._leave(entry)

    def refuse(self, uid: str) -> None:
        """The write was refused: what was assumed goes, and the workload waits again."""
        entry = self.entries.get(uid)
        if entry is None:
            return
        entry.assumed = None
        entry.evicting = entry.workload.evicted
        self._place(entry)

    # Places

    def _replace_workloads(self, key: LocalQueueKey | None = None) -> None:
        for uid in sorted(self.entries):
            entry = self.entries[uid]
            if key is None or entry.workload.local_queue_key == key:
                self._place(entry)

    def _place(self, entry: Entry) -> None:
        """Put a workload where its state says it belongs, and charge what it holds."""
        workload = entry.workload
        assignment = entry.assignment
        if workload.finished:
            self._leave(entry)
        elif assignment is not None:
            self._charge(entry, assignment)
        elif not self._keeps_hold(entry):
            self._uncharge(entry)
            self._queue(entry)

    def _keeps_hold(self, entry: Entry) -> bool:
        """A preemptor holds on while it asks for the same and its queue still runs."""
        held = self._holders.get(entry.workload.uid)
        if held is None or self.queue_of(entry.workload) != entry.queue:
            return False
        same = shape_of(entry.workload) == entry.held_shape
        return same and self.may_be_considered(entry.workload, self.queues[entry.queue])

    def _charge(self, entry: Entry, assignment: Assignment) -> None:
        name = assignment.cluster_queue
        if entry.queue and entry.queue in self.queues:
            self.queues[entry.queue].pending.remove(entry.workload.uid)
        wanted = assignment.usage(entry.workload.reclaimable)
        if name not in self.queues:
            self._uncharge(entry)
            return
        if entry.charged != wanted or entry.queue != name:
            self._uncharge(entry)
            node = self.forest.node(name)
            self.forest.charges.charge(node, wanted)
            entry.charged, entry.queue = wanted, name
        uid = entry.workload.uid
        self.queues[name].reserved[uid] = entry
        self._holders.pop(uid, None)
        self.backoffs.pop(uid, None)
        self.touched[uid] = None
        self._note_execution_end(entry.workload)

    def _note_execution_end(self, workload: Workload) -> None:
        limit = workload.max_execution_s
        if limit is None or not workload.admitted:
            self.execution_ends.pop(workload.uid, None)
        else:
            self.execution_ends[workload.uid] = workload.admitted_at + limit - workload.executed_s

    def _uncharge(self, entry: Entry) -> None:
        """Give back what it holds, and wake those whom that could help."""
        self._holders.pop(entry.workload.uid, None)
        self.execution_ends.pop(entry.workload.uid, None)
        if entry.charged and entry.queue in self.queues:
            node = self.forest.node(entry.queue)
            self.forest.charges.release(node, entry.charged)
            freed, entry.charged = entry.charged, {}
            self.queues[entry.queue].reserved.pop(entry.workload.uid, None)
            self.wake(entry.queue, freed)
        if entry.queue in self.queues:
            self.queues[entry.queue].reserved.pop(entry.workload.uid, None)

    def _queue(self, entry: Entry) -> None:
        """In line, if its queues exist and run and it may be considered."""
        uid, workload = entry.workload.uid, entry.workload
        self.backoffs.pop(uid, None)
        name = self.queue_of(workload)
        if entry.queue and entry.queue != name and entry.queue in self.queues:
            self.queues[entry.queue].pending.remove(uid)
        entry.queue = name or ""
        if name is None:
            return
        state = self.queues[name]
        if not self.may_be_considered(workload, state):
            state.pending.remove(uid)
            if workload.requeue_at is not None and workload.active:
                self.backoffs[uid] = workload.requeue_at
            return
        state.pending.add(workload)
        state.blocked = False

    def _leave(self, entry: Entry) -> None:
        self.backoffs.pop(entry.workload.uid, None)
        self._uncharge(entry)
        if entry.queue in self.queues:
            self.queues[entry.queue].pending.remove(entry.workload.uid)

    def queue_of(self, workload: Workload) -> str | None:
        """The ClusterQueue behind its LocalQueue, if both exist."""
        local = self.local_queues.get(workload.local_queue_key)
        return local.cluster_queue if local and local.cluster_queue in self.queues else None

    def may_be_considered(self, workload: Workload, state: QueueState) -> bool:
        local = self.local_queues[workload.local_queue_key]
        runs = state.config.stop == "None" and local.stop == "None"
        return runs and workload.active and workload.may_queue and workload.requeue_at is None

    def namespace_is_selected(self, workload: Workload, config: ClusterQueue) -> bool:
        return selects(config.namespaces, self.namespaces.get(workload.key.namespace, {}))

    # What a step assumes

    def assume(self, entry: Entry, assignment: Assignment) -> None:
        """Decided: charged from now on, though its status does not say so yet."""
        entry.assumed = assignment
        self._charge(entry, assignment)

    def hold(self, entry: Entry, usage: Mapping[FlavorResource, int], victims: list[str]) -> None:
        """Charge in advance what the victims will free, so that nobody else takes it."""
        self.queues[entry.queue].pending.remove(entry.workload.uid)
        self.forest.charges.charge(self.forest.node(entry.queue), usage)
        entry.charged = dict(usage)
        entry.victims = dict.fromkeys(victims)
        entry.held_shape = shape_of(entry.workload)
        self._holders[entry.workload.uid] = entry

    def end_hold(self, entry: Entry) -> None:
        """Give the advance back, without waking anybody: its owner takes it in this very step."""
        self.forest.charges.release(self.forest.node(entry.queue), entry.charged)
        entry.charged = {}
        del self._holders[entry.workload.uid]

    def requeue(self, entry: Entry) -> None:
        self.queues[entry.queue].pending.add(entry.workload)

    def holders(self) -> list[Entry]:
        return list(self._holders.values())

    def holds_quota(self, uid: str) -> bool:
        entry = self.entries.get(uid)
        return entry is not None and uid not in self._holders and bool(entry.charged)

    # Waking

    def wake(self, queue: str, freed: Mapping[FlavorResource, int]) -> None:
        """Quota came free in this queue's tree: those who lack it may try again."""
        for name in self.forest.relatives(queue):
            state = self.queues.get(name)
            if state is None:
                continue
            state.blocked = False
            for key in freed:
                for shape in list(state.pending.parked_for(key)):
                    state.pending.wake(shape)

    def wake_all(self) -> None:
        """Configuration changed: nobody's refusal is worth anything any more."""
        for state in self.queues.values():
            state.blocked = False
            state.pending.wake_all()

    # Reading

    def residents(self, node: Node) -> list[Running]:
        """Everybody who holds quota in this ClusterQueue; whoever asks puts them in order."""
        state = self.queues.get(node.name)
        if state is None:
            return []
        return [Running(e.workload, node, e.charged, e.evicting) for e in state.reserved.values()]
