"""Who set which field: the server's calls into managed fields."""

from typing import TYPE_CHECKING

from allaboard.api.meta import Json

if TYPE_CHECKING:
    from allaboard.cluster.server.writes import Write


def track_update(write: "Write", old: Json | None, obj: Json, now: str) -> Json:
    del write, old, now
    obj["metadata"].pop("managedFields", None)
    return obj
