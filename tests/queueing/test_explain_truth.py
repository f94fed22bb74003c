"""Advice that is followed helps: random queues, and whoever waits does what it was told."""

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from allaboard.api.kueue.types.workloads import Workload as View
from allaboard.api.types.model import typed
from allaboard.core import cycle
from allaboard.core.decisions import Reserve
from allaboard.core.ledger import Ledger
from allaboard.core.values import (
    ClusterQueue,
    Flavor,
    FlavorQuotas,
    LocalQueue,
    LocalQueueKey,
    PodSet,
    Quota,
    ResourceGroup,
    Workload,
    WorkloadKey,
)
from allaboard.queueing.explain import explain
from allaboard.queueing.explanation import Explanation, Remedy, State, Viewer

LIMITS = st.none() | st.integers(0, 6)
QUOTAS = st.builds(Quota, st.integers(0, 6), LIMITS, LIMITS)
FLAVORS = st.lists(QUOTAS, min_size=1, max_size=2)
RESIDENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4)), max_size=8)


def work(name: str, queue: int, pods: int, at: float) -> Workload:
    one = PodSet("main", pods, {"example.com/gpu": 1})
    key = WorkloadKey("d", name)
    return Workload(name, key, f"q{queue}", (one,), created_at=at, queued_at=at)


def config(number: int, quotas: list[Quota]) -> ClusterQueue:
    flavors = tuple(
        FlavorQuotas(f"f{i}", {"example.com/gpu": quota}) for i, quota in enumerate(quotas)
    )
    return ClusterQueue(f"q{number}", "team", (ResourceGroup(("example.com/gpu",), flavors),))


def admitted(ledger: Ledger) -> list[str]:
    decisions, _ = cycle.step(ledger, 1000.0)
    return [d.workload.uid for d in decisions if isinstance(d, Reserve)]


def build(
    queues: list[list[Quota]], residents: list[tuple[int, int]], asked: int
) -> tuple[Ledger, bool]:
    """Whoever fits runs, whoever does not goes away; then one asks in queue 0."""
    ledger = Ledger()
    ledger.put_namespace("d", {})
    for number in range(2):
        ledger.put_flavor(Flavor(f"f{number}"))
    for number, quotas in enumerate(queues):
        ledger.put_cluster_queue(config(number, quotas))
        ledger.put_local_queue(LocalQueue(LocalQueueKey("d", f"q{number}"), f"q{number}"))
    for at, (queue, pods) in enumerate(residents):
        name = f"r{at}"
        ledger.put_workload(work(name, queue, pods, float(at)))
        if name not in admitted(ledger):
            ledger.drop_workload(name)
    ledger.put_workload(work("asks", 0, asked, 99.0))
    return ledger, "asks" in admitted(ledger)


def told_to(ledger: Ledger) -> Explanation:
    meta = {"uid": "asks", "name": "asks", "namespace": "d"}
    view = typed(View, {"metadata": meta, "spec": {"queueName": "q0", "podSets": []}})
    return explain(ledger, view, Viewer(lambda _: True, lambda workload: workload.uid))


CASES = given(
    st.lists(FLAVORS, min_size=3, max_size=3), RESIDENTS, st.integers(1, 10)
)  # fmt: skip


@CASES
@settings(max_examples=150, deadline=None)
def test_when_those_named_have_ended_it_is_admitted(
    queues: list[list[Quota]], residents: list[tuple[int, int]], asked: int
) -> None:
    ledger, is_in = build(queues, residents, asked)
    told = told_to(ledger).told
    assert is_in == (told.state is State.ADMITTED)
    waits = [a for a in told.advice if a.remedy is Remedy.WAIT]
    assert bool(waits) == (told.state is State.WAITING_FOR_QUOTA)
    for advice in waits:
        for number, name in enumerate(advice.workloads, 1):
            ledger.drop_workload(name)
            is_last = number == len(advice.workloads)
            assert ("asks" in admitted(ledger)) == is_last  # none of them for nothing


@CASES
@settings(max_examples=150, deadline=None)
def test_the_request_it_is_told_to_make_fits_and_not_one_pod_more(
    queues: list[list[Quota]], residents: list[tuple[int, int]], asked: int
) -> None:
    ledger, _ = build(queues, residents, asked)
    told = told_to(ledger).told
    lower = [a.message for a in told.advice if a.remedy is Remedy.LOWER_REQUEST]
    found = re.search(r"at most (\d+) pod", lower[0]) if lower else None
    if found is None or told.state is not State.WAITING_FOR_QUOTA:
        return
    pods = int(found[1])
    if pods + 1 < asked:
        ledger.put_workload(work("asks", 0, pods + 1, 99.0))
        assert "asks" not in admitted(ledger)
    ledger.put_workload(work("asks", 0, pods, 99.0))
    assert "asks" in admitted(ledger)


@CASES
@settings(max_examples=150, deadline=None)
def test_the_limit_that_is_named_is_the_one_in_the_way(
    queues: list[list[Quota]], residents: list[tuple[int, int]], asked: int
) -> None:
    ledger, _ = build(queues, residents, asked)
    told = told_to(ledger).told
    message = next((a.message for a in told.advice if a.remedy is Remedy.RAISE_QUOTA), "")
    found = re.match(r"raise the (\w+) of \S+ in flavor f(\d) .* from (\d+) to (\d+)$", message)
    if found is None:
        return
    limit, flavor, before, after = found[1], int(found[2]), int(found[3]), int(found[4])
    old = queues[0][flavor]
    if limit == "borrowingLimit":
        assert old.borrowing == before
        raised = replace(old, borrowing=after)
    else:
        assert old.nominal == before
        raised = replace(old, nominal=after)
    quotas = [raised if i == flavor else quota for i, quota in enumerate(queues[0])]
    ledger.put_cluster_queue(config(0, quotas))
    if told.state is State.WAITING_FOR_QUOTA:
        assert "asks" in admitted(ledger)
    else:
        admitted(ledger)
        assert told_to(ledger).told.state is not State.TOO_LARGE
