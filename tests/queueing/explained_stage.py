"""A world with queues in which somebody asks why. Workloads stand for themselves: no jobs."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from allaboard.api.kueue.crd.definitions import definitions
from allaboard.api.kueue.types.flavors import ResourceFlavor
from allaboard.api.kueue.types.queues import ClusterQueue, Cohort, LocalQueue
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json
from allaboard.client.transport import Request, Response, Transport
from allaboard.cluster.server.exchange import User
from allaboard.cluster.transport import InProcessTransport
from allaboard.queueing.access import Access, review_access
from allaboard.queueing.scheduler import AdmissionScheduler
from allaboard.queueing.visibility import Visibility
from allaboard.runtime.manager import Manager
from allaboard.sim.loop import run_virtual
from allaboard.sim.world import World

BASE = "/apis/visibility.kueue.x-k8s.io/v1beta2"
Scene = Callable[["Stage"], Awaitable[None]]


def group(flavor_cpu: dict[str, str], **limits: str) -> Json:
    """A resource group of cpu alone."""
    flavors = [
        {"name": name, "resources": [{"name": "cpu", "nominalQuota": cpu, **limits}]}
        for name, cpu in flavor_cpu.items()
    ]
    return {"coveredResources": ["cpu"], "flavors": flavors}


class Stage:
    def __init__(self, world: World) -> None:
        self.world, self.client = world, world.client

    async def open(self, access: Access | None) -> None:
        for crd in definitions():
            await self.client.create(crd)
        client = self.world.cluster.client("kueue")
        self.manager = Manager(client, self.world.clock, Random(1), "kueue")
        self.ledger = AdmissionScheduler(self.manager).ledger
        workloads = self.manager.informers.of(Workload.KIND)
        endpoint = Visibility(self.ledger, workloads.get, access or review_access(client))
        self.world.cluster.server.discovery.extend(endpoint)
        await self.manager.start()
        await self.create(ResourceFlavor, "f", {})

    async def create(self, what: Any, name: str, spec: Json, namespace: str = "") -> None:
        meta = {"name": name, "namespace": namespace} if namespace else {"name": name}
        body = {"apiVersion": what.KIND.api_version, "kind": what.KIND.kind, "metadata": meta,
                "spec": spec}  # fmt: skip
        await self.client.create(body, what.KIND, namespace)

    async def namespace(self, name: str) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await self.client.create(body)

    async def queue(self, name: str, cpu: str, namespace: str = "default", **more: Any) -> None:
        spec = {"resourceGroups": [group({"f": cpu})], "namespaceSelector": {}, **more}
        await self.create(ClusterQueue, name, spec)
        await self.create(LocalQueue, name, {"clusterQueue": name}, namespace)

    async def cohort(self, name: str, parent: str) -> None:
        await self.create(Cohort, name, {"parentName": parent})

    async def submit(self, name: str, queue: str, cpu: str, **more: Any) -> None:
        """`pods`, `namespace`, `priority`, `pod` (more of the pod spec), `requests`."""
        requests = more.pop("requests", {"cpu": cpu})
        container = {"name": "c", "image": "x", "resources": {"requests": requests}}
        template = {"spec": {"containers": [container], **more.pop("pod", {})}}
        pods = {"name": "main", "count": more.pop("pods", 1), "template": template}
        namespace = more.pop("namespace", "default")
        spec = {"queueName": queue, "podSets": [pods], "priority": 0, **more}
        await self.create(Workload, name, spec, namespace)
        await asyncio.sleep(1)

    async def patch(self, what: Any, name: str, namespace: str, spec: Json) -> None:
        await self.client.patch(what.KIND, name, namespace, {"spec": spec})
        await asyncio.sleep(1)

    async def says(self, name: str, type_: str, status: str, reason: str, **more: Any) -> None:
        """Put a condition, and more, into a Workload's status, as its controllers would."""
        obj = await self.client.get(Workload.KIND, name, "default")
        kept = [c for c in (obj.get("status") or {}).get("conditions") or ()
                if c["type"] != type_]  # fmt: skip
        condition = {"type": type_, "status": status, "reason": reason, "message": "told",
                     "lastTransitionTime": "2026-01-01T00:00:00Z"}  # fmt: skip
        patch = {"status": {"conditions": [*kept, condition], **more}}
        await self.client.patch(Workload.KIND, name, "default", patch, subresource="status")
        await asyncio.sleep(1)

    async def ask(self, path: str, user: str = "", **query: str) -> Response:
        transport: Transport = self.client.transport
        if user:
            transport = InProcessTransport(self.world.cluster.server, "test", User(user))
        return await transport.request(Request("GET", f"{BASE}/{path}", query))

    async def why(self, name: str, namespace: str = "default", user: str = "") -> Json:
        answer = await self.ask(f"namespaces/{namespace}/workloads/{name}/explanation", user)
        assert answer.status == 200, answer.body
        body: Json = answer.body
        return body

    async def line(self, path: str, user: str = "", **query: str) -> list[tuple[str, int, int]]:
        answer = await self.ask(f"{path}/pendingworkloads", user, **query)
        assert answer.status == 200, answer.body
        return [
            (i["metadata"]["name"], i["positionInClusterQueue"], i["positionInLocalQueue"])
            for i in answer.body["items"]
        ]


def play(scene: Scene, access: Access | None = None) -> None:
    async def main() -> None:
        async with World(seed=1) as world:
            stage = Stage(world)
            await stage.open(access)
            try:
                await scene(stage)
            finally:
                await stage.manager.stop()

    run_virtual(main())


def advice(told: Json) -> list[str]:
    return [remedy["remedy"] for remedy in told["remedies"]]
