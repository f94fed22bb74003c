"""Loops that happened elsewhere: preemption must come to rest, also with evictions out of step."""

from collections.abc import Sequence

import pytest
from desk import Desk, cpu_group
from hypothesis import given, settings
from hypothesis import strategies as st

from allaboard.core.decisions import Evict, Preempted
from allaboard.core.values import Cohort, PodSet, Policies, PreemptionPolicy

FAIR = Policies(fair_sharing=True)
FINAL_ONLY = Policies(fair_sharing=True, strategies=("LessThanOrEqualToFinalShare",))
ANY = PreemptionPolicy("LowerPriority", "Any")
WHILE_BORROWING = PreemptionPolicy("LowerPriority", "Any", borrow_within_cohort=True)


def wait_out(desk: Desk, stops: Sequence[int] = ()) -> list[tuple[str, str]]:
    """Evicted work stops one at a time, in the order `stops` chooses; gives (preemptor, victim)."""
    pairs: list[tuple[str, str]] = []
    going: list[str] = []
    for turn in range(200):
        decisions = desk.run()
        for decision in decisions:
            if isinstance(decision, Evict):
                assert isinstance(decision.cause, Preempted)
                pairs.append((decision.cause.by_uid, decision.workload.key.name))
                going.append(decision.workload.key.name)
        if not going and not decisions:
            return pairs
        if going:
            choice = stops[turn % len(stops)] if stops else 0
            desk.now += 1
            desk.stop(going.pop(choice % len(going)))
    raise AssertionError(f"no rest after {len(pairs)} preemptions: {pairs[-10:]}")


@pytest.mark.parametrize(
    "policies", [Policies(), FAIR, FINAL_ONLY], ids=["classic", "fair", "final"]
)
@pytest.mark.parametrize("stops", [(0,), (1, 0), (2, 1)], ids=str)
def test_best_effort_tenants_under_a_guaranteed_cohort(
    policies: Policies, stops: tuple[int, ...]
) -> None:
    """Kueue #3779: a tenant's evicted workload came back and was evicted again, for ever."""
    desk = Desk(policies)
    desk.ledger.put_cohort(Cohort("guaranteed", "root", (cpu_group(300),)))
    desk.queue("guaranteed", 0, cohort="guaranteed", preemption=ANY)
    for tenant in "ab":
        desk.queue(tenant, 0, cohort="root", preemption=ANY)
    for name, cpu in (("a1", 100), ("b1", 50), ("b2", 50), ("a2", 100)):
        desk.now += 1
        desk.submit(name, name[0], cpu=cpu)
        desk.run()
    assert desk.admitted() == ["a1", "a2", "b1", "b2"]
    pairs = []
    for name, cpu in (("g1", 50), ("g2", 100)):
        desk.now += 1
        desk.submit(name, "guaranteed", cpu=cpu, priority=100)
        pairs += wait_out(desk, stops)
    assert {"g1", "g2"} <= set(desk.admitted())
    assert len(set(pairs)) == len(pairs) <= 6


def test_a_borrower_of_higher_priority_is_not_overtaken_by_its_victim() -> None:
    """Kueue #2821: the evicted workload was older, got in first, and was evicted again."""
    desk = Desk()
    desk.queue("a", 0, preemption=ANY)
    desk.queue("b", 2, preemption=WHILE_BORROWING)
    desk.queue("c", 2)
    desk.submit("low", "a", cpu=2, queued_at=0.0)
    desk.run()
    desk.submit("b1", "b", cpu=2, priority=5, queued_at=1.0)
    desk.run()
    desk.submit("b2", "b", cpu=2, priority=5, queued_at=2.0)
    pairs = wait_out(desk)
    assert pairs == [("uid-b2", "low")]
    assert desk.admitted() == ["b1", "b2"]


