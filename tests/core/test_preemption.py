"""Who gives way to whom, and never more of them than needed."""

from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from allaboard.core.preemption import Because, Newcomer, Running, Victim, find_victims, fits
from allaboard.core.quota import Charges, Node, set_quotas, settle
from allaboard.core.values import FlavorResource, PreemptionPolicy, Quota, Workload, WorkloadKey

CPU = FlavorResource("f", "cpu")
WITHIN = PreemptionPolicy(within_cluster_queue="LowerPriority")
RECLAIM = PreemptionPolicy(reclaim_within_cohort="Any")
BOTH = PreemptionPolicy("LowerPriority", "Any")


@dataclass
class Scene:
    """Queues `a` and `b` in one cohort; workloads written as queue:amount@priority."""

    a: int = 4
    b: int = 4
    charges: Charges = field(default_factory=Charges)
    running: list[Running] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = Node("team", is_cohort=True)
        for name, nominal in (("a", self.a), ("b", self.b)):
            self.root.children[name] = Node(name, parent=self.root)
            set_quotas(self.root.children[name], {CPU: Quota(nominal)})
        settle(self.root)

    def having(self, text: str) -> "Scene":
        for word in text.split():
            queue, rest = word.split(":")
            amount, _, priority = rest.partition("@")
            number = len(self.running)
            workload = Workload(
                f"uid-{number}", WorkloadKey("ns", f"{word}"), queue, (),
                priority=int(priority or 0), reserved_at=float(number), queued_at=float(number),
            )  # fmt: skip
            one = Running(workload, self.root.children[queue], {CPU: int(amount)})
            self.charges.charge(one.node, one.usage)
            self.running.append(one)
        return self

    def newcomer(self, text: str, policy: PreemptionPolicy) -> Newcomer:
        queue, rest = text.split(":")
        amount, _, priority = rest.partition("@")
        workload = Workload(
            "new", WorkloadKey("ns", "new"), queue, (), priority=int(priority or 0), queued_at=50.0
        )
        return Newcomer(workload, self.root.children[queue], policy, {CPU: int(amount)}, (CPU,))

    def residents(self, node: Node) -> list[Running]:
        return [one for one in self.running if one.node is node]

    def victims(self, text: str, policy: PreemptionPolicy) -> tuple[Victim, ...]:
        return find_victims(self.newcomer(text, policy), self.residents, self.charges)


def names(victims: tuple[Victim, ...]) -> list[str]:
    return [victim.running.workload.key.name for victim in victims]


LIMITED = PreemptionPolicy("Never", "Any", borrow_within_cohort=True, borrow_threshold=5)


@pytest.mark.parametrize(
    ("running", "newcomer", "policy", "expected"),
    [
        pytest.param("a:8@1", "a:4@2", PreemptionPolicy(), [], id="never means never"),
        pytest.param("a:4@1 b:4", "a:4@2", WITHIN, ["a:4@1"], id="lower priority gives way"),
        pytest.param("a:4@2 b:4", "a:4@2", WITHIN, [], id="equal priority does not"),
        pytest.param(
            "a:2@1 a:2@0 b:4", "a:2@2", WITHIN, ["a:2@0"], id="the least important goes first"
        ),
        pytest.param(
            "a:1@0 a:3@1 b:4", "a:3@2", WITHIN, ["a:3@1"], id="what turns out unneeded is spared"
        ),
        pytest.param("a:4 b:4", "a:1@9", RECLAIM, [], id="an owner's own quota is safe"),
        pytest.param("b:8", "a:4", RECLAIM, ["b:8"], id="a borrower gives back, at any priority"),
        pytest.param(
            "b:3 b:3 b:2", "a:2", RECLAIM, ["b:2"], id="the newest borrower first, no more"
        ),
        pytest.param("b:8", "a:6", RECLAIM, [], id="but not for another borrower"),
        pytest.param(
            "b:8@9", "a:4@1", PreemptionPolicy("Never", "LowerPriority"), [],
            id="reclaiming from lower priority only",
        ),
        pytest.param("b:8@1", "a:6@9", LIMITED, ["b:8@1"], id="borrowers below the threshold"),
        pytest.param("b:8@6", "a:6@9", LIMITED, [], id="not above the threshold"),
        pytest.param(
            "a:1@0 b:7", "a:3@1", BOTH, ["b:7"], id="others before the own queue"
        ),
    ],
)  # fmt: skip
def test_victims(
    running: str, newcomer: str, policy: PreemptionPolicy, expected: list[str]
) -> None:
    assert names(Scene().having(running).victims(newcomer, policy)) == expected


