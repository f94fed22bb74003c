"""Which node for which pod, and the sentence when there is none."""

from typing import Any

import pytest

from allaboard.api.types.model import typed
from allaboard.api.types.nodes import Node
from allaboard.api.types.pods import Pod
from allaboard.cluster.scheduling.decide import Bind, ClusterState, Refused, decide
from allaboard.cluster.scheduling.preemption import find_preemption, render_refusal
from allaboard.cluster.scheduling.views import PodView, node_view, pod_view


def pod(name: str = "new", cpu: str = "1", **spec: Any) -> PodView:
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    labels = spec.pop("labels", {})
    meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": labels}
    return pod_view(typed(Pod, {"metadata": meta, "spec": {"containers": [container], **spec}}))


def cluster(*nodes: tuple[str, str, dict[str, Any]], running: dict[str, str] | None = None) -> Any:
    """Nodes as (name, cpu, {labels, spec}); running pods as name -> node, one CPU each."""
    state = ClusterState()
    for name, cpu, extra in nodes:
        labels = {"kubernetes.io/hostname": name, **extra.get("labels", {})}
        resources = {"cpu": cpu, "memory": "8Gi", "pods": extra.get("pods", "10")}
        state.put_node(
            node_view(
                typed(
                    Node,
                    {
                        "metadata": {"name": name, "labels": labels},
                        "spec": extra.get("spec", {}),
                        "status": {"allocatable": resources},
                    },
                )
            )
        )
    for name, node in (running or {}).items():
        state.add_pod(pod(name), node)
    return state


TAINT = {"spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}
CORDONED = {"spec": {"unschedulable": True}}
ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}
        ]
    }
}
NEAR = {
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}
        ]
    }
}


def zone(name: str) -> dict[str, Any]:
    return {"labels": {"zone": name}}


@pytest.mark.parametrize(
    ("state", "newcomer", "node"),
    [
        pytest.param(cluster(("a", "4", {}), ("b", "4", {})), pod(), "a", id="ties go by name"),
        pytest.param(
            cluster(("a", "4", {}), ("b", "4", {}), running={"x": "a"}), pod(), "b", id="spreads"
        ),
        pytest.param(
            cluster(("a", "4", zone("p")), ("b", "4", zone("q"))),
            pod(nodeSelector={"zone": "q"}),
            "b",
            id="selector",
        ),
        pytest.param(
            cluster(("a", "4", TAINT)),
            pod(tolerations=[{"key": "k", "operator": "Exists"}]),
            "a",
            id="tolerated taint",
        ),
        pytest.param(
            cluster(("a", "4", CORDONED)),
            pod(tolerations=[{"operator": "Exists"}]),
            "a",
            id="tolerated cordon",
        ),
        pytest.param(
            cluster(("a", "4", zone("p")), ("b", "4", zone("q"))),
            pod(labels={"app": "x"}, affinity=NEAR),
            "a",
            id="the first of a group that wants itself goes anywhere",
        ),
    ],
)
def test_it_finds_a_node(state: Any, newcomer: PodView, node: str) -> None:
    assert decide(newcomer, state) == Bind(node)


@pytest.mark.parametrize(
    ("state", "newcomer", "sentence"),
    [
        pytest.param(cluster(), pod(), "no nodes available to schedule pods", id="no nodes"),
        pytest.param(
            cluster(("a", "1", {}), ("b", "4", TAINT), ("c", "4", CORDONED)),
            pod(cpu="2"),
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), "
            "1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are "
            "available: 3 Preemption is not helpful for scheduling.",
            id="each node for its own reason",
        ),
        pytest.param(
            cluster(("a", "1", {}), running={"x": "a"}),
            pod(),
            "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
            "0/1 nodes are available: 1 No preemption victims found for incoming pod.",
            id="full of equals",
        ),
        pytest.param(
            cluster(("a", "4", {"pods": "0"})),
            pod(preemptionPolicy="Never"),
            "0/1 nodes are available: 1 Too many pods. no new claims to deallocate, preemption: "
            "not eligible due to preemptionPolicy=Never.",
            id="may not preempt",
        ),
        pytest.param(
            cluster(("a", "4", zone("p"))),
            pod(affinity=NEAR),
            "0/1 nodes are available: 1 node(s) didn't match pod affinity rules. no new claims to "
            "deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for "
            "scheduling.",
            id="wants a neighbour that is not there",
        ),
    ],
)
def test_it_says_why_not(state: Any, newcomer: PodView, sentence: str) -> None:
    answer = decide(newcomer, state)
    assert isinstance(answer, Refused)
    assert render_refusal(newcomer, answer) == sentence


def test_anti_affinity_works_both_ways() -> None:
    state = cluster(("a", "4", zone("p")), ("b", "4", zone("q")))
    wary = pod("wary", affinity=ANTI)
    state.add_pod(wary, "a")
    assert decide(pod(labels={"app": "x"}), state) == Bind("b")
    state.remove_pod(wary.uid, "a")
    state.add_pod(pod("x", labels={"app": "x"}), "b")
    assert decide(pod(affinity=ANTI), state) == Bind("a")


def test_preemption_takes_the_least_important_and_gives_back_what_it_can() -> None:
    state = cluster(("a", "2", {}), ("b", "2", {}))
    for name, node, priority in (("a1", "a", 5), ("a2", "a", 1), ("b1", "b", 9), ("b2", "b", 9)):
        state.add_pod(pod(name, priority=priority), node)
    urgent = pod(priority=10)
    answer = decide(urgent, state)
    assert isinstance(answer, Refused)
    found = find_preemption(urgent, answer, state)
    assert found is not None
    assert (found.node, [victim.name for victim in found.victims]) == ("a", ["a2"])
    assert state.nodes["a"].used["cpu"] == 2000  # a question leaves no trace


def test_who_is_going_already_is_nobody_elses_victim() -> None:
    state = cluster(("a", "1", {}), ("b", "1", {}))
    for name, node in (("v1", "a"), ("v2", "b")):
        state.add_pod(pod(name, priority=1), node)
    urgent = pod(priority=9)
    answer = decide(urgent, state)
    assert isinstance(answer, Refused)
    first = find_preemption(urgent, answer, state)
    assert first is not None
    first.victims[0].terminating = True
    second = find_preemption(pod("other", priority=9), answer, state)
    assert second is not None and {first.node, second.node} == {"a", "b"}


def test_pods_of_one_shape_are_told_apart_only_by_name() -> None:
    assert pod("a").shape == pod("b").shape
    assert pod("a").shape != pod("a", cpu="2").shape
    assert pod("a", labels={"app": "x"}).shape == pod("a").shape
    assert pod("a", labels={"app": "x"}, affinity=ANTI).shape != pod("a", affinity=ANTI).shape
