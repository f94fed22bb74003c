"""The bridge: API objects in the core's words, and back. Pure.

The core never sees an API type and the API never sees the core's; only this file knows both.
Amounts become integers here (milli-units of CPU, whole units of the rest) and quantities again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from allaboard.api import quantity
from allaboard.api.kueue import names, reasons
from allaboard.api.kueue.types import flavors as api_flavors
from allaboard.api.kueue.types import queues as api_queues
from allaboard.api.kueue.types import workloads as api_workloads
from allaboard.api.kueue.types.shared import FairSharing, Selector
from allaboard.api.meta import Json
from allaboard.api.requests import amount, pod_requests
from allaboard.api.times import parse_time
from allaboard.api.types.model import Condition, find_condition
from allaboard.api.types.pods import NodeSelectorRequirement, PodSpec
from allaboard.core import values as core
from allaboard.queueing.config import Settings

BINARY = ("memory", "ephemeral-storage")


def flavor(obj: api_flavors.ResourceFlavor) -> core.Flavor:
    spec = obj.spec
    return core.Flavor(
        obj.name,
        spec.node_labels,
        tuple(core.Taint(t.key, t.value, t.effect) for t in spec.node_taints),
        tuple(
            core.Toleration(t.key, t.operator or "Equal", t.value, t.effect)
            for t in spec.tolerations
        ),
        spec.topology_name or "",
    )


def cluster_queue(obj: api_queues.ClusterQueue) -> core.ClusterQueue:
    spec = obj.spec
    strategy = spec.admission_checks_strategy
    scope = spec.admission_scope
    return core.ClusterQueue(
        name=obj.name,
        cohort=spec.cohort_name,
        groups=_groups(spec.resource_groups),
        strategy="StrictFIFO" if spec.queueing_strategy == "StrictFIFO" else "BestEffortFIFO",
        namespaces=_requirements(spec.namespace_selector),
        fungibility=_fungibility(spec.flavor_fungibility),
        preemption=_preemption(spec.preemption),
        checks=tuple(
            core.Check(c.name, tuple(c.on_flavors))
            for c in (strategy.admission_checks if strategy else ())
        ),
        stop=_stop(spec.stop_policy) if obj.metadata.deletion_timestamp is None else "Hold",
        weight_milli=_weight(spec.fair_sharing),
        usage_based=scope is not None and scope.admission_mode == "UsageBasedAdmissionFairSharing",
    )


def cohort(obj: api_queues.Cohort) -> core.Cohort:
    spec = obj.spec
    return core.Cohort(
        obj.name, spec.parent_name, _groups(spec.resource_groups), _weight(spec.fair_sharing)
    )


def local_queue(obj: api_queues.LocalQueue) -> core.LocalQueue:
    key = core.LocalQueueKey(obj.namespace, obj.name)
    stop, weight = _stop(obj.spec.stop_policy), _weight(obj.spec.fair_sharing)
    return core.LocalQueue(key, obj.spec.cluster_queue, stop, weight)


def workload(obj: api_workloads.Workload, by_eviction: bool = True) -> core.Workload:
    """`by_eviction`: one evicted for unready pods queues behind those who came meanwhile."""
    spec, status = obj.spec, obj.status
    conditions = status.conditions
    reserved = find_condition(conditions, reasons.QUOTA_RESERVED)
    admitted = find_condition(conditions, reasons.ADMITTED)
    closed = find_condition(conditions, reasons.REQUEUED)
    created_at = _instant(obj.metadata.creation_timestamp)
    has_quota = _holds(reserved) and status.admission is not None
    return core.Workload(
        uid=obj.uid,
        key=core.WorkloadKey(obj.namespace, obj.name),
        local_queue=spec.queue_name,
        pod_sets=tuple(_pod_set(p) for p in spec.pod_sets),
        job_uid=obj.metadata.labels.get(names.JOB_UID, ""),
        priority=spec.priority or 0,
        created_at=created_at,
        queued_at=_queued_at(conditions, created_at, by_eviction),
        active=spec.active,
        finished=_holds(find_condition(conditions, reasons.FINISHED)),
        may_queue=not _is_false(closed)
        and not _holds(find_condition(conditions, reasons.WAITING_FOR_REPLACEMENT_PODS)),
        requeue_at=_requeue_at(status.requeue_state, closed),
        stopped=_STOPPED.get(closed.reason, "") if closed and _is_false(closed) else "",
        assignment=_assignment(status.admission) if has_quota and status.admission else None,
        hold=_assignment(status.preemption_hold) if status.preemption_hold else None,
        held_since=_instant(status.preemption_hold.since) if status.preemption_hold else 0.0,
        reserved_at=_since(reserved),
        admitted=_holds(admitted),
        admitted_at=_since(admitted),
        evicted=_holds(find_condition(conditions, reasons.EVICTED)),
        reclaimable={p.name: p.count for p in status.reclaimable_pods},
        checks={c.name: _check_state(c.state) for c in status.admission_checks},
        max_execution_s=spec.maximum_execution_time_seconds,
        executed_s=float(status.accumulated_past_execution_time_seconds or 0),
    )


def admission(assignment: core.Assignment) -> Json:
    """The core's assignment as `status.admission`."""
    return {
        "clusterQueue": assignment.cluster_queue,
        "podSetAssignments": [
            {
                "name": part.name,
                "flavors": dict(sorted(part.flavors.items())),
                "resourceUsage": {
                    resource: render_amount(resource, used)
                    for resource, used in sorted(part.usage.items())
                },
                "count": part.count,
            }
            for part in assignment.pod_sets
        ],
    }


