"""Damage to the files is detected or harmless: never silently wrong, never an empty store.

Every damage is tried on a copy of a store with compacted objects, history and a write-ahead file
that holds the newest changes, as `kill -9` leaves it, or on one that was closed in order.
"""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from allaboard.clock import system_clock
from allaboard.cluster.store import Store, StoreLocked, StoreUnreadable, recover
from allaboard.cluster.store.__main__ import main

FILES = ("store.db", "store.db-wal", "head")
PAGE = 8192
WAL_FRAME = PAGE + 24


class Content(NamedTuple):
    revision: int
    objects: list[tuple[str, str, int, bytes]]
    changes: dict[int, tuple[str, bytes]]


def content(store: Store) -> Content:
    return Content(
        store.revision,
        [
            (record.resource, record.name, record.rev, record.data)
            for resource in store.resources()
            for record in store.list(resource)
        ],
        {c.rev: (c.type, c.record.data) for c in store.watch_all(store.compacted).take(10_000)},
    )


class Crashed(NamedTuple):
    path: Path
    content: Content
    written: set[bytes]  # every state that was ever stored


async def make(directory: Path, copy: Path) -> Crashed:
    """A store as a crash leaves it: copied while it is open, its last changes only in the WAL."""
    dice = random.Random(4)
    written: set[bytes] = set()

    async def churn(store: Store, turns: int) -> None:
        for turn in range(turns):
            name = f"n{dice.randrange(30)}"
            gone = store.get("pods", "x", name) is not None and dice.random() < 0.2
            obj = {"metadata": {"name": name}, "turn": turn, "pad": "p" * dice.randrange(500)}
            written.add(store.commit("pods", "x", name, None if gone else obj).data)
            if turn % 10 == 0:
                await store.wait_durable(store.revision)

    async with Store.open(directory, system_clock()) as store:
        await churn(store, 200)
        await store.wait_durable(store.revision)
        store.compact(150)
    async with Store.open(directory, system_clock()) as store:
        await churn(store, 60)
        await store.wait_durable(store.revision)
        shutil.copytree(directory, copy, ignore=shutil.ignore_patterns("lock", "*-shm"))
        return Crashed(copy, content(store), written)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Crashed:
    base = tmp_path_factory.mktemp("crashed")
    return asyncio.run(make(base / "live", base / "copy"))


@pytest.fixture(scope="module")
def closed(crashed: Crashed, tmp_path_factory: pytest.TempPathFactory) -> Crashed:
    """The same content after an orderly end: no write-ahead file."""
    path = fresh(crashed.path, tmp_path_factory.mktemp("closed") / "copy")

    async def open_and_close() -> None:
        async with Store.open(path, system_clock()):
            pass

    asyncio.run(open_and_close())
    assert not (path / "store.db-wal").exists()
    for scratch in ("lock", "store.db-shm"):
        (path / scratch).unlink(missing_ok=True)
    return crashed._replace(path=path)


@pytest.fixture
def victim(crashed: Crashed, tmp_path: Path) -> Path:
    return fresh(crashed.path, tmp_path / "victim")


def fresh(source: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    return target


def bytes_of(directory: Path) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in FILES if (directory / name).exists()}


async def is_detected(directory: Path, expected: Content) -> bool:
    """True when refused (and left alone); otherwise the content must be right and stay right."""
    before = bytes_of(directory)
    try:
        store = Store.open(directory, system_clock())
    except StoreUnreadable as error:
        assert bytes_of(directory) == before, "a refused store was touched"
        assert str(directory) in str(error) and "Nothing was changed" in str(error)
        return True
    async with store:
        found = content(store)
        assert found[:2] == expected[:2]
        shared = found.changes.keys() & expected.changes.keys()
        assert {r: found.changes[r] for r in shared} == {r: expected.changes[r] for r in shared}
        for number in range(20):
            store.commit("pods", "x", f"new{number}", {"metadata": {}, "pad": "q" * 300})
        await store.wait_durable(store.revision)
        store.compact(store.revision - 5)
        after = content(store)
    async with Store.open(directory, system_clock()) as again:
        assert content(again)[:2] == after[:2]
    return False


async def test_the_undamaged_store_opens(victim: Path, crashed: Crashed) -> None:
    assert not await is_detected(victim, crashed.content)


