"""Random queues, workloads, quota changes and deletions against what must always hold."""

from desk import Desk, cpu_group
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from allaboard.core.cycle import needed_pods
from allaboard.core.decisions import Evict, Reserve
from allaboard.core.flavors import Market, Mode, propose
from allaboard.core.ledger import Ledger
from allaboard.core.quota import available
from allaboard.core.values import (
    ClusterQueue,
    Flavor,
    FlavorResource,
    LocalQueue,
    LocalQueueKey,
    PreemptionPolicy,
)

QUEUES = ("a", "b", "c")
CPU = FlavorResource("f", "cpu")
policies = st.builds(
    PreemptionPolicy,
    st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
    st.sampled_from(["Never", "LowerPriority", "Any"]),
    st.booleans(),
)
names = st.sampled_from([f"w{n}" for n in range(8)])


class Admissions(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.desk = Desk(a=3, b=3, c=0)
        self.configs: dict[str, ClusterQueue] = {}
        self.turn = 0.0

    def known(self, name: str) -> bool:
        return f"uid-{name}" in self.desk.ledger.entries

    @rule(
        name=names, queue=st.sampled_from(QUEUES), cpu=st.integers(1, 4), priority=st.integers(0, 2)
    )
    def submit(self, name: str, queue: str, cpu: int, priority: int) -> None:
        if not self.known(name):
            self.turn += 1
            self.desk.now = self.turn
            self.desk.submit(name, queue, cpu, priority=priority)

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

    @rule(queue=st.sampled_from(QUEUES), nominal=st.integers(0, 5),
          borrowing=st.one_of(st.none(), st.integers(0, 3)),
          lending=st.one_of(st.none(), st.integers(0, 3)), policy=policies,
          cohort=st.sampled_from(["team", "", "other"]))  # fmt: skip
    def reconfigure(
        self,
        queue: str,
        nominal: int,
        borrowing: int | None,
        lending: int | None,
        policy: PreemptionPolicy,
        cohort: str,
    ) -> None:
        group = cpu_group(nominal, borrowing if cohort else None, lending if cohort else None)
        self.desk.queue(queue, nominal, groups=(group,), preemption=policy, cohort=cohort)

    @rule()
    def decide(self) -> None:
        """A reservation fits when it is made; afterwards nothing that fits is left waiting."""
        decisions = self.desk.run()
        reserved = [d for d in decisions if isinstance(d, Reserve)]
        evicted = [d.workload.uid for d in decisions if isinstance(d, Evict)]
        assert len(evicted) == len(set(evicted))
        assert len({d.workload.uid for d in reserved}) == len(reserved)
        self._nothing_that_fits_waits()
        self._rebuilt_from_scratch_it_is_the_same()
        assert self.desk.run() == [], "deciding twice about the same is a loop"

    def _nothing_that_fits_waits(self) -> None:
        ledger = self.desk.ledger
        for name, state in ledger.queues.items():
            node = ledger.forest.node(name)
            market = Market(state.config, node, ledger.flavors, lambda key, amount: Mode.NO_FIT)
            for workload in state.pending.in_order():
                proposal = propose(needed_pods(workload), market)
                assert proposal.mode is not Mode.FIT, f"{workload.key} fits in {name}"

    def _rebuilt_from_scratch_it_is_the_same(self) -> None:
        """Holds excepted: they live in the ledger until the shell stores them."""
        ledger, fresh = self.desk.ledger, Ledger()
        if ledger.holders():
            return
        fresh.put_flavor(Flavor("f"))
        for name, state in ledger.queues.items():
            fresh.put_cluster_queue(state.config)
            fresh.put_local_queue(LocalQueue(LocalQueueKey("ns", name), name))
        for entry in ledger.entries.values():
            fresh.put_workload(entry.workload)
        assert fresh.forest.usage() == ledger.forest.usage()
        for name in ledger.queues:
            mine, other = ledger.forest.node(name), fresh.forest.node(name)
            assert available(mine, CPU) == available(other, CPU)


TestAdmissions = Admissions.TestCase
TestAdmissions.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