def render_amount(resource: str, units: int) -> str:
    """An amount of the core as a quantity, in the notation people expect of this resource."""
    if resource == "cpu":
        return str(quantity.from_milli(units))
    notation = quantity.Notation.BINARY if resource in BINARY else quantity.Notation.DECIMAL
    return str(quantity.from_units(units, notation))


# Queues


def _groups(groups: Sequence[api_queues.ResourceGroup]) -> tuple[core.ResourceGroup, ...]:
    return tuple(
        core.ResourceGroup(
            tuple(group.covered_resources),
            tuple(
                core.FlavorQuotas(f.name, {r.name: _quota(r) for r in f.resources})
                for f in group.flavors
            ),
        )
        for group in groups
    )


def _quota(resource: api_queues.ResourceQuota) -> core.Quota:
    def units(value: str | int | float | None) -> int | None:
        return None if value is None else amount(resource.name, value)

    return core.Quota(
        amount(resource.name, resource.nominal_quota),
        units(resource.borrowing_limit),
        units(resource.lending_limit),
    )


def _fungibility(spec: api_queues.FlavorFungibility) -> core.Fungibility:
    def search(value: str) -> core.StopSearch:
        return "TryNextFlavor" if value == "TryNextFlavor" else "MayStopSearch"

    preference: core.Preference | None = None
    if spec.preference == "PreemptionOverBorrowing":
        preference = "PreemptionOverBorrowing"
    elif spec.preference == "BorrowingOverPreemption":
        preference = "BorrowingOverPreemption"
    return core.Fungibility(search(spec.when_can_borrow), search(spec.when_can_preempt), preference)


_WITHIN: Mapping[str, core.WithinPolicy] = {
    "LowerPriority": "LowerPriority",
    "LowerOrNewerEqualPriority": "LowerOrNewerEqualPriority",
}
_RECLAIM: Mapping[str, core.ReclaimPolicy] = {"LowerPriority": "LowerPriority", "Any": "Any"}
_STOPPED: Mapping[str, str] = {
    reasons.CLUSTER_QUEUE_STOPPED: "ClusterQueue",
    reasons.LOCAL_QUEUE_STOPPED: "LocalQueue",
}
_STOP: Mapping[str, core.StopPolicy] = {"Hold": "Hold", "HoldAndDrain": "HoldAndDrain"}


def _preemption(spec: api_queues.Preemption) -> core.PreemptionPolicy:
    borrow = spec.borrow_within_cohort
    return core.PreemptionPolicy(
        _WITHIN.get(spec.within_cluster_queue, "Never"),
        _RECLAIM.get(spec.reclaim_within_cohort, "Never"),
        borrow.policy == "LowerPriority",
        borrow.max_priority_threshold,
    )


