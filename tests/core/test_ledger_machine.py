"""Random queues, workloads, quota changes, deletions and restarts against what must always hold."""

from typing import Any

from desk import Desk, cpu_group
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from allaboard.core.cycle import _is_held_up
from allaboard.core.decisions import Decision, Evict, Park, Preempted, Reserve
from allaboard.core.flavors import Mode
from allaboard.core.nominating import propose_for, room_of_replaced
from allaboard.core.values import (
    Cohort,
    Flavor,
    LocalQueue,
    LocalQueueKey,
    PodSet,
    Policies,
    PreemptionPolicy,
)

QUEUES = ("a", "b", "c")
policies = st.builds(
    PreemptionPolicy,
    st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
    st.sampled_from(["Never", "LowerPriority", "Any"]),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 2)),
)
names = st.sampled_from([f"w{n}" for n in range(8)])
limits = st.one_of(st.none(), st.integers(0, 3))
sharing = st.builds(
    Policies,
    st.booleans(),
    st.sampled_from(
        [
            ("LessThanOrEqualToFinalShare", "LessThanInitialShare"),
            ("LessThanOrEqualToFinalShare",),
            ("LessThanInitialShare",),
        ]
    ),
    st.sampled_from([0.0, 10.0]),
)


class Admissions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(a=3, b=3, c=0)

    @initialize(chosen=sharing)
    def begin(self, chosen: Policies) -> None:
        self.desk = Desk(chosen, a=3, b=3, c=0)

    def known(self, name: str) -> bool:
        return f"uid-{name}" in self.desk.ledger.entries

    # News

    @rule(name=names, queue=st.sampled_from(QUEUES), cpu=st.integers(1, 2),
          count=st.integers(1, 3), least=st.one_of(st.none(), st.integers(1, 2)),
          priority=st.integers(0, 2))  # fmt: skip
    def submit(
        self, name: str, queue: str, cpu: int, count: int, least: int | None, priority: int
    ) -> None:
        if not self.known(name):
            self.desk.now += 1
            fewest = least if least is not None and least < count else None
            pods = PodSet("main", count, {"cpu": cpu}, min_count=fewest)
            self.desk.submit(name, queue, priority=priority, pod_sets=(pods,))

    @rule(name=names)
    def finish(self, name: str) -> None:
        if self.known(name) and self.desk.get(name).admitted:
            self.desk.finish(name)

    @rule(name=names)
    def delete(self, name: str) -> None:
        if self.known(name):
            self.desk.delete(name)

    @rule(name=names)
    def pods_of_the_evicted_are_gone(self, name: str) -> None:
        if self.known(name) and self.desk.get(name).evicted:
            self.desk.stop(name)

    @rule(name=names, by=st.sampled_from(["ClusterQueue", "LocalQueue"]))
    def a_stopped_one_waits_for_its_queue(self, name: str, by: str) -> None:
        if self.known(name) and self.desk.get(name).evicted:
            self.desk.change(
                name, assignment=None, admitted=False, evicted=False, may_queue=False, stopped=by
            )

    @rule(name=names, gone=st.integers(0, 3))
    def some_pods_are_done(self, name: str, gone: int) -> None:
        if self.known(name) and self.desk.get(name).admitted:
            self.desk.change(name, reclaimable={"main": gone})

    @rule(name=names, priority=st.integers(0, 2))
    def priority_changes(self, name: str, priority: int) -> None:
        if self.known(name):
            self.desk.change(name, priority=priority)

    @rule(queue=st.sampled_from(QUEUES), nominal=st.integers(0, 5), borrowing=limits,
          lending=limits, policy=policies, cohort=st.sampled_from(["team", "", "other"]),
          more=st.fixed_dictionaries({
              "strategy": st.sampled_from(["BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"]),
              "stop": st.sampled_from(["None"] * 4 + ["Hold", "HoldAndDrain"]),
              "weight_milli": st.sampled_from([0, 500, 1000]),
              "usage_based": st.booleans(),
          }))  # fmt: skip
    def reconfigure(
        self,
        queue: str,
        nominal: int,
        borrowing: int | None,
        lending: int | None,
        policy: PreemptionPolicy,
        cohort: str,
        more: dict[str, Any],
    ) -> None:
        group = cpu_group(nominal, borrowing if cohort else None, lending if cohort else None)
        self.desk.queue(queue, nominal, groups=(group,), preemption=policy, cohort=cohort, **more)

    @rule(queue=st.sampled_from(QUEUES))
    def a_queue_is_deleted(self, queue: str) -> None:
        self.desk.ledger.drop_cluster_queue(queue)

    @rule(queue=st.sampled_from(QUEUES), stop=st.sampled_from(["None", "Hold", "HoldAndDrain"]))
    def a_local_queue_is_stopped(self, queue: str, stop: Any) -> None:
        self.desk.ledger.put_local_queue(LocalQueue(LocalQueueKey("ns", queue), queue, stop))

    @rule(name=st.sampled_from(["team", "other"]), parent=st.sampled_from(["", "top", "team"]),
          nominal=st.integers(0, 2), weight=st.sampled_from([500, 1000]))  # fmt: skip
    def a_cohort_changes(self, name: str, parent: str, nominal: int, weight: int) -> None:
        self.desk.ledger.put_cohort(Cohort(name, parent, (cpu_group(nominal),), weight))

    @rule(there=st.booleans())
    def the_flavor_comes_and_goes(self, there: bool) -> None:
        if there:
            self.desk.ledger.put_flavor(Flavor("f"))
        else:
            self.desk.ledger.drop_flavor("f")

    @rule(queue=st.sampled_from(QUEUES), used=st.integers(0, 9))
    def consumption_is_sampled(self, queue: str, used: int) -> None:
        key = LocalQueueKey("ns", queue)
        self.desk.ledger.put_consumption(key, {"cpu": float(used)}, self.desk.now)

    # Decisions

    @rule(limit=st.integers(1, 4))
    def decide_a_little(self, limit: int) -> None:
        self._judge(self.desk.run(limit=limit))

    @rule()
    def decide(self) -> None:
        """A reservation fits when it is made; afterwards nothing that fits is left waiting."""
        self._judge(self.desk.run())
        self._nothing_that_fits_waits()
        assert self.desk.run() == [], "deciding twice about the same is a loop"

    @rule()
    @precondition(lambda self: self.desk.ledger.agenda is None)
    def restart(self) -> None:
        """A restart forgets nothing that matters: same usage, and the same decisions next."""
        old, new = self.desk, self.desk.reborn()
        assert new.ledger.forest.usage() == old.ledger.forest.usage()
        before, after = old.run(), new.run(carry_out=False)
        assert _acts(after) == _acts(before)

    @rule()
    def calm(self) -> None:
        """Left alone, with evicted work stopping and coming back, everything comes to rest."""
        evictions = self.desk.settle()
        assert evictions <= len(self.desk.ledger.entries)

    def _judge(self, decisions: list[Decision]) -> None:
        reserved = [d.workload.uid for d in decisions if isinstance(d, Reserve)]
        evicted = [d.workload for d in decisions if isinstance(d, Evict)]
        assert len(set(reserved)) == len(reserved)
        assert len({w.uid for w in evicted}) == len(evicted)
        assert not any(w.evicted for w in evicted), "evicted twice"
        for decision in decisions:
            if isinstance(decision, Evict) and isinstance(decision.cause, Preempted):
                assert decision.workload.uid != decision.cause.by_uid
                kept = any(entry.charged for entry in self.desk.ledger.entries.values())
                assert kept, "evicted for nobody"

    def _nothing_that_fits_waits(self) -> None:
        ledger = self.desk.ledger
        for name, state in ledger.queues.items():
            waiting = state.pending.in_order()
            if state.is_strict:
                waiting = [w for w in waiting[:1] if not _is_held_up(state, w.uid, ledger)]
            for workload in waiting if not ledger.forest.is_broken(name) else ():
                entry = ledger.entries[workload.uid]
                with room_of_replaced(ledger, workload):
                    proposal = propose_for(ledger, entry, state)
                assert proposal.mode is not Mode.FIT, f"{workload.key} fits in {name}"


def _acts(decisions: list[Decision]) -> list[tuple[str, str]]:
    """What is done, leaving out what is merely told again after a restart."""
    return [(type(d).__name__, d.workload.uid) for d in decisions if not isinstance(d, Park)]


TestAdmissions = Admissions.TestCase
TestAdmissions.settings = settings(max_examples=80, stateful_step_count=30, deadline=None)
