"""Fair shares: who is over its share, who goes first, and who gives way."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from desk import Desk, cpu_group

from allaboard.core.decisions import Evict, Preempted
from allaboard.core.fair_preemption import below_common_ancestor, find_fair_victims
from allaboard.core.preemption import Because, Newcomer, Running, Victim
from allaboard.core.quota import Charges, Node, set_quotas, settle
from allaboard.core.sharing import REPORTED_INFINITY, reported_share, share_of
from allaboard.core.values import (
    Cohort,
    FairStrategy,
    FlavorResource,
    Policies,
    PreemptionPolicy,
    Quota,
    Workload,
    WorkloadKey,
)

CPU = FlavorResource("f", "cpu")
GPU = FlavorResource("f", "gpu")
FAIR = Policies(fair_sharing=True)
ANY = PreemptionPolicy("LowerPriority", "Any")
FINAL: tuple[FairStrategy, ...] = ("LessThanOrEqualToFinalShare",)
INITIAL: tuple[FairStrategy, ...] = ("LessThanInitialShare",)
BOTH = FINAL + INITIAL


@dataclass
class Cohorts:
    """Queues a, b, c of 3 each in one cohort; workloads written as queue:amount@priority."""

    weights: dict[str, int] = field(default_factory=dict)
    charges: Charges = field(default_factory=Charges)
    running: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = Node("team", is_cohort=True)
        for name in "abc":
            node = Node(name, parent=self.root, weight_milli=self.weights.get(name, 1000))
            self.root.children[name] = node
            set_quotas(node, {CPU: Quota(3), GPU: Quota(0)})
        settle(self.root)

    def having(self, text: str) -> "Cohorts":
        for word in text.split():
            workload, node, amount = self._read(word, f"uid-{len(self.running)}")
            self.charges.charge(node, {CPU: amount})
            self.running.append(Running(workload, node, {CPU: amount}))
        return self

    def _read(self, word: str, uid: str) -> tuple[Workload, Node, int]:
        queue, rest = word.split(":")
        amount, _, priority = rest.partition("@")
        number = float(len(self.running))
        workload = Workload(uid, WorkloadKey("ns", word), queue, (), priority=int(priority or 0),
                            reserved_at=number, queued_at=number)  # fmt: skip
        return workload, self.root.children[queue], int(amount)

    def victims(
        self, text: str, strategies: tuple[FairStrategy, ...], policy: PreemptionPolicy = ANY
    ) -> list[Victim]:
        workload, node, amount = self._read(text, "new")
        newcomer = Newcomer(workload, node, policy, {CPU: amount}, (CPU,))
        before = {name: child.cells[CPU].usage for name, child in self.root.children.items()}
        found = find_fair_victims(newcomer, self._residents, self.charges, strategies)
        after = {name: child.cells[CPU].usage for name, child in self.root.children.items()}
        assert before == after
        return list(found)

    def _residents(self, node: Node) -> list[Running]:
        return [one for one in self.running if one.node is node]


@pytest.mark.parametrize(
    ("running", "weights", "expected"),
    [
        pytest.param("a:3", {}, 0, id="within its own nobody has a share"),
        pytest.param("a:6", {}, 334, id="three of nine borrowed, rounded up"),
        pytest.param("a:6", {"a": 2000}, 167, id="twice the weight is half the share"),
        pytest.param("a:6", {"a": 0}, REPORTED_INFINITY, id="borrowing with weight 0 is too much"),
        pytest.param("a:3", {"a": 0}, 0, id="not borrowing with weight 0 is fine"),
    ],
)
def test_the_share_of_a_queue(running: str, weights: dict[str, int], expected: int) -> None:
    cohorts = Cohorts(weights).having(running)
    assert reported_share(cohorts.root.children["a"]) == expected


def test_the_most_borrowed_resource_dominates() -> None:
    root = Node("team", is_cohort=True)
    one = root.children["one"] = Node("one", parent=root)
    other = root.children["other"] = Node("other", parent=root)
    set_quotas(one, {CPU: Quota(0), GPU: Quota(0)})
    set_quotas(other, {CPU: Quota(10), GPU: Quota(4)})
    settle(root)
    charges = Charges()
    charges.charge(one, {CPU: 3, GPU: 2})
    assert share_of(one) == (0, 500.0)
    assert share_of(root) == (0, 0.0), "a root borrows from nobody"


def test_among_weightless_borrowers_the_larger_is_still_larger() -> None:
    cohorts = Cohorts({"a": 0, "b": 0}).having("a:5 b:4")
    a, b = cohorts.root.children["a"], cohorts.root.children["b"]
    assert share_of(a) > share_of(b) > share_of(cohorts.root.children["c"])


@pytest.mark.parametrize(
    ("running", "newcomer", "strategies", "expected"),
    [
        pytest.param("a:4 a:4 b:1", "b:2", BOTH, ["a:4"], id="own quota is taken back"),
        pytest.param("a:1 a:1 a:1 a:1 a:1 a:1 b:3", "b:1", FINAL, ["a:1"],
                     id="the borrower with less may grow to an equal share"),
        pytest.param("a:5 b:4", "b:1", FINAL, [], id="equal after, but not without the victim"),
        pytest.param("a:1 a:1 a:1 a:2 b:4", "b:1", FINAL, [], id="equals do not displace equals"),
        pytest.param("a:6 b:3", "b:2", FINAL, [], id="the victim would be left with less"),
        pytest.param("a:6 b:3", "b:2", INITIAL, ["a:6"], id="less than what the victim has now"),
        pytest.param("a:6 b:3", "b:2", BOTH, ["a:6"], id="the second strategy is the last resort"),
        pytest.param("a:6 b:3", "b:3", INITIAL, [], id="as much as the victim has is not less"),
        pytest.param("a:5 b:4", "c:3", BOTH, ["a:5"], id="the highest share gives first"),
        pytest.param("a:3 b:3 c:3", "a:1", BOTH, [], id="who stays within its own gives nothing"),
        pytest.param("a:3@0 b:1 b:5", "a:1@5", BOTH, ["b:1"], id="higher shares before the own"),
        pytest.param("a:6@0 b:3", "a:6@5", BOTH, ["a:6@0"], id="the own queue by priority"),
    ],
)  # fmt: skip
def test_fair_victims(
    running: str, newcomer: str, strategies: tuple[FairStrategy, ...], expected: list[str]
) -> None:
    found = Cohorts().having(running).victims(newcomer, strategies)
    assert [v.running.workload.key.name for v in found] == expected


def test_victims_know_whether_shares_or_ownership_decided() -> None:
    took_back = Cohorts().having("a:6 b:3").victims("c:3", BOTH)
    assert [v.because for v in took_back] == [Because.RECLAMATION]
    levelled = Cohorts().having("a:6 b:3").victims("b:2", BOTH)
    assert [v.because for v in levelled] == [Because.FAIR_SHARING]


def test_reclaiming_from_lower_priority_only_holds_under_shares_too() -> None:
    policy = PreemptionPolicy("Never", "LowerPriority")
    assert Cohorts().having("a:6@5 b:3").victims("c:3@4", BOTH, policy) == []
    found = Cohorts().having("a:6@3 b:3").victims("c:3@4", BOTH, policy)
    assert [v.running.workload.key.name for v in found] == ["a:6@3"]


def test_a_lighter_weight_makes_the_same_borrowing_heavier() -> None:
    scene = Cohorts({"b": 4000}).having("a:1 a:1 a:1 a:1 b:5")
    assert [v.running.workload.key.name for v in scene.victims("b:1", INITIAL)] == ["a:1"]
    assert Cohorts({"b": 250}).having("a:1 a:1 a:1 a:1 a:1 b:4").victims("b:1", INITIAL) == []


def test_shares_are_compared_below_the_lowest_common_cohort() -> None:
    root = Node("root", is_cohort=True)
    left = root.children["left"] = Node("left", is_cohort=True, parent=root)
    right = root.children["right"] = Node("right", is_cohort=True, parent=root)
    a = left.children["a"] = Node("a", parent=left)
    b = left.children["b"] = Node("b", parent=left)
    c = right.children["c"] = Node("c", parent=right)
    assert below_common_ancestor(a, b) == (a, b)
    assert below_common_ancestor(a, c) == (left, right)


# Order


def test_the_smaller_share_after_admission_goes_first_whatever_its_age() -> None:
    desk = Desk(FAIR, a=0, b=0, c=4)
    desk.submit("a1", "a", cpu=2)
    desk.run()
    desk.submit("a2", "a", cpu=1, queued_at=1.0)
    desk.submit("b1", "b", cpu=2, queued_at=2.0)
    desk.run()
    assert desk.admitted() == ["a1", "b1"]


def test_who_does_not_borrow_goes_before_who_does() -> None:
    desk = Desk(FAIR, a=1, b=1)
    desk.submit("borrower", "a", cpu=2, queued_at=1.0)
    desk.submit("owner", "b", cpu=1, queued_at=2.0)
    desk.run()
    assert desk.admitted() == ["owner"]


def test_equal_shares_are_decided_by_priority_and_age() -> None:
    desk = Desk(FAIR, a=0, b=0, c=1)
    desk.submit("old", "a", queued_at=1.0)
    desk.submit("urgent", "b", queued_at=2.0, priority=1)
    desk.run()
    assert desk.admitted() == ["urgent"]


def test_cohorts_take_turns_before_their_queues_do() -> None:
    """Two teams share a root's quota; the team with more queues gets no more than the other."""
    desk = Desk(FAIR)
    desk.ledger.put_cohort(Cohort("root", "", (cpu_group(4),)))
    for team, queues in (("big", "abcd"), ("small", "yz")):
        desk.ledger.put_cohort(Cohort(team, "root"))
        for queue in queues:
            desk.queue(queue, 0, cohort=team)
            desk.submit(f"{queue}1", queue, queued_at=9.0 if team == "small" else 1.0)
    desk.run()
    assert desk.admitted() == ["a1", "b1", "y1", "z1"]


def test_a_borrower_with_the_smaller_share_takes_and_then_all_is_quiet() -> None:
    desk = Desk(FAIR)
    for name, nominal in (("a", 0), ("b", 0), ("c", 4)):
        desk.queue(name, nominal, preemption=ANY)
    for number in range(4):
        desk.submit(f"a{number}", "a")
    desk.run()
    for number in range(4):
        desk.submit(f"b{number}", "b")
    decisions: list[Any] = desk.run()
    causes = [d.cause for d in decisions if isinstance(d, Evict)]
    assert causes == [Preempted("uid-b0", "", Because.FAIR_SHARING)] or len(causes) == 2
    for decision in decisions:
        if isinstance(decision, Evict):
            desk.stop(decision.workload.key.name)
    assert desk.settle() <= 2
    assert [n[0] for n in desk.admitted()] == ["a", "a", "b", "b"]