def _stop(policy: str) -> core.StopPolicy:
    return _STOP.get(policy, "None")


def _weight(sharing: FairSharing | None) -> int:
    return 1000 if sharing is None else quantity.milli(sharing.weight)


def _requirements(selector: Selector | None) -> tuple[core.Requirement, ...] | None:
    if selector is None:
        return None
    equal = [core.Requirement(k, "In", (v,)) for k, v in sorted(selector.match_labels.items())]
    others = [
        core.Requirement(e.key, e.operator, tuple(e.values)) for e in selector.match_expressions
    ]
    return (*equal, *others)


# Workloads


def _pod_set(pods: api_workloads.PodSet) -> core.PodSet:
    spec = pods.template.spec
    request = pods.topology_request
    return core.PodSet(
        name=pods.name,
        count=pods.count,
        requests=pod_requests(spec),
        min_count=pods.min_count,
        selector=tuple(sorted(spec.node_selector.items())),
        affinity=_affinity(spec),
        tolerations=tuple(
            core.Toleration(t.key, t.operator or "Equal", t.value, t.effect)
            for t in spec.tolerations
        ),
        group=(request.pod_set_group_name or "") if request else "",
    )


def _affinity(spec: PodSpec) -> tuple[tuple[core.Requirement, ...], ...] | None:
    node_affinity = spec.affinity.node_affinity if spec.affinity else None
    if node_affinity is None or node_affinity.required is None:
        return None
    return tuple(
        tuple(_requirement(e) for e in term.match_expressions)
        for term in node_affinity.required.node_selector_terms
    )


def _requirement(expression: NodeSelectorRequirement) -> core.Requirement:
    return core.Requirement(expression.key, expression.operator, tuple(expression.values))


def _assignment(given: api_workloads.Admission) -> core.Assignment:
    parts = []
    for part in given.pod_set_assignments:
        usage = {r: amount(r, q) for r, q in part.resource_usage.items()}
        parts.append(core.PodSetAssignment(part.name, part.flavors, usage, part.count or 0))
    return core.Assignment(given.cluster_queue, tuple(parts))


def _queued_at(conditions: Sequence[Condition], created_at: float, by_eviction: bool) -> float:
    """Its place among equals (reference §2.7)."""
    evicted = find_condition(conditions, reasons.EVICTED)
    if evicted is None or evicted.status != "True":
        return created_at
    if evicted.reason == reasons.PODS_READY_TIMEOUT and by_eviction:
        return _since(evicted)
    return _since(evicted) if evicted.reason == reasons.ADMISSION_CHECK else created_at


def _requeue_at(state: api_workloads.RequeueState | None, closed: Condition | None) -> float | None:
    """When it may queue again. A check that asks for a retry without a pause means at once."""
    if state is not None and state.requeue_at:
        return parse_time(state.requeue_at)
    is_retry = closed is not None and closed.reason == reasons.ADMISSION_CHECK
    return _since(closed) if is_retry and _is_false(closed) else None


def policies(settings: Settings) -> core.Policies:
    """What the administrator chose for the whole installation."""
    fair, usage = settings.fair_sharing, settings.admission_fair_sharing
    chosen = core.Policies(fair_sharing=fair is not None)
    if fair is not None:
        known: dict[str, core.FairStrategy] = {s: s for s in chosen.strategies}
        chosen = replace(chosen, strategies=tuple(known[s] for s in fair.strategies))
    if usage is not None:
        chosen = replace(
            chosen,
            usage_half_life_s=usage.half_life_s,
            usage_sampling_s=usage.sampling_s,
            resource_weights=usage.weights,
        )
    return chosen


def _check_state(state: str) -> core.CheckState:
    match state:
        case "Ready" | "Retry" | "Rejected":
            return state
    return "Pending"


def _holds(condition: Condition | None) -> bool:
    return condition is not None and condition.status == "True"


def _is_false(condition: Condition | None) -> bool:
    return condition is not None and condition.status == "False"


def _since(condition: Condition | None) -> float:
    return _instant(condition.last_transition_time) if condition is not None else 0.0


def _instant(text: str | None) -> float:
    return parse_time(text) if text else 0.0
