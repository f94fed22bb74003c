"""The smaller rules of admission, one scenario each."""

import pytest
from desk import Desk, cpu_group

from allaboard.core.decisions import Evict, Park, QueueStopped, Reserve, Resume, Unreserve
from allaboard.core.nominating import shrunk
from allaboard.core.preemption import Because
from allaboard.core.reasons import NamespaceNotSelected, PodSetRefused, Short, UnknownFlavor
from allaboard.core.values import (
    Check,
    Cohort,
    Flavor,
    FlavorQuotas,
    LocalQueue,
    LocalQueueKey,
    PodSet,
    PreemptionPolicy,
    Quota,
    Requirement,
    ResourceGroup,
)

RECLAIM = PreemptionPolicy("LowerPriority", "Any")


def wide(count: int, least: int | None = None, name: str = "main") -> PodSet:
    return PodSet(name, count, {"cpu": 1}, min_count=least)


def counts(desk: Desk, name: str) -> list[int]:
    assignment = desk.get(name).assignment
    return [part.count for part in assignment.pod_sets] if assignment is not None else []


# Part of a workload


@pytest.mark.parametrize(
    ("pods", "free", "expected"),
    [
        pytest.param([wide(4, 1)], 4, [4], id="all of it where all of it fits"),
        pytest.param([wide(4, 1)], 3, [3], id="as much as fits"),
        pytest.param([wide(4, 2)], 1, [], id="never less than the least"),
        pytest.param([wide(4)], 3, [], id="nothing less where nothing less was offered"),
        pytest.param([wide(8, 4, "a"), wide(4, 2, "b")], 9, [6, 3], id="all sets on one scale"),
        pytest.param([wide(1, None, "a"), wide(6, 0, "b")], 4, [1, 3], id="only who can gives"),
    ],
)
def test_part_of_it_is_admitted(pods: list[PodSet], free: int, expected: list[int]) -> None:
    desk = Desk(a=free)
    desk.submit("w", "a", pod_sets=tuple(pods))
    desk.run()
    assert counts(desk, "w") == expected


def test_the_scale_ends_at_the_least_of_every_set() -> None:
    pods = [wide(7, 2, "a"), wide(3, 1, "b"), wide(5, None, "c")]
    assert [p.count for p in shrunk(pods, 7, 7)] == [2, 1, 5]
    assert [p.count for p in shrunk(pods, 0, 7)] == [7, 3, 5]


def test_part_of_it_may_preempt_too_and_no_more_than_it_needs() -> None:
    desk = Desk()
    desk.queue("a", 4, preemption=RECLAIM, cohort="")
    desk.submit("stays", "a", cpu=1, priority=9)
    desk.submit("goes", "a", cpu=3)
    desk.run()
    desk.submit("w", "a", priority=5, pod_sets=(wide(9, 2),))
    evicted = [d.workload.key.name for d in desk.run() if isinstance(d, Evict)]
    assert evicted == ["goes"]
    desk.stop("goes")
    desk.run()
    assert counts(desk, "w") == [3]


def test_part_of_it_wakes_when_the_least_fits() -> None:
    desk = Desk(a=4)
    desk.submit("full", "a", cpu=4)
    desk.run()
    desk.submit("w", "a", pod_sets=(wide(4, 1),))
    desk.run()
    desk.change("full", pod_sets=(PodSet("main", 1, {"cpu": 4}),), finished=True)
    desk.submit("other", "a", cpu=2, priority=1)
    desk.run()
    assert counts(desk, "w") == [2]


def test_pods_not_needed_again_are_neither_asked_for_nor_charged_twice() -> None:
    desk = Desk(a=2)
    desk.submit("w", "a", pod_sets=(wide(4),), reclaimable={"main": 2})
    desk.run()
    assert counts(desk, "w") == [2]
    assert desk.ledger.forest.usage()["a"] == {("f", "cpu"): 2}
    desk.change("w", reclaimable={"main": 3})
    assert desk.ledger.forest.usage()["a"] == {("f", "cpu"): 1}


# Limits and waking


