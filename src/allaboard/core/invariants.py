"""What must hold after every event. Run by tests, the simulator and `--paranoid`.

Each rule recomputes from scratch what the ledger keeps step by step; a difference is a bug and
says where.
"""

from allaboard.core.ledger import Ledger
from allaboard.core.quota import Node
from allaboard.core.values import FlavorResource


class Broken(AssertionError):
    """An invariant does not hold; the text says which, where and what was found."""


def check(ledger: Ledger) -> None:
    _one_place_each(ledger)
    _usage_is_the_sum_of_charges(ledger)
    _cohorts_count_what_climbs(ledger)


def _one_place_each(ledger: Ledger) -> None:
    holders = {entry.workload.uid for entry in ledger.holders()}
    for uid, entry in ledger.entries.items():
        places = [f"pending in {n}" for n, s in ledger.queues.items() if uid in s.pending]
        places += [f"reserved in {n}" for n, s in ledger.queues.items() if uid in s.reserved]
        places += ["holding"] * (uid in holders)
        places += ["in backoff"] * (uid in ledger.backoffs)
        if len(places) > 1:
            raise Broken(f"workload {entry.workload.key} is in several places: {places}")
        if entry.workload.finished and places:
            raise Broken(f"workload {entry.workload.key} is finished, but {places[0]}")
        if entry.charged and not places:
            raise Broken(f"workload {entry.workload.key} is charged, but nowhere")
    for name, state in ledger.queues.items():
        known = [uid for uid in state.reserved if uid not in ledger.entries]
        if known:
            raise Broken(f"queue {name} has reservations of unknown workloads: {known}")


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
