"""When the disk fails: no more writes, nothing shown that may not be there, reads go on."""

import asyncio
import errno
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from allaboard.clock import system_clock
from allaboard.cluster.store import Store, StoreFailed

FULL = OSError(errno.ENOSPC, "No space left on device")
BROKEN = sqlite3.OperationalError("disk I/O error")


def failing(at: str, error: Exception) -> Callable[[str], None]:
    """Nothing fails until the test says so with `failpoint.armed = True`."""

    def failpoint(here: str) -> None:
        if here == at and getattr(failpoint, "armed", False):
            raise error

    return failpoint


def put(store: Store, name: str, value: int = 0) -> int:
    return store.commit("pods", "x", name, {"metadata": {"name": name}, "value": value}).rev


def state(store: Store) -> dict[str, int]:
    return {record.name: record.obj["value"] for record in store.list("pods")}


@pytest.mark.parametrize("error", [FULL, BROKEN], ids=["full", "broken"])
@pytest.mark.parametrize("step", ["append", "commit", "committed"])
async def test_a_failed_write_is_refused_and_undone_and_the_store_still_read(
    tmp_path: Path, step: str, error: Exception
) -> None:
    failpoint = failing(step, error)
    store = Store.open(tmp_path, system_clock(), failpoint=failpoint)
    put(store, "kept", 1)
    await store.wait_durable(put(store, "deleted", 1))
    failpoint.armed = True  # type: ignore[attr-defined]
    watch = store.watch("pods", None, 2)
    waits = [
        asyncio.ensure_future(store.wait_durable(rev))
        for rev in (
            put(store, "kept", 2),
            put(store, "new", 1),
            store.commit("pods", "x", "deleted", None).rev,
        )
    ]
    for wait in waits:
        with pytest.raises(StoreFailed, match="stopped accepting writes after revision 2: "):
            await wait
    assert (state(store), store.revision) == ({"kept": 1, "deleted": 1}, 2)
    assert watch.take() == []
    assert [record.rev for record in store.list_at("pods", None, 1)] == [1]
    with pytest.raises(StoreFailed, match=r"Free space or repair the disk, then restart"):
        put(store, "more")
    await store.close()
    async with Store.open(tmp_path, system_clock()) as again:
        assert {"kept", "deleted"} <= state(again).keys() or again.revision > 2
        assert again.revision >= 2


@pytest.mark.parametrize(
    "step", ["compact-choose", "compact-delete", "compact-persist", "compacted", "checkpoint"]
)
async def test_a_failed_compaction_stops_writes_too_and_loses_nothing(
    tmp_path: Path, step: str
) -> None:
    failpoint = failing(step, BROKEN)
    store = Store.open(tmp_path, system_clock(), failpoint=failpoint)
    for turn in range(50):
        put(store, f"p{turn % 5}", turn)
    await store.wait_durable(50)
    failpoint.armed = True  # type: ignore[attr-defined]
    store.forget_history()
    await store.close()
    assert store.failure is not None
    async with Store.open(tmp_path, system_clock()) as again:
        assert state(again) == {f"p{n}": 45 + n for n in range(5)}
        assert again.revision == 50
        assert put(again, "next") == 51


async def test_sqlites_own_refusal_to_grow_is_a_failure_like_any_other(tmp_path: Path) -> None:
    store = Store.open(tmp_path, system_clock())
    assert store._log is not None
    store._log._db.execute("PRAGMA max_page_count=10")
    with pytest.raises(StoreFailed, match="full"):
        for turn in range(1_000):
            await store.wait_durable(put(store, f"p{turn}", turn))
    kept = state(store)
    assert len(kept) == store.revision > 10
    await store.close()
    async with Store.open(tmp_path, system_clock()) as again:
        assert state(again) == kept


async def test_group_commit_takes_what_has_queued_up_meanwhile(tmp_path: Path) -> None:
    steps: list[str] = []
    async with Store.open(tmp_path, system_clock(), failpoint=steps.append) as store:
        revisions = [put(store, f"p{n}") for n in range(2_000)]
        await asyncio.gather(*(store.wait_durable(rev) for rev in revisions))
        assert steps.count("committed") < 200
    async with Store.open(tmp_path, system_clock()) as again:
        assert again.count("pods") == 2_000


async def test_compaction_bounds_the_file(tmp_path: Path) -> None:
    """Ten thousand updates of ten objects leave no more on disk than a few hundred."""
    async with Store.open(tmp_path, system_clock(), window_s=0) as store:
        for turn in range(10_000):
            put(store, f"p{turn % 10}", turn)
            if turn % 100 == 99:
                await store.wait_durable(store.revision)
        store.forget_history()
    assert (tmp_path / "store.db").stat().st_size < 1_000_000
    async with Store.open(tmp_path, system_clock()) as again:
        assert state(again) == {f"p{n}": 9_990 + n for n in range(10)}
        assert (again.revision, again.compacted) == (10_000, 10_000)


async def test_watches_resume_over_a_restart(tmp_path: Path) -> None:
    """The history within its window is on disk as well, deletions and former states included."""
    async with Store.open(tmp_path, system_clock()) as store:
        for turn in range(5):
            put(store, "a", turn)
        store.commit("pods", "x", "a", None)
        before = [(c.rev, c.type, c.record.data) for c in await_all(store)]
    async with Store.open(tmp_path, system_clock()) as again:
        assert [(c.rev, c.type, c.record.data) for c in again.watch_all(0).take()] == before
        assert again.list_at("pods", None, 3)[0].obj["value"] == 2
        assert put(again, "a") == 7


def await_all(store: Store) -> list:
    """The changes in memory; they are durable once the store is closed."""
    return list(store._history.all.items)


async def test_the_last_revision_is_remembered_when_its_row_is_not(tmp_path: Path) -> None:
    """The newest change was a deletion, and compaction removed every trace of it but the number."""
    async with Store.open(tmp_path, system_clock()) as store:
        put(store, "a")
        await store.wait_durable(store.commit("pods", "x", "a", None).rev)
        store.forget_history()
    async with Store.open(tmp_path, system_clock()) as again:
        assert (again.list("pods"), again.revision) == ([], 2)
        assert put(again, "a") == 3


async def test_every_commit_is_synced(tmp_path: Path) -> None:
    """SQLite's NORMAL may lose committed transactions in a power cut; FULL does not."""
    async with Store.open(tmp_path, system_clock()) as store:
        assert store._log is not None
        settings = {
            name: store._log._db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("synchronous", "journal_mode", "wal_autocheckpoint")
        }
        assert settings == {"synchronous": 2, "journal_mode": "wal", "wal_autocheckpoint": 0}


async def test_a_store_that_closes_writes_what_is_queued_and_takes_no_more(tmp_path: Path) -> None:
    store = Store.open(tmp_path, system_clock())
    waits = [asyncio.ensure_future(store.wait_durable(put(store, f"p{n}"))) for n in range(300)]
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    with pytest.raises(StoreFailed, match="the store is closed"):
        put(store, "late")
    await asyncio.gather(*waits, closing)
    async with Store.open(tmp_path, system_clock()) as again:
        assert again.count("pods") == 300
