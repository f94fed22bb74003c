"""Whom would a pod of higher priority have to displace, and where? Pure.

On each node that eviction could open, all pods of lower priority are taken away in thought, then
given back, the most important first, as long as the newcomer still fits. The node whose victims
matter least wins: lowest top priority, then lowest sum, then fewest, then the name.
"""

from dataclasses import dataclass

from allaboard.cluster.scheduling.decide import (
    NO_VICTIMS,
    NOT_HELPFUL,
    ClusterState,
    Refused,
    check_node,
    render_counts,
)
from allaboard.cluster.scheduling.peers import survey
from allaboard.cluster.scheduling.views import NodeView, PodView


@dataclass(frozen=True, slots=True)
class Preempt:
    node: str
    victims: tuple[PodView, ...]


def find_preemption(pod: PodView, refused: Refused, state: ClusterState) -> Preempt | None:
    if not pod.may_preempt:
        return None
    best: tuple[tuple[int, int, int, str], Preempt] | None = None
    for node in refused.resolvable:
        victims = find_victims(pod, node, state)
        if not victims:
            continue
        priorities = [victim.priority for victim in victims]
        cost = (max(priorities), sum(priorities), len(victims), node.name)
        if best is None or cost < best[0]:
            best = (cost, Preempt(node.name, victims))
    return best[1] if best else None


def find_victims(pod: PodView, node: NodeView, state: ClusterState) -> tuple[PodView, ...]:
    """The fewest important pods of lower priority whose going makes room; leaves no trace."""
    # Who is going already makes room for somebody else.
    lower = [p for p in node.pods.values() if p.priority < pod.priority and not p.terminating]
    lower.sort(key=lambda p: p.order)
    for candidate in lower:
        state.remove_pod(candidate.uid, node.name)
    try:
        if not _fits(pod, node, state):
            return ()
        victims: list[PodView] = []
        for candidate in lower:
            state.add_pod(candidate, node.name)
            if not _fits(pod, node, state):
                state.remove_pod(candidate.uid, node.name)
                victims.append(candidate)
        return tuple(victims)
    finally:
        for candidate in lower:
            state.add_pod(candidate, node.name)


def _fits(pod: PodView, node: NodeView, state: ClusterState) -> bool:
    minds = pod.minds_others or bool(state.wary)
    around = survey(pod, state.nodes.values(), state.wary.values()) if minds else None
    return not check_node(pod, node, state, around)[0]


def render_refusal(pod: PodView, refused: Refused) -> str:
    """The whole sentence for a pod that fits nowhere and may displace nobody."""
    if not refused.total:
        return refused.headline
    if not pod.may_preempt:
        outcome = "not eligible due to preemptionPolicy=Never."
    else:
        helpless = refused.total - len(refused.resolvable)
        counts = {NOT_HELPFUL: helpless, NO_VICTIMS: len(refused.resolvable)}
        words = render_counts({reason: count for reason, count in counts.items() if count})
        outcome = f"0/{refused.total} nodes are available: {words}."
    return f"{refused.headline} no new claims to deallocate, preemption: {outcome}"
