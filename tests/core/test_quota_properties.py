"""Laws of the quota tree: nothing is counted twice, nothing is lost, a question leaves no trace."""

from hypothesis import given
from hypothesis import strategies as st

from allaboard.core.quota import (
    Charges,
    Node,
    available,
    borrowing_height,
    potential,
    set_quotas,
    settle,
)
from allaboard.core.values import FlavorResource, Quota

CPU = FlavorResource("f", "cpu")
limits = st.one_of(st.none(), st.integers(0, 20))
quotas = st.builds(Quota, st.integers(0, 20), limits, limits)


@st.composite
def forests(draw: st.DrawFn) -> tuple[Node, list[Node]]:
    """A cohort tree of two levels with up to six queues."""
    root = Node("root", is_cohort=True)
    set_quotas(root, {CPU: draw(quotas)})
    queues: list[Node] = []
    for number in range(draw(st.integers(1, 3))):
        parent = root
        if draw(st.booleans()):
            parent = Node(f"cohort-{number}", is_cohort=True, parent=root)
            set_quotas(parent, {CPU: draw(quotas)})
            root.children[parent.name] = parent
        for place in range(draw(st.integers(1, 2))):
            queue = Node(f"queue-{number}-{place}", parent=parent)
            set_quotas(queue, {CPU: draw(quotas)})
            parent.children[queue.name] = queue
            queues.append(queue)
    settle(root)
    return root, queues


charges = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=12)


def snapshot(root: Node) -> dict[str, int]:
    found = {root.name: root.cells[CPU].usage if CPU in root.cells else 0}
    for child in root.children.values():
        found |= snapshot(child)
    return found


@given(forests(), charges)
def test_what_is_available_may_be_charged_and_no_more(
    forest: tuple[Node, list[Node]], wishes: list[tuple[int, int]]
) -> None:
    """Charging within `available` never takes the root above its quota, nor a limit by one unit."""
    root, queues = forest
    ledger = Charges()
    for index, amount in wishes:
        queue = queues[index % len(queues)]
        if amount <= available(queue, CPU):
            before = available(queue, CPU)
            ledger.charge(queue, {CPU: amount})
            assert available(queue, CPU) == before - amount
            assert root.cells[CPU].usage <= root.cells[CPU].subtree
            for node in queue.path():
                cell = node.cells[CPU]
                if cell.borrowing is not None and node.parent is not None:
                    assert cell.usage <= cell.subtree + cell.borrowing


@given(forests(), charges, st.randoms(use_true_random=False))
def test_release_undoes_charge_in_any_order(
    forest: tuple[Node, list[Node]], wishes: list[tuple[int, int]], order: object
) -> None:
    """However admissions and evictions interleave, empty queues leave an empty tree."""
    root, queues = forest
    ledger = Charges()
    for index, amount in wishes:
        ledger.charge(queues[index % len(queues)], {CPU: amount})
    order.shuffle(wishes)  # type: ignore[attr-defined]
    for index, amount in wishes:
        ledger.release(queues[index % len(queues)], {CPU: amount})
    assert set(snapshot(root).values()) == {0}


@given(forests(), charges, charges)
def test_a_trial_leaves_no_trace(
    forest: tuple[Node, list[Node]], real: list[tuple[int, int]], tried: list[tuple[int, int]]
) -> None:
    root, queues = forest
    ledger = Charges()
    for index, amount in real:
        ledger.charge(queues[index % len(queues)], {CPU: amount})
    before = snapshot(root)
    with ledger.trial():
        for index, amount in tried:
            ledger.charge(queues[index % len(queues)], {CPU: amount})
            with ledger.trial():
                ledger.charge(queues[0], {CPU: 1})
    assert snapshot(root) == before


@given(forests(), charges)
def test_usage_kept_step_by_step_equals_usage_counted_anew(
    forest: tuple[Node, list[Node]], wishes: list[tuple[int, int]]
) -> None:
    root, queues = forest
    ledger = Charges()
    for index, amount in wishes:
        ledger.charge(queues[index % len(queues)], {CPU: amount})
    kept = snapshot(root)
    settle(root)
    assert snapshot(root) == kept


@given(forests(), st.integers(0, 40))
def test_potential_is_what_an_empty_tree_offers(
    forest: tuple[Node, list[Node]], amount: int
) -> None:
    _, queues = forest
    for queue in queues:
        assert potential(queue, CPU) == available(queue, CPU)
        height = borrowing_height(queue, CPU, amount)
        assert (height == 0) == (amount <= queue.cells[CPU].subtree or queue.parent is None)