def test_nobody_borrows_more_than_its_limit_or_than_others_lend() -> None:
    desk = Desk()
    desk.queue("a", 2, groups=(cpu_group(2, borrowing=1),))
    desk.queue("b", 4, groups=(cpu_group(4, lending=2),))
    desk.queue("c", 0)
    desk.submit("own", "a", cpu=2)
    desk.run()
    desk.submit("too-much", "a", cpu=2)
    desk.submit("enough", "a", cpu=1, queued_at=5.0)
    desk.run()
    desk.submit("beyond", "c", cpu=2)
    desk.submit("lent", "c", cpu=1, queued_at=9.0)
    desk.run()
    assert desk.admitted() == ["enough", "lent", "own"]


def test_a_release_that_is_not_enough_may_open_a_way_to_preempt() -> None:
    desk = Desk()
    desk.queue("a", 4, cohort="", preemption=RECLAIM)
    desk.submit("low", "a", cpu=1)
    desk.submit("high", "a", cpu=3, priority=5)
    desk.run()
    desk.submit("mid", "a", cpu=4, priority=3)
    assert not any(isinstance(d, Evict) for d in desk.run())
    desk.finish("high")
    assert [d.workload.key.name for d in desk.run() if isinstance(d, Evict)] == ["low"]


def test_an_admission_that_makes_a_queue_borrow_may_open_a_way_to_reclaim() -> None:
    desk = Desk()
    desk.queue("a", 3, preemption=PreemptionPolicy("Never", "LowerPriority"))
    desk.queue("b", 4)
    desk.queue("c", 0)
    desk.submit("high", "c", cpu=2, priority=9)
    desk.submit("b1", "b", cpu=3)
    desk.run()
    desk.submit("owner", "a", cpu=3, priority=5)
    assert not any(isinstance(d, Evict) for d in desk.run())
    desk.submit("b2", "b", cpu=2)
    assert [d.workload.key.name for d in desk.run() if isinstance(d, Evict)] == ["b1"]


# Hierarchy


def test_a_subtree_with_room_reclaims_from_outsiders_even_if_its_queue_borrows() -> None:
    """`a` has nothing of its own, its team has; the outsider merely borrows from that team."""
    desk = Desk()
    desk.ledger.put_cohort(Cohort("team", "root", (cpu_group(4),)))
    desk.ledger.put_cohort(Cohort("others", "root"))
    desk.queue("a", 0, cohort="team", preemption=RECLAIM)
    desk.queue("z", 0, cohort="others")
    desk.submit("v", "z", cpu=4, priority=9)
    desk.run()
    desk.submit("w", "a", cpu=4)
    evicted = [d for d in desk.run() if isinstance(d, Evict)]
    assert [d.workload.key.name for d in evicted] == ["v"]
    assert evicted[0].cause.because is Because.RECLAMATION  # type: ignore[union-attr]


def test_two_borrowers_of_one_team_do_not_displace_one_another() -> None:
    desk = Desk()
    desk.ledger.put_cohort(Cohort("team", "root", (cpu_group(4),)))
    for name in "ab":
        desk.queue(name, 0, cohort="team", preemption=RECLAIM)
    desk.submit("v", "b", cpu=4)
    desk.run()
    desk.submit("w", "a", cpu=4)
    assert not any(isinstance(d, Evict) for d in desk.run())


# Replacement


def test_a_replacement_counts_the_room_of_the_one_it_replaces() -> None:
    desk = Desk(a=4)
    desk.submit("old", "a", cpu=3)
    desk.run()
    desk.submit("new", "a", cpu=4, replaces="uid-old")
    desk.submit("thief", "a", cpu=1, queued_at=9.0)
    desk.run()
    assert "new" in desk.admitted() and "old" not in desk.admitted()
    assert desk.ledger.forest.usage()["a"] == {("f", "cpu"): 4}


def test_the_replaced_one_runs_on_while_there_is_no_room() -> None:
    desk = Desk(a=4)
    desk.submit("old", "a", cpu=3)
    desk.submit("other", "a", cpu=1)
    desk.run()
    desk.submit("new", "a", cpu=4, replaces="uid-old")
    desk.run()
    assert desk.admitted() == ["old", "other"]
    desk.finish("other")
    desk.run()
    assert desk.admitted() == ["new"]


