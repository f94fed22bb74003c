"""Is there a store in this directory, whose is it, and can it be believed?

    store.db, store.db-wal    the log (SQLite, write-ahead); `-shm` beside them is scratch
    head                      the newest acknowledged revision, written after each group commit
    lock                      held while a process has the store open

SQLite drops a damaged end of its write-ahead file without a word; `head` tells that acknowledged
revisions went with it. It is not synced with every commit (it can lag after a power cut, never run
ahead), so it costs next to nothing. A store is created under another name and renamed when it is
complete. Reading happens through a read-only connection: a store that is refused is left as it is.
"""

import fcntl
import os
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from allaboard.cluster.store.errors import StoreLocked, StoreUnreadable
from allaboard.cluster.store.rows import Base, Row, row_checksum, row_is_well_typed

APPLICATION_ID = 0x0A11AB0D
SCHEMA_VERSION = 1
DATABASE = "store.db"
WAL = "store.db-wal"
FILES = (DATABASE, WAL, "head")

OWNER = "Check that this user may read and write the data directory, and that the disk has room"
RESTORE = (
    "Restore the whole directory from a backup, or keep what is readable with "
    "'python -m allaboard.cluster.store --recover DIRECTORY', which sets the damaged files aside"
)

_SCHEMA = """
CREATE TABLE changes(rev INTEGER PRIMARY KEY,
    checksum INTEGER NOT NULL, type INTEGER NOT NULL, time REAL NOT NULL,
    resource TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE base(one INTEGER PRIMARY KEY CHECK (one = 1),
    compacted INTEGER NOT NULL, rows INTEGER NOT NULL, total INTEGER NOT NULL,
    checksum INTEGER NOT NULL);
"""


class Lock:
    """Exclusive use of a data directory, until `release` or the end of the process."""

    def __init__(self, directory: Path) -> None:
        path = directory / "lock"
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreUnreadable(path, f"cannot be opened: {error.strerror}", OWNER) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(self._fd, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._fd)
            raise StoreLocked(
                directory,
                f"the store is in use by another process (pid {holder})",
                "Stop it, or choose another data directory",
            ) from error
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._fd)


class Head:
    """The newest acknowledged revision. Always the same 20 bytes, overwritten in place."""

    _FORM = struct.Struct(">4sQI4x")
    _MAGIC = b"head"

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def path(cls, directory: Path) -> Path:
        return directory / "head"

    @classmethod
    def read(cls, directory: Path) -> int:
        path = cls.path(directory)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise StoreUnreadable(path, f"cannot be read: {error.strerror}", RESTORE) from error
        if len(raw) != cls._FORM.size:
            problem = f"has {len(raw)} bytes instead of {cls._FORM.size}"
            raise StoreUnreadable(path, problem, RESTORE)
        magic, revision, checksum = cls._FORM.unpack(raw)
        found = zlib.crc32(raw[:12])
        if magic != cls._MAGIC or found != checksum:
            problem = f"is damaged: checksum {checksum:#010x} expected, {found:#010x} found"
            raise StoreUnreadable(path, problem, RESTORE)
        return int(revision)

    @classmethod
    def open(cls, directory: Path) -> "Head":
        return cls(os.open(cls.path(directory), os.O_RDWR | os.O_CREAT, 0o600))

    def write(self, revision: int) -> None:
        start = struct.pack(">4sQ", self._MAGIC, revision)
        os.pwrite(self._fd, self._FORM.pack(self._MAGIC, revision, zlib.crc32(start)), 0)

    def sync(self) -> None:
        os.fsync(self._fd)

    def close(self) -> None:
        os.close(self._fd)


def find_store(directory: Path) -> bool:
    """Whether there is a store. Remains of one are not taken for the absence of one."""
    if (directory / DATABASE).exists():
        return True
    remains = [name for name in (WAL, "head") if (directory / name).exists()]
    # A creation that was cut short leaves a head that never acknowledged anything.
    if not remains or (remains == ["head"] and Head.read(directory) == 0):
        return False
    raise StoreUnreadable(
        directory / DATABASE, f"is missing, but {' and '.join(remains)} exist", RESTORE
    )


def create_store(directory: Path, rows: list[Row], base: Base, head_revision: int) -> None:
    """Make a store file that holds `rows`; it gets its name only when it is complete.

    Pages of 8 KiB: pods of 2 kB waste half of a smaller page, and every commit writes whole pages.
    """
    head = Head.open(directory)
    head.write(head_revision)
    head.sync()
    head.close()
    draft = directory / f"{DATABASE}.new"
    draft.unlink(missing_ok=True)
    with closing(sqlite3.connect(draft, isolation_level=None)) as db:
        db.executescript("PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL;" + _SCHEMA)
        db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO changes VALUES (?,?,?,?,?,?,?,?)",
            ((row.rev, row_checksum(row), *row[1:]) for row in rows),
        )
        db.execute(
            "INSERT INTO base VALUES (1,?,?,?,?)",
            (base.compacted, base.rows, base.total, base.checksum),
        )
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode=WAL")
    _sync(draft)
    os.chmod(draft, 0o600)
    draft.rename(directory / DATABASE)
    _sync(directory)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def open_writer(directory: Path) -> sqlite3.Connection:
    """The one connection that writes, proven to be able to."""
    db = sqlite3.connect(
        directory / DATABASE, isolation_level=None, check_same_thread=False, cached_statements=32
    )
    try:
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("PRAGMA synchronous=FULL")
        # Checkpoints are ours: SQLite's automatic ones swallow their errors.
        db.execute("PRAGMA wal_autocheckpoint=0")
        mode = db.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode != "wal":
            raise sqlite3.OperationalError(f"the journal mode is {mode}")
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE base SET compacted = compacted")
        db.execute("ROLLBACK")
    except sqlite3.Error:
        db.close()
        raise
    return db