@pytest.mark.parametrize("name", FILES)
async def test_flipped_bits(tmp_path: Path, crashed: Crashed, name: str) -> None:
    """Of a few hundred places some are unused; every other flip is noticed."""
    source, expected, _ = crashed
    size = (source / name).stat().st_size
    dice = random.Random(name)
    places = range(size) if size < 64 else sorted(dice.sample(range(size), 150))
    detected = 0
    for place in places:
        victim = fresh(source, tmp_path / "victim")
        raw = bytearray((victim / name).read_bytes())
        raw[place] ^= 1 << dice.randrange(8)
        (victim / name).write_bytes(raw)
        detected += await is_detected(victim, expected)
    assert detected >= len(places) * 0.3


async def test_flipped_bits_of_sqlites_header_and_schema(tmp_path: Path, closed: Crashed) -> None:
    """No newer copy of the first page is in a write-ahead file here, so every field counts."""
    schema = (closed.path / "store.db").read_bytes().index(b"CREATE TABLE changes")
    for place in (*range(112), *range(schema, schema + 60)):
        victim = fresh(closed.path, tmp_path / "victim")
        raw = bytearray((victim / "store.db").read_bytes())
        raw[place] ^= 1 << (place * 5 % 8) if place < 112 else 128
        (victim / "store.db").write_bytes(raw)
        await is_detected(victim, closed.content)


@pytest.mark.soak
async def test_thousands_of_flipped_bits_of_a_closed_store(tmp_path: Path, closed: Crashed) -> None:
    await flip_thousands(closed, tmp_path, "store.db")


@pytest.mark.soak
@pytest.mark.parametrize("name", ["store.db", "store.db-wal"])
async def test_thousands_of_flipped_bits(tmp_path: Path, crashed: Crashed, name: str) -> None:
    await flip_thousands(crashed, tmp_path, name)


