"""Why does this workload wait, or what is it doing? From the ledger; pure but for trials.

The questions are asked in the order in which they would stop it: is it over, has it quota, may it
be considered, does its queue take it, does it fit. The first that applies is the answer; only the
last needs arithmetic, and only then are remedies searched for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from allaboard.api.kueue import reasons
from allaboard.api.kueue.types import workloads as api
from allaboard.api.times import format_time
from allaboard.api.types.model import Condition, find_condition
from allaboard.core.flavors import Mode, Proposal
from allaboard.core.ledger import Ledger
from allaboard.core.nominating import room_of_replaced
from allaboard.core.pending import Order, order_of
from allaboard.core.reasons import (
    ExceedsMaximum,
    FlavorReason,
    NotCovered,
    PodSetRefused,
    Short,
    UnknownFlavor,
    Untolerated,
    WrongNodes,
)
from allaboard.core.settling import checks_for
from allaboard.core.state import Entry, QueueState
from allaboard.core.values import Workload
from allaboard.queueing import translate
from allaboard.queueing.explanation import (
    Advice,
    Explanation,
    Finding,
    Position,
    Remedy,
    State,
    Told,
    Viewer,
    amounts,
    listed,
)
from allaboard.queueing.remedies import Remedies, missing_for, proposals, whom
from allaboard.queueing.translate import render_amount

EVICTED_BECAUSE = {
    reasons.PREEMPTED: "another workload takes its place",
    reasons.PODS_READY_TIMEOUT: "its pods were not ready in time",
    reasons.ADMISSION_CHECK: "an admission check asked for another try",
    reasons.CLUSTER_QUEUE_STOPPED: "its ClusterQueue was stopped",
    reasons.LOCAL_QUEUE_STOPPED: "its LocalQueue was stopped",
    reasons.NODE_FAILURES: "nodes failed under it",
    reasons.DEACTIVATED: "it was deactivated",
}
PREEMPTED_BECAUSE = {
    reasons.IN_CLUSTER_QUEUE: "a more important workload of its ClusterQueue takes its place",
    reasons.IN_COHORT_RECLAMATION: "the owner of the quota it borrowed took it back",
    reasons.IN_COHORT_FAIR_SHARING: "its queue had more than its fair share of the cohort",
    reasons.IN_COHORT_RECLAIM_WHILE_BORROWING: "a more important workload borrows in its stead",
}
DEACTIVATED_BECAUSE = {
    reasons.MAXIMUM_EXECUTION_TIME_EXCEEDED: "it ran for as long as it may",
    reasons.REQUEUING_LIMIT_EXCEEDED: "it was put back into its queue too often",
    reasons.ADMISSION_CHECK: "an admission check rejected it",
    reasons.FLAVORS_EXHAUSTED: "it failed on every flavor",
}


Rank = tuple[float, Order]  # what its LocalQueue consumed, where that counts; then the order


@dataclass(frozen=True, slots=True)
class Case:
    ledger: Ledger
    entry: Entry
    view: api.Workload
    viewer: Viewer

    @property
    def workload(self) -> Workload:
        return self.entry.workload

    @property
    def state(self) -> QueueState:
        return self.ledger.queues[self.ledger.queue_of(self.workload) or ""]

    def condition(self, type_: str) -> Condition | None:
        found = find_condition(self.view.status.conditions, type_)
        return found if found is not None and found.status == "True" else None


def explain(ledger: Ledger, view: api.Workload, viewer: Viewer) -> Explanation:
    ledger.forest.refresh()
    entry = ledger.entries.get(view.uid) or Entry(translate.workload(view))
    case = Case(ledger, entry, view, viewer)
    told = next(told for told in (ask(case) for ask in QUESTIONS) if told is not None)
    workload = entry.workload
    return Explanation(
        told,
        workload.priority,
        workload.local_queue,
        entry.queue or ledger.queue_of(workload) or "",
        position_of(ledger, entry),
    )


# Positions


def waiting_in(ledger: Ledger, queue: str) -> list[Entry]:
    """Who waits in a ClusterQueue, in the order in which they are considered."""
    state = ledger.queues.get(queue)
    if state is None:
        return []
    line = sorted(_waiting(ledger, state), key=lambda pair: pair[0])
    return [ledger.entries[workload.uid] for _, workload in line]


def position_of(ledger: Ledger, entry: Entry) -> Position | None:
    state = ledger.queues.get(entry.queue)
    if state is None:
        return None
    uid, (space, local) = entry.workload.uid, entry.workload.local_queue_key
    own = next((rank for rank, w in _waiting(ledger, state) if w.uid == uid), None)
    if own is None:
        return None
    pending = before = before_locally = 0
    for rank, workload in _waiting(ledger, state):
        pending += 1
        if rank < own:
            before += 1
            before_locally += workload.local_queue == local and workload.key.namespace == space
    return Position(before, before_locally, pending)


def _waiting(ledger: Ledger, state: QueueState) -> Iterator[tuple[Rank, Workload]]:
    """In line, holding on for what it preempted, or in backoff; each with its rank."""
    load = state.pending.load
    for bucket in state.pending.buckets.values():
        heavy = load(bucket.local_queue) if load is not None else 0.0
        for order, workload in bucket.members.values():
            yield (heavy, order), workload
    paused = (ledger.entries[uid] for uid in ledger.backoffs)
    others = (e for e in paused if e.queue == state.config.name)
    for entry in (*state.holders.values(), *others):
        workload = entry.workload
        heavy = load(workload.local_queue_key) if load is not None else 0.0
        yield (heavy, order_of(workload)), workload


# The questions


def _is_over(case: Case) -> Told | None:
    if not case.workload.finished:
        return None
    told = case.condition(reasons.FINISHED)
    words = f": {told.message}" if told is not None and told.message else ""
    return Told(State.FINISHED, f"It has finished{words}.")


def _has_quota(case: Case) -> Told | None:
    assignment, workload = case.entry.assignment, case.workload
    if assignment is None:
        return None
    if case.entry.evicting or workload.evicted or not workload.active:
        wait = Advice(Remedy.WAIT, "its pods must be gone first")
        because = _eviction(case) or _deactivation(case)
        return Told(State.LEAVING, f"It was told to stop: {because}.", (wait,))
    queue = assignment.cluster_queue
    state = case.ledger.queues.get(queue)
    checks = [c.name for c in checks_for(state.config, assignment)] if state is not None else []
    pending = [name for name in checks if workload.checks.get(name, "Pending") != "Ready"]
    if pending and not workload.admitted:
        return _waits_for_checks(case, queue, pending)
    flavors = sorted({f for part in assignment.pod_sets for f in part.flavors.values()})
    place = f"ClusterQueue {queue}" + (f" on flavor {listed(flavors)}" if flavors else "")
    ready = find_condition(case.view.status.conditions, reasons.PODS_READY)
    if ready is None:
        return Told(State.ADMITTED, f"It is admitted to {place}.")
    if ready.status == "True":
        return Told(State.RUNNING, f"It runs, admitted to {place}.")
    wait = Advice(Remedy.WAIT, "nodes must have room for its pods and start them")
    return Told(
        State.WAITING_FOR_PODS, f"It is admitted to {place}; its pods are not ready yet.", (wait,)
    )


def _waits_for_checks(case: Case, queue: str, pending: Sequence[str]) -> Told:
    noun = "admission checks" if len(pending) > 1 else "admission check"
    said = {c.name: c.message for c in case.view.status.admission_checks}
    advice = tuple(
        Advice(Remedy.WAIT, f"{name} must become ready" + (f": {said[name]}" if said.get(name)
                                                           else ""))
        for name in pending
    )  # fmt: skip
    summary = f"It has its quota in ClusterQueue {queue} and waits for the {noun} {listed(pending)}"
    return Told(State.WAITING_FOR_CHECKS, f"{summary}.", advice)


def _is_deactivated(case: Case) -> Told | None:
    if case.workload.active:
        return None
    because = _deactivation(case)
    activate = Advice(Remedy.ACTIVATE, "set the Workload's spec.active to true to queue it again")
    return Told(State.DEACTIVATED, f"It is deactivated: {because}.", (activate,))


def _deactivation(case: Case) -> str:
    target = case.condition(reasons.DEACTIVATION_TARGET)
    evicted = case.condition(reasons.EVICTED)
    reason = target.reason if target is not None else ""
    if not reason and evicted is not None:
        reason = evicted.reason.removeprefix("DeactivatedDueTo")
    told = "its spec.active is false" if not case.workload.active else "its eviction was decided"
    return DEACTIVATED_BECAUSE.get(reason, told)


def _waits_for_victims(case: Case) -> Told | None:
    entry, ledger = case.entry, case.ledger
    state = ledger.queues.get(entry.queue)
    if state is None or entry.workload.uid not in state.holders:
        return None
    victims = [
        other.running
        for other in ledger.evicting.values()
        if other.running is not None
        and other.running.node.root is state.node.root
        and any(key in entry.charged for key in other.charged)
    ]
    victims.sort(key=lambda v: v.workload.key)
    words, names = whom(victims, case.viewer) if victims else ("the preempted workloads", ())
    have = "have" if len(victims) > 1 else "has"
    summary = (
        f"It takes the place of {words} and starts when {'they' if have == 'have' else 'that'}"
    )
    advice = Advice(Remedy.WAIT, f"{words} must be gone, which is under way", names)
    return Told(State.WAITING_FOR_VICTIMS, f"{summary} {have} stopped.", (advice,))


def _has_no_queue(case: Case) -> Told | None:
    workload, ledger = case.workload, case.ledger
    name = workload.local_queue
    if not name:
        advice = Advice(
            Remedy.CHANGE_QUEUE, "name a LocalQueue in the label kueue.x-k8s.io/queue-name"
        )
        return Told(State.NO_QUEUE_NAME, "It names no queue.", (advice,))
    local = ledger.local_queues.get(workload.local_queue_key)
    if local is None:
        space = workload.key.namespace
        here = sorted(k.name for k in ledger.local_queues if k.namespace == space)
        other = f" or use {listed(here[:5])}" if here else ""
        advice = Advice(Remedy.CHANGE_QUEUE, f"create LocalQueue {name} in {space}{other}")
        return Told(State.NO_LOCAL_QUEUE, f"LocalQueue {space}/{name} does not exist.", (advice,))
    if local.cluster_queue not in ledger.queues:
        wanted = local.cluster_queue
        advice = Advice(Remedy.CHANGE_QUEUE, f"create ClusterQueue {wanted}, or use another queue")
        summary = f"ClusterQueue {wanted} of LocalQueue {name} does not exist."
        return Told(State.NO_CLUSTER_QUEUE, summary, (advice,))
    return None


def _is_stopped(case: Case) -> Told | None:
    local = case.ledger.local_queues[case.workload.local_queue_key]
    stopped = []
    if case.state.config.stop != "None":
        stopped.append(f"ClusterQueue {case.state.config.name}")
    if local.stop != "None":
        stopped.append(f"LocalQueue {local.key.name}")
    if not stopped:
        return None
    advice = tuple(Advice(Remedy.CHANGE_QUEUE, f"set stopPolicy of {q} to None") for q in stopped)
    are = "are" if len(stopped) > 1 else "is"
    return Told(State.STOPPED, f"{listed(stopped)} {are} stopped and admits nothing.", advice)


def _waits_out(case: Case) -> Told | None:
    workload, because = case.workload, _eviction(case)
    after = f" after it was stopped: {because}" if because else ""
    if workload.requeue_at is not None:
        at = workload.requeue_at
        advice = Advice(Remedy.WAIT, f"it is considered again at {format_time(at)}", (), at)
        summary = f"It pauses until {format_time(at)}{after}."
        return Told(State.BACKOFF, summary, (advice,), until=at)
    if not workload.may_queue:
        advice = Advice(Remedy.WAIT, "it is considered again once that is over")
        return Told(State.NOT_REQUEUED, f"It is not in its queue{after}.", (advice,))
    return None


def _queue_refuses(case: Case) -> Told | None:
    workload, config = case.workload, case.state.config
    if case.ledger.forest.is_broken(config.name):
        advice = Advice(Remedy.CHANGE_QUEUE, "give one of the cohorts in the circle another parent")
        summary = f"The cohorts of ClusterQueue {config.name} form a circle."
        return Told(State.BROKEN_COHORT, summary, (advice,))
    if not case.ledger.namespace_is_selected(workload, config):
        space = workload.key.namespace
        summary = f"ClusterQueue {config.name} does not take workloads of namespace {space}."
        wanted = (
            "give the namespace the labels that its namespaceSelector asks for"
            if config.namespaces is not None
            else "give it a namespaceSelector that chooses the namespace"
        )
        return Told(State.NAMESPACE_NOT_SELECTED, summary, (Advice(Remedy.CHANGE_QUEUE, wanted),))
    return None


def _waits_in_line(case: Case) -> Told:
    with room_of_replaced(case.ledger, case.workload):
        behind = _is_behind(case)
        return behind if behind is not None else _fits_or_not(case)


def _is_behind(case: Case) -> Told | None:
    """StrictFIFO: nobody overtakes the first."""
    state = case.state
    if not state.is_strict or not (state.blocked or state.holders):
        return None
    line = (
        pair for pair in _waiting(case.ledger, state) if pair[1].uid not in case.ledger.backoffs
    )
    found = min(line, key=lambda pair: pair[0], default=None)
    if found is None or found[1].uid == case.workload.uid:
        return None
    first = case.ledger.entries[found[1].uid]
    name = case.viewer.name_of(first.workload)
    advice = [Advice(Remedy.WAIT, f"{name or 'the first in line'} must be admitted first",
                     (name,) if name else ())]  # fmt: skip
    if name and first.workload.uid not in state.holders:
        inner = _fits_or_not(Case(case.ledger, first, case.view, case.viewer))
        advice += [
            Advice(a.remedy, f"for {name}: {a.message}", a.workloads, a.at)
            for a in inner.advice[:1]
        ]
    advice.append(
        Advice(Remedy.CHANGE_QUEUE, f"let others overtake it: set queueingStrategy of ClusterQueue "
               f"{state.config.name} to BestEffortFIFO")
    )  # fmt: skip
    summary = f"It waits behind {name or 'another workload'}, which nobody may overtake"
    return Told(
        State.BEHIND_OTHERS, f"{summary} in ClusterQueue {state.config.name}.", tuple(advice)
    )


def _fits_or_not(case: Case) -> Told:
    ledger, entry, state = case.ledger, case.entry, case.state
    options = proposals(ledger, entry, state)
    chosen, remedies = options[0], Remedies(ledger, entry, state, case.viewer)
    queue = state.config.name
    if chosen.mode is Mode.FIT:
        return Told(State.CONSIDERED, f"It fits into ClusterQueue {queue} and is next to start.")
    findings = tuple(_findings(chosen, queue))
    if chosen.mode is Mode.NO_FIT:
        return _never_fits(case, chosen, findings, remedies)
    missing = missing_for(state, chosen)
    flavors = sorted({key.flavor for key in missing})
    summary = f"It waits for quota: {amounts(missing)} more on flavor {listed(flavors)}"
    return Told(
        State.WAITING_FOR_QUOTA,
        f"{summary} of ClusterQueue {queue}.",
        tuple(remedies.for_shortage(options)),
        missing,
        findings,
        remedies.holders(missing),
    )


def _never_fits(
    case: Case, chosen: Proposal, findings: tuple[Finding, ...], remedies: Remedies
) -> Told:
    hopeless = _hopeless(chosen.refused)
    excess = [r for part in hopeless for r in part.reasons if isinstance(r, ExceedsMaximum)]
    queue = case.state.config.name
    if excess:
        most = max(excess, key=lambda r: r.maximum)
        asked = render_amount(most.resource, most.before + most.request)
        summary = (
            f"It asks for {asked} {most.resource}; ClusterQueue {queue} can never give more than "
            f"{render_amount(most.resource, most.maximum)}"
        )
        advice = (*remedies.for_excess([most]), *_pod_advice(hopeless, queue))
        return Told(State.TOO_LARGE, f"{summary}.", advice, findings=findings)
    first = hopeless[0]
    told = listed(dict.fromkeys(_sentence(r, queue) for r in first.reasons))
    summary = f"No flavor of ClusterQueue {queue} can take pod set {first.pod_set}: {told}."
    return Told(State.NO_FLAVOR, summary, tuple(_pod_advice(hopeless, queue)), findings=findings)


def _hopeless(refused: Sequence[PodSetRefused]) -> list[PodSetRefused]:
    """Pod sets that no waiting would help."""
    uncovered = [p for p in refused if any(isinstance(r, NotCovered) for r in p.reasons)]
    others = [p for p in refused if not any(isinstance(r, Short) for r in p.reasons)]
    return uncovered or others or list(refused)


def _findings(proposal: Proposal, queue: str) -> Iterator[Finding]:
    for part in proposal.refused:
        for reason in part.reasons:
            flavor = "" if isinstance(reason, NotCovered) else reason.flavor
            resource = getattr(reason, "resource", "")
            missing = reason.missing if isinstance(reason, Short) else None
            yield Finding(part.pod_set, flavor, resource, missing, _sentence(reason, queue))


def _sentence(reason: FlavorReason, queue: str) -> str:
    match reason:
        case NotCovered(resource):
            return f"ClusterQueue {queue} has no quota for {resource}"
        case UnknownFlavor(flavor):
            return f"flavor {flavor} does not exist"
        case Untolerated(flavor, taint):
            return f"its pods do not tolerate the taint {taint} of flavor {flavor}"
        case WrongNodes(flavor):
            return f"its node selector or affinity excludes the nodes of flavor {flavor}"
        case Short(flavor, resource, missing):
            return f"flavor {flavor} lacks {render_amount(resource, missing)} {resource}"
        case ExceedsMaximum(flavor, resource, before, request, maximum):
            asked, most = (render_amount(resource, n) for n in (before + request, maximum))
            return f"flavor {flavor} can never give more than {most} {resource}; asked are {asked}"


def _pod_advice(refused: Iterable[PodSetRefused], queue: str) -> Iterator[Advice]:
    """What its owner can change first, then what an administrator can."""
    found = list(dict.fromkeys(reason for part in refused for reason in part.reasons))
    for reason in found:
        match reason:
            case Untolerated(flavor, taint):
                yield Advice(
                    Remedy.CHANGE_PODS, f"let its pods tolerate {taint} to use flavor {flavor}"
                )
            case WrongNodes(flavor):
                told = f"choose nodes of flavor {flavor} in the pods' node selector or affinity"
                yield Advice(Remedy.CHANGE_PODS, told)
            case NotCovered(resource):
                yield Advice(Remedy.LOWER_REQUEST, f"do not ask for {resource}")
    for reason in found:
        match reason:
            case UnknownFlavor(flavor):
                yield Advice(Remedy.CHANGE_QUEUE, f"create ResourceFlavor {flavor}")
            case NotCovered(resource):
                told = f"give ClusterQueue {queue} quota for {resource}"
                yield Advice(Remedy.RAISE_QUOTA, told)


def _eviction(case: Case) -> str:
    """Why it was told to stop, in plain words; '' when it was not."""
    evicted, preempted = case.condition(reasons.EVICTED), case.condition(reasons.PREEMPTED)
    if evicted is None:
        return ""
    if preempted is not None and evicted.reason == reasons.PREEMPTED:
        return PREEMPTED_BECAUSE.get(preempted.reason, EVICTED_BECAUSE[reasons.PREEMPTED])
    cause = evicted.reason.removeprefix("DeactivatedDueTo")
    found = EVICTED_BECAUSE.get(evicted.reason) or DEACTIVATED_BECAUSE.get(cause)
    return found or evicted.message


QUESTIONS: tuple[Callable[[Case], Told | None], ...] = (
    _is_over,
    _has_quota,
    _is_deactivated,
    _waits_for_victims,
    _has_no_queue,
    _is_stopped,
    _waits_out,
    _queue_refuses,
    _waits_in_line,
)
