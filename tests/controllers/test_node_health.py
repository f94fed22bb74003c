"""What a node's conditions and taints mean for pods, decided on data alone."""

from typing import Any

import pytest

from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.cluster.controllers.nodes.health import (
    eviction_time,
    silent_conditions,
    taints_since,
    wanted_taints,
)

NOW = 1_800_000_000.0
AT = format_time(NOW)


def node(*taints: Json, unschedulable: bool = False, **conditions: str) -> Json:
    said = [{"type": type_, "status": status} for type_, status in conditions.items()]
    spec = {"taints": list(taints), "unschedulable": unschedulable}
    return {"metadata": {"name": "n"}, "spec": spec, "status": {"conditions": said}}


def taint(key: str, effect: str = "NoSchedule", **more: str) -> Json:
    return {"key": f"node.kubernetes.io/{key}", "effect": effect, **more}


MINE = {"key": "example.com/mine", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("a_node", "taints"),
    [
        pytest.param(node(Ready="True"), [], id="a good node has none"),
        pytest.param(
            node(Ready="False"),
            [taint("not-ready"), taint("not-ready", "NoExecute", timeAdded=AT)],
            id="not ready",
        ),
        pytest.param(
            node(Ready="Unknown"),
            [taint("unreachable"), taint("unreachable", "NoExecute", timeAdded=AT)],
            id="silent",
        ),
        pytest.param(
            node(Ready="True", MemoryPressure="True"), [taint("memory-pressure")], id="pressure"
        ),
        pytest.param(
            node(Ready="True", unschedulable=True), [taint("unschedulable")], id="cordoned"
        ),
        pytest.param(
            node(
                taint("not-ready", "NoExecute"),
                {"key": "mine", "effect": "NoExecute"},
                Ready="True",
            ),
            [{"key": "mine", "effect": "NoExecute"}],
            id="recovered: only other people's taints stay",
        ),
        pytest.param(
            node(taint("not-ready", "NoExecute", timeAdded="2026-01-01T00:00:00Z"), Ready="False"),
            [taint("not-ready", "NoExecute", timeAdded="2026-01-01T00:00:00Z"), taint("not-ready")],
            id="the clock of a taint goes on",
        ),
        pytest.param(node(taint("not-ready")), [taint("not-ready")], id="it has not spoken yet"),
    ],
)
def test_taints_follow_conditions(a_node: Json, taints: list[Json]) -> None:
    assert wanted_taints(a_node, NOW) == taints


GONE = taint("unreachable", "NoExecute", timeAdded=AT)


def toleration(**fields: Any) -> Json:
    return {"key": GONE["key"], "operator": "Exists", "effect": "NoExecute", **fields}


@pytest.mark.parametrize(
    ("tolerations", "leaves_at"),
    [
        pytest.param([], NOW + 10, id="no toleration: now"),
        pytest.param([toleration(tolerationSeconds=300)], NOW + 300, id="tolerated for a while"),
        pytest.param([toleration()], None, id="tolerated for ever"),
        pytest.param([toleration(), toleration(tolerationSeconds=5)], NOW + 5, id="least counts"),
        pytest.param([toleration(effect="NoSchedule")], NOW + 10, id="another effect"),
        pytest.param([{"operator": "Exists"}], None, id="everything tolerated"),
        pytest.param([toleration(operator="Equal", value="x")], NOW + 10, id="another value"),
    ],
)
def test_when_a_pod_must_leave(tolerations: list[Json], leaves_at: float | None) -> None:
    pod = {"spec": {"tolerations": tolerations}}
    since = taints_since([GONE], {}, NOW + 10)
    assert eviction_time(pod, [GONE], since, NOW + 10) == leaves_at


def test_a_taint_that_does_not_say_since_when_counts_from_when_it_was_first_seen() -> None:
    bare = taint("unreachable", "NoExecute")
    pod = {"spec": {"tolerations": [toleration(tolerationSeconds=20)]}}
    since = taints_since([bare], taints_since([bare], {}, NOW), NOW + 7)
    assert eviction_time(pod, [bare], since, NOW + 7) == NOW + 20
    anew = taints_since([bare], {}, NOW + 7)
    assert eviction_time(pod, [bare], anew, NOW + 7) == NOW + 27


def test_a_silent_node_is_unknown_in_every_respect() -> None:
    said = silent_conditions(node(Ready="True", DiskPressure="False"), NOW)
    assert [(c["type"], c["reason"]) for c in said] == [
        ("Ready", "NodeStatusUnknown"),
        ("MemoryPressure", "NodeStatusNeverUpdated"),
        ("DiskPressure", "NodeStatusUnknown"),
        ("PIDPressure", "NodeStatusNeverUpdated"),
    ]
