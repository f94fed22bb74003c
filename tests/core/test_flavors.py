"""Which flavor a workload would get, and why not another."""

from collections.abc import Mapping
from typing import Any

import pytest

from allaboard.core.flavors import Market, Mode, propose
from allaboard.core.quota import Charges, Node, set_quotas, settle
from allaboard.core.reasons import ExceedsMaximum, NotCovered, Short, Untolerated, WrongNodes
from allaboard.core.values import (
    ClusterQueue,
    Flavor,
    FlavorQuotas,
    FlavorResource,
    Fungibility,
    PodSet,
    Quota,
    Requirement,
    ResourceGroup,
    Taint,
    Toleration,
    quotas_of,
)

SPOT = Flavor("spot", {"kind": "spot"}, (Taint("spot", "yes"),))
DEMAND = Flavor("demand", {"kind": "demand"})
FLAVORS = {"spot": SPOT, "demand": DEMAND}
TRY_NEXT = Fungibility("TryNextFlavor", "TryNextFlavor")
EAGER = Fungibility("MayStopSearch", "MayStopSearch")
ON_SPOT = (Toleration("spot", "Exists"),)


def group(resources: str = "cpu", **nominal: int) -> ResourceGroup:
    names = tuple(resources.split(","))
    return ResourceGroup(
        names,
        tuple(FlavorQuotas(f, {r: Quota(amount) for r in names}) for f, amount in nominal.items()),
    )


def market(
    *groups: ResourceGroup,
    used: Mapping[str, int] | None = None,
    lent: int = 0,
    fungibility: Fungibility = EAGER,
    preemptable: Mode = Mode.NO_CANDIDATES,
    **more: Any,
) -> Market:
    """A queue in a cohort with a sibling that owns `lent` of everything and uses nothing."""
    queue = ClusterQueue("q", "team", groups, fungibility=fungibility)
    root = Node("team", is_cohort=True)
    node = root.children["q"] = Node("q", parent=root)
    idle = root.children["idle"] = Node("idle", parent=root)
    set_quotas(node, quotas_of(groups))
    set_quotas(idle, {key: Quota(lent) for key in quotas_of(groups)})
    settle(root)
    Charges().charge(node, {FlavorResource(f, "cpu"): n for f, n in (used or {}).items()})
    return Market(queue, node, FLAVORS, lambda key, amount: preemptable, **more)


def pods(count: int = 1, name: str = "main", **more: Any) -> PodSet:
    return PodSet(name, count, {"cpu": 1}, tolerations=more.pop("tolerations", ON_SPOT), **more)


@pytest.mark.parametrize(
    ("stage", "asked", "flavor", "mode"),
    [
        pytest.param(market(group(spot=4, demand=4)), pods(4), "spot", Mode.FIT, id="first"),
        pytest.param(
            market(group(spot=4, demand=4), used={"spot": 2}), pods(4), "demand", Mode.FIT,
            id="the next, when the first is full",
        ),
        pytest.param(
            market(group(spot=4, demand=4), lent=4), pods(6), "spot", Mode.FIT,
            id="borrows on the first when it may stop there",
        ),
        pytest.param(
            market(group(spot=2, demand=4), lent=4, fungibility=TRY_NEXT), pods(4), "demand",
            Mode.FIT, id="or looks on for one without borrowing",
        ),
        pytest.param(
            market(group(spot=4, demand=4), used={"spot": 4}, preemptable=Mode.PREEMPT), pods(2),
            "spot", Mode.PREEMPT, id="preempts on the first when it may stop there",
        ),
        pytest.param(
            market(group(spot=4, demand=4), used={"spot": 4}, preemptable=Mode.PREEMPT,
                   fungibility=TRY_NEXT),
            pods(2), "demand", Mode.FIT, id="or looks on for room",
        ),
        pytest.param(
            market(group(spot=4, demand=4)), pods(1, tolerations=()), "demand", Mode.FIT,
            id="skips what it does not tolerate",
        ),
        pytest.param(
            market(group(spot=4, demand=4)), pods(1, selector=(("kind", "demand"),)), "demand",
            Mode.FIT, id="follows its selector",
        ),
        pytest.param(
            market(group(spot=4, demand=4)), pods(1, selector=(("disk", "ssd"),)), "spot",
            Mode.FIT, id="labels that no flavor speaks of do not matter",
        ),
        pytest.param(
            market(group(spot=4, demand=4)),
            pods(1, affinity=((Requirement("kind", "In", ("demand",)),),)), "demand", Mode.FIT,
            id="follows its affinity",
        ),
        pytest.param(
            market(group(spot=4, demand=4), excluded={"spot": None}), pods(1), "demand", Mode.FIT,
            id="never takes an excluded flavor",
        ),
    ],
)  # fmt: skip
def test_the_flavor_chosen(stage: Market, asked: PodSet, flavor: str, mode: Mode) -> None:
    found = propose([asked], stage)
    assert (found.assignment.pod_sets[0].flavors, found.mode) == ({"cpu": flavor}, mode)


@pytest.mark.parametrize(
    ("stage", "asked", "reasons"),
    [
        pytest.param(
            market(group(spot=4)), pods(1, tolerations=()),
            [Untolerated("spot", Taint("spot", "yes"))], id="taint",
        ),
        pytest.param(
            market(group(spot=4)), pods(1, selector=(("kind", "x"),)), [WrongNodes("spot")],
            id="selector",
        ),
        pytest.param(
            market(group(spot=4), lent=1), pods(9), [ExceedsMaximum("spot", "cpu", 0, 9, 5)],
            id="more than could ever be",
        ),
        pytest.param(
            market(group("gpu", spot=4)), pods(1), [NotCovered("cpu")], id="not covered",
        ),
    ],
)  # fmt: skip
def test_why_there_is_none(stage: Market, asked: PodSet, reasons: list[object]) -> None:
    found = propose([asked], stage)
    assert found.mode is Mode.NO_FIT
    assert list(found.refused[0].reasons) == reasons


def test_what_is_missing_is_told_to_the_unit() -> None:
    found = propose([pods(3)], market(group(spot=4), used={"spot": 2}))
    assert found.mode is Mode.NO_CANDIDATES
    assert found.refused[0].reasons == (Short("spot", "cpu", 1),)
    assert found.short == (FlavorResource("spot", "cpu"),)


def test_pod_sets_count_one_another() -> None:
    found = propose([pods(3, "a"), pods(3, "b")], market(group(spot=4, demand=4)))
    flavors = [part.flavors["cpu"] for part in found.assignment.pod_sets]
    assert (flavors, found.mode) == (["spot", "demand"], Mode.FIT)


def test_a_group_of_pod_sets_gets_one_flavor() -> None:
    together = [pods(3, "leader", group="g"), pods(3, "workers", group="g")]
    found = propose(together, market(group(spot=4, demand=8)))
    assert [part.flavors["cpu"] for part in found.assignment.pod_sets] == ["demand", "demand"]


def test_pods_are_counted_where_the_queue_counts_them() -> None:
    stage = market(group("cpu,pods", spot=4))
    found = propose([pods(2)], stage)
    assert found.assignment.pod_sets[0].usage == {"cpu": 2, "pods": 2}


def test_the_search_goes_on_where_it_ended() -> None:
    stage = market(group(spot=4, demand=4), used={"spot": 4}, preemptable=Mode.PREEMPT)
    first = propose([pods(2)], stage)
    assert dict(first.resume) == {("main", 0): 1}
    second = propose([pods(2)], stage, first.resume)
    assert second.assignment.pod_sets[0].flavors == {"cpu": "demand"}
