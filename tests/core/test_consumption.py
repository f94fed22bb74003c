"""LocalQueues of one ClusterQueue take turns by what they consumed."""

import pytest
from desk import Desk

from allaboard.core.consumption import Consumption
from allaboard.core.decisions import Evict
from allaboard.core.values import LocalQueue, LocalQueueKey, Policies, PreemptionPolicy

ONE, TWO = LocalQueueKey("ns", "one"), LocalQueueKey("ns", "two")
HOURLY = Policies(usage_half_life_s=3600.0, usage_sampling_s=300.0)


def shared_queue(policies: Policies = HOURLY, **more: object) -> Desk:
    desk = Desk(policies)
    desk.queue("a", 1, usage_based=True, **more)
    for key in (ONE, TWO):
        desk.ledger.put_local_queue(LocalQueue(key, "a"))
    return desk


def test_the_lighter_local_queue_goes_first_whatever_priority_and_age() -> None:
    desk = shared_queue()
    desk.ledger.put_consumption(ONE, {"cpu": 100.0}, 0.0)
    desk.submit("heavy", "one", priority=9)
    desk.submit("light", "two", queued_at=5.0)
    assert [w.key.name for w in desk.ledger.queues["a"].pending.in_order()] == ["light", "heavy"]
    desk.run()
    assert desk.admitted() == ["light"]


def test_among_equal_local_queues_priority_and_age_decide() -> None:
    desk = shared_queue()
    desk.submit("old", "one", queued_at=1.0)
    desk.submit("urgent", "two", queued_at=2.0, priority=1)
    desk.run()
    assert desk.admitted() == ["urgent"]


def test_an_admission_weighs_in_before_the_next_sample() -> None:
    """A burst between two samples does not go to one LocalQueue alone."""
    desk = shared_queue()
    desk.queue("a", 4, usage_based=True)
    for number in range(4):
        desk.submit(f"one-{number}", "one", queued_at=float(number))
        desk.submit(f"two-{number}", "two", queued_at=10.0 + number)
    desk.run()
    assert desk.admitted() == ["one-0", "one-1", "two-0", "two-1"]


@pytest.mark.parametrize(
    ("age_s", "weight", "expected"),
    [
        pytest.param(0.0, 1000, 80.0, id="fresh consumption counts in full"),
        pytest.param(3600.0, 1000, 40.0, id="half after a half-life"),
        pytest.param(7200.0, 1000, 20.0, id="a quarter after two"),
        pytest.param(0.0, 2000, 40.0, id="twice the weight is half the load"),
        pytest.param(0.0, 0, float("inf"), id="who consumed with weight 0 comes last"),
    ],
)
def test_consumption_is_forgotten_by_halves(age_s: float, weight: int, expected: float) -> None:
    accounts = Consumption(HOURLY)
    accounts.put_weight(ONE, weight)
    accounts.sample(ONE, {"cpu": 80.0}, 100.0)
    accounts.now = 100.0 + age_s
    assert accounts.load(ONE) == pytest.approx(expected)


def test_resources_weigh_as_configured() -> None:
    accounts = Consumption(Policies(usage_half_life_s=1.0, resource_weights={"memory": 0.0}))
    accounts.sample(ONE, {"cpu": 2.0, "memory": 4e9}, 0.0)
    assert accounts.load(ONE) == 2.0


def test_a_sample_settles_the_penalties_it_includes_and_no_others() -> None:
    accounts = Consumption(Policies(usage_half_life_s=300.0, usage_sampling_s=300.0))
    accounts.charge(ONE, "w1", {"cpu": 8}, 10.0)
    accounts.charge(ONE, "w2", {"cpu": 4}, 20.0)
    assert accounts.load(ONE) == 6.0
    accounts.sample(ONE, {"cpu": 0.0}, 15.0)
    accounts.now = 15.0
    assert accounts.load(ONE) == 2.0
    accounts.refund(ONE, "w2")
    assert accounts.load(ONE) == 0.0


def test_a_refused_write_gives_the_penalty_back() -> None:
    desk = shared_queue()
    desk.submit("w", "one")
    desk.run(carry_out=False)
    assert desk.ledger.consumption.load(ONE) > 0
    desk.ledger.refuse("uid-w")
    assert desk.ledger.consumption.load(ONE) == 0


def test_a_restart_counts_the_same_penalties() -> None:
    """Kueue #12891: usage was lost or counted twice."""
    desk = shared_queue()
    desk.now = 5.0
    desk.submit("w", "one")
    desk.run()
    fresh = desk.reborn()
    assert fresh.ledger.consumption.load(ONE) == desk.ledger.consumption.load(ONE) > 0
    for one in (desk, fresh):
        one.ledger.put_consumption(ONE, {"cpu": 3.0}, 6.0)
        one.ledger.consumption.now = 6.0
        assert one.ledger.consumption.load(ONE) == 3.0


def test_the_heavier_local_queue_is_preempted_first() -> None:
    desk = shared_queue()
    policy = PreemptionPolicy("LowerPriority")
    desk.queue("a", 2, usage_based=True, preemption=policy)
    desk.submit("light", "one")
    desk.submit("heavy", "two")
    desk.run()
    desk.ledger.put_consumption(TWO, {"cpu": 500.0}, 0.0)
    desk.submit("urgent", "one", priority=5)
    evicted = [d.workload.key.name for d in desk.run() if isinstance(d, Evict)]
    assert evicted == ["heavy"]
