"""A cluster with all its controllers and neither nodes nor scheduler, in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any

from allaboard.api.errors import ApiError
from allaboard.api.meta import Json, Kind
from allaboard.client.client import Client
from allaboard.client.transport import Request, Response
from allaboard.clock import Clock
from allaboard.cluster.controllers.install import Config, install
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.transport import InProcessTransport
from allaboard.runtime.manager import Manager
from allaboard.sim.loop import run_virtual, virtual_clock

CONFIG_MAP = Kind("", "v1", "ConfigMap", "configmaps")


class _Picky:
    """A transport on which a test can refuse creations."""

    def __init__(self, cluster: "Controlled", inner: InProcessTransport) -> None:
        self._cluster, self._inner = cluster, inner

    async def request(self, request: Request) -> Response:
        refuse = self._cluster.before_create
        if request.method == "POST" and refuse is not None:
            try:
                await refuse(request.path, request.body)
            except ApiError as error:
                return Response(error.status_code, error.to_status())
        return await self._inner.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Controlled:
    """The server's store, its controllers, and a client that acts as a person would."""

    def __init__(self, server: ApiServer, clock: Clock, config: Config | None) -> None:
        self.store, self.clock, self.rng = server.services.store, clock, Random(2)
        self.client = Client(InProcessTransport(server, "person"))
        self.before_create: Callable[[str, Json], Awaitable[None]] | None = None
        self._server, self._config = server, config
        self._manager: Manager | None = None

    async def restart(self) -> None:
        """New controllers that remember nothing."""
        await self.stop()
        client = Client(_Picky(self, InProcessTransport(self._server)))
        self._manager = Manager(client, self.clock, self.rng)
        install(self._manager, self.store, self._config)
        await self._manager.start()

    async def stop(self) -> None:
        if self._manager is not None:
            await self._manager.stop()
        self._manager = None

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
    cluster = Controlled(server, clock, config)
    await cluster.restart()
    await asyncio.sleep(0.5)
    try:
        yield cluster
    finally:
        await cluster.stop()
        await server.close()


NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False)


def play(act: Callable[[Controlled], Awaitable[None]], config: Config | None = None) -> None:
    """Run one act in a fresh cluster, in virtual time."""

    async def main() -> None:
        async with controlled(config) as cluster:
            await act(cluster)

    run_virtual(main())
