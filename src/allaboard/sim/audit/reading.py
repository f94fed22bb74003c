"""What does a stored object say, as far as the auditor cares? Plain data in, plain data out.

Written from the meaning of the API alone; nothing here is shared with the code that is audited.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from allaboard.api.meta import Json
from allaboard.api.quantity import Quantity, parse
from allaboard.api.times import parse_time

Cell = tuple[str, str]  # flavor, resource
Amounts = dict[Cell, Fraction]  # nano units; fractions, so that no division rounds

ZERO = Fraction(0)
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
GATED_BY = "kueue.x-k8s.io/admission-gated-by"


def amount(value: Any) -> Fraction:
    return Fraction(parse(value).nano)


def condition(obj: Json, name: str) -> Json | None:
    held = (obj.get("status") or {}).get("conditions") or []
    return next((c for c in held if c["type"] == name), None)


def holds(obj: Json | None, name: str) -> bool:
    found = condition(obj, name) if obj is not None else None
    return found is not None and found["status"] == "True"


def uid(obj: Json) -> str:
    return str(obj["metadata"]["uid"])


def controller_uid(obj: Json) -> str:
    for owner in obj["metadata"].get("ownerReferences") or []:
        if owner.get("controller"):
            return str(owner["uid"])
    return ""


def is_leaving(obj: Json) -> bool:
    return bool(obj["metadata"].get("deletionTimestamp"))


def is_active(workload: Json) -> bool:
    return bool((workload.get("spec") or {}).get("active", True))


def is_queued(job: Json) -> bool:
    """It names a queue itself; children of another controller follow their owner."""
    named = (job["metadata"].get("labels") or {}).get(QUEUE_LABEL)
    return bool(named) and not controller_uid(job)


def is_reserving(workload: Json | None) -> bool:
    """It holds quota: reserved, told where, and not finished."""
    return (
        workload is not None
        and holds(workload, "QuotaReserved")
        and not holds(workload, "Finished")
        and bool(admission(workload))
    )


def admission(workload: Json) -> Json:
    return (workload.get("status") or {}).get("admission") or {}


def queue_of(workload: Json) -> str:
    return str(admission(workload).get("clusterQueue") or "")


def charges(workload: Json) -> Amounts:
    """What a reservation takes, pods that are not needed any more left out."""
    spared = {
        r["name"]: int(r["count"])
        for r in (workload.get("status") or {}).get("reclaimablePods") or []
    }
    total: Amounts = {}
    for pod_set in admission(workload).get("podSetAssignments") or []:
        count = int(pod_set.get("count") or 0)
        left = max(0, count - spared.get(pod_set["name"], 0))
        for resource, flavor in (pod_set.get("flavors") or {}).items():
            used = amount((pod_set.get("resourceUsage") or {}).get(resource, "0"))
            part = used * left / count if count else ZERO
            total[flavor, resource] = total.get((flavor, resource), ZERO) + part
    return total


def requests(template: Json) -> dict[str, Fraction]:
    """What one pod asks for: its containers together, or a bigger init container; overhead on top.

    Init containers that stay (restartPolicy Always) run beside the containers and beside the init
    containers after them.
    """
    spec = template.get("spec") or {}
    beside: dict[str, Fraction] = {}
    peak: dict[str, Fraction] = {}
    for init in spec.get("initContainers") or []:
        asked = _asked(init)
        if init.get("restartPolicy") == "Always":
            beside = _plus(beside, asked)
            asked = {}
        peak = _most(peak, _plus(beside, asked))
    running = beside
    for container in spec.get("containers") or []:
        running = _plus(running, _asked(container))
    whole = _most(peak, running) | _asked(spec)
    return _plus(whole, {k: amount(v) for k, v in (spec.get("overhead") or {}).items()})


def _asked(holder: Json) -> dict[str, Fraction]:
    resources = holder.get("resources") or {}
    return {
        name: amount(value)
        for name, value in {
            **(resources.get("limits") or {}),
            **(resources.get("requests") or {}),
        }.items()
    }


def _plus(a: dict[str, Fraction], b: dict[str, Fraction]) -> dict[str, Fraction]:
    return {k: a.get(k, ZERO) + b.get(k, ZERO) for k in [*a, *(b.keys() - a.keys())]}


def _most(a: dict[str, Fraction], b: dict[str, Fraction]) -> dict[str, Fraction]:
    return {k: max(a.get(k, ZERO), b.get(k, ZERO)) for k in [*a, *(b.keys() - a.keys())]}


def priority(workload: Json) -> int:
    return int((workload.get("spec") or {}).get("priority") or 0)


def created(obj: Json) -> float:
    return parse_time(obj["metadata"]["creationTimestamp"])


def since(condition: Json | None) -> float:
    return parse_time(str((condition or {}).get("lastTransitionTime") or "1970-01-01T00:00:00Z"))


def requeue_at(workload: Json) -> float | None:
    state = (workload.get("status") or {}).get("requeueState") or {}
    return parse_time(state["requeueAt"]) if state.get("requeueAt") else None


def same_shape(one: Json, other: Json) -> bool:
    a, b = one["spec"], other["spec"]
    return bool(
        one["metadata"].get("namespace") == other["metadata"].get("namespace")
        and a.get("queueName") == b.get("queueName")
        and _shape(one) == _shape(other)
    )


def _shape(workload: Json) -> list[Any]:
    return [
        (p.get("name"), p.get("count"), p.get("minCount"), p.get("topologyRequest"),
         (p.get("template") or {}).get("spec"))
        for p in workload["spec"].get("podSets") or []
    ]  # fmt: skip


def quota_lines(spec: Json) -> Iterator[tuple[Cell, Json]]:
    for group in spec.get("resourceGroups") or []:
        for flavor in group.get("flavors") or []:
            for resource in flavor.get("resources") or []:
                yield (flavor["name"], resource["name"]), resource


def published_numbers(queue: Json) -> Iterator[tuple[str, Fraction]]:
    status = queue.get("status") or {}
    for field in ("pendingWorkloads", "reservingWorkloads", "admittedWorkloads"):
        yield field, Fraction(int(status.get(field) or 0))
    for field in ("flavorsReservation", "flavorsUsage"):
        for flavor in status.get(field) or []:
            for resource in flavor.get("resources") or []:
                for kind in ("total", "borrowed"):
                    path = f"{field} {flavor['name']} {resource['name']} {kind}"
                    yield path, amount(resource.get(kind) or "0")


def preemptor(workload: Json) -> str:
    """The UID that the Preempted condition names."""
    found = condition(workload, "Preempted")
    _, _, rest = str((found or {}).get("message") or "").partition("(UID: ")
    return rest.partition(",")[0]


def shown(value: Fraction) -> str:
    return str(Quantity(round(value)))
