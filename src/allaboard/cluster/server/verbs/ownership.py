"""Who set which field: how a write of the server is written into managed fields.

Every write but apply is tracked by comparing the old object with the new one, after decoding and
defaulting and before anything the server adds itself; apply brings its own owners along.
"""

from collections.abc import Callable
from functools import lru_cache

from allaboard.api.meta import Json
from allaboard.cluster.patching.apply import with_managed_fields
from allaboard.cluster.patching.managed import APPLY, UPDATE, Manager, Versions
from allaboard.cluster.patching.managed import track_update as tracked
from allaboard.cluster.patching.resets import reset_fields
from allaboard.cluster.resource import Resource, Version
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.server.routes import Target

__all__ = ["APPLY", "UPDATE", "Ownership"]


@lru_cache(maxsize=2048)
def _door(
    resource: Resource, version: Version, api_version: str, subresource: str, who: tuple[str, str]
) -> tuple[Manager, Schema | Versions]:
    """The manager and the schema for writes of one client through one door; made once."""
    has_status = "status" in resource.subresources
    reset = reset_fields(resource.key, subresource, has_status, resource.custom)
    manager = Manager(*who, api_version, subresource, reset)
    if len(resource.versions) > 1:
        return manager, Versions(version.schema, _converter(resource))
    return manager, version.schema


class Ownership:
    """The owners of one resource, as seen through one version and one door."""

    __slots__ = ("manager", "schema")

    def __init__(self, target: Target, name: str, operation: str = UPDATE) -> None:
        self.manager, self.schema = _door(
            target.resource,
            target.version,
            target.kind.api_version,
            target.subresource,
            (name, operation),
        )

    def track(self, old: Json | None, new: Json, now: float) -> Json:
        """`new` with its owners; old owners keep what did not change."""
        return with_managed_fields(new, tracked(old, new, self.schema, self.manager, now))


def _converter(resource: Resource) -> Callable[[Json, str], tuple[Json, Schema] | None]:
    """Another version of an object as far as owners are concerned: the same fields, renamed."""

    def convert(obj: Json, api_version: str) -> tuple[Json, Schema] | None:
        version = resource.versions.get(api_version.rpartition("/")[2])
        if version is None:
            return None
        return ({**obj, "apiVersion": api_version} if obj else obj), version.schema

    return convert
