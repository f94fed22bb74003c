"""Which resource, object, subresource and verb does a path mean?

Kubernetes' own reading: `/api/v1` and `/apis/GROUP/VERSION`, an optional `watch` (the old way to
ask for a watch), an optional `namespaces/NS`, the plural, a name, a subresource. Segments are
percent-decoded before they are counted, so an encoded slash is a slash.
"""

from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote

from allaboard.api.meta import Kind
from allaboard.cluster.resource import Resource, Version

NAMESPACE_SUBRESOURCES = ("status", "finalize")
COLLECTION_VERBS = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
OBJECT_VERBS = {
    "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip


class Path(NamedTuple):
    """A resource path taken apart, before anybody asked whether it exists."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    old_watch: bool = False
    in_namespace: bool = False


@dataclass(slots=True, eq=False)
class Target:
    """What a request is about."""

    resource: Resource
    version: Version
    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    verb: str = ""

    @property
    def key(self) -> str:
        return self.resource.key


def split(path: str) -> list[str] | None:
    """Decoded segments; None for a path with an empty one, except a slash at the end."""
    decoded = unquote(path) if "%" in path else path
    if not decoded.startswith("/"):
        return None
    parts = decoded[1:].split("/")
    if parts and parts[-1] == "":
        parts.pop()
    return None if "" in parts else parts


def parse(parts: list[str]) -> Path | None:
    """The resource path in these segments; None when it is no path of a resource."""
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    old_watch = rest[0] == "watch" and len(rest) > 1
    if old_watch:
        rest = rest[1:]
    namespace, in_namespace = "", False
    if (
        rest[0] == "namespaces"
        and len(rest) > 2
        and not (not group and rest[2] in NAMESPACE_SUBRESOURCES)
    ):
        namespace, in_namespace, rest = rest[1], True, rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    return Path(group, version, rest[0], namespace, name, subresource, old_watch, in_namespace)


def verb_of(method: str, path: Path, watching: bool) -> str:
    """The API verb, '' where this method means nothing here."""
    if path.old_watch:
        return "watch" if method in ("GET", "HEAD") else ""
    if not path.name:
        verb = COLLECTION_VERBS.get(method, "")
        return "watch" if verb == "list" and watching else verb
    if path.subresource:
        if method == "POST":
            return "create"
        return "" if method == "DELETE" else OBJECT_VERBS.get(method, "")
    return OBJECT_VERBS.get(method, "")