@pytest.mark.parametrize("policies", [FAIR, FINAL_ONLY], ids=["both", "final"])
def test_groups_of_different_size_against_many_small_ones(policies: Policies) -> None:
    """Kueue #7101: no preemption where it was due, then more than thirty of one workload."""
    desk = Desk(policies)
    desk.queue("spare", 8)
    for project in ("p", "q"):
        desk.queue(project, 0, preemption=ANY)
    for number in range(4):
        desk.submit(f"p{number}", "p", pod_sets=(PodSet("main", 2, {"cpu": 1}),))
    desk.run()
    preemptions = 0
    for size in (6, 5, 4, 3):
        desk.now += 1
        desk.submit(f"q{size}", "q", pod_sets=(PodSet("main", size, {"cpu": 1}),))
        preemptions += len(wait_out(desk))
        if size == 4 and policies is FINAL_ONLY:
            assert [n for n in desk.admitted() if n[0] == "q"] == ["q4"], "four and four is fair"
    assert preemptions <= 8
    held = sum(p.count for n in desk.admitted() for p in desk.get(n).pod_sets)
    assert held <= 8


def test_equal_shares_with_priorities_do_not_alternate() -> None:
    """Kueue #6947: two queues with equal shares took turns evicting one another."""
    desk = Desk(FAIR)
    desk.queue("spare", 4)
    for name in "ab":
        desk.queue(name, 0, preemption=ANY)
    for number in range(3):
        desk.submit(f"a{number}", "a", cpu=2, priority=number)
        desk.submit(f"b{number}", "b", cpu=2, priority=2 - number)
    first = wait_out(desk)
    for _ in range(5):
        assert wait_out(desk) == []
    assert len(first) <= 4
    assert sorted(n[0] for n in desk.admitted()) == ["a", "b"]


@pytest.mark.parametrize("stops", [(0,), (1,), (2, 0, 1)], ids=str)
def test_victims_that_stop_at_different_times_steal_nothing_back(stops: tuple[int, ...]) -> None:
    """Kueue #13662: the first victim gone took the room back before the second was gone."""
    desk = Desk()
    desk.queue("a", 6, preemption=ANY)
    desk.queue("b", 0)
    for number in range(3):
        desk.submit(f"v{number}", "b", cpu=2)
    desk.run()
    desk.submit("owner", "a", cpu=6)
    assert len(wait_out(desk, stops)) == 3
    assert desk.admitted() == ["owner"]


def test_own_victims_given_back_do_not_make_the_others_unfair() -> None:
    """Kueue #14543: two workloads that displace one another."""
    desk = Desk(FAIR)
    desk.queue("spare", 10)
    for name in "ab":
        desk.queue(name, 0, preemption=ANY)
    for name, queue, cpu, priority in (
        ("a-small", "a", 1, 0), ("a-big", "a", 4, 0), ("b-big", "b", 5, 0),
        ("a-new", "a", 5, 5), ("b-new", "b", 5, 5),
    ):  # fmt: skip
        desk.now += 1
        desk.submit(name, queue, cpu=cpu, priority=priority)
        desk.run()
    wait_out(desk, (1, 0))


rows = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.integers(0, 2)), min_size=2, max_size=8
)
preemption = st.builds(
    PreemptionPolicy,
    st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
    st.sampled_from(["Never", "LowerPriority", "Any"]),
    st.booleans(),
)


@given(rows, st.lists(preemption, min_size=3, max_size=3), st.sampled_from([Policies(), FAIR]),
       st.lists(st.integers(0, 3), min_size=1, max_size=5),
       st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_once_nothing_new_comes_preemption_ends(
    asks: list[tuple[str, int, int]],
    chosen: list[PreemptionPolicy],
    policies: Policies,
    stops: list[int],
    nominal: tuple[int, int, int],
) -> None:
    """At most one preemption a workload, and nobody evicts the same one twice."""
    desk = Desk(policies)
    for name, policy, amount in zip("abc", chosen, nominal, strict=True):
        desk.queue(name, amount, preemption=policy)
    for number, (queue, cpu, priority) in enumerate(asks):
        desk.now += 1
        desk.submit(f"w{number}", queue, cpu, priority=priority)
        if number % 2:
            desk.run()
    pairs = wait_out(desk, stops)
    assert len(set(pairs)) == len(pairs)
    assert len(pairs) <= len(asks)
