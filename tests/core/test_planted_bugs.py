"""Would the net catch it? One rule is broken at a time; the machine or a table must fail.

Each bug is a small change of behaviour planted into the core. The net is the state machine with
its invariants, the oracles, the loops and the tables; a bug that all of them let pass is a hole.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
import test_admission_oracle
import test_consumption
import test_cycle
import test_flavors
import test_holds
import test_ledger_machine
import test_no_loops
import test_pending
import test_policies
import test_preemption
import test_quota
import test_sharing
from hypothesis import settings
from hypothesis.errors import HypothesisException
from hypothesis.stateful import run_state_machine_as_test

from allaboard.core import (
    consumption,
    cycle,
    fair_preemption,
    flavors,
    ledger,
    nominating,
    pending,
    preemption,
    quota,
    settling,
    sharing,
    values,
    waking,
)

pytestmark = pytest.mark.soak

TABLES = (
    test_quota, test_pending, test_flavors, test_preemption, test_cycle, test_policies, test_holds,
    test_sharing, test_consumption, test_no_loops, test_admission_oracle,
)  # fmt: skip


@dataclass(frozen=True)
class Bug:
    """`where` has `what` replaced by `made(original)`."""

    name: str
    where: Any
    what: str
    made: Callable[[Any], Any]


def returns(value: Any) -> Callable[[Any], Any]:
    return lambda original: lambda *args, **kwargs: value


def _forgets_victims(original: Any) -> Any:
    """A hold that charges nothing: whoever comes first takes what was freed."""

    def keep_hold(self: Any, entry: Any, assignment: Any) -> bool:
        entry.hold = None
        return False

    return keep_hold


def _evicts_twice(original: Any) -> Any:
    def preempt(self: Any, entry: Any, proposal: Any, victims: Any) -> None:
        for victim in victims:
            self._ledger.mark_evicting(self._ledger.entries[victim.running.workload.uid], False)
        original(self, entry, proposal, victims)

    return preempt


def _keeps_needless(original: Any) -> Any:
    def spare(newcomer: Any, taken: Any, charges: Any, borrow: bool) -> Any:
        return tuple(preemption.Victim(c.running, c.because) for c in taken)

    return spare


def _trial_leaves_a_trace(original: Any) -> Any:
    @contextmanager
    def trial(self: Any) -> Iterator[None]:
        yield

    return trial


def _ignores_borrowing_limit(original: Any) -> Any:
    def available(node: Any, key: Any) -> int:
        cell = node.cells.get(key)
        if node.parent is None:
            return int(cell.subtree - cell.usage) if cell is not None else 0
        above = available(node.parent, key)
        return above if cell is None else int(max(0, cell.local - cell.usage) + above)

    return available


def _lends_everything(original: Any) -> Any:
    def settle(node: Any) -> None:
        original(node)
        for cell in node.cells.values():
            cell.local = 0

    return settle


def _charges_only_the_leaf(original: Any) -> Any:
    def climb(self: Any, node: Any, key: Any, amount: int) -> None:
        parent, node.parent = node.parent, None
        original(self, node, key, amount)
        node.parent = parent

    return climb


def _forgets_to_release(original: Any) -> Any:
    def uncharge(self: Any, entry: Any) -> None:
        entry.charged = {}
        original(self, entry)

    return uncharge


def _ignores_reclaimable(original: Any) -> Any:
    return lambda self, assignment: assignment.usage()


def _newest_first(original: Any) -> Any:
    def order(workload: Any) -> Any:
        whole = original(workload)
        return (whole[0], -whole[1], *whole[2:])

    return order


def _age_before_priority(original: Any) -> Any:
    def order(workload: Any) -> Any:
        whole = original(workload)
        return (0, *whole[1:])

    return order


def _wakes_only_who_fits(original: Any) -> Any:
    def may_help(state: Any, bucket: Any) -> bool:
        return all(quota.available(state.node, k) >= n for k, n in bucket.parked.waits_for)

    return may_help


def _forgets_part(original: Any) -> Any:
    return lambda pods: 0


def _readmits_the_finished(original: Any) -> Any:
    def place(self: Any, entry: Any) -> None:
        if entry.workload.finished:
            entry.workload = replace(entry.workload, finished=False, assignment=None)
        original(self, entry)

    return place


def _loses_holds_on_restart(original: Any) -> Any:
    def put(self: Any, workload: Any) -> None:
        known = workload.uid in self.entries
        original(self, workload if known else replace(workload, hold=None))

    return put


def _lets_borrowers_take(original: Any) -> Any:
    return lambda *args: (replace(found, may_borrow=True) for found in original(*args))


BUGS = (
    Bug("a preemptor holds nothing", ledger.Ledger, "_keep_hold", _forgets_victims),
    Bug("holds are lost on restart", ledger.Ledger, "put_workload", _loses_holds_on_restart),
    Bug("a victim is evicted twice", cycle._Step, "_preempt", _evicts_twice),
    Bug("needless victims are kept", preemption, "spare", _keeps_needless),
    Bug("a trial leaves a trace", quota.Charges, "trial", _trial_leaves_a_trace),
    Bug("borrowing limits are ignored", quota, "available", _ignores_borrowing_limit),
    Bug("lending limits are ignored", quota, "_settle", _lends_everything),
    Bug("cohorts do not count", quota.Charges, "_climb", _charges_only_the_leaf),
    Bug("nobody looks again before admitting", nominating, "still_fits", returns(True)),
    Bug("quota is not given back", ledger.Ledger, "_uncharge", _forgets_to_release),
    Bug("reclaimable pods stay charged", values.Workload, "usage_on", _ignores_reclaimable),
    Bug("the newest goes first", pending, "order_of", _newest_first),
    Bug("priority does not count", pending, "order_of", _age_before_priority),
    Bug("a release wakes nobody", waking.Wakes, "note_freed", returns(None)),
    Bug("only who fits is woken", waking, "_may_help", _wakes_only_who_fits),
    Bug("new rules wake nobody", ledger.Ledger, "_configured", returns(None)),
    Bug("no part is ever admitted", nominating, "spare_pods", _forgets_part),
    Bug("the finished come back", ledger.Ledger, "_place", _readmits_the_finished),
    Bug("equals displace equals", preemption, "may_displace_own", returns(True)),
    Bug("owners may be displaced", preemption, "exceeds_own", returns(True)),
    Bug("nobody may be displaced", preemption, "find_victims", returns(())),
    Bug("borrowers displace borrowers", preemption, "_classify", _lets_borrowers_take),
    Bug("shares do not count", sharing, "share_of", returns((0, 0.0))),
    Bug("every victim is fair", fair_preemption._Search, "_is_fair_without", returns(True)),
    Bug("strict queues let others pass", cycle, "_is_held_up", returns(False)),
    Bug("stopped queues keep running", settling, "_stopped", returns(None)),
    Bug("checks are not waited for", settling, "checks_for", returns([])),
    Bug("taints do not matter", flavors, "check_flavor", returns(None)),
    Bug("the room of the replaced counts twice", ledger.Ledger, "_succeed", returns(None)),
    Bug("consumption is never forgotten", consumption.Consumption, "load",
        lambda original: lambda self, key: sum(self._accounts[key].consumed.values())
        if key in self._accounts else 0.0),
    Bug("penalties are not counted", consumption.Consumption, "charge", returns(None)),
    Bug("nobody is told why", cycle._Step, "tell", returns(None)),
)  # fmt: skip


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """Replaced where it is defined and wherever it was imported by name."""
    original = inspect.getattr_static(bug.where, bug.what)
    broken = bug.made(original)
    places = [(bug.where, bug.what)]
    if inspect.ismodule(bug.where):
        for name, module in list(sys.modules.items()):
            if name.startswith("allaboard.core") and getattr(module, bug.what, None) is original:
                places.append((module, bug.what))
    for where, what in places:
        setattr(where, what, broken)
    try:
        yield
    finally:
        for where, what in places:
            setattr(where, what, original)


def caught_by() -> str | None:
    """The first test that fails; None: all of them let it pass."""
    for module in TABLES:
        for name, test in sorted(vars(module).items()):
            if name.startswith("test_") and callable(test) and not _passes(test):
                return f"{module.__name__}.{name}"
    quick = settings(
        max_examples=150, stateful_step_count=30, deadline=None, database=None, print_blob=False
    )
    try:
        run_state_machine_as_test(test_ledger_machine.Admissions, settings=quick)
    except (AssertionError, KeyError, ValueError, HypothesisException):
        return "test_ledger_machine"
    return None


def _passes(test: Callable[..., None]) -> bool:
    for arguments in _rows(test):
        try:
            test(**arguments)
        except (AssertionError, KeyError, ValueError, TypeError, IndexError, HypothesisException):
            return False
    return True


def _rows(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """The rows of its table; one without arguments where it has none."""
    tables: list[list[dict[str, Any]]] = [[{}]]
    for mark in getattr(test, "pytestmark", ()):
        if mark.name == "parametrize":
            tables.append(list(_table(*mark.args[:2])))
    rows: list[dict[str, Any]] = [{}]
    for table in tables:
        rows = [{**row, **more} for row in rows for more in table]
    yield from rows


def _table(names: Any, values: Any) -> Iterator[dict[str, Any]]:
    keys = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
    for value in values:
        row = value.values if hasattr(value, "values") and hasattr(value, "marks") else value
        if len(keys) == 1:
            yield {keys[0]: row[0] if hasattr(value, "marks") else row}
        else:
            yield dict(zip(keys, row, strict=True))


def test_without_a_bug_nothing_is_caught() -> None:
    assert caught_by() is None


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_the_bug_is_caught(bug: Bug) -> None:
    with planted(bug):
        assert caught_by() is not None, f"'{bug.name}' went unnoticed"
