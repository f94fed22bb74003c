"""What writers and readers of the store may rely on."""

import asyncio
import random
import threading
from pathlib import Path

import pytest

from allaboard.clock import Clock, system_clock
from allaboard.cluster.store import Compacted, Store, StoreConflict, same_content


class Hands:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.at = 0.0
        self.clock = Clock(1_000.0, lambda: self.at)


@pytest.fixture
def store() -> Store:
    return Store(Hands().clock)


def thing(name: str = "a", **fields: object) -> dict[str, object]:
    return {"metadata": {"name": name}, **fields}


def names(store: Store, namespace: str | None = None) -> list[str]:
    return [f"{r.namespace}/{r.name}" for r in store.list("pods", namespace)]


def test_revisions_are_one_sequence_over_all_resources(store: Store) -> None:
    revisions = [
        store.commit("pods", "x", "a", thing(), 0).rev,
        store.commit("nodes", "", "n", thing("n"), 0).rev,
        store.commit("pods", "x", "a", thing(v=2), 1).rev,
        store.commit("pods", "x", "a", None, 3).rev,
        store.commit("pods", "x", "a", thing(), 0).rev,
    ]
    assert revisions == [1, 2, 3, 4, 5]
    assert store.revision == store.durable_revision == 5


def test_the_stored_object_says_its_revision_and_the_writers_copy_is_left_alone(
    store: Store,
) -> None:
    mine = thing(spec={"deep": [1]})
    record = store.commit("pods", "x", "a", mine, 0)
    assert record.obj["metadata"] == {"name": "a", "resourceVersion": "1"}
    assert mine == thing(spec={"deep": [1]})
    assert record.obj["spec"] is mine["spec"]  # copied on write, never in depth
    assert record.data == b'{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"deep":[1]}}'


def test_a_deletion_carries_the_last_state_at_the_deletions_revision(store: Store) -> None:
    store.commit("pods", "x", "a", thing(v=1))
    gone = store.commit("pods", "x", "a", None)
    assert gone.obj == {"metadata": {"name": "a", "resourceVersion": "2"}, "v": 1}
    assert store.get("pods", "x", "a") is None
    change = store.watch_all(1).take()[0]
    assert (change.type, change.rev, change.record) == ("DELETED", 2, gone)
    assert change.previous is not None and change.previous.rev == 1


@pytest.mark.parametrize(
    ("exists", "obj", "expected", "found"),
    [
        pytest.param(False, thing(), 1, 0, id="an update of what is not there"),
        pytest.param(False, None, None, 0, id="an unconditional deletion of what is not there"),
        pytest.param(True, thing(), 0, 1, id="a creation of what is there"),
        pytest.param(True, thing(), 7, 1, id="an update from another revision"),
        pytest.param(True, None, 7, 1, id="a deletion of another revision"),
    ],
)
def test_conflicts(store: Store, exists: bool, obj: object, expected: int, found: int) -> None:
    if exists:
        store.commit("pods", "x", "a", thing(), 0)
    before = store.revision
    with pytest.raises(StoreConflict) as caught:
        store.commit("pods", "x", "a", obj, expected)  # type: ignore[arg-type]
    assert (caught.value.found, store.revision) == (found, before)


def test_of_many_writers_on_one_revision_exactly_one_wins(store: Store) -> None:
    seen = store.commit("pods", "x", "a", thing(), 0).rev
    outcomes = []
    for writer in range(20):
        try:
            outcomes.append(store.commit("pods", "x", "a", thing(v=writer), seen).rev)
        except StoreConflict:
            outcomes.append(0)
    assert outcomes == [2] + [0] * 19


