"""When is an object as somebody wants it? Conditions as kubectl writes them, awaited by watch."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from allaboard.api.errors import NotFound
from allaboard.api.meta import Json
from allaboard.api.times import parse_duration
from allaboard.cli.connection import Connection
from allaboard.cli.failures import BadInput
from allaboard.cli.targets import Target
from allaboard.client.transport import Request
from allaboard.cluster.crds.jsonpath import parse, select


@dataclass(frozen=True, slots=True)
class Wanted:
    """`holds` is asked with the object, or None while there is none."""

    holds: Callable[[Json | None], bool]
    past: str  # what is said when it came true


def parse_condition(text: str) -> Wanted:
    if text == "delete":
        return Wanted(lambda obj: obj is None, "deleted")
    if text == "create":
        return Wanted(lambda obj: obj is not None, "created")
    kind, equals, rest = text.partition("=")
    if kind == "condition" and rest:
        name, _, value = rest.partition("=")
        return Wanted(_condition(name, value or "True"), "condition met")
    if kind == "jsonpath" and equals:
        path, _, value = rest.strip("'").lstrip("{").partition("}=")
        return Wanted(_at_path(path, value.strip("'")), "condition met")
    raise BadInput(
        f"--for {text!r}: write condition=NAME[=VALUE], delete, create or jsonpath={{.path}}=VALUE"
    )


def _condition(name: str, value: str) -> Callable[[Json | None], bool]:
    def holds(obj: Json | None) -> bool:
        if obj is None:
            return False
        conditions = (obj.get("status") or {}).get("conditions") or []
        return any(
            str(c.get("type", "")).lower() == name.lower()
            and str(c.get("status", "")).lower() == value.lower()
            for c in conditions
        )

    return holds


def _at_path(path: str, value: str) -> Callable[[Json | None], bool]:
    steps = parse(path)
    if steps is None:
        raise BadInput(f"--for jsonpath: {path!r} cannot be read; write {{.status.phase}}=Running")

    def holds(obj: Json | None) -> bool:
        return obj is not None and any(str(found) == value for found in select(steps, obj))

    return holds


async def wait_for(connection: Connection, target: Target, wanted: Wanted, timeout: str) -> bool:
    """True once it holds; False when the time is up. 0s asks once, a negative time waits a week."""
    try:
        limit_s = parse_duration(timeout)
    except ValueError as error:
        raise BadInput(f"--timeout {timeout!r}: {error}") from None
    try:
        async with asyncio.timeout(7 * 86400 if limit_s < 0 else max(limit_s, 0.1)):
            await _until(connection, target, wanted)
    except TimeoutError:
        return False
    return True


async def _until(connection: Connection, target: Target, wanted: Wanted) -> None:
    kind = target.served.kind
    path = kind.path(target.namespace)
    chosen = {"fieldSelector": f"metadata.name={target.name}"}
    if not wanted.holds(None) and wanted.past != "created":
        await connection.client.get(kind, target.name, target.namespace)  # NotFound is an answer
    while True:
        listing = await connection.send(Request("GET", path, chosen))
        items = listing.get("items") or []
        if wanted.holds(items[0] if items else None):
            return
        query = {**chosen, "watch": "true"}
        query["resourceVersion"] = listing["metadata"]["resourceVersion"]
        async with connection.client.transport.stream(Request("GET", path, query)) as events:
            async for event in events:
                if event["type"] == "ERROR":
                    break
                gone = event["type"] == "DELETED"
                if wanted.holds(None if gone else event["object"]):
                    return
                if gone:
                    raise NotFound(f"{kind.plural} {target.name!r} was deleted while waiting")
