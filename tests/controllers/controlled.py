"""A cluster with all its controllers and neither nodes nor scheduler, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from allaboard.api.meta import Json, Kind
from allaboard.client.client import Client
from allaboard.clock import Clock
from allaboard.cluster.controllers.install import Config, install
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.store.store import Store
from allaboard.cluster.transport import InProcessTransport
from allaboard.runtime.manager import Manager
from allaboard.sim.loop import run_virtual, virtual_clock

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")


class Controlled:
    """The server's store and a client that acts as a person would."""

    def __init__(self, store: Store, client: Client, clock: Clock) -> None:
        self.store, self.client, self.clock = store, client, clock

    async def make(self, kind: Kind, name: str, namespace: str = "default", **fields: Any) -> Json:
        meta = {"name": name, **fields.pop("metadata", {})}
        body = {"metadata": meta, **fields}
        return await self.client.create(body, kind, namespace if kind.namespaced else "")

    async def find(self, kind: Kind, name: str, namespace: str = "default") -> Json | None:
        return await self.client.find(kind, name, namespace if kind.namespaced else "")

    def names(self, resource: str, namespace: str = "default") -> list[str]:
        return [record.name for record in self.store.list(resource, namespace)]

    def reasons(self, namespace: str = "default") -> list[str]:
        return [record.obj["reason"] for record in self.store.list("events", namespace)]


@asynccontextmanager
async def controlled(config: Config | None = None) -> AsyncIterator[Controlled]:
    clock = virtual_clock()
    server = await assemble(clock, Random(1))
    manager = Manager(Client(InProcessTransport(server)), clock, Random(2))
    install(manager, server.services.store, config)
    await manager.start()
    client = Client(InProcessTransport(server, "person"))
    cluster = Controlled(server.services.store, client, clock)
    await asyncio.sleep(0.5)
    try:
        yield cluster
    finally:
        await manager.stop()
        await server.close()


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)


def play(act: Callable[[Controlled], Awaitable[None]], config: Config | None = None) -> None:
    """Run one act in a fresh cluster, in virtual time."""

    async def main() -> None:
        async with controlled(config) as cluster:
            await act(cluster)

    run_virtual(main())
