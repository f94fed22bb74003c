"""Who may take how much: the cases people talk about."""

import pytest

from allaboard.core.quota import Charges, Node, available, borrowing_height, set_quotas, settle
from allaboard.core.values import FlavorResource, Quota

CPU = FlavorResource("f", "cpu")


def cohort(**queues: Quota) -> dict[str, Node]:
    root = Node("team", is_cohort=True)
    nodes = {"team": root}
    for name, quota in queues.items():
        nodes[name] = root.children[name] = Node(name, parent=root)
        set_quotas(nodes[name], {CPU: quota})
    settle(root)
    return nodes


@pytest.mark.parametrize(
    ("a", "b", "b_uses", "free"),
    [
        pytest.param(Quota(4), Quota(6), 0, 10, id="borrows all that is idle"),
        pytest.param(Quota(4), Quota(6), 5, 5, id="but not what the owner uses"),
        pytest.param(Quota(4, borrowing=3), Quota(6), 0, 7, id="its own limit holds"),
        pytest.param(Quota(4), Quota(6, lending=1), 0, 5, id="the lender's limit holds"),
        pytest.param(Quota(4), Quota(6, lending=1), 5, 5, id="what is kept back is used first"),
        pytest.param(Quota(4), Quota(6, lending=1), 6, 4, id="then what would be lent"),
        pytest.param(Quota(4, lending=0), Quota(0), 0, 4, id="a queue that lends nothing"),
        pytest.param(Quota(0), Quota(0), 0, 0, id="nothing is there"),
    ],
)
def test_available(a: Quota, b: Quota, b_uses: int, free: int) -> None:
    nodes = cohort(a=a, b=b)
    Charges().charge(nodes["b"], {CPU: b_uses})
    assert available(nodes["a"], CPU) == free


def test_a_queue_alone_has_its_own_quota() -> None:
    alone = Node("alone")
    set_quotas(alone, {CPU: Quota(3)})
    settle(alone)
    Charges().charge(alone, {CPU: 2})
    assert (available(alone, CPU), borrowing_height(alone, CPU, 1)) == (1, 0)


def test_a_cut_quota_shows_as_less_than_nothing() -> None:
    nodes = cohort(a=Quota(8), b=Quota(0))
    Charges().charge(nodes["a"], {CPU: 8})
    set_quotas(nodes["a"], {CPU: Quota(3)})
    settle(nodes["team"])
    assert available(nodes["a"], CPU) == -5


def test_borrowing_climbs_no_higher_than_it_must() -> None:
    root = Node("root", is_cohort=True)
    left = root.children["left"] = Node("left", is_cohort=True, parent=root)
    right = root.children["right"] = Node("right", parent=root)
    near = left.children["near"] = Node("near", parent=left)
    asks = left.children["asks"] = Node("asks", parent=left)
    for node, nominal in ((right, 10), (near, 5), (asks, 2)):
        set_quotas(node, {CPU: Quota(nominal)})
    settle(root)
    heights = [borrowing_height(asks, CPU, amount) for amount in (2, 3, 7, 8, 99)]
    assert heights == [0, 1, 1, 2, 2]
