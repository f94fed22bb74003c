"""May these pods run on a flavor's nodes? Labels, affinity, taints and tolerations. Pure.

Only label keys that some flavor of the resource group sets are looked at: what a flavor does not
speak of is the nodes' business, not quota's (Kueue's rule).
"""

from collections.abc import Iterable, Mapping

from allaboard.core.reasons import Untolerated, WrongNodes
from allaboard.core.values import Flavor, PodSet, Requirement, Taint, Toleration

BINDING_EFFECTS = ("NoSchedule", "NoExecute")


def check_flavor(
    pods: PodSet, flavor: Flavor, keys: Mapping[str, None]
) -> Untolerated | WrongNodes | None:
    """`keys` are the label keys that flavors of this resource group use."""
    tolerations = (*pods.tolerations, *flavor.tolerations)
    for taint in flavor.taints:
        if taint.effect in BINDING_EFFECTS and not tolerates(tolerations, taint):
            return Untolerated(flavor.name, taint)
    return None if matches_nodes(pods, flavor.labels, keys) else WrongNodes(flavor.name)


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    for toleration in tolerations:
        if toleration.effect and toleration.effect != taint.effect:
            continue
        if toleration.key and toleration.key != taint.key:
            continue
        if toleration.operator == "Exists":
            return True
        if toleration.key and toleration.value == taint.value:
            return True
    return False


def matches_nodes(pods: PodSet, labels: Mapping[str, str], keys: Mapping[str, None]) -> bool:
    if any(labels.get(key) != value for key, value in pods.selector if key in keys):
        return False
    if pods.affinity is None:
        return True
    return any(
        all(holds(r, labels.get(r.key)) for r in term if r.key in keys) for term in pods.affinity
    )


def selects(requirements: Iterable[Requirement] | None, labels: Mapping[str, str]) -> bool:
    """A label selector: none of it chooses nothing, an empty one everything."""
    return requirements is not None and all(holds(r, labels.get(r.key)) for r in requirements)


def holds(requirement: Requirement, value: str | None) -> bool:
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement, value)
    return False


def _compares(requirement: Requirement, value: str | None) -> bool:
    bound = requirement.values[0] if requirement.values else ""
    try:
        found, limit = int(value or ""), int(bound)
    except ValueError:
        return False
    return found > limit if requirement.operator == "Gt" else found < limit
