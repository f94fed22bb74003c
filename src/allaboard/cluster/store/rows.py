"""What one line of the log is, and how is damage to it noticed?

A row is one committed change with its checksum. Rows above the compacted revision are numbered
without gaps; of those below, the `Base` row says how many there are and what their checksums add up
to. So a row that is missing is noticed as surely as one that was altered.
"""

import zlib
from dataclasses import dataclass
from typing import NamedTuple

from allaboard.clock import Instant
from allaboard.cluster.store.records import ChangeType

TYPES: tuple[ChangeType, ...] = ("ADDED", "MODIFIED", "DELETED")


class Row(NamedTuple):
    rev: int
    type: int  # index into TYPES
    time: Instant
    resource: str
    namespace: str
    name: str
    data: bytes

    @property
    def label(self) -> str:
        return f"{self.resource} {self.namespace}/{self.name}"


def row_checksum(row: Row) -> int:
    rev, type_, time, resource, namespace, name, data = row
    head = f"{rev} {type_} {time!r} {resource} {namespace} {name} "
    return zlib.crc32(data, zlib.crc32(head.encode()))


_COLUMN_TYPES = (int, int, float, str, str, str, bytes)


def row_is_well_typed(row: Row) -> bool:
    """A flipped bit in SQLite's own format can turn a text into a number or a null."""
    return tuple(map(type, row)) == _COLUMN_TYPES and 0 <= row.type < len(TYPES)


@dataclass(frozen=True, slots=True)
class Base:
    """The compacted part: rows up to `compacted` are the last states of objects, nothing else."""

    compacted: int
    rows: int
    total: int  # sum of the rows' checksums

    @property
    def checksum(self) -> int:
        return zlib.crc32(f"{self.compacted} {self.rows} {self.total}".encode())
