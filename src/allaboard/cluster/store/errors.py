"""How the store says no.

ApiError
├── StoreConflict     409     the stored revision is not the one the writer expected
├── Compacted         410     that point of history is forgotten
└── StoreFailed       500     the disk refused a write; nothing more is accepted
StoreUnreadable               a store exists but cannot be trusted: refuse to start, touch nothing
└── StoreLocked               another process has it open
"""

from pathlib import Path

from allaboard.api.errors import Conflict, Expired, InternalError


class StoreConflict(Conflict):
    """`found` is the current revision, 0 when there is no such object."""

    def __init__(self, resource: str, name: str, expected: int | None, found: int) -> None:
        super().__init__(
            f'Operation cannot be fulfilled on {resource} "{name}": the object has been modified; '
            "please apply your changes to the latest version and try again",
            details={"name": name, "kind": resource},
        )
        self.expected = expected
        self.found = found


class Compacted(Expired):
    def __init__(self, revision: int, compacted: int) -> None:
        super().__init__(f"too old resource version: {revision} ({compacted})")
        self.revision = revision
        self.compacted = compacted


class StoreFailed(InternalError):
    """The outcome of a write that waits when this is raised is unknown; later ones did not happen.

    A failed fsync is never retried: the kernel may have dropped the pages and call the next one a
    success. Restarting reads back what really is on disk.
    """


class StoreUnreadable(Exception):
    """What is wrong with the files of a store, where, and what a person can do about it."""

    def __init__(self, path: Path, problem: str, remedy: str) -> None:
        super().__init__(f"{path}: {problem}. Nothing was changed. {remedy}")
        self.path = path
        self.problem = problem
        self.remedy = remedy


class StoreLocked(StoreUnreadable):
    pass
