"""Where objects live: records by key, one total order of changes, watches, and the log on disk.

Imports `api` and `clock` only. Start with: `store.py`; then `history.py` (what is remembered),
`watch.py` (who is told); then `opening.py`, `disk.py` and `log.py` (what survives a crash).
"""

from allaboard.cluster.store.errors import (
    Compacted,
    StoreConflict,
    StoreFailed,
    StoreLocked,
    StoreUnreadable,
)
from allaboard.cluster.store.opening import Recovery, recover
from allaboard.cluster.store.records import Change, Record, same_content
from allaboard.cluster.store.store import Store
from allaboard.cluster.store.watch import Watch

__all__ = [
    "Change",
    "Compacted",
    "Record",
    "Recovery",
    "Store",
    "StoreConflict",
    "StoreFailed",
    "StoreLocked",
    "StoreUnreadable",
    "Watch",
    "recover",
    "same_content",
]
