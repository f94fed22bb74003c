"""How much does a pod ask of a node, as Kubernetes counts it? Pure.

Amounts are integers per resource: milli-units of CPU, whole units of everything else, rounded up.
Main containers and sidecars run together; a plain init container runs alone with the sidecars
started before it; the larger need counts. Pod-level requests replace what the containers say, and
the runtime's overhead comes on top. Limits stand in for missing requests (the API server writes
them there, but an object from elsewhere may lack it).
"""

from collections.abc import Mapping

from allaboard.api.quantity import milli, units
from allaboard.api.types.pods import Container, PodSpec

Amounts = dict[str, int]


def amount(resource: str, quantity: str | int | float | None) -> int:
    """One quantity in this resource's unit."""
    return milli(quantity) if resource == "cpu" else units(quantity)


def node_amounts(quantities: Mapping[str, str | int | float]) -> Amounts:
    return {resource: amount(resource, quantity) for resource, quantity in quantities.items()}


def pod_requests(spec: PodSpec) -> Amounts:
    running: Amounts = {}
    for container in spec.containers:
        _add(running, container_requests(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            _add(sidecars, container_requests(container))
            _raise_to(peak, sidecars)
        else:
            alone = dict(sidecars)
            _add(alone, container_requests(container))
            _raise_to(peak, alone)
    _add(running, sidecars)
    _raise_to(running, peak)
    if spec.resources is not None:
        running.update(node_amounts(spec.resources.requests))
    if spec.overhead:
        _add(running, node_amounts(spec.overhead))
    return running


def container_requests(container: Container) -> Amounts:
    requests, limits = container.resources.requests, container.resources.limits
    if not limits:
        return node_amounts(requests)
    return node_amounts({**limits, **requests})


def _add(total: Amounts, more: Amounts) -> None:
    for resource, count in more.items():
        total[resource] = total.get(resource, 0) + count


def _raise_to(total: Amounts, least: Amounts) -> None:
    for resource, count in least.items():
        if count > total.get(resource, 0):
            total[resource] = count
