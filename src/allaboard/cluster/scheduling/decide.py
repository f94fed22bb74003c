"""Which node for this pod, or why none? Pure: a snapshot in, a decision out.

Filters in upstream's order, then the best-liked node: least allocated, weighted by preferences,
ties by name. A refusal counts nodes per reason, sorted as text, in upstream's sentence. In a large
cluster the search stops at enough feasible nodes, starting where the last one ended, as upstream's
does; unlike upstream's the walk is deterministic.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from allaboard.cluster.scheduling.filters import (
    check_ports,
    check_resources,
    check_static,
    never_fits,
    term_matches,
    tolerates,
)
from allaboard.cluster.scheduling.peers import Surroundings, check_peers, liking, survey
from allaboard.cluster.scheduling.views import NodeView, PodView

ENOUGH_FEASIBLE = 100  # upstream's minimum before it starts to sample
NO_NODES = "no nodes available to schedule pods"
NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"


@dataclass(frozen=True, slots=True)
class Bind:
    node: str


@dataclass(frozen=True, slots=True)
class Refused:
    """No node will do now. `resolvable` are the nodes where evicting others could help."""

    total: int
    reasons: dict[str, int]
    resolvable: tuple[NodeView, ...]

    @property
    def headline(self) -> str:
        if not self.total:
            return NO_NODES
        return f"0/{self.total} nodes are available: {render_counts(self.reasons)}."


def render_counts(reasons: dict[str, int]) -> str:
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))


@dataclass(slots=True)
class ClusterState:
    """Nodes with what runs on them, kept up to date one change at a time."""

    nodes: dict[str, NodeView] = field(default_factory=dict)
    wary: dict[str, tuple[PodView, NodeView]] = field(default_factory=dict)
    # static refusals by pod shape and node; a node's entry goes when the node changes
    static: dict[bytes, dict[str, str | None]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    start: int = 0

    def put_node(self, view: NodeView) -> None:
        """Add or replace a node; what runs on it stays counted."""
        known = self.nodes.get(view.name)
        for pod in known.pods.values() if known else ():
            view.add(pod)
            if pod.uid in self.wary:
                self.wary[pod.uid] = (pod, view)
        self.nodes[view.name] = view
        if known is None:
            self.order = sorted(self.nodes)
        for answers in self.static.values():
            answers.pop(view.name, None)

    def drop_node(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        if node is None:
            return
        for uid in node.pods:
            self.wary.pop(uid, None)
        self.order = sorted(self.nodes)
        for answers in self.static.values():
            answers.pop(name, None)

    def add_pod(self, pod: PodView, node_name: str) -> None:
        """Count a pod on a node. A node not yet known is remembered by its pods alone."""
        node = self.nodes.get(node_name)
        if node is None or pod.uid in node.pods:
            return
        node.add(pod)
        if pod.anti_affinity:
            self.wary[pod.uid] = (pod, node)

    def remove_pod(self, uid: str, node_name: str) -> None:
        node = self.nodes.get(node_name)
        if node is not None and uid in node.pods:
            node.remove(node.pods[uid])
            self.wary.pop(uid, None)

    def static_refusal(self, pod: PodView, node: NodeView) -> str | None:
        answers = self.static.get(pod.static_shape)
        if answers is None:
            if len(self.static) > 1000:  # shapes come and go; this bounds the memory
                self.static.clear()
            answers = self.static[pod.static_shape] = {}
        try:
            return answers[node.name]
        except KeyError:
            answer = answers[node.name] = check_static(pod, node)
            return answer

    def walk(self) -> Iterator[NodeView]:
        order, nodes = self.order, self.nodes
        first = self.start % len(order) if order else 0
        for index in range(first, first + len(order)):
            yield nodes[order[index % len(order)]]


def decide(pod: PodView, state: ClusterState) -> Bind | Refused:
    minds = pod.minds_others or bool(state.wary)
    around = survey(pod, state.nodes.values(), state.wary.values()) if minds else None
    reasons: dict[str, int] = {}
    resolvable: list[NodeView] = []
    feasible: list[tuple[float, NodeView]] = []
    looked = 0
    for node in state.walk():
        looked += 1
        refusals, may_help, liked = judge(pod, node, state, around)
        if not refusals:
            feasible.append((liked, node))
            if len(feasible) >= ENOUGH_FEASIBLE:
                break
            continue
        for reason in refusals:
            reasons[reason] = reasons.get(reason, 0) + 1
        if may_help:
            resolvable.append(node)
    if feasible:
        if len(feasible) >= ENOUGH_FEASIBLE:
            state.start = (state.start + looked) % len(state.order)
        return Bind(best(pod, feasible).name)
    return Refused(len(state.nodes), reasons, tuple(sorted(resolvable, key=lambda n: n.name)))


def judge(
    pod: PodView, node: NodeView, state: ClusterState, around: Surroundings | None
) -> tuple[list[str], bool, float]:
    """As `check_node`, and the score of a node that will do.

    Remembered for pods that look alike until something changes on the node: only where pods mind
    each other does the answer depend on anything else.
    """
    known = node.verdicts.get(pod.shape) if around is None else None
    if known is not None:
        return known
    refusals, may_help = check_node(pod, node, state, around)
    verdict = refusals, may_help, 0.0 if refusals else score(pod, node, around)
    if around is None:
        if len(node.verdicts) > 100:  # shapes come and go; this bounds the memory
            node.verdicts.clear()
        node.verdicts[pod.shape] = verdict
    return verdict


def check_node(
    pod: PodView, node: NodeView, state: ClusterState, around: Surroundings | None
) -> tuple[list[str], bool]:
    """Reasons against this node (none: it will do), and whether evicting others could help."""
    static = state.static_refusal(pod, node)
    if static is not None:
        return [static], False
    taken = check_ports(pod, node)
    if taken is not None:
        return [taken], True
    missing = check_resources(pod, node)
    if missing:
        return missing, not never_fits(pod, node)
    if around is not None:
        refusal = check_peers(pod, node, around)
        if refusal is not None:
            return [refusal[0]], refusal[1]
    return [], False


def best(pod: PodView, feasible: list[tuple[float, NodeView]]) -> NodeView:
    """The best-liked, ties by name."""
    most, chosen = feasible[0]
    for liked, node in feasible:
        if pod.nominated and node.name == pod.nominated:
            return node
        if liked > most or (liked == most and node.name < chosen.name):
            most, chosen = liked, node
    return chosen


def score(pod: PodView, node: NodeView, around: Surroundings | None) -> float:
    """Higher is better: free share of CPU and memory after the pod, plus preferences."""
    cpu, memory = node.allocatable.get("cpu", 0), node.allocatable.get("memory", 0)
    free = 0.0
    if cpu:
        free += max(0.0, (cpu - node.scored_cpu - pod.scored_cpu) / cpu)
    if memory:
        free += max(0.0, (memory - node.scored_memory - pod.scored_memory) / memory)
    total = round(free * 50.0, 6)
    for weight, term in pod.preferred_nodes:
        if term_matches(term, node):
            total += weight
    for taint in node.taints:
        if taint.effect == "PreferNoSchedule" and not tolerates(pod.tolerations, taint):
            total -= 100.0
    return total + liking(node, around) if around is not None else total
