"""Admission, cycle by cycle: who gets in, who waits, who gives way, and nobody forgotten."""

import pytest
from desk import Desk, cpu_group

from allaboard.core.decisions import Evict, Park, Preempted, QueueStopped
from allaboard.core.preemption import Because
from allaboard.core.reasons import NamespaceNotSelected, PodSetRefused, Preempting, Short
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


def test_what_fits_is_admitted_at_once_and_the_rest_waits_with_the_amount_missing() -> None:
    desk = Desk(a=4)
    for number in range(6):
        desk.submit(f"w{number}", "a")
    decisions = desk.run()
    assert desk.admitted() == ["w0", "w1", "w2", "w3"]
    parked = [d for d in decisions if isinstance(d, Park)]
    assert [d.workload.key.name for d in parked] == ["w4", "w5"]
    assert parked[0].reasons == (PodSetRefused("main", (Short("f", "cpu", 1),)),)


def test_a_finished_workload_wakes_who_waits_in_the_same_tree() -> None:
    desk = Desk(a=2, b=2)
    for name in ("w1", "w2", "w3", "w4"):
        desk.submit(name, "a")
    desk.submit("w5", "b")
    desk.run()
    assert desk.admitted() == ["w1", "w2", "w3", "w5"]
    desk.finish("w5")
    desk.run()
    assert desk.admitted() == ["w1", "w2", "w3", "w4"]


def test_nothing_to_decide_means_no_decisions() -> None:
    desk = Desk(a=1)
    desk.submit("w1", "a")
    desk.submit("w2", "a")
    desk.run()
    assert desk.run() == [] and desk.wake_at is None


def test_priority_then_age_decides_within_a_queue() -> None:
    desk = Desk(a=1)
    desk.submit("old", "a", queued_at=1.0)
    desk.submit("new", "a", queued_at=2.0)
    desk.submit("urgent", "a", queued_at=3.0, priority=5)
    desk.run()
    assert desk.admitted() == ["urgent"]


def test_who_borrows_less_goes_first_across_queues() -> None:
    desk = Desk(a=1, b=1)
    desk.submit("borrower", "a", cpu=2, queued_at=1.0)
    desk.submit("owner", "b", cpu=1, queued_at=2.0)
    desk.run()
    assert desk.admitted() == ["owner"]


def test_strict_fifo_lets_nobody_overtake_and_best_effort_does() -> None:
    for strategy, expected in (("StrictFIFO", []), ("BestEffortFIFO", ["small"])):
        desk = Desk()
        desk.queue("a", 2, strategy=strategy, cohort="")
        desk.submit("full", "a", cpu=1)
        desk.run()
        desk.submit("big", "a", cpu=2)
        desk.submit("small", "a", cpu=1, queued_at=9.0)
        desk.run()
        assert [n for n in desk.admitted() if n != "full"] == expected, strategy
        desk.finish("full")
        desk.run()
        assert ("big" in desk.admitted()) == (strategy == "StrictFIFO")


def test_a_preemptor_holds_what_it_freed_until_it_is_admitted() -> None:
    """Kueue #13662: evicted work must not steal the quota back."""
    desk = Desk()
    desk.queue("a", 4, preemption=RECLAIM)
    desk.queue("b", 4)
    desk.submit("v1", "b", cpu=4)
    desk.submit("v2", "b", cpu=4)
    desk.run()
    desk.submit("owner", "a", cpu=4)
    decisions = desk.run()
    evicted = [d for d in decisions if isinstance(d, Evict)]
    assert [d.workload.key.name for d in evicted] == ["v1"]
    assert evicted[0].cause == Preempted("uid-owner", "", Because.RECLAMATION)
    told = [d.reasons[-1] for d in decisions if isinstance(d, Park)]
    assert told == [Preempting(1)]
    desk.submit("thief", "b", cpu=4, priority=9)
    desk.stop("v1")
    desk.run()
    assert desk.admitted() == ["owner", "v2"]