def test_a_restart_between_the_two_counts_their_room_once() -> None:
    desk = Desk(a=4)
    desk.submit("old", "a", cpu=3)
    desk.run()
    desk.submit("new", "a", cpu=4, replaces="uid-old")
    (decision,) = [d for d in desk.run(carry_out=False) if isinstance(d, Reserve)]
    desk.change("new", assignment=decision.assignment, admitted=True)
    for one in (desk, desk.reborn()):
        assert one.ledger.forest.usage()["a"] == {("f", "cpu"): 4}
        one.delete("new")
        assert one.ledger.forest.usage()["a"] == {("f", "cpu"): 3}


# Stopped queues


@pytest.mark.parametrize("is_local", [False, True], ids=["ClusterQueue", "LocalQueue"])
def test_a_stopped_queue_evicts_and_its_work_resumes_with_it(is_local: bool) -> None:
    desk = Desk(a=4)

    def stop(policy: str) -> None:
        if is_local:
            key = LocalQueueKey("ns", "a")
            desk.ledger.put_local_queue(LocalQueue(key, "a", policy))  # type: ignore[arg-type]
        else:
            desk.ledger.put_cluster_queue(
                desk.ledger.queues["a"].config.__class__("a", "team", (cpu_group(4),), stop=policy)  # type: ignore[arg-type]
            )

    desk.submit("w", "a")
    desk.run()
    stop("HoldAndDrain")
    assert [d.cause for d in desk.run() if isinstance(d, Evict)] == [QueueStopped(is_local)]
    which = "LocalQueue" if is_local else "ClusterQueue"
    desk.change("w", assignment=None, admitted=False, may_queue=False, stopped=which)
    assert desk.run() == []
    fresh = desk.reborn()
    assert fresh.run() == []
    stop("None")
    decisions = desk.run()
    assert [d.because for d in decisions if isinstance(d, Resume)] == [f"{which}Restarted"]
    assert desk.admitted() == ["w"]


def test_a_queue_on_hold_takes_back_what_is_not_admitted_yet() -> None:
    desk = Desk()
    desk.queue("a", 4, checks=(Check("prov"),))
    desk.submit("reserved", "a")
    desk.run()
    desk.queue("a", 4, checks=(Check("prov"),), stop="Hold")
    assert [type(d) for d in desk.run()] == [Unreserve]
    assert desk.ledger.forest.usage()["a"] == {}


# Strict order


def test_a_namespace_mismatch_does_not_block_a_strict_queue() -> None:
    desk = Desk()
    desk.ledger.put_namespace("ns", {"team": "ml"})
    desk.queue("a", 2, strategy="StrictFIFO", namespaces=(Requirement("team", "In", ("web",)),))
    desk.submit("alien", "a")
    decisions = desk.run()
    assert [d.reasons for d in decisions if isinstance(d, Park)] == [(NamespaceNotSelected("ns"),)]
    assert not desk.ledger.queues["a"].blocked


def test_a_more_important_arrival_is_looked_at_before_the_blocked_head() -> None:
    desk = Desk()
    desk.queue("a", 2, strategy="StrictFIFO", cohort="")
    desk.submit("runs", "a")
    desk.run()
    desk.submit("big", "a", cpu=2)
    desk.submit("small", "a", queued_at=5.0)
    desk.run()
    assert desk.admitted() == ["runs"]
    desk.submit("urgent", "a", priority=1)
    desk.run()
    assert desk.admitted() == ["runs", "urgent"]


def test_a_blocked_head_that_leaves_unblocks_the_queue() -> None:
    desk = Desk()
    desk.queue("a", 2, strategy="StrictFIFO", cohort="")
    desk.submit("runs", "a")
    desk.submit("big", "a", cpu=2, queued_at=1.0)
    desk.submit("small", "a", queued_at=5.0)
    desk.run()
    desk.delete("big")
    desk.run()
    assert desk.admitted() == ["runs", "small"]


# Things deleted or cut


def test_quota_of_a_deleted_queue_is_counted_again_when_it_is_back() -> None:
    desk = Desk(a=4, b=4)
    desk.submit("w", "a", cpu=6)
    desk.run()
    desk.ledger.drop_cluster_queue("a")
    desk.submit("x", "b", cpu=4)
    desk.run()
    assert desk.admitted() == ["w", "x"]
    desk.queue("a", 4)
    assert desk.ledger.forest.usage() == {"a": {("f", "cpu"): 6}, "b": {("f", "cpu"): 4}}
    desk.submit("y", "b", cpu=1)
    assert not any(isinstance(d, Reserve) for d in desk.run())


