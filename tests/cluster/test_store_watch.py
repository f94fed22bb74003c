"""etcd's six guarantees of a watch, under concurrent writers, disconnects and compaction.

Ordered, unique, atomic, reliable, resumable, bookmarkable: each reader checks them on every change
it gets, for a store in memory and for one on disk.
"""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from allaboard.clock import Clock, system_clock
from allaboard.cluster.store import Change, Compacted, Store, Watch


@pytest.fixture(params=["memory", "disk"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made = (
        Store(system_clock())
        if request.param == "memory"
        else Store.open(tmp_path / "data", system_clock())
    )
    async with made:
        yield made


def put(store: Store, name: str = "a", namespace: str = "x", **fields: object) -> int:
    return store.commit("pods", namespace, name, {"metadata": {"name": name}, **fields}).rev


async def write_much(store: Store, seed: int, turns: int) -> None:
    dice = random.Random(seed)
    for turn in range(turns):
        resource, namespace = dice.choice(["pods", "jobs.batch"]), dice.choice("xyz")
        name = f"n{dice.randrange(12)}"
        gone = store.get(resource, namespace, name) is not None and dice.random() < 0.3
        obj = None if gone else {"metadata": {"name": name}, "by": seed, "turn": turn}
        record = store.commit(resource, namespace, name, obj)
        if dice.random() < 0.3:
            await store.wait_durable(record.rev)
        if dice.random() < 0.05:
            await asyncio.sleep(0)


async def follow(store: Store, scope: tuple[str, str | None], seed: int, last: int) -> list[Change]:
    """Read until `last`, dropping the connection now and then and resuming from a bookmark."""
    dice = random.Random(seed)
    seen: list[Change] = []
    position = 0
    while position < last:
        watch = store.watch(*scope, after=position)
        for _ in range(dice.randrange(1, 60)):
            if dice.random() < 0.5:
                seen += watch.take(dice.randrange(1, 20))
            else:
                try:
                    async with asyncio.timeout(0.01):
                        seen.append(await anext(watch))
                except TimeoutError:
                    pass
            assert all(change.rev <= store.durable_revision for change in seen[-20:])
            position = watch.revision
        watch.close()
    return seen


async def test_every_reader_sees_exactly_the_changes_of_its_scope_in_order(store: Store) -> None:
    """Ordered, unique, reliable, resumable, bookmarkable: a dozen readers that reconnect."""
    whole = store.watch_all(0)
    scopes = [("pods", None), ("pods", "x"), ("jobs.batch", "z"), ("jobs.batch", None)]
    readers = [
        asyncio.ensure_future(follow(store, scopes[n % 4], seed=n, last=1_200)) for n in range(12)
    ]
    await asyncio.gather(*(write_much(store, seed, turns=300) for seed in range(4)))
    await store.wait_durable(store.revision)
    seen = await asyncio.gather(*readers)
    everything = whole.take(10_000)
    assert [change.rev for change in everything] == list(range(1, 1_201))
    for number, changes in enumerate(seen):
        resource, namespace = scopes[number % 4]
        assert changes == [
            change
            for change in everything
            if change.record.resource == resource and namespace in (None, change.record.namespace)
        ]


async def test_replaying_the_changes_gives_the_state(store: Store) -> None:
    """Reliable: applying every change to an empty table ends in what a list gives."""
    await write_much(store, seed=9, turns=500)
    await store.wait_durable(store.revision)
    state = {}
    for change in store.watch("pods", None, 0).take(1_000):
        key = (change.record.namespace, change.record.name)
        assert (key in state) == (change.type != "ADDED")
        assert change.previous is state.pop(key, None)
        if change.type != "DELETED":
            state[key] = change.record
    assert [state[key] for key in sorted(state)] == store.list("pods")


async def test_all_watches_see_the_same_order(store: Store) -> None:
    """Atomic: nobody sees the changes of a burst in another order than the others."""
    watches = [store.watch("pods", None, 0) for _ in range(50)]

    async def read(watch: Watch) -> list[int]:
        return [(await anext(watch)).rev for _ in range(200)]

    readers = [asyncio.ensure_future(read(watch)) for watch in watches]
    for turn in range(200):
        put(store, turn=turn)
        if turn % 7 == 0:
            await asyncio.sleep(0)
    assert await asyncio.gather(*readers) == [list(range(1, 201))] * 50


async def test_a_reader_that_falls_out_of_the_history_is_told_and_nothing_is_skipped(
    store: Store,
) -> None:
    slow, quick, elsewhere = (
        store.watch("pods", None, 0),
        store.watch("pods", "x", 0),
        store.watch("pods", "y", 0),
    )
    for turn in range(5):
        put(store, turn=turn)
    await store.wait_durable(5)
    assert len(quick.take()) == 5
    assert (await anext(slow)).rev == 1
    store.forget_history()
    with pytest.raises(Compacted, match=r"too old resource version: 1 \(5\)"):
        await anext(slow)
    with pytest.raises(StopAsyncIteration):
        await anext(slow)
    await store.wait_durable(put(store))
    await store.wait_durable(put(store, namespace="y"))
    assert [change.rev for change in quick.take()] == [6]
    assert [change.rev for change in elsewhere.take()] == [7]  # missed nothing, so loses nothing


async def test_a_bookmark_never_passes_what_was_forgotten_before_it_was_read(store: Store) -> None:
    watch = store.watch("pods", None, 0)
    put(store)
    await store.wait_durable(put(store))
    assert watch.take(1)[0].rev == 1
    store.forget_history()
    assert watch.revision == 1


async def test_watching_from_the_future_starts_there(store: Store) -> None:
    watch = store.watch("pods", None, 3)
    assert watch.revision == 3
    for _ in range(5):
        put(store)
    await store.wait_durable(5)
    assert [(await anext(watch)).rev, (await anext(watch)).rev] == [4, 5]


async def test_a_window_of_nothing_does_not_lose_readers_that_keep_up() -> None:
    """Even when several changes are made before the reader gets its turn."""
    ticks = iter(range(1_000_000))
    store = Store(Clock(0.0, lambda: float(next(ticks))), window_s=0)
    got: list[int] = []

    async def read() -> None:
        async for change in store.watch("pods", None, 0):
            got.append(change.rev)

    reader = asyncio.ensure_future(read())
    await asyncio.sleep(0)
    for burst in range(20):
        for _ in range(burst):
            put(store)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert got == list(range(1, store.revision + 1))
    assert store.compacted > store.revision - 25
    await store.close()
    await reader


async def test_a_thousand_waiting_watches_are_woken_once_for_a_burst(store: Store) -> None:
    turns = 0

    async def read(watch: Watch) -> list[int]:
        nonlocal turns
        revisions: list[int] = []
        while len(revisions) < 100:
            await watch.wait()
            turns += 1
            revisions += [change.rev for change in watch.take()]
        return revisions

    readers = [asyncio.ensure_future(read(store.watch("pods", None, 0))) for _ in range(1_000)]
    await asyncio.sleep(0)
    for turn in range(100):
        put(store, turn=turn)
    assert await asyncio.gather(*readers) == [list(range(1, 101))] * 1_000
    assert turns <= 1_000 * 5  # one in memory; on disk one for each group commit


@pytest.mark.parametrize("ending", ["watch", "store", "cancel"])
async def test_closing_ends_the_iteration_and_leaves_nothing_behind(
    store: Store, ending: str
) -> None:
    watch = store.watch("pods", None, 0)
    reader = asyncio.ensure_future(anext(watch, "over"))
    await asyncio.sleep(0)
    if ending == "watch":
        watch.close()
    elif ending == "store":
        await store.close()
    else:
        reader.cancel()
    ended = await asyncio.gather(reader, return_exceptions=True)
    assert ended == ["over"] or isinstance(ended[0], asyncio.CancelledError)
    watch.close()
    chain = store._history.chain("pods", None)
    assert (chain.users, chain.waiters, store._woken) == (0, {}, {})


async def test_changes_share_what_their_readers_rendered(store: Store) -> None:
    await store.wait_durable(put(store))
    first, second = store.watch("pods", None, 0).take()[0], store.watch_all(0).take()[0]
    first.cache["json"] = b"{}"
    assert second.cache == {"json": b"{}"}


async def test_an_interrupted_wait_returns_empty_handed_and_an_iteration_goes_on(
    store: Store,
) -> None:
    watch = store.watch("pods", None, 0)
    waiting = asyncio.ensure_future(watch.wait())
    await asyncio.sleep(0)
    watch.interrupt()
    await waiting
    assert watch.take() == []
    reader = asyncio.ensure_future(anext(watch))
    await asyncio.sleep(0)
    watch.interrupt()
    await asyncio.sleep(0)
    put(store)
    assert (await reader).rev == 1