def test_newer_equals_give_way_where_the_policy_says_so() -> None:
    policy = PreemptionPolicy(within_cluster_queue="LowerOrNewerEqualPriority")
    scene = Scene().having("a:4 b:4")
    older = scene.newcomer("a:4", policy)
    assert find_victims(older, scene.residents, scene.charges) == ()
    newer_running = [
        Running(
            Workload("late", WorkloadKey("ns", "late"), "a", (), queued_at=99.0),
            scene.root.children["a"],
            {CPU: 4},
        )
    ]
    assert names(find_victims(older, lambda node: newer_running, scene.charges)) == ["late"]


def test_each_victim_knows_why() -> None:
    assert [v.because for v in Scene().having("b:8").victims("a:4", RECLAIM)] == [
        Because.RECLAMATION
    ]
    assert [v.because for v in Scene().having("a:8@1").victims("a:8@2", WITHIN)] == [
        Because.IN_CLUSTER_QUEUE
    ]


def test_a_subtree_within_its_own_quota_is_left_alone() -> None:
    """One team's queues borrow from each other; an outsider may not take from them."""
    root = Node("root", is_cohort=True)
    team = root.children["team"] = Node("team", is_cohort=True, parent=root)
    left = team.children["left"] = Node("left", parent=team)
    right = team.children["right"] = Node("right", parent=team)
    outside = root.children["outside"] = Node("outside", parent=root)
    for node, nominal in ((left, 1), (right, 3), (outside, 2)):
        set_quotas(node, {CPU: Quota(nominal)})
    settle(root)
    charges = Charges()
    borrower = Running(Workload("w", WorkloadKey("n", "w"), "left", ()), left, {CPU: 4})
    charges.charge(left, borrower.usage)
    other = Running(Workload("x", WorkloadKey("n", "x"), "outside", ()), outside, {CPU: 2})
    charges.charge(outside, other.usage)
    ask = Workload("new", WorkloadKey("n", "new"), "outside", (), priority=5)
    from_outside = Newcomer(ask, outside, RECLAIM, {CPU: 1}, (CPU,))

    def residents(node: Node) -> list[Running]:
        return [one for one in (borrower, other) if one.node is node]

    assert find_victims(from_outside, residents, charges) == ()
    from_inside = Newcomer(ask, right, RECLAIM, {CPU: 3}, (CPU,))
    assert names(find_victims(from_inside, residents, charges)) == ["w"]


words = st.lists(
    st.builds("{}:{}@{}".format, st.sampled_from("ab"), st.integers(1, 4), st.integers(0, 3)),
    max_size=5,
)
policies = st.builds(
    PreemptionPolicy,
    st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
    st.sampled_from(["Never", "LowerPriority", "Any"]),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 3)),
)


@given(words, st.integers(1, 6), st.integers(0, 3), policies)
def test_with_the_victims_gone_it_fits_and_with_any_of_them_it_does_not(
    running: list[str], amount: int, priority: int, policy: PreemptionPolicy
) -> None:
    """No victim is needless: giving back any one of them, the newcomer no longer fits."""
    scene = Scene().having(" ".join(running))
    newcomer = scene.newcomer(f"a:{amount}@{priority}", policy)
    assume(not fits(newcomer, borrow=True))  # else nobody would ask
    before = scene.root.cells[CPU].usage
    victims = find_victims(newcomer, scene.residents, scene.charges)
    assert scene.root.cells[CPU].usage == before
    if victims:
        with scene.charges.trial():
            for victim in victims:
                scene.charges.release(victim.running.node, victim.running.usage)
            assert fits(newcomer, borrow=True)
    for victim in victims:
        with scene.charges.trial():
            for other in victims:
                if other is not victim:
                    scene.charges.release(other.running.node, other.running.usage)
            # Without borrowing more room is needed, so only the weaker question has one answer.
            assert not fits(newcomer, borrow=False)
