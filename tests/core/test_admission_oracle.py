"""Small worlds solved by brute force: who is admitted, and whether the victims are legal and few.

The models here share no code with the core but its value types: one flavor, one resource, one
cohort without limits, so that the rules fit on a page.
"""

from dataclasses import dataclass
from itertools import combinations

from desk import Desk
from hypothesis import given, settings
from hypothesis import strategies as st

from allaboard.core.decisions import Evict
from allaboard.core.values import PreemptionPolicy

QUEUES = "ab"


@dataclass(frozen=True)
class Ask:
    name: str
    queue: str
    cpu: int
    priority: int
    at: int


asks = st.lists(
    st.tuples(st.sampled_from(QUEUES), st.integers(1, 4), st.integers(0, 2)),
    min_size=1,
    max_size=7,
).map(lambda rows: [Ask(f"w{n}", q, c, p, n) for n, (q, c, p) in enumerate(rows)])
nominals = st.fixed_dictionaries({name: st.integers(0, 4) for name in QUEUES})


def admitted_by_the_book(nominal: dict[str, int], waiting: list[Ask], strict: bool) -> list[str]:
    """Cycles over heads: the least borrower first, then priority, then age; who fits is in."""
    used = dict.fromkeys(QUEUES, 0)
    total = sum(nominal.values())
    lines = {q: sorted((a for a in waiting if a.queue == q), key=rank) for q in QUEUES}
    admitted: list[str] = []
    stuck: dict[str, None] = {}
    while True:
        free = total - sum(used.values())
        out = {*admitted, *stuck}
        firsts = [next((a for a in lines[q] if a.name not in out), None) for q in QUEUES]
        heads = [a for a in firsts if a is not None]
        if not heads:
            return sorted(admitted)
        for head in [a for a in heads if a.cpu > free]:
            heads.remove(head)
            alike = [a for a in lines[head.queue] if strict or same_shape(a, head)]
            stuck |= {a.name: None for a in alike if a.name not in admitted}
        heads.sort(key=lambda a: (used[a.queue] + a.cpu > nominal[a.queue], rank(a)))
        for head in heads:
            if sum(used.values()) + head.cpu <= total:
                used[head.queue] += head.cpu
                admitted.append(head.name)


def same_shape(one: Ask, other: Ask) -> bool:
    return (one.cpu, one.priority) == (other.cpu, other.priority)


def rank(ask: Ask) -> tuple[int, int]:
    return (-ask.priority, ask.at)


@given(nominals, asks, st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_same_are_admitted_as_by_the_book(
    nominal: dict[str, int], waiting: list[Ask], strict: bool
) -> None:
    desk = Desk()
    for queue, amount in nominal.items():
        desk.queue(queue, amount, strategy="StrictFIFO" if strict else "BestEffortFIFO")
    for ask in waiting:
        desk.submit(ask.name, ask.queue, ask.cpu, priority=ask.priority, queued_at=float(ask.at))
    desk.run()
    assert desk.admitted() == admitted_by_the_book(nominal, waiting, strict)


def legal_victims(
    ask: Ask,
    running: list[Ask],
    nominal: dict[str, int],
    gone: tuple[Ask, ...],
    policy: PreemptionPolicy,
) -> bool:
    """Own queue: lower priority. Others: only while their queue exceeds its own, in some order."""
    within, reclaim = policy.within_cluster_queue, policy.reclaim_within_cohort
    for victim in gone:
        allowed = within if victim.queue == ask.queue else reclaim
        lower = victim.priority < ask.priority
        if allowed == "Never" or (allowed == "LowerPriority" and not lower):
            return False
    foreign = [v for v in gone if v.queue != ask.queue]
    for queue in {v.queue for v in foreign}:
        mine = [v for v in foreign if v.queue == queue]
        used = sum(r.cpu for r in running if r.queue == queue)
        taken = sum(v.cpu for v in mine)
        if not any(used - (taken - last.cpu) > nominal[queue] for last in mine):
            return False
    own_used = sum(r.cpu for r in running if r.queue == ask.queue and r not in gone)
    return not foreign or own_used + ask.cpu <= nominal[ask.queue]


def room_without(
    ask: Ask, running: list[Ask], nominal: dict[str, int], gone: tuple[Ask, ...]
) -> bool:
    left = sum(r.cpu for r in running if r not in gone)
    return left + ask.cpu <= sum(nominal.values())


policies = st.builds(
    PreemptionPolicy,
    st.sampled_from(["Never", "LowerPriority"]),
    st.sampled_from(["Never", "LowerPriority", "Any"]),
)


@given(nominals, asks, policies, st.sampled_from(QUEUES), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=200, deadline=None)
def test_victims_are_legal_needed_and_found_where_there_are_any(
    nominal: dict[str, int], rows: list[Ask], policy: PreemptionPolicy, queue: str, cpu: int,
    priority: int,
) -> None:  # fmt: skip
    desk = Desk(**nominal)
    for ask in rows:
        desk.submit(ask.name, ask.queue, ask.cpu, priority=ask.priority, queued_at=float(ask.at))
    desk.run()
    running = [ask for ask in rows if ask.name in desk.admitted()]
    for ask in rows:
        if ask not in running:
            desk.delete(ask.name)
    for name, amount in nominal.items():
        desk.queue(name, amount, preemption=policy)
    new = Ask("new", queue, cpu, priority, 99)
    desk.submit("new", queue, cpu, priority=priority, queued_at=99.0)
    evicted = {d.workload.key.name for d in desk.run() if isinstance(d, Evict)}
    gone = tuple(one for one in running if one.name in evicted)
    subsets = [s for n in range(1, len(running) + 1) for s in combinations(running, n)]
    solutions = [
        s
        for s in subsets
        if room_without(new, running, nominal, s)
        and legal_victims(new, running, nominal, s, policy)
    ]
    if room_without(new, running, nominal, ()):
        assert not gone and "new" in desk.admitted()
    elif gone:
        assert room_without(new, running, nominal, gone)
        assert legal_victims(new, running, nominal, gone, policy)
        for spared in gone:
            fewer = tuple(v for v in gone if v is not spared)
            assert fewer not in solutions, f"{spared} was evicted needlessly"
    else:
        assert not _must_be_found(new, nominal, solutions)


def _must_be_found(ask: Ask, nominal: dict[str, int], solutions: list[tuple[Ask, ...]]) -> bool:
    """The search is greedy; it owes a result where the own queue's workloads alone would do."""
    own = [s for s in solutions if all(v.queue == ask.queue for v in s)]
    return bool(own) and ask.cpu <= nominal[ask.queue]
