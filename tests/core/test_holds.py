"""What a preemptor holds: across restarts, against thieves, and how it ends."""

from desk import Desk, cpu_group

from allaboard.core.decisions import Decision, Evict, Park, Reserve
from allaboard.core.reasons import HoldLost, Preempting
from allaboard.core.values import (
    Cohort,
    Flavor,
    FlavorQuotas,
    PreemptionPolicy,
    Quota,
    ResourceGroup,
)

RECLAIM = PreemptionPolicy("LowerPriority", "Any")


def evicted(decisions: list[Decision]) -> list[str]:
    return [d.workload.key.name for d in decisions if isinstance(d, Evict)]


def with_a_hold(**more: object) -> Desk:
    """`owner` in `a` has evicted `v`, which borrows in `b` and has not stopped yet."""
    desk = Desk()
    desk.queue("a", 4, preemption=RECLAIM, **more)
    desk.queue("b", 4, preemption=RECLAIM)
    desk.submit("v", "b", cpu=8)
    desk.run()
    desk.now = 7.0
    desk.submit("owner", "a", cpu=4)
    assert evicted(desk.run()) == ["v"]
    return desk


def test_the_hold_is_told_so_that_it_can_be_kept() -> None:
    desk = with_a_hold()
    hold = desk.get("owner").hold
    assert hold is not None and hold.cluster_queue == "a" and desk.get("owner").held_since == 7.0


def test_a_restart_keeps_the_hold_and_evicts_nobody_again() -> None:
    desk = with_a_hold().reborn()
    assert desk.ledger.forest.usage()["a"] == {("f", "cpu"): 4}
    assert desk.run() == []
    desk.submit("thief", "b", cpu=4, priority=9)
    desk.stop("v")
    desk.run()
    assert desk.admitted() == ["owner", "thief"]


def test_a_crash_between_hold_and_eviction_evicts_after_the_restart() -> None:
    desk = with_a_hold()
    desk.change("v", evicted=False)
    desk = desk.reborn()
    assert evicted(desk.run()) == ["v"]
    assert desk.get("owner").hold is not None


def test_a_crash_between_eviction_and_hold_takes_the_hold_again() -> None:
    desk = with_a_hold()
    desk.change("owner", hold=None)
    desk = desk.reborn()
    decisions = desk.run()
    assert evicted(decisions) == []
    assert [d.reasons[-1] for d in decisions if isinstance(d, Park)] == [Preempting(1)]


def test_stale_news_do_not_bring_a_lost_hold_back() -> None:
    desk = with_a_hold()
    hold = desk.get("owner").hold
    desk.queue("a", 4, stop="Hold")
    told = [d for d in desk.run() if isinstance(d, Park)]
    assert told == [Park(told[0].workload, (HoldLost(),))] and desk.get("owner").hold is None
    desk.change("owner", hold=hold)  # from before our write
    assert desk.ledger.holders() == []


def test_whoever_could_preempt_it_may_take_its_hold_and_nobody_else() -> None:
    desk = Desk()
    desk.queue("a", 4, preemption=RECLAIM)
    desk.queue("b", 0)
    desk.submit("v", "b", cpu=4)
    desk.run()
    desk.submit("owner", "a", cpu=4)
    desk.run()
    desk.submit("equal", "a", cpu=4)
    desk.run()
    assert [e.workload.key.name for e in desk.ledger.holders()] == ["owner"]
    desk.submit("urgent", "a", cpu=4, priority=5)
    assert evicted(desk.run()) == []
    assert [e.workload.key.name for e in desk.ledger.holders()] == ["urgent"]
    assert desk.get("owner").hold is None
    desk.stop("v")
    desk.settle()
    assert desk.admitted() == ["urgent"]


def test_it_is_admitted_as_soon_as_it_fits_even_if_others_made_room() -> None:
    desk = Desk()
    desk.queue("a", 4, preemption=RECLAIM)
    desk.queue("b", 4)
    desk.submit("v1", "b", cpu=4)
    desk.submit("v2", "b", cpu=4)
    desk.run()
    desk.submit("owner", "a", cpu=4)
    assert evicted(desk.run()) == ["v1"]
    desk.finish("v2")
    desk.run()
    assert desk.admitted() == ["owner", "v1"]


def test_with_quota_cut_meanwhile_the_least_important_gives_up_first() -> None:
    desk = Desk()
    desk.queue("a", 2, preemption=RECLAIM)
    desk.queue("b", 2, preemption=RECLAIM)
    desk.queue("c", 0)
    desk.submit("v1", "c", cpu=2)
    desk.submit("v2", "c", cpu=2)
    desk.run()
    desk.submit("x", "a", cpu=2, priority=1)
    desk.submit("y", "b", cpu=2, priority=2)
    assert sorted(evicted(desk.run())) == ["v1", "v2"]
    desk.queue("a", 0, preemption=RECLAIM)
    desk.stop("v1")
    desk.stop("v2")
    desk.run()
    assert desk.admitted() == ["y"] and desk.get("x").hold is None


def test_strict_fifo_lets_nobody_overtake_a_preemptor_but_the_more_important() -> None:
    desk = with_a_hold(strategy="StrictFIFO")
    desk.ledger.put_flavor(Flavor("f"))
    desk.submit("behind", "a", cpu=0, queued_at=99.0)
    assert not any(isinstance(d, Reserve) for d in desk.run())
    desk.submit("before", "a", cpu=0, priority=1)
    desk.run()
    assert desk.admitted() == ["before", "v"]
    desk.stop("v")
    desk.run()
    assert desk.admitted() == ["before", "behind", "owner"]


def test_a_refused_eviction_is_tried_again() -> None:
    desk = Desk()
    desk.queue("a", 4, preemption=RECLAIM)
    desk.queue("b", 4)
    desk.submit("v", "b", cpu=8)
    desk.run()
    desk.submit("owner", "a", cpu=4)
    assert evicted(desk.run(carry_out=False)) == ["v"]
    desk.ledger.refuse("uid-v")
    assert evicted(desk.run()) == ["v"]


def test_a_deleted_queue_takes_its_holds_along() -> None:
    desk = with_a_hold()
    desk.ledger.drop_cluster_queue("a")
    desk.stop("v")
    desk.run()
    assert desk.ledger.holders() == [] and desk.admitted() == []
    desk.queue("a", 4, preemption=RECLAIM)
    desk.settle()
    assert desk.admitted() == ["owner"]


def test_holds_on_several_flavors_and_cohorts_survive_too() -> None:
    desk = Desk()
    flavors = tuple(FlavorQuotas(f, {"cpu": Quota(2)}) for f in ("f", "g"))
    desk.ledger.put_flavor(Flavor("g"))
    desk.ledger.put_cohort(Cohort("team", "top", (cpu_group(1),)))
    desk.queue("a", 0, groups=(ResourceGroup(("cpu",), flavors),), preemption=RECLAIM)
    desk.queue("b", 0)
    desk.submit("v", "b", cpu=3)
    desk.submit("on-g", "a", cpu=2)
    desk.run()
    desk.submit("urgent", "a", cpu=2, priority=3)
    desk.run()
    fresh = desk.reborn()
    assert fresh.ledger.forest.usage() == desk.ledger.forest.usage()
