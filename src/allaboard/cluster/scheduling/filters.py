"""Why may this pod not run on that node? The rules that look at one node alone. Pure.

Each rule answers with the words upstream uses, or nothing. They are asked in upstream's order and
the first that refuses speaks. `RESOLVABLE` refusals are those that evicting other pods could lift.
"""

from collections.abc import Iterable

from allaboard.api.types.nodes import Taint
from allaboard.api.types.pods import NodeSelectorRequirement, NodeSelectorTerm, Toleration
from allaboard.cluster.scheduling.views import NodeView, PodView

UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
WRONG_NODE = "node(s) didn't match Pod's node affinity/selector"
PORTS_TAKEN = "node(s) didn't have free ports for the requested pod ports"
TOO_MANY_PODS = "Too many pods"

_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_WILDCARD_IP = "0.0.0.0"


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """One toleration suffices; an empty key with Exists tolerates everything."""
    for toleration in tolerations:
        if toleration.effect and toleration.effect != taint.effect:
            continue
        if toleration.key and toleration.key != taint.key:
            continue
        operator = toleration.operator or "Equal"
        if operator == "Exists" and (toleration.key or not toleration.value):
            return True
        if operator == "Equal" and toleration.key and toleration.value == taint.value:
            return True
    return False


def check_static(pod: PodView, node: NodeView) -> str | None:
    """What labels, taints and the cordon say; the same for every pod of this static shape."""
    if node.unschedulable and not tolerates(pod.tolerations, _CORDON):
        return UNSCHEDULABLE
    for taint in node.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not tolerates(pod.tolerations, taint):
            return TAINTED
    if not matches_node(pod, node):
        return WRONG_NODE
    return None


def matches_node(pod: PodView, node: NodeView) -> bool:
    labels = node.labels
    if any(labels.get(key) != value for key, value in pod.node_selector):
        return False
    return pod.node_terms is None or any(term_matches(term, node) for term in pod.node_terms)


def term_matches(term: NodeSelectorTerm, node: NodeView) -> bool:
    """All requirements of a term must hold; an empty term matches nothing."""
    expressions, fields = term.match_expressions, term.match_fields
    if not expressions and not fields:
        return False
    return all(_holds(r, node.labels.get(r.key)) for r in expressions) and all(
        _holds(r, node.name if r.key == "metadata.name" else None) for r in fields
    )


def _holds(requirement: NodeSelectorRequirement, value: str | None) -> bool:
    values = requirement.values
    match requirement.operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement.operator, value, values)
        case _:
            return False


def _compares(operator: str, value: str | None, values: Iterable[str]) -> bool:
    try:
        found, bound = int(value or ""), int(next(iter(values), ""))
    except ValueError:
        return False
    return found > bound if operator == "Gt" else found < bound


def check_ports(pod: PodView, node: NodeView) -> str | None:
    if not pod.ports or not node.ports:
        return None
    for protocol, ip, port in pod.ports:
        for taken_protocol, taken_ip, taken_port in node.ports:
            overlaps = ip == taken_ip or _WILDCARD_IP in (ip, taken_ip)
            if protocol == taken_protocol and port == taken_port and overlaps:
                return PORTS_TAKEN
    return None


def check_resources(pod: PodView, node: NodeView) -> list[str]:
    """Everything that is missing, in upstream's order: pods, CPU, memory, the rest by name."""
    used, allocatable = node.used, node.allocatable
    missing: list[str] = []
    if used.get("pods", 0) + 1 > allocatable.get("pods", 0):
        missing.append(TOO_MANY_PODS)
    for resource, amount in pod.requests.items():
        if amount and used.get(resource, 0) + amount > allocatable.get(resource, 0):
            missing.append(f"Insufficient {resource}")
    return missing


def never_fits(pod: PodView, node: NodeView) -> bool:
    """Not even an empty node would do, so evicting others cannot help."""
    allocatable = node.allocatable
    return any(amount > allocatable.get(r, 0) for r, amount in pod.requests.items() if amount)