def test_a_preemptor_that_leaves_gives_its_hold_back() -> None:
    desk = Desk()
    desk.queue("a", 4, preemption=RECLAIM)
    desk.queue("b", 4)
    desk.submit("v", "b", cpu=8)
    desk.run()
    desk.submit("owner", "a", cpu=4)
    desk.run()
    desk.delete("owner")
    desk.stop("v")
    desk.run()
    assert desk.admitted() == ["v"]


def test_a_status_write_of_the_preemptor_does_not_end_its_hold() -> None:
    desk = Desk()
    desk.queue("a", 4, preemption=RECLAIM)
    desk.queue("b", 4)
    desk.submit("v", "b", cpu=8)
    desk.run()
    desk.submit("owner", "a", cpu=4)
    desk.run()
    desk.change("owner", executed_s=0.0)
    desk.submit("thief", "b", cpu=8)
    desk.stop("v")
    desk.run()
    assert desk.admitted() == ["owner"]


def test_two_preemptors_never_share_a_victim() -> None:
    desk = Desk()
    for name in "ab":
        desk.queue(name, 2, preemption=RECLAIM)
    desk.queue("c", 0)
    desk.submit("v1", "c", cpu=2)
    desk.submit("v2", "c", cpu=2)
    desk.run()
    desk.submit("x", "a", cpu=2)
    desk.submit("y", "b", cpu=2)
    decisions = desk.run()
    assert sorted(d.workload.key.name for d in decisions if isinstance(d, Evict)) == ["v1", "v2"]
    desk.stop("v1")
    desk.stop("v2")
    desk.run()
    assert desk.admitted() == ["x", "y"]


def test_a_refused_write_gives_the_quota_back_and_tries_again() -> None:
    desk = Desk(a=1)
    desk.submit("w", "a")
    desk.run(carry_out=False)
    desk.ledger.refuse("uid-w")
    desk.run()
    assert desk.admitted() == ["w"]


def test_old_news_do_not_undo_a_decision_under_way() -> None:
    desk = Desk(a=1)
    desk.submit("w", "a")
    desk.run(carry_out=False)
    desk.change("w", executed_s=0.0)  # news from before our write
    assert desk.run() == []


def test_admission_checks_stand_between_reserved_and_admitted() -> None:
    desk = Desk()
    desk.queue("a", 4, checks=(Check("prov"), Check("other", ("elsewhere",))))
    desk.submit("w", "a")
    desk.run()
    assert desk.admitted() == [] and desk.get("w").assignment is not None
    desk.change("w", checks={"prov": "Ready"})
    desk.run()
    assert desk.admitted() == ["w"]


@pytest.mark.parametrize(
    ("told", "word"), [("Retry", "Evict w"), ("Rejected", "Deactivate w"), ("Pending", None)]
)
def test_a_check_may_send_it_back(told: str, word: str | None) -> None:
    desk = Desk()
    desk.queue("a", 4, checks=(Check("prov"),))
    desk.submit("w", "a")
    desk.run()
    desk.change("w", checks={"prov": told})
    desk.run()
    assert desk.diary[1:] == ([word] if word else [])


def test_a_held_queue_admits_nobody_and_a_drained_one_evicts() -> None:
    desk = Desk(a=4)
    desk.submit("runs", "a")
    desk.run()
    desk.queue("a", 4, stop="Hold")
    desk.submit("waits", "a")
    assert desk.run() == []
    desk.queue("a", 4, stop="HoldAndDrain")
    decisions = desk.run()
    assert [type(d) for d in decisions] == [Evict]
    assert decisions[0].cause == QueueStopped(is_local=False)  # type: ignore[union-attr]
    desk.queue("a", 4)
    desk.stop("runs")
    desk.run()
    assert desk.admitted() == ["runs", "waits"]


def test_a_backoff_is_waited_out_to_the_second() -> None:
    desk = Desk(a=1)
    desk.submit("w", "a", requeue_at=60.0, may_queue=False)
    assert desk.run() == [] and desk.wake_at == 60.0
    desk.now = 59.0
    assert desk.run() == []
    desk.now = 60.0
    desk.run()
    assert desk.diary == ["Resume w", "Reserve w"]


