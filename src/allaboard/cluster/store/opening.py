"""How does a directory become a log and the changes in it?

A missing or empty directory becomes a new store. Anything that was a store is read to its end and
believed as a whole or refused as a whole: a damaged row, a gap in the revisions or a missing end
(`disk.Reader`) raises `StoreUnreadable` and changes nothing. What SQLite itself rolls back at the
end of its write-ahead file was never acknowledged, and is the only thing silently left out.

`recover` is for the person who has no backup: it keeps the readable rows in a new store and puts
the old files aside.
"""

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from allaboard.cluster.store.disk import (
    DATABASE,
    FILES,
    OWNER,
    Lock,
    Reader,
    create_store,
    find_store,
)
from allaboard.cluster.store.errors import StoreUnreadable
from allaboard.cluster.store.log import Log, no_failpoint
from allaboard.cluster.store.rows import TYPES, Base, Row, row_checksum

# After a recovery nobody knows which revisions were handed out last; none of them may come again.
_RECOVERY_GAP = 1_000_000


def open_log(
    directory: Path,
    accept: Callable[[Row, Base], None],
    failpoint: Callable[[str], None] = no_failpoint,
) -> Log:
    """Lock the directory, give every stored row to `accept` in order, and return the log."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnreadable(
            directory, f"cannot be used as a data directory: {error.strerror}", "Choose another"
        ) from error
    lock = Lock(directory)
    try:
        if not find_store(directory):
            create_store(directory, [], Base(0, 0, 0), 0)
        reader = Reader(directory)
        for row in reader:
            accept(row, reader.base)
        return Log(directory, lock, reader.base, reader.last, failpoint)
    except BaseException as error:
        lock.release()
        if isinstance(error, sqlite3.Error | OSError):
            raise StoreUnreadable(directory, f"cannot be written: {error}", OWNER) from error
        raise


@dataclass(frozen=True, slots=True)
class Recovery:
    """What is wrong with a store, and what was kept of it."""

    problems: list[str]
    last: int  # the newest revision that was seen
    objects: int  # how many are readable
    aside: Path | None  # where the old files are; None when nothing was changed


def recover(directory: Path, *, dry_run: bool = False) -> Recovery:
    """Keep what is readable of a damaged store as a new one with revisions far above the old.

    An object whose newest row is damaged goes back to the last state that is readable, or is gone;
    a deletion whose row is damaged is undone. `problems` says which revisions those are. Nothing
    is done to a store without problems.
    """
    if not any((directory / name).exists() for name in FILES):
        raise StoreUnreadable(directory, "there is no store here", "Check the path")
    lock = Lock(directory)
    try:
        problems: list[str] = []
        rows, last = _salvage(directory, problems)
        if dry_run or not problems:
            return Recovery(problems, last, len(rows), None)
        aside = _set_aside(directory)
        base = Base(last + _RECOVERY_GAP, len(rows), sum(row_checksum(row) for row in rows))
        create_store(directory, rows, base, base.compacted)
        return Recovery(problems, last, len(rows), aside)
    finally:
        lock.release()


def _salvage(directory: Path, problems: list[str]) -> tuple[list[Row], int]:
    """The newest readable state of every object, and the newest revision that was ever seen."""
    reader = Reader(directory, lambda error: problems.append(error.problem))
    live: dict[tuple[str, str, str], Row] = {}
    last = 0
    try:
        for row in reader:
            last = max(last, row.rev)
            key = (row.resource, row.namespace, row.name)
            live.pop(key, None)
            if TYPES[row.type] != "DELETED":
                live[key] = row
    except StoreUnreadable as error:
        problems.append(error.problem)
    return sorted(live.values()), max(last, reader.head, reader.base.compacted)


def _set_aside(directory: Path) -> Path:
    number = 1
    while (aside := directory / f"damaged-{number}").exists():
        number += 1
    aside.mkdir(mode=0o700)
    for name in FILES:
        if (directory / name).exists():
            os.rename(directory / name, aside / name)
    (directory / f"{DATABASE}-shm").unlink(missing_ok=True)
    return aside
