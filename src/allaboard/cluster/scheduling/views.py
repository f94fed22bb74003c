"""What the scheduler needs to know of a pod and of a node, compiled once from the API objects.

Amounts are integers: milli-units of CPU, whole units of everything else, rounded up. A pod's
`shape` is equal for pods that no node can tell apart, so one refusal serves them all; its
`static_shape` covers only what a node's labels and taints decide.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from allaboard.api.requests import node_amounts, pod_requests
from allaboard.api.selectors import selector_of
from allaboard.api.times import parse_time
from allaboard.api.types.model import LabelSelector, plain
from allaboard.api.types.nodes import Node, Taint
from allaboard.api.types.pods import NodeSelectorTerm, Pod, PodAffinityTerm, PodSpec, Toleration

Labels = Mapping[str, str]

# What a container without a request is taken to use when nodes are compared, as upstream does.
ASSUMED_CPU_MILLI = 100
ASSUMED_MEMORY_BYTES = 200 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Term:
    """One inter-pod affinity term, ready to be asked."""

    topology_key: str
    matches_labels: Callable[[Labels], bool]
    namespaces: frozenset[str] | None  # None: all of them
    weight: int = 0

    def matches(self, namespace: str, labels: Labels) -> bool:
        in_scope = self.namespaces is None or namespace in self.namespaces
        return in_scope and self.matches_labels(labels)


@dataclass(frozen=True, slots=True)
class Spread:
    """One topology spread constraint."""

    topology_key: str
    max_skew: int
    hard: bool
    matches_labels: Callable[[Labels], bool]


@dataclass(slots=True, eq=False)
class PodView:
    uid: str
    namespace: str
    name: str
    labels: Labels
    priority: int
    may_preempt: bool
    requests: dict[str, int]
    scored_cpu: int
    scored_memory: int
    ports: tuple[tuple[str, str, int], ...]  # protocol, host IP, port
    tolerations: tuple[Toleration, ...]
    node_selector: tuple[tuple[str, str], ...]
    node_terms: tuple[NodeSelectorTerm, ...] | None  # None: any node
    preferred_nodes: tuple[tuple[int, NodeSelectorTerm], ...]
    affinity: tuple[Term, ...]
    anti_affinity: tuple[Term, ...]
    preferred_peers: tuple[Term, ...]  # negative weight: stay away
    spread: tuple[Spread, ...]
    created: float
    node: str
    nominated: str
    terminating: bool
    generation: int
    shape: bytes
    static_shape: bytes

    @property
    def minds_others(self) -> bool:
        return bool(self.affinity or self.anti_affinity or self.preferred_peers or self.spread)

    @property
    def order(self) -> tuple[int, float, str, str, str]:
        """Who goes first: priority, then age, then name; total."""
        return (-self.priority, self.created, self.namespace, self.name, self.uid)


@dataclass(slots=True, eq=False)
class NodeView:
    name: str
    labels: Labels
    taints: tuple[Taint, ...]
    unschedulable: bool
    allocatable: dict[str, int]
    used: dict[str, int] = field(default_factory=dict)
    scored_cpu: int = 0
    scored_memory: int = 0
    pods: dict[str, PodView] = field(default_factory=dict)  # by UID
    ports: dict[tuple[str, str, int], int] = field(default_factory=dict)
    # what was found out about pods of a shape, as long as the same pods run here; see decide.py
    verdicts: dict[bytes, tuple[list[str], bool, float]] = field(default_factory=dict)

    def add(self, pod: PodView) -> None:
        self._count(pod, +1)
        self.pods[pod.uid] = pod

    def remove(self, pod: PodView) -> None:
        self._count(pod, -1)
        del self.pods[pod.uid]

    def _count(self, pod: PodView, sign: int) -> None:
        self.verdicts.clear()
        used = self.used
        for resource, amount in pod.requests.items():
            used[resource] = used.get(resource, 0) + sign * amount
        used["pods"] = used.get("pods", 0) + sign
        self.scored_cpu += sign * pod.scored_cpu
        self.scored_memory += sign * pod.scored_memory
        for port in pod.ports:
            left = self.ports.get(port, 0) + sign
            if left:
                self.ports[port] = left
            else:
                del self.ports[port]


def node_view(node: Node) -> NodeView:
    return NodeView(
        name=node.metadata.name,
        labels=node.metadata.labels,
        taints=tuple(node.spec.taints),
        unschedulable=node.spec.unschedulable,
        allocatable=node_amounts(node.status.allocatable),
    )


def pod_view(pod: Pod) -> PodView:
    spec, meta = pod.spec, pod.metadata
    requests = pod_requests(spec)
    static = _static_parts(spec)
    affinity, anti_affinity, preferred = _peer_terms(spec, meta.namespace)
    spread = tuple(_spreads(spec))
    shape: list[Any] = [static, sorted(requests.items()), _ports(spec), spec.priority or 0]
    if affinity or anti_affinity or preferred or spread:
        shape += [meta.namespace, sorted((meta.labels).items()), spec.affinity]
        shape.append(spec.topology_spread_constraints)
    node_affinity = spec.affinity.node_affinity if spec.affinity else None
    required = node_affinity.required if node_affinity else None
    return PodView(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        labels=meta.labels,
        priority=spec.priority or 0,
        may_preempt=spec.preemption_policy != "Never",
        requests=requests,
        scored_cpu=requests.get("cpu") or ASSUMED_CPU_MILLI,
        scored_memory=requests.get("memory") or ASSUMED_MEMORY_BYTES,
        ports=_ports(spec),
        tolerations=tuple(spec.tolerations),
        node_selector=tuple(sorted((spec.node_selector).items())),
        node_terms=tuple(required.node_selector_terms) if required else None,
        preferred_nodes=tuple(
            (term.weight, term.preference)
            for term in (node_affinity.preferred if node_affinity else ())
        ),
        affinity=affinity,
        anti_affinity=anti_affinity,
        preferred_peers=preferred,
        spread=spread,
        created=parse_time(meta.creation_timestamp) if meta.creation_timestamp else 0.0,
        node=spec.node_name,
        nominated=pod.status.nominated_node_name,
        terminating=meta.deletion_timestamp is not None,
        generation=meta.generation,
        shape=msgspec.json.encode(shape),
        static_shape=static,
    )


def _static_parts(spec: PodSpec) -> bytes:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return msgspec.json.encode([spec.node_selector, affinity, spec.tolerations])


def _ports(spec: PodSpec) -> tuple[tuple[str, str, int], ...]:
    return tuple(
        (port.protocol or "TCP", port.host_ip or "0.0.0.0", port.host_port)
        for container in spec.containers
        for port in container.ports
        if port.host_port
    )


def _peer_terms(
    spec: PodSpec, namespace: str
) -> tuple[tuple[Term, ...], tuple[Term, ...], tuple[Term, ...]]:
    """Required affinity, required anti-affinity, and preferences with signed weights."""
    if spec.affinity is None:
        return (), (), ()
    near, apart = spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity
    preferred: list[Term] = []
    for side, sign in ((near, 1), (apart, -1)):
        for choice in side.preferred if side else ():
            preferred.append(_term(choice.pod_affinity_term, namespace, sign * choice.weight))
    return (
        tuple(_term(term, namespace) for term in (near.required if near else ())),
        tuple(_term(term, namespace) for term in (apart.required if apart else ())),
        tuple(preferred),
    )


def _term(term: PodAffinityTerm, namespace: str, weight: int = 0) -> Term:
    """Without a namespace selector the term speaks of its own namespace, or of those it lists."""
    everywhere = term.namespace_selector is not None
    named = frozenset(term.namespaces) or frozenset({namespace})
    return Term(
        topology_key=term.topology_key,
        matches_labels=_matcher(term.label_selector),
        namespaces=None if everywhere else named,
        weight=weight,
    )


def _matcher(selector: LabelSelector | None) -> Callable[[Labels], bool]:
    return selector_of(plain(selector) if selector is not None else None).matches


def _spreads(spec: PodSpec) -> Iterable[Spread]:
    for constraint in spec.topology_spread_constraints:
        yield Spread(
            topology_key=constraint.topology_key,
            max_skew=constraint.max_skew,
            hard=constraint.when_unsatisfiable != "ScheduleAnyway",
            matches_labels=_matcher(constraint.label_selector),
        )
