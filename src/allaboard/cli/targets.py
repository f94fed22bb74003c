"""Which objects does a person mean? `pods`, `job train`, `jobs,pods`, `job/train`, or files."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from allaboard.api.meta import Json
from allaboard.cli.connection import Connection
from allaboard.cli.failures import BadInput
from allaboard.client.discovery import Served


@dataclass(frozen=True, slots=True)
class Target:
    """One object, or with an empty name all of a kind in the namespace ('' for all)."""

    served: Served
    namespace: str
    name: str
    where: str  # file and document, for errors


def full_name(target: Target) -> str:
    """As kubectl says it: `job.batch/train`."""
    kind = target.served.kind
    singular = target.served.singular or kind.kind.lower()
    return f"{singular}.{kind.group}/{target.name}" if kind.group else f"{singular}/{target.name}"


async def find_targets(
    connection: Connection, what: str, names: Sequence[str], all_namespaces: bool
) -> list[Target]:
    """`job/a pod/b`, or one kind with names, or kinds joined by commas without names."""
    if "/" in what:
        pairs = [word.partition("/") for word in (what, *names)]
        wanted = [(kind, name) for kind, _, name in pairs]
    elif names:
        wanted = [(what, name) for name in names]
    else:
        wanted = [(kind, "") for kind in what.split(",")]
    named = bool(names) or "/" in what
    targets = []
    for word, name in wanted:
        if named and ("/" in name or not word or not name):  # no name must not mean every name
            raise BadInput(f"{name!r} is not a name; write KIND NAME or KIND/NAME")
        for served in await _meant(connection, word, name):
            namespaced = served.kind.namespaced and not all_namespaces
            targets.append(Target(served, connection.namespace if namespaced else "", name, ""))
    return targets


async def _meant(connection: Connection, word: str, name: str) -> list[Served]:
    """The kind of this name or, where no object is named, the kinds of a category such as `all`."""
    served = await connection.discovery.resolve(word)
    if served is not None:
        return [served]
    everything = [] if name else await connection.discovery.all()
    members = [served for served in everything if word in served.categories]
    if not members:
        raise BadInput(f"the server has no resource type {word!r}")
    return members


async def read_targets(
    connection: Connection, documents: Sequence[tuple[str, Any]]
) -> list[tuple[Target, Json]]:
    """The object each document describes. A List stands for its items."""
    found: list[tuple[Target, Json]] = []
    for where, document in documents:
        if isinstance(document, dict) and isinstance(document.get("items"), list):
            inner = [(f"{where}, items[{i}]", item) for i, item in enumerate(document["items"])]
            found += await read_targets(connection, inner)
        else:
            found.append((await _read_target(connection, where, document), document))
    if not found:
        raise BadInput("the files hold no objects")
    return found


async def _read_target(connection: Connection, where: str, document: Any) -> Target:
    if not isinstance(document, dict):
        raise BadInput(f"{where}: expected an object with apiVersion and kind")
    for member in ("apiVersion", "kind"):
        if not isinstance(document.get(member), str) or not document[member]:
            raise BadInput(f"{where}: {member}: required")
    meta = document.get("metadata")
    if not isinstance(meta, dict) or not isinstance(meta.get("name"), str) or not meta["name"]:
        raise BadInput(f"{where}: metadata.name: required")
    served = await connection.discovery.find(document["apiVersion"], document["kind"])
    if served is None:
        raise BadInput(
            f"{where}: no matches for kind {document['kind']!r} in version "
            f"{document['apiVersion']!r}; is its CustomResourceDefinition installed?"
        )
    namespace = str(meta.get("namespace") or connection.namespace)
    return Target(served, namespace if served.kind.namespaced else "", meta["name"], where)