async def flip_thousands(crashed: Crashed, tmp_path: Path, name: str) -> None:
    size = (crashed.path / name).stat().st_size
    for place in range(0, size, max(1, size // 12_000)):
        victim = fresh(crashed.path, tmp_path / "victim")
        raw = bytearray((victim / name).read_bytes())
        raw[place] ^= 1 << (place % 8)
        (victim / name).write_bytes(raw)
        await is_detected(victim, crashed.content)


@pytest.mark.parametrize("name", FILES)
async def test_truncation_anywhere(tmp_path: Path, crashed: Crashed, name: str) -> None:
    source, expected, _ = crashed
    size = (source / name).stat().st_size
    unit = {"store.db": PAGE, "store.db-wal": WAL_FRAME, "head": 1}[name]
    lengths = {0, 1, size // 2, size - 1, *range(0, size, unit * max(1, size // unit // 25))}
    for length in sorted(lengths):
        victim = fresh(source, tmp_path / "victim")
        with (victim / name).open("r+b") as file:
            file.truncate(length)
        detected = await is_detected(victim, expected)
        # The last pages of the database may be unused, or newer in the write-ahead file.
        spare = name == "store.db" and length >= size - 3 * unit
        assert detected or spare, f"{name} cut to {length} of {size} bytes"


@pytest.mark.parametrize("name", FILES)
async def test_a_file_that_is_gone_or_something_else(
    tmp_path: Path, crashed: Crashed, name: str
) -> None:
    damages: list[Callable[[Path], object]] = [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(random.Random(1).randbytes(20_000)),
        lambda path: path.write_bytes(bytes(path.stat().st_size)),
        lambda path: (path.unlink(), path.mkdir()),
    ]
    for number, damage in enumerate(damages):
        victim = fresh(crashed.path, tmp_path / f"victim{number}")
        damage(victim / name)
        with pytest.raises(StoreUnreadable):
            Store.open(victim, system_clock())


def edit(sql: str) -> Callable[[Path], None]:
    def apply(victim: Path) -> None:
        with sqlite3.connect(victim / "store.db") as db:
            db.execute(sql)
        db.close()

    return apply


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        pytest.param(
            edit("UPDATE changes SET name = 'n99' WHERE rev = 180"),
            r"the row of revision 180 \(pods x/n\d+\) is damaged: checksum \d+ expected, \d+ found",
            id="a changed row",
        ),
        pytest.param(
            edit("DELETE FROM changes WHERE rev IN (180, 181)"),
            "revisions 180 to 181 are missing: 179 is followed by 182",
            id="missing history",
        ),
        pytest.param(
            edit("DELETE FROM changes WHERE rev = (SELECT min(rev) FROM changes)"),
            r"of the \d+ objects stored up to the compacted revision 150, \d+ are there",
            id="a missing object",
        ),
        pytest.param(
            edit("DELETE FROM changes WHERE rev > 250"),
            "the log ends at revision 250, but 260 was acknowledged: the last 10 changes",
            id="a missing end",
        ),
        pytest.param(
            edit("UPDATE base SET compacted = 100"), "the base row .* is damaged", id="the base"
        ),
        pytest.param(
            edit("PRAGMA user_version=9"), "has format 9; .* reads format 1", id="a later format"
        ),
        pytest.param(
            edit("PRAGMA application_id=7"), "an SQLite database of something else", id="not ours"
        ),
        pytest.param(edit("CREATE TABLE more(x)"), "its tables are not ours", id="another schema"),
    ],
)
def test_the_message_says_what_is_wrong(
    victim: Path, damage: Callable[[Path], None], message: str
) -> None:
    damage(victim)
    with pytest.raises(StoreUnreadable, match=message) as caught:
        Store.open(victim, system_clock())
    assert str(caught.value).startswith(str(victim / "store.db"))
    assert "from a backup" in str(caught.value) or "Use the version" in str(caught.value)


async def test_two_processes_cannot_open_one_directory(tmp_path: Path) -> None:
    async with Store.open(tmp_path, system_clock()):
        with pytest.raises(StoreLocked, match=r"in use by another process \(pid \d+\)"):
            Store.open(tmp_path, system_clock())
    async with Store.open(tmp_path, system_clock()):
        pass


async def test_a_creation_that_was_cut_short_is_begun_again(tmp_path: Path) -> None:
    async with Store.open(tmp_path, system_clock()):
        pass
    (tmp_path / "store.db").rename(tmp_path / "store.db.new")  # as if killed before the rename
    async with Store.open(tmp_path, system_clock()) as store:
        assert store.revision == 0


async def test_recovery_keeps_what_is_readable_and_sets_the_rest_aside(
    victim: Path, crashed: Crashed
) -> None:
    edit("UPDATE changes SET data = 'x' WHERE rev = 259")(victim)
    edit("DELETE FROM changes WHERE rev = 260")(victim)
    assert main([str(victim)]) == 1
    before = bytes_of(victim)
    assert recover(victim, dry_run=True).aside is None
    assert bytes_of(victim) == before
    found = recover(victim)
    assert any("revision 259" in problem for problem in found.problems)
    assert any("260 was acknowledged" in problem for problem in found.problems)
    assert found.aside is not None and (found.aside / "store.db").exists()
    assert main([str(victim)]) == 0
    async with Store.open(victim, system_clock()) as store:
        kept = {row for row in crashed.content.objects if row[2] < 259}
        assert kept <= set(content(store).objects)
        assert store.revision > 260 + 100_000  # above everything ever handed out
        assert store.compacted == store.revision


def test_a_sound_store_is_not_recovered_and_an_empty_directory_is_not_a_store(
    victim: Path, crashed: Crashed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = bytes_of(victim)
    assert main(["--recover", str(victim)]) == 0
    assert bytes_of(victim) == before
    objects = len(crashed.content.objects)
    assert f"sound: {objects} objects, newest revision 260" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    assert main(["--recover", str(tmp_path / "empty")]) == 2
    assert not any((tmp_path / "empty").iterdir())


@pytest.mark.parametrize("name", FILES)
async def test_recovery_copes_with_anything(tmp_path: Path, crashed: Crashed, name: str) -> None:
    dice = random.Random(name)
    for number in range(15):
        victim = fresh(crashed.path, tmp_path / f"victim{number}")
        raw = bytearray((victim / name).read_bytes())
        for place in dice.sample(range(len(raw)), min(len(raw), 200)):
            raw[place] ^= 255
        (victim / name).write_bytes(raw)
        recover(victim)
        async with Store.open(victim, system_clock()) as store:
            assert {row[3] for row in content(store).objects} <= crashed.written
