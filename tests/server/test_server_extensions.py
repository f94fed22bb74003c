"""A group that somebody else computes is discovered, routed and refused like any other."""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from allaboard.api.errors import Forbidden
from allaboard.api.meta import Json
from allaboard.client.transport import Request, Response
from allaboard.clock import system_clock
from allaboard.cluster.embedded import ClusterConfig, EmbeddedCluster
from allaboard.cluster.server.exchange import User
from allaboard.cluster.transport import InProcessTransport


class Echo:
    """Tells who asked for what; refuses `mallory`, and breaks on request."""

    group, versions = "echo.example.com", ("v2", "v1")

    def resources(self, version: str) -> list[Json]:
        return [{"name": "things/echo", "namespaced": True, "kind": "Echo", "verbs": ["get"],
                 "singularName": ""}]  # fmt: skip

    async def answer(
        self, method: str, path: Sequence[str], query: Mapping[str, str], user: Json
    ) -> Json:
        if user["username"] == "mallory":
            raise Forbidden("not you")
        if "broken" in path:
            raise RuntimeError("echo is broken")
        return {"method": method, "path": list(path), "query": dict(query), "user": user}


def answers(*requests: Request, user: str = "ann") -> list[Response]:
    async def main() -> list[Response]:
        cluster = EmbeddedCluster(ClusterConfig(system_clock(), Random(1), parts=frozenset()))
        await cluster.open()
        cluster.server.discovery.extend(Echo())
        transport = InProcessTransport(cluster.server, "test", User(user))
        found = [await transport.request(request) for request in requests]
        await cluster.stop()
        return found

    return asyncio.run(main())


def body_of(path: str) -> Any:
    return answers(Request("GET", path))[0].body


def test_it_is_discovered() -> None:
    group = next(g for g in body_of("/apis")["groups"] if g["name"] == Echo.group)
    assert group["preferredVersion"]["version"] == "v2"
    assert body_of(f"/apis/{Echo.group}")["kind"] == "APIGroup"
    listed = body_of(f"/apis/{Echo.group}/v1")
    assert [r["name"] for r in listed["resources"]] == ["things/echo"]
    assert f"/apis/{Echo.group}/v2" in body_of("/")["paths"]
    assert answers(Request("GET", f"/apis/{Echo.group}/v9"))[0].status == 404


def test_it_hears_who_asks_for_what() -> None:
    path = f"/apis/{Echo.group}/v2/namespaces/a%2Db/things/x/echo"
    told = answers(Request("GET", path, {"limit": "3"}))[0].body
    assert told["path"] == ["v2", "namespaces", "a-b", "things", "x", "echo"]
    assert (told["query"], told["user"]["username"]) == ({"limit": "3"}, "ann")


def test_its_refusals_and_failures_are_answers() -> None:
    path = f"/apis/{Echo.group}/v2/things"
    assert answers(Request("GET", path), user="mallory")[0].status == 403
    broken, next_one = answers(Request("GET", f"{path}/broken"), Request("GET", path))
    assert (broken.status, next_one.status) == (500, 200)
    assert "echo is broken" not in str(broken.body)
