"""What becomes of workloads that hold quota? Checks, stopped queues, execution limits."""

from allaboard.core.decisions import (
    Admit,
    CheckRetry,
    Deactivate,
    Decision,
    Evict,
    QueueStopped,
    Unreserve,
)
from allaboard.core.ledger import Ledger
from allaboard.core.state import QueueState
from allaboard.core.values import Assignment, Check, ClusterQueue, Instant, Workload


def settle_reserved(ledger: Ledger, now: Instant, late: list[str]) -> list[Decision]:
    """Decides about those of whom there is news, and those whose time is up."""
    decisions: list[Decision] = []
    touched, ledger.touched = ledger.touched, {}
    for uid in sorted({**touched, **dict.fromkeys(late)}):
        entry = ledger.entries.get(uid)
        if entry is None or entry.workload.assignment is None or entry.evicting:
            continue
        decision = _settle(ledger, entry.workload, entry.workload.assignment, now)
        if decision is not None:
            if not isinstance(decision, Admit):
                ledger.mark_evicting(entry, True)
            decisions.append(decision)
    return decisions


def _settle(
    ledger: Ledger, workload: Workload, assignment: Assignment, now: Instant
) -> Decision | None:
    state = ledger.queues.get(assignment.cluster_queue)
    if state is None or workload.evicted or not workload.active or workload.finished:
        return None
    stopped = _stopped(ledger, workload, state)
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
    end = ledger.execution_ends.get(workload.uid)
    if end is not None and end <= now:
        return Deactivate(workload, "MaximumExecutionTimeExceeded")
    return None


def _stopped(ledger: Ledger, workload: Workload, state: QueueState) -> Decision | None:
    local = ledger.local_queues.get(workload.local_queue_key)
    for policy, is_local in (
        (state.config.stop, False),
        (local.stop if local else "None", True),
    ):
        if policy == "HoldAndDrain":
            return Evict(workload, QueueStopped(is_local))
        if policy == "Hold" and not workload.admitted:
            return Unreserve(workload)
    return None


def checks_for(config: ClusterQueue, assignment: Assignment) -> list[Check]:
    """The admission checks that these flavors are subject to."""
    if not config.checks:
        return []
    used = {flavor for part in assignment.pod_sets for flavor in part.flavors.values()}
    return [c for c in config.checks if not c.flavors or used.intersection(c.flavors)]
