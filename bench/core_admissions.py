"""How fast does the core decide, and how long does one slice of it take?

    python -m bench.core_admissions [--queues N] [--cohorts N] [--pending N] [--fair] [--slice N]

Kueue's large-scale mix in memory: ClusterQueues of 20 CPUs that may borrow 100, small, medium and
large workloads of rising priority, preemption within queues and cohorts. Everything is pending at
the start; who is admitted finishes a round later, who is evicted stops at once and waits again,
until nobody is left. In the first rounds one urgent workload arrives in every queue, full by then.
Counted is CPU time in the core: events taken in and steps, not the making of the values it is told;
what else the machine does at the time does not matter.
"""

import argparse
import resource
import time
from dataclasses import dataclass, field, replace

from allaboard.core.cycle import step
from allaboard.core.decisions import Decision, Evict, Park, Reserve
from allaboard.core.ledger import Ledger
from allaboard.core.values import (
    ClusterQueue,
    Flavor,
    FlavorQuotas,
    LocalQueue,
    LocalQueueKey,
    PodSet,
    Policies,
    PreemptionPolicy,
    Quota,
    ResourceGroup,
    Workload,
    WorkloadKey,
)

CLASSES = ((70, 50, 1_000), (22, 100, 5_000), (8, 200, 20_000))  # share in %, priority, milli-CPU
URGENT_ROUNDS = 5


@dataclass
class Run:
    ledger: Ledger
    slice_limit: int
    now: float = 0.0
    core_s: float = 0.0
    slices_s: list[float] = field(default_factory=list)
    admissions: int = 0
    evictions: int = 0
    told: int = 0
    running: list[str] = field(default_factory=list)

    def put(self, workload: Workload) -> None:
        begin = time.process_time()
        self.ledger.put_workload(workload)
        self.core_s += time.process_time() - begin

    def decide(self) -> None:
        """Slices until there is nothing left to decide, each followed by its confirmations."""
        wake_at: float | None = self.now
        while wake_at == self.now:
            begin = time.process_time()
            decisions, wake_at = step(self.ledger, self.now, self.slice_limit)
            took = time.process_time() - begin
            self.core_s += took
            self.slices_s.append(took)
            for decision in decisions:
                self.carry_out(decision)
            if any(isinstance(decision, Evict) for decision in decisions):
                wake_at = self.now

    def carry_out(self, decision: Decision) -> None:
        uid = decision.workload.uid
        workload = self.ledger.entries[uid].workload
        if isinstance(decision, Reserve):
            self.admissions += 1
            self.running.append(uid)
            self.put(replace(workload, assignment=decision.assignment, admitted=True,
                             reserved_at=self.now, admitted_at=self.now))  # fmt: skip
        elif isinstance(decision, Evict):
            self.evictions += 1
            self.put(replace(workload, assignment=None, admitted=False))
        elif isinstance(decision, Park):
            self.told += 1

    def urgent_arrive(self, queues: int, number: int) -> None:
        for queue in range(queues):
            name = f"urgent-{number}-{queue}"
            pods = (PodSet("main", 1, {"cpu": 20_000}),)
            self.put(Workload(name, WorkloadKey("ns", name), f"q{queue}", pods, priority=300,
                              created_at=self.now, queued_at=self.now))  # fmt: skip

    def finish_running(self) -> None:
        done, self.running = self.running, []
        for uid in done:
            entry = self.ledger.entries.get(uid)
            if entry is not None and entry.workload.assignment is not None:
                self.put(replace(entry.workload, finished=True))
                self.ledger.drop_workload(uid)


def fill(ledger: Ledger, queues: int, cohorts: int, pending: int) -> float:
    """Seconds the core took to hear of everything."""
    policy = PreemptionPolicy("LowerPriority", "Any")
    group = ResourceGroup(("cpu",), (FlavorQuotas("f", {"cpu": Quota(20_000, 100_000)}),))
    workloads = []
    for number in range(pending):
        percent = number // queues * 37 % 100  # classes mixed
        kind = 0 if percent < CLASSES[0][0] else 1 if percent < 92 else 2
        _, priority, cpu_milli = CLASSES[kind]
        workloads.append(
            Workload(
                f"u{number}",
                WorkloadKey("ns", f"w{number}"),
                f"q{number % queues}",
                (PodSet("main", 1, {"cpu": cpu_milli}),),
                priority=priority,
                created_at=float(number),
                queued_at=float(number),
            )
        )
    begin = time.process_time()
    ledger.put_flavor(Flavor("f"))
    ledger.put_namespace("ns", {})
    for number in range(queues):
        name = f"q{number}"
        config = ClusterQueue(name, f"c{number % cohorts}", (group,), preemption=policy)
        ledger.put_cluster_queue(config)
        ledger.put_local_queue(LocalQueue(LocalQueueKey("ns", name), name))
    for workload in workloads:
        ledger.put_workload(workload)
    return time.process_time() - begin


def percentile(values: list[float], fraction: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=1_000)
    parser.add_argument("--cohorts", type=int, default=10)
    parser.add_argument("--pending", type=int, default=100_000)
    parser.add_argument("--slice", type=int, default=200, help="work per step")
    parser.add_argument("--fair", action="store_true", help="with fair sharing")
    args = parser.parse_args()
    run = Run(Ledger(Policies(fair_sharing=args.fair)), args.slice)
    filled_s = fill(run.ledger, args.queues, args.cohorts, args.pending)
    rounds = 0
    while run.ledger.entries:
        rounds += 1
        run.now = float(rounds)
        run.decide()
        if rounds <= URGENT_ROUNDS:
            run.urgent_arrive(args.queues, rounds)
            run.decide()
        if not run.running:
            break
        run.finish_running()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{args.queues} ClusterQueues in {args.cohorts} cohorts, {args.pending} pending, "
          f"fair sharing {'on' if args.fair else 'off'}")  # fmt: skip
    for what, value, goal in (
        ("taken in /s", f"{args.pending / filled_s:,.0f}", ""),
        ("admissions", f"{run.admissions:,} in {rounds} rounds, {run.evictions:,} evictions", ""),
        ("left over", f"{len(run.ledger.entries):,}", "0"),
        ("admissions /s", f"{run.admissions / run.core_s:,.0f}", ">= 5,000"),
        ("slice p50 ms", f"{percentile(run.slices_s, 0.5) * 1e3:.1f}", ""),
        ("slice p99 ms", f"{percentile(run.slices_s, 0.99) * 1e3:.1f}", "<= 50"),
        ("slice max ms", f"{max(run.slices_s) * 1e3:.1f}", ""),
        ("owners told why", f"{run.told:,}", ""),
        ("peak memory MB", f"{peak_mb:,.0f}", "<= 2,048"),
    ):
        print(f"  {what:<18}{value:>44}   {goal}")


if __name__ == "__main__":
    main()
