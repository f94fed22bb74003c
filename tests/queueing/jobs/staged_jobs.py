"""A cluster in virtual time with the job reconciler and a hand that admits Workloads."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any

from allaboard.api.errors import Timeout
from allaboard.api.kueue import names
from allaboard.api.kueue.crd.definitions import definitions
from allaboard.api.kueue.types import ResourceFlavor, Workload
from allaboard.api.meta import Json, Kind
from allaboard.api.types.batch import Job
from allaboard.api.types.nodes import Node
from allaboard.api.types.pods import Pod
from allaboard.client.client import Client
from allaboard.client.transport import Request, Response, Transport
from allaboard.queueing.conditions import Say, changed
from allaboard.queueing.jobs.admission import Place, default_pod
from allaboard.queueing.jobs.install import install
from allaboard.queueing.jobs.settings import Settings
from allaboard.runtime.manager import Manager
from allaboard.sim.loop import run_virtual
from allaboard.sim.world import World

NS = "default"
SIM = "sim.allaboard.dev/"


class Cut:
    """A transport that counts writes and dies at the n-th: before it, without reply, or after."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.writes: list[str] = []
        self.bodies: list[Any] = []
        self.at = -1
        self.how = ""
        self.dead = asyncio.Event()

    async def request(self, request: Request) -> Response:
        if request.method == "GET" or "/events" in request.path:
            return await self._inner.request(request)
        if self.dead.is_set():
            raise Timeout("this controller is dead")
        self.writes.append(f"{request.method} {request.path}")
        self.bodies.append(request.body)
        if len(self.writes) - 1 != self.at:
            return await self._inner.request(request)
        self.dead.set()
        if self.how == "before":
            raise Timeout("never sent")
        answer = await self._inner.request(request)
        if self.how == "no reply":
            raise Timeout("carried out, but nobody heard of it")
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Stage:
    def __init__(self, world: World, settings: Settings) -> None:
        self.world, self.client, self.settings = world, world.client, settings
        self.manager: Manager | None = None

    async def open(self) -> None:
        for crd in definitions():
            await self.client.create(crd)
        for number, pool in enumerate(("spot", "spot", "other")):
            amounts = {"cpu": "64", "memory": "64Gi", "pods": "110"}
            node = {
                "metadata": {"name": f"n{number}", "labels": {"pool": pool, "kind": "node"}},
                "status": {"capacity": amounts, "allocatable": amounts},
            }
            await self.client.create(node, Node.KIND)
        flavor = {
            "metadata": {"name": "spot"},
            "spec": {
                "nodeLabels": {"pool": "spot"},
                "tolerations": [{"key": "spot", "operator": "Exists"}],
            },
        }
        await self.client.create(flavor, ResourceFlavor.KIND)
        await self.begin()

    async def begin(self) -> Cut:
        """New controllers that remember nothing."""
        await self.end()
        client = self.world.cluster.client("kueue")
        self.cut = Cut(client.transport)
        rng, clock = Random(1), self.world.clock
        self.manager = Manager(Client(self.cut, "kueue"), clock, rng, "kueue")
        install(self.manager, self.settings)
        await self.manager.start()
        return self.cut

    async def end(self) -> None:
        if self.manager is not None:
            await self.manager.stop()
            self.manager = None

    # People

    async def job(self, name: str = "train", **more: Any) -> Json:
        return await self.client.create(a_job(name, **more), Job.KIND, NS)

    async def get(self, kind: Kind, name: str) -> Json:
        return await self.client.get(kind, name, NS)

    async def workloads(self) -> list[Json]:
        return (await self.client.list(Workload.KIND, NS)).items

    async def workload(self) -> Json:
        (only,) = await self.workloads()
        return only

    async def pods(self) -> list[Json]:
        return (await self.client.list(Pod.KIND, NS)).items

    async def condition(self, type_: str) -> tuple[str, str, str] | None:
        return condition(await self.workload(), type_)

    def events(self) -> list[tuple[str, str]]:
        records = sorted(self.world.cluster.store.list("events", NS), key=lambda r: r.rev)
        found = [r.obj for r in records if r.obj.get("reportingComponent") == "kueue"]
        return [(e["reason"], e["message"]) for e in found]

    # The scheduler's part

    async def say(self, workload: Json, *told: Say, **status: Any) -> None:
        before = (workload.get("status") or {}).get("conditions") or []
        conditions = changed(before, told, self.world.clock.now(), 1)
        meta = workload["metadata"]
        body = {
            "metadata": {"resourceVersion": meta["resourceVersion"]},
            "status": {"conditions": conditions, **status},
        }
        await self.client.patch(
            Workload.KIND, meta["name"], meta["namespace"], body, subresource="status"
        )

    async def admit(self, workload: Json | None = None, **more: Any) -> None:
        workload = workload or await self.workload()
        await self.say(
            workload,
            Say("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue cq"),
            Say("Admitted", "True", "Admitted", "The workload is admitted"),
            Say("Evicted", "False", "QuotaReserved", "Previously: x"),
            admission=admission(workload),
            **more,
        )

    async def evict(self, reason: str = "Preempted", message: str = "make room") -> None:
        await self.say(await self.workload(), Say("Evicted", "True", reason, message))


def admission(workload: Json, count: int | None = None) -> Json:
    return {
        "clusterQueue": "cq",
        "podSetAssignments": [
            {
                "name": p["name"],
                "flavors": {"cpu": "spot"},
                "resourceUsage": {"cpu": str(count or p["count"])},
                "count": count or p["count"],
            }
            for p in workload["spec"]["podSets"]
        ],
    }


def condition(workload: Json, type_: str) -> tuple[str, str, str] | None:
    for c in (workload.get("status") or {}).get("conditions") or []:
        if c["type"] == type_:
            return c["status"], c["reason"], c["message"]
    return None


def a_job(
    name: str = "train",
    queue: str = "lq",
    parallelism: int = 2,
    run_for: str = "60s",
    labels: Json | None = None,
    annotations: Json | None = None,
    **spec: Any,
) -> Json:
    marks = {names.QUEUE_NAME: queue} if queue else {}
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {SIM + "run-for": run_for}},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }
    return {
        "metadata": {
            "name": name,
            "labels": {**marks, **(labels or {})},
            "annotations": annotations or {},
        },
        "spec": {
            "suspend": True,
            "parallelism": parallelism,
            "completions": parallelism,
            "template": template,
            **spec,
        },
    }


def a_pod(
    name: str,
    group: str = "",
    total: int = 0,
    run_for: str = "60s",
    cpu: str = "1",
    annotations: Json | None = None,
) -> Json:
    """As admission leaves it."""
    labels = {names.QUEUE_NAME: "lq"}
    notes = {SIM + "run-for": run_for, **(annotations or {})}
    if group:
        labels[names.POD_GROUP] = group
        notes[names.POD_GROUP_TOTAL_COUNT] = str(total)
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    meta = {"name": name, "labels": labels, "annotations": notes}
    spec = {"containers": [container], "restartPolicy": "Never"}
    return default_pod({"metadata": meta, "spec": spec}, Place())


def play(scene: Callable[[Stage], Awaitable[None]], settings: Settings | None = None) -> None:
    async def main() -> None:
        async with World(seed=1) as world:
            stage = Stage(world, settings or Settings())
            await stage.open()
            try:
                await scene(stage)
            finally:
                await stage.end()

    run_virtual(main())


__all__ = ["NS", "Cut", "Say", "Stage", "a_job", "a_pod", "admission", "condition", "play"]