def refuse(problem: StoreUnreadable) -> None:
    raise problem


class Reader:
    """One pass over a store's rows that believes nothing and changes nothing.

    What is wrong goes to `complain`, which raises it, unless somebody wants to save what can be
    saved; damaged rows are then left out. Iterate to the end: some damage shows only there.
    """

    def __init__(
        self, directory: Path, complain: Callable[[StoreUnreadable], None] = refuse
    ) -> None:
        self.path = directory / DATABASE
        self._report = complain
        self.base = Base(0, 0, 0)
        self.last = 0  # the newest revision read
        self.head = 0
        try:
            self.head = Head.read(directory)
        except StoreUnreadable as error:
            complain(error)

    def __iter__(self) -> Iterator[Row]:
        self._check_file()
        try:
            uri = f"{self.path.absolute().as_uri()}?mode=ro"
            wal = self.path.with_name(WAL)
            if not wal.exists() or not wal.stat().st_size:
                uri += "&immutable=1"  # or SQLite would create the file to read nothing from it
            with closing(sqlite3.connect(uri, uri=True)) as db:
                self._check_identity(db)
                self._check_structure(db)
                self._read_base(db)
                yield from self._rows(db)
        # SQLite's messages quote what it found, which need not be text.
        except (sqlite3.Error, UnicodeError) as error:
            self._complain(f"SQLite cannot read it after revision {self.last}: {error}")
        if self.last < self.head:
            self._complain(
                f"the log ends at revision {self.last}, but {self.head} was acknowledged: the last "
                f"{self.head - self.last} changes are missing or damaged (see {WAL})"
            )

    def _complain(self, problem: str) -> None:
        self._report(StoreUnreadable(self.path, problem, RESTORE))

    def _check_file(self) -> None:
        try:
            with self.path.open("rb") as file:
                magic = file.read(16)
        except OSError as error:
            raise StoreUnreadable(
                self.path, f"cannot be opened: {error.strerror}", OWNER
            ) from error
        if magic != b"SQLite format 3\0":
            what = "is empty" if not magic else "is not an SQLite database"
            raise StoreUnreadable(self.path, what, RESTORE)

    def _check_identity(self, db: sqlite3.Connection) -> None:
        application = db.execute("PRAGMA application_id").fetchone()[0]
        if application != APPLICATION_ID:
            self._complain(
                f"is an SQLite database of something else (application id {application:#x}, "
                f"{APPLICATION_ID:#x} expected)"
            )
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version != SCHEMA_VERSION:
            self._report(
                StoreUnreadable(
                    self.path,
                    f"has format {version}; this program reads format {SCHEMA_VERSION}",
                    "Use the version of allaboard that wrote it",
                )
            )

    def _check_structure(self, db: sqlite3.Connection) -> None:
        """Our checksums find damaged rows; this finds damage that would spoil later writes."""
        verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            self._complain(f"SQLite finds it damaged: {verdict}")
        tables = db.execute("SELECT sql FROM sqlite_schema WHERE type='table' ORDER BY rowid")
        found = " ".join(f"{row[0]};" for row in tables)
        if found.split() != _SCHEMA.split():
            self._complain(f"its tables are not ours: {found!r:.300}")

    def _read_base(self, db: sqlite3.Connection) -> None:
        rows = db.execute("SELECT compacted, rows, total, checksum FROM base").fetchall()
        if len(rows) != 1 or not all(isinstance(value, int) for value in rows[0]):
            self._complain(f"the base row is damaged: {rows!r:.200}")
            return
        base = Base(*rows[0][:3])
        if base.checksum != rows[0][3]:
            self._complain(
                f"the base row (compacted revision {base.compacted}) is damaged: checksum "
                f"{rows[0][3]} expected, {base.checksum} found"
            )
            return
        self.base = base
        self.last = base.compacted

    def _rows(self, db: sqlite3.Connection) -> Iterator[Row]:
        base, count, total = self.base, 0, 0
        entire = False  # whether the compacted part was read and found whole
        for checksum, *values in db.execute(
            "SELECT checksum, rev, type, time, resource, namespace, name, data FROM changes"
            " ORDER BY rev"
        ):
            row = Row._make(values)
            rev = row.rev
            if rev > base.compacted and not entire:
                self._check_base(count, total)
                entire = True
            if not self._believes(row, checksum):
                continue
            if rev <= base.compacted:
                count, total = count + 1, total + checksum
            else:
                if rev != self.last + 1:
                    self._complain(
                        f"revisions {self.last + 1} to {rev - 1} are missing: "
                        f"{self.last} is followed by {rev}"
                    )
                self.last = rev
            yield row
        if not entire:
            self._check_base(count, total)

    def _check_base(self, count: int, total: int) -> None:
        base = self.base
        if (count, total) != (base.rows, base.total):
            self._complain(
                f"of the {base.rows} objects stored up to the compacted revision "
                f"{base.compacted}, {count} are there (checksums add up to {total}, "
                f"{base.total} expected)"
            )

    def _believes(self, row: Row, expected: object) -> bool:
        if not row_is_well_typed(row):
            self._complain(f"the row of revision {row.rev} is damaged: {row!r:.200}")
            return False
        found = row_checksum(row)
        if found != expected:
            self._complain(
                f"the row of revision {row.rev} ({row.label}) is damaged: checksum "
                f"{expected!r} expected, {found} found"
            )
            return False
        return True
