"""What must hold after every event. Run by tests, the simulator and `--paranoid`.

Each rule recomputes from scratch what the ledger keeps step by step; a difference is a bug and
says where.
"""

from allaboard.core.ledger import Entry, Ledger
from allaboard.core.quota import Node
from allaboard.core.values import FlavorResource


class Broken(AssertionError):
    """An invariant does not hold; the text says which, where and what was found."""


def check(ledger: Ledger) -> None:
    _one_place_each(ledger)
    _charges_are_what_they_hold(ledger)
    _usage_is_the_sum_of_charges(ledger)
    _cohorts_count_what_climbs(ledger)
    _residents_are_known(ledger)
    _nobody_is_forgotten(ledger)


def check_reserved_fits(ledger: Ledger, uid: str) -> None:
    """A reservation just made is within nominal plus what may be borrowed, at every level."""
    entry = ledger.entries[uid]
    for key in [key for key, amount in entry.charged.items() if amount]:
        for node in ledger.forest.node(entry.queue).path():
            cell = node.cells[key]
            if cell.usage <= cell.local:
                break  # nothing of it reaches the parent
            limit = 0 if node.parent is None else cell.borrowing
            if limit is not None and cell.usage > cell.subtree + limit:
                raise Broken(
                    f"{entry.workload.key} was admitted beyond {node.name}'s limit of {key}"
                )


def _places(ledger: Ledger, uid: str) -> list[str]:
    places = [f"pending in {n}" for n, s in ledger.queues.items() if uid in s.pending]
    places += [f"reserved in {n}" for n, s in ledger.queues.items() if uid in s.reserved]
    places += [f"holding in {n}" for n, s in ledger.queues.items() if uid in s.holders]
    return places + ["in backoff"] * (uid in ledger.backoffs)


def _one_place_each(ledger: Ledger) -> None:
    for uid, entry in ledger.entries.items():
        places = _places(ledger, uid)
        if len(places) > 1:
            raise Broken(f"workload {entry.workload.key} is in several places: {places}")
        if entry.workload.finished and places:
            raise Broken(f"workload {entry.workload.key} is finished, but {places[0]}")
        if entry.charged and not places:
            raise Broken(f"workload {entry.workload.key} is charged, but nowhere")
        if not entry.workload.active and places and not entry.assignment:
            raise Broken(f"workload {entry.workload.key} is not active, but {places[0]}")
    for name, state in ledger.queues.items():
        unknown = [uid for uid in (*state.reserved, *state.holders) if uid not in ledger.entries]
        if unknown:
            raise Broken(f"queue {name} has reservations of unknown workloads: {unknown}")


def _charges_are_what_they_hold(ledger: Ledger) -> None:
    for state in ledger.queues.values():
        for entry in (*state.reserved.values(), *state.holders.values()):
            assignment = entry.assignment or entry.hold
            wanted = entry.workload.usage_on(assignment) if assignment is not None else {}
            if entry.charged != wanted:
                key = entry.workload.key
                raise Broken(f"workload {key} is charged {entry.charged}, it holds {wanted}")


def _usage_is_the_sum_of_charges(ledger: Ledger) -> None:
    expected: dict[str, dict[FlavorResource, int]] = {name: {} for name in ledger.queues}
    for entry in ledger.entries.values():
        for key, amount in entry.charged.items():
            of_queue = expected[entry.queue]
            of_queue[key] = of_queue.get(key, 0) + amount
    for name, usage in ledger.forest.usage().items():
        wanted = {key: amount for key, amount in expected.get(name, {}).items() if amount}
        if dict(usage) != wanted:
            raise Broken(f"queue {name} counts {dict(usage)}, its workloads take {wanted}")


def _cohorts_count_what_climbs(ledger: Ledger) -> None:
    roots = {id(ledger.forest.node(n).root): ledger.forest.node(n).root for n in ledger.queues}
    for root in roots.values():
        _check_node(root)


def _check_node(node: Node) -> None:
    for key, cell in node.cells.items():
        if cell.usage < 0:
            raise Broken(f"{node.name} uses {cell.usage} of {key}")
        if node.is_cohort:
            climbed = sum(c.cells[key].above for c in node.children.values() if key in c.cells)
            if climbed != cell.usage:
                raise Broken(f"cohort {node.name} counts {cell.usage} of {key}, not {climbed}")
    for child in node.children.values():
        _check_node(child)


def _residents_are_known(ledger: Ledger) -> None:
    """Preemption sees everybody who holds quota, as they are."""
    for name, state in ledger.queues.items():
        there = {**state.reserved, **state.holders}
        if sorted(there) != sorted(state.residents):
            raise Broken(f"queue {name} has residents {sorted(state.residents)}, not {list(there)}")
        counts: dict[int, int] = {}
        for uid, entry in there.items():
            _check_resident(ledger, uid, entry)
            counts[entry.workload.priority] = counts.get(entry.workload.priority, 0) + 1
        if counts != state.priorities:
            raise Broken(f"queue {name} counts priorities {state.priorities}, not {counts}")


def _check_resident(ledger: Ledger, uid: str, entry: Entry) -> None:
    running = ledger.queues[entry.queue].residents[uid]
    same = running.workload is entry.workload and running.usage == entry.charged
    if not same or running.evicting != entry.evicting:
        raise Broken(f"{entry.workload.key} runs otherwise than preemption believes")
    if entry.evicting != (uid in ledger.evicting):
        raise Broken(f"{entry.workload.key} is being evicted, and not waited for")


def _nobody_is_forgotten(ledger: Ledger) -> None:
    """Whoever waits without being parked is in a queue that will be looked at."""
    for name, state in ledger.queues.items():
        parked = all(bucket.parked is not None for bucket in state.pending.buckets.values())
        looked_at = state in ledger.ready or state.blocked or bool(state.holders)
        under_way = ledger.agenda is not None or ledger.has_news()
        if not (parked or looked_at or under_way or ledger.forest.is_broken(name)):
            raise Broken(f"queue {name} has somebody waiting whom nobody will look at")