@pytest.mark.parametrize("count", [5, 5_000], ids=["kept sorted", "sorted on demand"])
def test_lists_are_sorted_by_namespace_and_name_after_any_churn(store: Store, count: int) -> None:
    dice = random.Random(1)
    alive: set[tuple[str, str]] = set()
    for turn in range(count * 3):
        key = (dice.choice("zyx"), f"p{dice.randrange(count)}")
        if key in alive and dice.random() < 0.4:
            store.commit("pods", *key, None)
            alive.discard(key)
        else:
            store.commit("pods", *key, thing())
            alive.add(key)
        if turn % (count // 4 + 1) == 0:
            assert names(store) == [f"{ns}/{n}" for ns, n in sorted(alive)]
    assert names(store, "y") == [f"{ns}/{n}" for ns, n in sorted(alive) if ns == "y"]
    assert store.count("pods") == len(alive)
    assert names(store, "no-such-namespace") == []


def test_a_snapshot_in_the_past_is_what_a_list_gave_then(store: Store) -> None:
    dice = random.Random(2)
    then: dict[int, list[object]] = {0: []}
    for turn in range(300):
        name = f"p{dice.randrange(9)}"
        gone = store.get("pods", "x", name) is not None and dice.random() < 0.3
        store.commit("pods", "x", name, None if gone else thing(turn=turn))
        then[store.revision] = list(store.list("pods"))
    for revision, listed in then.items():
        assert store.list_at("pods", "x", revision) == store.list_at("pods", None, revision)
        assert store.list_at("pods", None, revision) == listed


def test_history_is_kept_for_its_window_and_then_forgotten() -> None:
    hands = Hands()
    store = Store(hands.clock, window_s=300)
    for minute in range(10):
        hands.at = minute * 60
        store.commit("pods", "x", "a", thing(minute=minute))
    assert store.compacted == 4  # committed in minutes 0 to 3; minute 4 is 300 seconds ago
    assert store.list_at("pods", None, 4)[0].obj["minute"] == 3
    assert [change.rev for change in store.watch_all(4).take()] == [5, 6, 7, 8, 9, 10]
    for ask in (lambda: store.list_at("pods", None, 3), lambda: store.watch("pods", None, 3)):
        with pytest.raises(Compacted, match=r"too old resource version: 3 \(4\)"):
            ask()


def test_history_is_bounded_whatever_the_window() -> None:
    store = Store(Hands().clock, max_changes=10)
    for _ in range(25):
        store.commit("pods", "x", "a", thing())
    assert store.compacted == 15


@pytest.mark.parametrize(
    ("new", "same"),
    [
        pytest.param({"v": 1}, True, id="nothing changed"),
        pytest.param({"v": True}, False, id="true is not 1"),
        pytest.param({"v": 1.0}, False, id="1.0 is not 1"),
        pytest.param({"v": 2}, False, id="a value changed"),
        pytest.param({}, False, id="a field went"),
        pytest.param({"v": 1, "w": None}, False, id="a field came"),
    ],
)
def test_a_no_op_is_told_from_a_change(store: Store, new: dict[str, object], same: bool) -> None:
    stored = store.commit("pods", "x", "a", thing(v=1)).obj
    assert same_content(thing(**new), stored) is same


async def test_without_a_log_no_thread_runs_and_everything_is_durable() -> None:
    before = threading.active_count()
    store = Store(Hands().clock)
    await store.wait_durable(store.commit("pods", "x", "a", thing()).rev)
    assert threading.active_count() == before


async def test_a_durable_store_lets_go_of_objects_but_not_of_their_content(tmp_path: Path) -> None:
    """Cold records hold only JSON; reading them makes the same objects again."""
    async with Store.open(tmp_path, system_clock()) as store:
        store._warm.limit_bytes = 10_000
        for number in range(1_000):
            store.commit("pods", "x", f"p{number}", thing(number=number))
        cold = [record for record in store.list("pods") if record._obj is None]
        assert len(cold) > 800
        assert {record.obj["number"] for record in store.list("pods")} == set(range(1_000))


async def test_what_is_not_durable_is_not_told(tmp_path: Path) -> None:
    """A watch shows a change only after it is on disk; the writer's own memory shows it at once."""
    may_write = threading.Event()
    async with Store.open(
        tmp_path, system_clock(), failpoint=lambda name: name != "append" or may_write.wait(20)
    ) as store:
        watch = store.watch("pods", None, 0)
        record = store.commit("pods", "x", "a", thing())
        assert store.get("pods", "x", "a") is record
        assert (watch.take(), watch.revision, store.durable_revision) == ([], 0, 0)
        waiting = asyncio.ensure_future(store.wait_durable(record.rev))
        await asyncio.sleep(0)
        assert not waiting.done()
        may_write.set()
        await waiting
        assert [change.rev for change in watch.take()] == [1]
        assert watch.revision == 1
