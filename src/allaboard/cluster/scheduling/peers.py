"""Where must a pod be near to, or apart from, other pods? Affinity and spreading. Pure.

Counts are made per topology value over all placed pods; nodes without the label are outside every
domain. Only pods that mind others, or that others mind, ever pay for this.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from allaboard.cluster.scheduling.filters import matches_node
from allaboard.cluster.scheduling.views import NodeView, PodView, Spread, Term

NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
KEPT_AWAY = "node(s) didn't satisfy existing pods anti-affinity rules"
SPREAD = "node(s) didn't match pod topology spread constraints"
NO_DOMAIN = "node(s) didn't match pod topology spread constraints (missing required label)"


@dataclass(slots=True)
class Surroundings:
    """For one pod, what the placed pods mean for each domain."""

    near: list[tuple[Term, dict[str, int]]] = field(default_factory=list)
    apart: list[tuple[Term, dict[str, int]]] = field(default_factory=list)
    kept_from: list[tuple[str, str]] = field(default_factory=list)  # (topology key, value)
    liked: list[tuple[Term, dict[str, int]]] = field(default_factory=list)
    spread: list[tuple[Spread, dict[str, int]]] = field(default_factory=list)


def survey(
    pod: PodView, nodes: Iterable[NodeView], wary: Iterable[tuple[PodView, NodeView]]
) -> Surroundings:
    """Count once what `check_peers` will ask for every node; `wary` pods have anti-affinity."""
    around = Surroundings()
    for other, place in wary:
        for term in other.anti_affinity:
            if term.topology_key in place.labels and term.matches(pod.namespace, pod.labels):
                around.kept_from.append((term.topology_key, place.labels[term.topology_key]))
    if pod.minds_others:
        places = list(nodes)
        around.near = [(term, _count(term, places)) for term in pod.affinity]
        around.apart = [(term, _count(term, places)) for term in pod.anti_affinity]
        around.liked = [(term, _count(term, places)) for term in pod.preferred_peers]
        around.spread = [(rule, _count_spread(pod, rule, places)) for rule in pod.spread]
    return around


def _count(term: Term, nodes: Iterable[NodeView]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for node in nodes:
        value = node.labels.get(term.topology_key)
        if value is None:
            continue
        found = sum(term.matches(p.namespace, p.labels) for p in node.pods.values())
        counts[value] = counts.get(value, 0) + found
    return counts


def _count_spread(pod: PodView, rule: Spread, nodes: Iterable[NodeView]) -> dict[str, int]:
    """Domains the pod could use at all, as its node selector sees them, with matching pods each."""
    counts: dict[str, int] = {}
    for node in nodes:
        value = node.labels.get(rule.topology_key)
        if value is None or not matches_node(pod, node):
            continue
        found = sum(
            p.namespace == pod.namespace and not p.terminating and rule.matches_labels(p.labels)
            for p in node.pods.values()
        )
        counts[value] = counts.get(value, 0) + found
    return counts


def check_peers(pod: PodView, node: NodeView, around: Surroundings) -> tuple[str, bool] | None:
    """The refusal and whether evicting others could lift it, or None."""
    for rule, counts in around.spread:
        if not rule.hard:
            continue
        value = node.labels.get(rule.topology_key)
        if value is None:
            return NO_DOMAIN, False
        mine = 1 if rule.matches_labels(pod.labels) else 0
        if counts.get(value, 0) + mine - min(counts.values(), default=0) > rule.max_skew:
            return SPREAD, True
    if not _is_near(pod, node, around):
        return NOT_NEAR, False
    for term, counts in around.apart:
        if counts.get(node.labels.get(term.topology_key, ""), 0):
            return NOT_APART, True
    for key, value in around.kept_from:
        if node.labels.get(key) == value:
            return KEPT_AWAY, True
    return None


def _is_near(pod: PodView, node: NodeView, around: Surroundings) -> bool:
    if all(counts.get(node.labels.get(t.topology_key, ""), 0) for t, counts in around.near):
        return True
    # The first pod of a group that only wants its own kind may go anywhere with the labels.
    nobody_yet = not any(any(counts.values()) for _, counts in around.near)
    wants_itself = all(t.matches(pod.namespace, pod.labels) for t, _ in around.near)
    has_labels = all(t.topology_key in node.labels for t, _ in around.near)
    return nobody_yet and wants_itself and has_labels


def liking(node: NodeView, around: Surroundings) -> float:
    """Preference for this node: weighted neighbours, minus crowding under soft spreading."""
    score = 0.0
    for term, counts in around.liked:
        score += term.weight * counts.get(node.labels.get(term.topology_key, ""), 0)
    for rule, counts in around.spread:
        score -= counts.get(node.labels.get(rule.topology_key, ""), 0) * 10.0 / rule.max_skew
    return score
