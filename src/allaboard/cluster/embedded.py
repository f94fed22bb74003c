"""A whole Kubernetes in this process: store, API server, controllers, scheduler, simulated nodes.

`open` brings up storage and server, `start` the controllers, `listen` the socket. In virtual time
nobody listens and nothing touches the disk; everything else is the same.
"""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from allaboard.client.client import Client
from allaboard.clock import Clock
from allaboard.cluster.controllers.install import Config as ControllersConfig
from allaboard.cluster.controllers.install import install as install_controllers
from allaboard.cluster.kubelet.kubelet import install as install_kubelets
from allaboard.cluster.scheduling.scheduler import install as install_scheduler
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.server.auth import Authenticator
from allaboard.cluster.server.bootstrap import bootstrap
from allaboard.cluster.server.http import HttpServer
from allaboard.cluster.server.services import Config as ServerConfig
from allaboard.cluster.server.tls import TlsFiles
from allaboard.cluster.store.store import Store
from allaboard.cluster.transport import InProcessTransport
from allaboard.runtime.manager import Manager

PARTS = frozenset({"controllers", "scheduler", "kubelets"})


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    clock: Clock
    rng: Random
    data: Path | None = None  # None: in memory only
    root_ca: str = ""  # PEM, published in every namespace
    parts: frozenset[str] = PARTS  # what runs beside the API server
    server: ServerConfig | None = None


class EmbeddedCluster:
    def __init__(self, config: ClusterConfig) -> None:
        self.config = config
        self.store: Store
        self.server: ApiServer
        self.manager: Manager | None = None
        self._http: HttpServer | None = None

    async def open(self) -> None:
        """Storage and server: objects can be read and written, nothing acts on them yet."""
        clock, data = self.config.clock, self.config.data
        self.store = Store(clock) if data is None else Store.open(data, clock)
        self.server = await assemble(clock, self.config.rng, self.store, self.config.server)
        await bootstrap(self.server)

    async def start(self) -> None:
        """Controllers, scheduler and simulated nodes, each writing under its own name."""
        config = self.config
        client = self.client("kube-controller-manager")
        manager = Manager(client, config.clock, config.rng, "kube-controller-manager")
        if "controllers" in config.parts:
            settings = ControllersConfig(root_certificate=config.root_ca)
            install_controllers(manager, self.store, settings)
        if "scheduler" in config.parts:
            install_scheduler(manager, self.client("kube-scheduler"))
        if "kubelets" in config.parts:
            install_kubelets(manager, self.client("kubelet"))
        await manager.start()
        self.manager = manager

    async def listen(self, authenticator: Authenticator, tls: TlsFiles, port: int = 0) -> int:
        """Serve HTTPS on loopback; returns the port."""
        self._http = HttpServer(self.server, authenticator, tls.server_context())
        return await self._http.start(port)

    def client(self, user_agent: str) -> Client:
        """An administrator's client inside this process."""
        return Client(InProcessTransport(self.server, user_agent), user_agent)

    async def stop(self) -> None:
        """In the order of dependence: no new requests, no new work, then the storage."""
        if self._http is not None:
            await self._http.stop()
        if self.manager is not None:
            await self.manager.stop()
        await self.server.close()
