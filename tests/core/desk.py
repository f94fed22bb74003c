"""A shell for tests: carries decisions out on plain values at once, and keeps a diary."""

from dataclasses import replace
from typing import Any

from allaboard.core.cycle import step
from allaboard.core.decisions import (
    Admit,
    Deactivate,
    Decision,
    Evict,
    Park,
    Reserve,
    Resume,
    Unreserve,
)
from allaboard.core.invariants import check, check_reserved_fits
from allaboard.core.ledger import Entry, Ledger
from allaboard.core.values import (
    Assignment,
    ClusterQueue,
    Flavor,
    FlavorQuotas,
    LocalQueue,
    LocalQueueKey,
    PodSet,
    Policies,
    Quota,
    ResourceGroup,
    Workload,
    WorkloadKey,
)


def cpu_group(nominal: int, borrowing: int | None = None, lending: int | None = None) -> Any:
    return ResourceGroup(
        ("cpu",), (FlavorQuotas("f", {"cpu": Quota(nominal, borrowing, lending)}),)
    )


class Desk:
    """Queues are named by letters; `a` in cohort `team` unless said otherwise."""

    def __init__(self, policies: Policies | None = None, **queues: int) -> None:
        self.ledger = Ledger(policies)
        self.now = 0.0
        self.diary: list[str] = []
        self.wake_at: float | None = None
        self._watch_admissions()
        self.ledger.put_flavor(Flavor("f"))
        self.ledger.put_namespace("ns", {})
        for name, nominal in queues.items():
            self.queue(name, nominal)

    def _watch_admissions(self) -> None:
        """Every reservation must fit at the moment it is made."""
        assume = self.ledger.assume

        def watched(entry: Entry, assignment: Assignment, now: float) -> None:
            assume(entry, assignment, now)
            check_reserved_fits(self.ledger, entry.workload.uid)

        self.ledger.assume = watched  # type: ignore[method-assign]

    def queue(self, name: str, nominal: int, **more: Any) -> None:
        more.setdefault("cohort", "team")
        groups = more.pop("groups", (cpu_group(nominal),))
        self.ledger.put_cluster_queue(ClusterQueue(name, groups=groups, **more))
        key = LocalQueueKey("ns", name)
        self.ledger.put_local_queue(LocalQueue(key, name))

    def submit(self, name: str, queue: str, cpu: int = 1, **more: Any) -> None:
        more.setdefault("created_at", self.now)
        more.setdefault("queued_at", self.now)
        pods = more.pop("pod_sets", (PodSet("main", 1, {"cpu": cpu}),))
        workload = Workload(f"uid-{name}", WorkloadKey("ns", name), queue, pods, **more)
        self.ledger.put_workload(workload)
        check(self.ledger)

    def get(self, name: str) -> Workload:
        return self.ledger.entries[f"uid-{name}"].workload

    def change(self, name: str, **more: Any) -> None:
        self.ledger.put_workload(replace(self.get(name), **more))
        check(self.ledger)

    def finish(self, name: str) -> None:
        self.change(name, finished=True)

    def stop(self, name: str) -> None:
        """An evicted workload's pods are gone: its quota comes back."""
        self.change(name, assignment=None, admitted=False, evicted=False)

    def delete(self, name: str) -> None:
        self.ledger.drop_workload(f"uid-{name}")
        check(self.ledger)

    def run(self, carry_out: bool = True, limit: int = 10_000) -> list[Decision]:
        decisions, self.wake_at = step(self.ledger, self.now, limit)
        check(self.ledger)
        for decision in decisions:
            self.diary.append(f"{type(decision).__name__} {decision.workload.key.name}")
            if carry_out:
                self._carry_out(decision)
        return decisions

    def _carry_out(self, decision: Decision) -> None:
        name = decision.workload.key.name
        match decision:
            case Reserve(assignment=assignment, admitted=admitted):
                self.change(name, assignment=assignment, admitted=admitted, hold=None,
                            evicted=False, reserved_at=self.now, admitted_at=self.now)  # fmt: skip
                if decision.workload.replaces in self.ledger.entries:
                    self.finish(decision.workload.replaces.removeprefix("uid-"))
            case Admit():
                self.change(name, admitted=True, admitted_at=self.now)
            case Evict():
                self.change(name, evicted=True)
            case Unreserve():
                self.change(name, assignment=None)
            case Deactivate():
                self.change(name, active=False, evicted=True)
            case Resume():
                self.change(name, requeue_at=None, may_queue=True, stopped="")
            case Park(hold=hold):
                since = self.get(name).held_since if hold == self.get(name).hold else self.now
                self.change(name, hold=hold, held_since=since)

    def settle(self, rounds: int = 50) -> int:
        """Evicted work stops at once, until nothing happens; says how many were evicted."""
        evictions = 0
        for _ in range(rounds):
            decisions = self.run()
            gone = [d.workload.key.name for d in decisions if isinstance(d, Evict)]
            evictions += len(gone)
            for name in gone:
                self.stop(name)
            if not decisions:
                return evictions
        raise AssertionError(f"still busy after {rounds} rounds: {self.diary[-20:]}")

    def reborn(self) -> "Desk":
        """The same world after a restart: whatever is not in an object's status is forgotten."""
        old, new = self.ledger, Desk(self.ledger.policies)
        new.now = self.now
        new.ledger.drop_flavor("f")
        for flavor in old.flavors.values():
            new.ledger.put_flavor(flavor)
        for entry in reversed(list(old.entries.values())):
            new.ledger.put_workload(entry.workload)
        for local in old.local_queues.values():
            new.ledger.put_local_queue(local)
        for cohort in old.forest.cohorts():
            new.ledger.put_cohort(cohort)
        for state in old.queues.values():
            new.ledger.put_cluster_queue(state.config)
        check(new.ledger)
        return new

    def admitted(self) -> list[str]:
        return sorted(
            e.workload.key.name
            for e in self.ledger.entries.values()
            if e.workload.admitted and not e.workload.finished
        )
