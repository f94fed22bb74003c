"""A server in memory with a short way to talk to it, and definitions in a few words."""

import copy
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from allaboard.api.meta import Json
from allaboard.client.transport import Request, Response
from allaboard.clock import system_clock
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.transport import InProcessTransport

STRING = {"type": "string"}
GROUP = "kites.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(schema: Json | None = None, **changes: Any) -> Json:
    """A definition of Kite, version v1, with the given schema of `spec`."""
    version: Json = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": root(schema or {"type": "object"})},
        "subresources": {"status": {}},
    }
    spec: Json = {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "kites", "singular": "kite", "kind": "Kite", "listKind": "KiteList"},
        "versions": [version],
        "conversion": {"strategy": "None"},
    }
    spec |= {k: v for k, v in changes.items() if k in spec}
    version |= {k: v for k, v in changes.items() if k not in spec}
    plural = spec["names"]["plural"]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{spec['group']}"},
        "spec": spec,
    }


def root(spec: Json) -> Json:
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"type": "object", "properties": {"spec": spec, "status": free}}


def fields(**schemas: Json) -> Json:
    return {"type": "object", "properties": schemas}


def two_versions(**conversion: Any) -> Json:
    """Kite in v1 and, deprecated, v1beta1, which have only `spec.a` in common."""
    crd = definition(fields(a=STRING, n={"type": "integer", "default": 1}))
    beta = copy.deepcopy(crd["spec"]["versions"][0])
    beta |= {"name": "v1beta1", "storage": False, "deprecated": True}
    beta["schema"]["openAPIV3Schema"]["properties"]["spec"] = fields(a=STRING, b=STRING)
    crd["spec"]["versions"].append(beta)
    crd["spec"]["conversion"] = conversion or {"strategy": "None"}
    return crd


def kite(name: str = "k", version: str = "v1", **spec: Any) -> Json:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Kite",
        "metadata": {"name": name},
        "spec": spec,
    }


class World:
    def __init__(self, server: Any) -> None:
        self.server = server
        self.store = server.services.store
        self.transport = InProcessTransport(server, "tests")

    async def call(self, method: str, path: str, body: Any = None, **more: Any) -> Response:
        return await self.transport.request(Request(method, path, body=body, **more))

    async def must(self, method: str, path: str, body: Any = None, **more: Any) -> Json:
        answer = await self.call(method, path, body, **more)
        assert answer.status < 300, answer.body
        result: Json = answer.body
        return result

    async def patch(self, path: str, body: Any, **more: Any) -> Response:
        return await self.call(
            "PATCH", path, body, content_type="application/merge-patch+json", **more
        )

    def kites(self, name: str = "", version: str = "v1", sub: str = "") -> str:
        tail = "".join(f"/{part}" for part in (name, sub) if part)
        return f"/apis/{GROUP}/{version}/namespaces/ns/kites{tail}"


@asynccontextmanager
async def world():
    server = await assemble(system_clock(), Random(1))
    it = World(server)
    await it.must("POST", "/api/v1/namespaces", _named("Namespace", "ns"))
    await it.must("POST", "/api/v1/namespaces/ns/serviceaccounts", _named("ServiceAccount"))
    try:
        yield it
    finally:
        await server.close()


def _named(kind: str, name: str = "default") -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}}