def test_the_execution_limit_counts_earlier_runs() -> None:
    desk = Desk(a=1)
    desk.submit("w", "a", max_execution_s=100.0, executed_s=30.0)
    desk.run()
    desk.run()
    assert desk.wake_at == 70.0
    desk.now = 70.0
    desk.run()
    assert desk.diary == ["Reserve w", "Deactivate w"]


def test_namespaces_the_queue_does_not_choose_wait_with_a_reason() -> None:
    desk = Desk()
    desk.queue("a", 4, namespaces=(Requirement("team", "In", ("ml",)),))
    desk.submit("w", "a")
    decisions = desk.run()
    assert decisions == [Park(desk.get("w"), (NamespaceNotSelected("ns"),))]
    desk.ledger.put_namespace("ns", {"team": "ml"})
    desk.run()
    assert desk.admitted() == ["w"]


def test_a_cycle_of_cohorts_stops_its_own_queues_only() -> None:
    desk = Desk()
    desk.queue("a", 4, cohort="x")
    desk.queue("b", 4, cohort="sane")
    desk.ledger.put_cohort(Cohort("x", "y"))
    desk.ledger.put_cohort(Cohort("y", "x"))
    desk.submit("stuck", "a")
    desk.submit("fine", "b")
    desk.run()
    assert desk.admitted() == ["fine"]
    desk.ledger.put_cohort(Cohort("y"))
    desk.run()
    assert desk.admitted() == ["fine", "stuck"]


def test_reclaimable_pods_make_room_before_the_workload_ends() -> None:
    desk = Desk(a=4)
    desk.submit("wide", "a", pod_sets=(PodSet("main", 4, {"cpu": 1}),))
    desk.submit("next", "a", cpu=3, queued_at=1.0)
    desk.run()
    assert desk.admitted() == ["wide"]
    desk.change("wide", reclaimable={"main": 3})
    desk.run()
    assert desk.admitted() == ["next", "wide"]


def test_the_next_flavor_is_tried_when_the_first_is_full() -> None:
    desk = Desk()
    flavors = tuple(FlavorQuotas(f, {"cpu": Quota(1)}) for f in ("f", "g"))
    desk.ledger.put_flavor(Flavor("g"))
    desk.queue("a", 0, groups=(ResourceGroup(("cpu",), flavors),))
    for name in ("w1", "w2", "w3"):
        desk.submit(name, "a")
    desk.run()
    chosen = [desk.get(w).assignment for w in ("w1", "w2")]
    assert [c.pod_sets[0].flavors["cpu"] for c in chosen if c] == ["f", "g"]
    assert desk.admitted() == ["w1", "w2"]


def test_a_workload_without_a_usable_queue_waits_nowhere_and_comes_when_there_is_one() -> None:
    desk = Desk(a=4)
    desk.submit("w", "missing")
    assert desk.run() == []
    desk.ledger.put_local_queue(LocalQueue(LocalQueueKey("ns", "missing"), "a"))
    desk.run()
    assert desk.admitted() == ["w"]


def test_quota_cut_below_usage_admits_nobody_and_evicts_nobody() -> None:
    desk = Desk()
    desk.queue("a", 4, cohort="")
    desk.submit("w1", "a", cpu=4)
    desk.run()
    desk.queue("a", 2, cohort="", groups=(cpu_group(2),))
    desk.submit("w2", "a")
    desk.run()
    assert desk.admitted() == ["w1"]


def test_many_hopeless_workloads_of_one_shape_cost_one_look() -> None:
    desk = Desk(a=1)
    desk.submit("runs", "a")
    desk.run()
    for number in range(200):
        desk.submit(f"h{number:03}", "a", queued_at=1.0 + number)
    looked: list[str] = []
    oracle = desk.ledger.namespace_is_selected
    desk.ledger.namespace_is_selected = (  # type: ignore[method-assign]
        lambda w, c: looked.append(w.key.name) or oracle(w, c)  # type: ignore[func-returns-value]
    )
    assert len([d for d in desk.run() if isinstance(d, Park)]) == 200
    assert looked == ["h000"]
    desk.finish("runs")
    desk.run()
    assert desk.admitted() == ["h000"]
