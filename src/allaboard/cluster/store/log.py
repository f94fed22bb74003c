"""How do committed changes reach the disk, and how is the file kept small?

One thread owns the SQLite connection. It takes whatever has queued up meanwhile, writes it in one
transaction (one fsync for all of them: group commit) and says how far it got. Between group commits
it compacts in slices, each one transaction: choose how far, delete the rows nobody can ask for any
more, persist the new `Base`. A crash between any two steps leaves the state before the slice.

Any error of the disk ends the log. Nothing is retried; see `StoreFailed`.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from allaboard.cluster.store.disk import Head, Lock, open_writer
from allaboard.cluster.store.errors import StoreFailed
from allaboard.cluster.store.rows import Base, Row, row_checksum

# Every call into SQLite gives up the interpreter lock and has to win it back from a busy event
# loop, so a batch is one statement. Statements come in few sizes to be compiled once each.
_SIZES = (1, 4, 16, 64, 256)
_COLUMNS = 8
_NO_ROW = (None,) * _COLUMNS
_SLICE = 1_000  # changes compacted in one transaction: some milliseconds
_CHECKPOINT_BYTES = 8 << 20
# Shrinking the file pays when much of it is free; small remainders are soon used again.
_SHRINK_PAGES = 2_000

log = logging.getLogger(__name__)


class Forgotten(NamedTuple):
    """One change that left the history, and the rows that nobody needs from then on."""

    rev: int
    dead: tuple[int, ...]


def _insert(size: int) -> str:
    row = "(" + ",".join("?" * _COLUMNS) + ")"
    rows = ",".join([row] * size)
    # Unused places of a batch are filled with nulls.
    return f"INSERT INTO changes SELECT * FROM (VALUES {rows}) WHERE column1 IS NOT NULL"


_INSERT = {size: _insert(size) for size in _SIZES}


def no_failpoint(_: str) -> None:
    """In tests, a function that crashes or raises at the named step."""


class Log:
    def __init__(
        self,
        directory: Path,
        lock: Lock,
        base: Base,
        last: int,
        failpoint: Callable[[str], None] = no_failpoint,
    ) -> None:
        self.durable = last
        self.failure: StoreFailed | None = None
        self._directory = directory
        self._lock = lock
        self._db = open_writer(directory)
        self._head = Head.open(directory)
        self._base = base
        self._failpoint = failpoint
        self._unchecked_bytes = 0
        self._news = threading.Condition()
        self._rows: list[Row] = []
        self._forgotten: deque[Forgotten] = deque()
        self._hurry = False  # compact small remainders too
        self._closing = False
        self._idle = True
        self._notify: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=self._run, name="store-log", daemon=True)

    @property
    def compacted(self) -> int:
        return self._base.compacted

    def start(self, notify: Callable[[], None]) -> None:
        """`notify` is called from the log's thread whenever `durable` or `failure` changed."""
        self._notify = notify
        self._thread.start()

    def append(self, row: Row) -> None:
        with self._news:
            self._rows.append(row)
            if self._idle:
                self._idle = False
                self._news.notify()

    def forget(self, changes: list[Forgotten], hurry: bool = False) -> None:
        """Delete what these changes made superfluous, when convenient or, in a hurry, next."""
        with self._news:
            self._forgotten.extend(changes)
            self._hurry |= hurry
            if self._idle and self._has_work():
                self._idle = False
                self._news.notify()

    def close(self) -> None:
        """Write what is queued, compact, checkpoint, let go of the files. Blocks."""
        with self._news:
            self._closing = True
            self._idle = False
            self._news.notify()
        if self._thread.ident is not None:
            self._thread.join()
        self._db.close()
        self._head.close()
        self._lock.release()

    def _has_work(self) -> bool:
        compact = len(self._forgotten) >= (1 if self._hurry or self._closing else _SLICE)
        return bool(self._rows or compact or self._closing)

    def _run(self) -> None:
        try:
            while self._turn():
                pass
            self._checkpoint()
        # The end of this thread must be told whatever the reason, or every writer waits for ever.
        except Exception as error:  # noqa: BLE001
            self.failure = StoreFailed(
                f"the store at {self._directory} stopped accepting writes after revision "
                f"{self.durable}: {error}. Free space or repair the disk, then restart"
            )
            log.error("%s", self.failure.message)
            self._notify()

    def _turn(self) -> bool:
        """Write one batch and at most one slice of compaction; False when there is nothing left."""
        with self._news:
            while not self._has_work():
                self._hurry = False
                self._idle = True
                self._news.wait()
            rows, self._rows = self._rows, []
            compact = len(self._forgotten) >= (1 if self._hurry or self._closing else _SLICE)
            if not rows and not compact:
                return False
        if rows:
            self._write(rows)
            self._notify()
        if compact:
            self._compact()
        if self._unchecked_bytes > _CHECKPOINT_BYTES:
            self._checkpoint()
        return True

    def _write(self, rows: list[Row]) -> None:
        self._failpoint("append")
        chunks = [rows[start : start + _SIZES[-1]] for start in range(0, len(rows), _SIZES[-1])]
        several = len(chunks) > 1
        if several:
            self._db.execute("BEGIN IMMEDIATE")
        for chunk in chunks:
            size = next(size for size in _SIZES if size >= len(chunk))
            values: list[object] = []
            for row in chunk:
                values += (row[0], row_checksum(row), *row[1:])
                self._unchecked_bytes += len(row.data)
            for _ in range(size - len(chunk)):
                values += _NO_ROW
            self._db.execute(_INSERT[size], values)
        self._failpoint("commit")
        if several:
            self._db.execute("COMMIT")
        self._failpoint("committed")
        self._unchecked_bytes += 8_192  # pages that a small transaction rewrites
        self._head.write(rows[-1].rev)
        self.durable = rows[-1].rev

    def _compact(self) -> None:
        """One slice of `_forgotten`, in one transaction."""
        with self._news:
            slice_ = list(islice(self._forgotten, _SLICE))
        upto = slice_[-1].rev
        dead = msgspec.json.encode([rev for change in slice_ for rev in change.dead])
        self._failpoint("compact-choose")
        db, base = self._db, self._base
        db.execute("BEGIN IMMEDIATE")
        come = db.execute(
            "SELECT count(*), coalesce(sum(checksum), 0) FROM changes WHERE rev > ? AND rev <= ?",
            (base.compacted, upto),
        ).fetchone()
        gone = db.execute(
            "SELECT count(*), coalesce(sum(checksum), 0) FROM changes"
            " WHERE rev IN (SELECT value FROM json_each(?))",
            (dead,),
        ).fetchone()
        db.execute("DELETE FROM changes WHERE rev IN (SELECT value FROM json_each(?))", (dead,))
        self._failpoint("compact-delete")
        base = Base(upto, base.rows + come[0] - gone[0], base.total + come[1] - gone[1])
        db.execute(
            "UPDATE base SET compacted=?, rows=?, total=?, checksum=? WHERE one=1",
            (base.compacted, base.rows, base.total, base.checksum),
        )
        self._failpoint("compact-persist")
        db.execute("COMMIT")
        self._failpoint("compacted")
        self._base = base
        with self._news:
            for _ in slice_:
                self._forgotten.popleft()
        self._unchecked_bytes += len(slice_) * 2_048
        self._shrink()

    def _shrink(self) -> None:
        free = self._db.execute("PRAGMA freelist_count").fetchone()[0]
        pages = self._db.execute("PRAGMA page_count").fetchone()[0]
        if free > _SHRINK_PAGES and free * 2 > pages:
            # A script runs to its end in one call; `execute` would come back for every page.
            self._db.executescript(f"PRAGMA incremental_vacuum({_SHRINK_PAGES})")

    def _checkpoint(self) -> None:
        """Move the write-ahead file into the database; it is then written from its start again."""
        self._failpoint("checkpoint")
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        self._head.sync()
        self._unchecked_bytes = 0