def test_without_its_flavor_nobody_is_admitted_and_nobody_evicted() -> None:
    desk = Desk(a=4)
    desk.submit("runs", "a")
    desk.run()
    desk.ledger.drop_flavor("f")
    desk.submit("waits", "a")
    decisions = desk.run()
    assert [d.reasons for d in decisions if isinstance(d, Park)] == [
        (PodSetRefused("main", (UnknownFlavor("f"),)),)
    ]
    assert desk.admitted() == ["runs"]
    desk.ledger.put_flavor(Flavor("f"))
    desk.run()
    assert desk.admitted() == ["runs", "waits"]


def test_an_empty_workload_takes_nothing_and_loops_nowhere() -> None:
    """Kueue #10510: a pod set of no pods made the scheduler spin."""
    desk = Desk(a=0)
    desk.submit("w", "a", pod_sets=(PodSet("main", 0, {"cpu": 4}),))
    desk.run()
    assert desk.admitted() == ["w"] and desk.run() == []


# Telling


def test_everybody_of_a_parked_shape_hears_why_and_once() -> None:
    desk = Desk(a=1)
    desk.submit("runs", "a")
    for number in range(3):
        desk.submit(f"w{number}", "a", queued_at=1.0 + number)
    desk.run()
    desk.submit("late", "a", queued_at=9.0)
    told = [d for d in desk.run() if isinstance(d, Park)]
    short = (PodSetRefused("main", (Short("f", "cpu", 1),)),)
    assert [(d.workload.key.name, d.reasons) for d in told] == [("late", short)]
    desk.finish("runs")
    decisions = desk.run()
    assert [type(d).__name__ for d in decisions] == ["Reserve"], "nothing new to tell the others"


def test_the_one_that_is_looked_at_hears_of_new_amounts() -> None:
    desk = Desk(a=4)
    desk.submit("one", "a", cpu=2)
    desk.submit("two", "a", cpu=2)
    desk.run()
    desk.submit("w", "a", cpu=4)
    desk.queue("a", 4, preemption=RECLAIM)
    desk.run()
    desk.submit("low", "a", cpu=2, priority=-1, queued_at=9.0)
    desk.finish("one")
    told = {d.workload.key.name: d.reasons for d in desk.run() if isinstance(d, Park)}
    assert set(told) <= {"w", "low"}


def test_a_crowd_is_told_in_slices() -> None:
    desk = Desk(a=1)
    desk.submit("runs", "a")
    for number in range(50):
        desk.submit(f"w{number:02}", "a", queued_at=1.0 + number)
    told = []
    for _ in range(30):
        decisions = desk.run(limit=5)
        assert len(decisions) <= 12
        told += [d.workload.key.name for d in decisions if isinstance(d, Park)]
        if desk.wake_at != desk.now:
            break
    assert sorted(told) == [f"w{number:02}" for number in range(50)]


def test_a_cycle_that_spans_slices_decides_the_same() -> None:
    def busy() -> Desk:
        desk = Desk(**dict.fromkeys("abcdef", 2))
        for number in range(30):
            name = f"w{number:02}"
            desk.submit(name, "abcdef"[number % 6], cpu=1 + number % 3, priority=number % 4)
        return desk

    whole, sliced = busy(), busy()
    whole.run()
    for _ in range(300):
        sliced.run(limit=1)
        if sliced.wake_at != sliced.now:
            break
    assert sliced.admitted() == whole.admitted()


def test_the_next_flavor_is_never_lost_on_the_way() -> None:
    """Kueue #13956: nominated to the same flavor for ever."""
    desk = Desk()
    flavors = tuple(FlavorQuotas(f, {"cpu": Quota(n)}) for f, n in (("f", 4), ("g", 2)))
    desk.ledger.put_flavor(Flavor("g"))
    desk.queue("a", 0, groups=(ResourceGroup(("cpu",), flavors),), preemption=RECLAIM)
    desk.submit("on-f", "a", cpu=4, priority=5)
    desk.run()
    for number in range(3):
        desk.submit(f"w{number}", "a", cpu=1, queued_at=1.0 + number)
    desk.settle()
    assert desk.admitted() == ["on-f", "w0", "w1"]
