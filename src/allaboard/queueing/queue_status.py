"""What do ClusterQueue and LocalQueue say of themselves? Pure, from the ledger.

`flavorsReservation` counts everybody with quota reserved, `flavorsUsage` those admitted. Flavors
and resources appear in the queue's own order, also where nothing is used.
"""

from collections.abc import Iterable, Iterator, Sequence

from allaboard.api.kueue import reasons
from allaboard.api.kueue.types import queues as api
from allaboard.api.meta import Json
from allaboard.clock import Instant
from allaboard.core.ledger import Entry, Ledger
from allaboard.core.values import ClusterQueue, FlavorResource, LocalQueueKey, Workload
from allaboard.queueing.conditions import Say, changed
from allaboard.queueing.translate import render_amount

CAN_ADMIT = "Can admit new workloads"
CAN_SUBMIT = "Can submit new workloads to localQueue"


def cluster_queue_status(obj: Json, view: api.ClusterQueue, ledger: Ledger, now: Instant) -> Json:
    """The whole status, with the conditions of `obj` brought up to date."""
    state = ledger.queues[view.name]
    reserving = list(state.reserved.values())
    admitted = [entry for entry in reserving if entry.workload.admitted]
    status = dict(obj.get("status") or {})
    status |= {
        "conditions": _conditions(obj, _activity(view, ledger), now),
        "flavorsReservation": _usage(state.config, reserving, borrowed=True),
        "flavorsUsage": _usage(state.config, admitted, borrowed=True),
        "pendingWorkloads": len(list(_waiting(ledger, view.name))),
        "reservingWorkloads": len(reserving),
        "admittedWorkloads": len(admitted),
    }
    return status


def local_queue_status(obj: Json, view: api.LocalQueue, ledger: Ledger, now: Instant) -> Json:
    key = LocalQueueKey(view.namespace, view.name)
    state = ledger.queues.get(view.spec.cluster_queue)
    holding = state.reserved.values() if state is not None else ()
    reserving = [e for e in holding if e.workload.local_queue_key == key]
    waiting = [w for w in _waiting(ledger, view.spec.cluster_queue) if w.local_queue_key == key]
    admitted = [entry for entry in reserving if entry.workload.admitted]
    status = dict(obj.get("status") or {})
    status |= {
        "conditions": _conditions(obj, _local_activity(view, ledger), now),
        "pendingWorkloads": len(waiting),
        "reservingWorkloads": len(reserving),
        "admittedWorkloads": len(admitted),
    }
    if state is not None:
        status["flavorsReservation"] = _usage(state.config, reserving, borrowed=False)
        status["flavorsUsage"] = _usage(state.config, admitted, borrowed=False)
    return status


def _waiting(ledger: Ledger, queue: str) -> Iterator[Workload]:
    """In line, in backoff, or holding on for what it preempted."""
    state = ledger.queues.get(queue)
    if state is None:
        return
    yield from state.pending.in_order()
    for uid in ledger.backoffs:
        if ledger.entries[uid].queue == queue:
            yield ledger.entries[uid].workload
    for entry in ledger.holders():
        if entry.queue == queue:
            yield entry.workload


def _activity(view: api.ClusterQueue, ledger: Ledger) -> Say:
    found: list[tuple[str, str]] = []
    if view.metadata.deletion_timestamp is not None:
        return Say(
            reasons.ACTIVE,
            "False",
            reasons.TERMINATING,
            "Can't admit new workloads; clusterQueue is terminating",
        )
    if view.spec.stop_policy != "None":
        found.append((reasons.STOPPED, "is stopped"))
    missing = missing_flavors(view, ledger)
    if missing:
        told = f"references missing ResourceFlavor(s): {','.join(missing)}"
        found.append((reasons.FLAVOR_NOT_FOUND, told))
    if not found:
        return Say(reasons.ACTIVE, "True", reasons.READY, CAN_ADMIT)
    message = f"Can't admit new workloads: {', '.join(told for _, told in found)}."
    return Say(reasons.ACTIVE, "False", found[0][0], message)


def missing_flavors(view: api.ClusterQueue, ledger: Ledger) -> list[str]:
    named = {f.name for group in view.spec.resource_groups for f in group.flavors}
    return sorted(named - ledger.flavors.keys())


def _local_activity(view: api.LocalQueue, ledger: Ledger) -> Say:
    name = view.spec.cluster_queue
    if view.spec.stop_policy != "None":
        return Say(reasons.ACTIVE, "False", reasons.STOPPED, "LocalQueue is stopped")
    state = ledger.queues.get(name)
    if state is None:
        why = "Can't submit new workloads to clusterQueue"
        return Say(reasons.ACTIVE, "False", reasons.CLUSTER_QUEUE_DOES_NOT_EXIST, why)
    if state.config.stop != "None":
        why = "Can't submit new workloads to clusterQueue"
        return Say(reasons.ACTIVE, "False", reasons.CLUSTER_QUEUE_IS_INACTIVE, why)
    return Say(reasons.ACTIVE, "True", reasons.READY, CAN_SUBMIT)


def _usage(config: ClusterQueue, entries: Iterable[Entry], borrowed: bool) -> list[Json]:
    total: dict[FlavorResource, int] = {}
    for entry in entries:
        for key, amount in entry.charged.items():
            total[key] = total.get(key, 0) + amount
    return [
        {
            "name": flavor.flavor,
            "resources": [
                _resource(config, FlavorResource(flavor.flavor, resource), total, borrowed)
                for resource in group.resources
            ],
        }
        for group in config.groups
        for flavor in group.flavors
    ]


def _resource(
    config: ClusterQueue, key: FlavorResource, total: dict[FlavorResource, int], borrowed: bool
) -> Json:
    used = total.get(key, 0)
    shown: Json = {"name": key.resource, "total": render_amount(key.resource, used)}
    if borrowed:
        nominal = next(
            f.quotas[key.resource].nominal
            for group in config.groups
            for f in group.flavors
            if f.flavor == key.flavor
        )
        over = max(0, used - nominal) if config.cohort else 0
        shown["borrowed"] = render_amount(key.resource, over)
    return shown


def _conditions(obj: Json, say: Say, now: Instant) -> list[Json]:
    current: Sequence[Json] = (obj.get("status") or {}).get("conditions") or []
    return changed(current, [say], now, int(obj["metadata"].get("generation") or 0))
