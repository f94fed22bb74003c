"""Who set which field: how a write of the server is written into managed fields.

Every write but apply is tracked by comparing the old object with the new one, after decoding and
defaulting and before anything the server adds itself; apply brings its own owners along.
"""

from allaboard.api.meta import Json
from allaboard.cluster.patching.apply import with_managed_fields
from allaboard.cluster.patching.managed import APPLY, UPDATE, Manager, Versions
from allaboard.cluster.patching.managed import track_update as tracked
from allaboard.cluster.patching.resets import reset_fields
from allaboard.cluster.resource import Resource
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.server.routes import Target

__all__ = ["APPLY", "UPDATE", "Ownership"]


class Ownership:
    """The owners of one resource, as seen through one version and one door."""

    def __init__(self, target: Target, name: str, operation: str = UPDATE) -> None:
        resource = target.resource
        reset = reset_fields(
            resource.key, target.subresource, "status" in resource.subresources, resource.custom
        )
        self.manager = Manager(name, operation, target.kind.api_version, target.subresource, reset)
        self.schema: Schema | Versions = target.version.schema
        if len(resource.versions) > 1:
            self.schema = Versions(target.version.schema, _converter(resource))

    def track(self, old: Json | None, new: Json, now: float) -> Json:
        """`new` with its owners; old owners keep what did not change."""
        return with_managed_fields(new, tracked(old, new, self.schema, self.manager, now))


def _converter(resource: Resource):  # type: ignore[no-untyped-def]
    """Another version of an object as far as owners are concerned: the same fields, renamed."""

    def convert(obj: Json, api_version: str) -> tuple[Json, Schema] | None:
        version = resource.versions.get(api_version.rpartition("/")[2])
        if version is None:
            return None
        return ({**obj, "apiVersion": api_version} if obj else obj), version.schema

    return convert
