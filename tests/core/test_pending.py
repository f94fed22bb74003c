"""The waiting line: total order, buckets by shape, and nobody forgotten."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from allaboard.core.pending import Parked, Pending, order_of, shape_of
from allaboard.core.values import FlavorResource, PodSet, Workload, WorkloadKey

CPU = FlavorResource("f", "cpu")


def workload(name: str, cpu: int = 1, priority: int = 0, queued_at: float = 0.0) -> Workload:
    pods = PodSet("main", 1, {"cpu": cpu})
    return Workload(f"uid-{name}", WorkloadKey("ns", name), "q", (pods,), priority=priority,
                    queued_at=queued_at)  # fmt: skip


def test_priority_comes_before_age_and_age_before_name() -> None:
    line = Pending()
    for one in (workload("c", queued_at=1), workload("b", queued_at=1), workload("a", queued_at=2),
                workload("z", priority=1, queued_at=9)):  # fmt: skip
        line.add(one)
    assert [w.key.name for w in line.in_order()] == ["z", "b", "c", "a"]
    head = line.head()
    assert head is not None and head.key.name == "z"


def test_a_shape_is_parked_and_woken_as_one() -> None:
    line = Pending()
    for name in "abc":
        line.add(workload(name, cpu=9))
    line.add(workload("small", queued_at=5))
    bucket = line.park("uid-a", Parked((), ((CPU, 9),)))
    assert [w.key.name for _, w in sorted(bucket.members.values(), key=lambda m: m[0])] == [
        "a",
        "b",
        "c",
    ]
    assert line.head() == workload("small", queued_at=5)
    line.add(workload("d", cpu=9))
    assert line.head() == workload("small", queued_at=5)
    line.wake(bucket)
    assert line.head() == workload("a", cpu=9)


def test_one_whose_request_changed_waits_anew() -> None:
    line = Pending()
    line.add(workload("a", cpu=9))
    line.park("uid-a", Parked(()))
    line.add(workload("a", cpu=1))
    assert line.head() == workload("a", cpu=1)
    assert len(line) == 1


class Line(RuleBasedStateMachine):
    """Against a plain list: the head is always the least of those not parked."""

    def __init__(self) -> None:
        super().__init__()
        self.line = Pending()
        self.waiting: dict[str, Workload] = {}
        self.parked: set[object] = set()

    @rule(name=st.sampled_from("abcdef"), cpu=st.integers(1, 2), priority=st.integers(0, 2),
          queued_at=st.integers(0, 3))  # fmt: skip
    def add(self, name: str, cpu: int, priority: int, queued_at: int) -> None:
        one = workload(name, cpu, priority, float(queued_at))
        self.line.add(one)
        self.waiting[one.uid] = one
        self._forget_empty()

    @rule(name=st.sampled_from("abcdef"))
    def remove(self, name: str) -> None:
        self.line.remove(f"uid-{name}")
        self.waiting.pop(f"uid-{name}", None)
        self._forget_empty()

    @rule()
    def park_head(self) -> None:
        head = self.line.head()
        if head is not None:
            self.line.park(head.uid, Parked(()))
            self.parked.add(shape_of(head))

    @rule()
    def wake(self) -> None:
        self.line.wake_all()
        self.parked.clear()

    def _forget_empty(self) -> None:
        self.parked &= {shape_of(w) for w in self.waiting.values()}

    @invariant()
    def head_is_least(self) -> None:
        free = [w for w in self.waiting.values() if shape_of(w) not in self.parked]
        assert self.line.head() == min(free, key=order_of, default=None)
        assert len(self.line) == len(self.waiting)


TestLine = Line.TestCase
TestLine.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
