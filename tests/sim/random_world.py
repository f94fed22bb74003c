"""A world of queues in which everything happens at random, drawn from one seed.

Jobs come, are deleted, changed, deactivated; quota is cut and raised; queues stop, open, go and
come again; nodes are lost; the queueing controllers are stopped and started. In the end everything
is opened again, so that whoever fits must have run. The auditor sees every commit.
"""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

from allaboard.api.errors import ApiError
from allaboard.queueing.config import Settings
from allaboard.sim.actor import Actor
from allaboard.sim.audit.auditor import Auditor
from allaboard.sim.audit.log import Violation
from allaboard.sim.loop import run_virtual
from allaboard.sim.queued import install_queueing
from allaboard.sim.script import read_script
from allaboard.sim.world import World

Json = dict[str, Any]
VERSION = "kueue.x-k8s.io/v1beta2"
QUEUES = ("a", "b", "c", "d")
FLAVORS = ("plain", "costly")
P = "sim.allaboard.dev/"


@dataclass
class Outcome:
    violations: list[Violation]
    commits: int
    jobs: int
    unfinished: list[str]
    quiet_writes: int  # written in the ten minutes after everything came to rest
    crashed: list[str] = field(default_factory=list)


def queue(rng: Random, name: str) -> Json:
    lines = []
    for flavor in FLAVORS:
        line: Json = {"name": "cpu", "nominalQuota": str(rng.randint(2, 6))}
        if rng.random() < 0.3:
            line["borrowingLimit"] = str(rng.randint(0, 4))
        if rng.random() < 0.3:
            line["lendingLimit"] = str(rng.randint(0, int(line["nominalQuota"])))
        lines.append({"name": flavor, "resources": [line]})
    reclaim = rng.choice(["Never", "LowerPriority", "Any"])
    preemption: Json = {
        "reclaimWithinCohort": reclaim,
        "withinClusterQueue": rng.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
    }
    if reclaim != "Never" and rng.random() < 0.4:
        preemption["borrowWithinCohort"] = {"policy": "LowerPriority", "maxPriorityThreshold": 50}
    spec = {
        "cohortName": rng.choice(["left", "right"]),
        "namespaceSelector": {},
        "queueingStrategy": rng.choice(["StrictFIFO", "BestEffortFIFO"]),
        "preemption": preemption,
        "flavorFungibility": {
            "whenCanBorrow": rng.choice(["MayStopSearch", "TryNextFlavor"]),
            "whenCanPreempt": rng.choice(["MayStopSearch", "TryNextFlavor"]),
        },
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": lines}],
        "stopPolicy": "None",
    }
    return kueue("ClusterQueue", name, spec)


def kueue(kind: str, name: str, spec: Json, namespace: str = "") -> Json:
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": VERSION, "kind": kind, "metadata": meta, "spec": spec}


def job(rng: Random, name: str) -> Json:
    pods = rng.choice([1, 1, 2, 3])
    steering = {
        P + "run-for": f"{rng.randint(5, 900)}s",
        P + "stop-after": f"{rng.randint(0, 60)}s",
    }
    if rng.random() < 0.1:
        steering[P + "fail-after"] = "5s"
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    labels = {"kueue.x-k8s.io/queue-name": rng.choice(QUEUES)}
    if rng.random() < 0.5:
        labels["kueue.x-k8s.io/priority-class"] = rng.choice(["low", "high"])
    if rng.random() < 0.05:
        labels["kueue.x-k8s.io/max-exec-time-seconds"] = "300"
    meta: Json = {"name": name, "namespace": "default", "labels": labels}
    if pods > 1 and rng.random() < 0.2:
        meta["annotations"] = {"kueue.x-k8s.io/job-min-parallelism": "1"}
    pod = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 60,
        "containers": [container],
    }
    spec = {
        "parallelism": pods,
        "completions": pods,
        "backoffLimit": 1,
        "template": {"metadata": {"annotations": steering}, "spec": pod},
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def node(name: str, pool: str) -> Json:
    meta = {"name": name, "labels": {"pool": pool}}
    capacity = {"cpu": "100", "memory": "64Gi", "pods": "200"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"capacity": capacity}}


def base(rng: Random) -> list[Json]:
    found = [node(f"{pool}-{i}", pool) for pool in FLAVORS for i in (1, 2)]
    for flavor in FLAVORS:
        found.append(kueue("ResourceFlavor", flavor, {"nodeLabels": {"pool": flavor}}))
    for name, value in (("low", 10), ("high", 1000)):
        meta = {"name": name}
        document = {"apiVersion": VERSION, "kind": "WorkloadPriorityClass", "metadata": meta}
        found.append({**document, "value": value})
    found += [kueue("Cohort", name, {"parentName": "top"}) for name in ("left", "right")]
    for name in QUEUES:
        found += [queue(rng, name), kueue("LocalQueue", name, {"clusterQueue": name}, "default")]
    return found


class RandomWorld:
    def __init__(self, seed: int, minutes: int) -> None:
        self._rng = Random(seed)
        self._seed, self._minutes = seed, minutes
        self._auditor = Auditor()
        self._made = 0
        self._writes: list[str] = []

    def run(self) -> Outcome:
        return run_virtual(self._live())

    async def _live(self) -> Outcome:
        async with World(self._seed, trace=self._trace) as world:
            self._world, self._actor = world, Actor(world.client)
            self._manager = await install_queueing(world.cluster, Settings(), Random(self._seed))
            for document in base(self._rng):
                await self._do(document)
            end_s = world.elapsed_s + 60 * self._minutes
            while world.elapsed_s < end_s:
                await self._something()
                await self._pass(self._rng.expovariate(1 / 20))
            await self._open_all()
            await self._pass(3600.0)
            await self._open_all()  # what was on its way out is gone by now
            await self._pass(4 * 3600.0)
            self._auditor.rest()
            written = len(self._writes)
            await self._pass(600.0)
            quiet = len(self._writes) - written
            await self._manager.stop()
        return Outcome(
            self._auditor.violations, self._auditor.commits, self._made, self._unfinished(), quiet
        )

    def _trace(self, line: Json) -> None:
        self._auditor.see(line)
        if line["kind"] not in ("Lease", "Node"):  # heartbeats go on for ever
            self._writes.append(f"{line['type']} {line['kind']} {line['name']}")

    async def _pass(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def _do(self, document: Json, action: str = "apply") -> ApiError | None:
        meta = document["metadata"]
        steered = {**(meta.get("annotations") or {}), P + "action": action}
        (step,) = read_script(
            [("drawn", {**document, "metadata": {**meta, "annotations": steered}})]
        )
        return await self._actor.perform(step)

    async def _something(self) -> None:
        rng = self._rng
        kind = rng.random()
        if kind < 0.62:
            self._made += 1
            await self._do(job(rng, f"j{self._made}"))
        elif kind < 0.72:
            await self._to_a_job()
        elif kind < 0.80:
            await self._do(queue(rng, rng.choice(QUEUES)))
        elif kind < 0.86:
            policy = rng.choice(["Hold", "HoldAndDrain", "None", "None"])
            which = rng.choice(["ClusterQueue", "LocalQueue"])
            space = "default" if which == "LocalQueue" else ""
            document = kueue(which, rng.choice(QUEUES), {"stopPolicy": policy}, space)
            await self._do(document, "patch")
        elif kind < 0.89:
            parent = rng.choice(["top", "left", "right"])  # sometimes a circle
            await self._do(kueue("Cohort", rng.choice(["left", "right"]), {"parentName": parent}))
        elif kind < 0.92:
            await self._do(kueue("ClusterQueue", rng.choice(QUEUES), {}), "delete")
        elif kind < 0.95:
            name, pool = rng.choice([(f"{p}-{i}", p) for p in FLAVORS for i in (1, 2)])
            if await self._do(node(name, pool), "delete") is not None:
                await self._do(node(name, pool))
        else:
            await self._restart()

    async def _to_a_job(self) -> None:
        rng = self._rng
        if not self._made:
            return
        name = f"j{rng.randint(max(1, self._made - 15), self._made)}"
        target = {"apiVersion": "batch/v1", "kind": "Job",
                  "metadata": {"name": name, "namespace": "default"}}  # fmt: skip
        match rng.randint(0, 3):
            case 0:
                await self._do(target, "delete")
            case 1:
                await self._do({**target, "spec": {"parallelism": rng.randint(1, 3)}}, "patch")
            case 2:
                labels = {"kueue.x-k8s.io/queue-name": rng.choice(QUEUES)}
                meta = {**target["metadata"], "labels": labels}
                await self._do({**target, "metadata": meta}, "patch")
            case _:
                await self._toggle(name)

    async def _toggle(self, job_name: str) -> None:
        active = self._rng.random() < 0.5
        document = {
            "apiVersion": VERSION,
            "kind": "Workload",
            "metadata": {"namespace": "default", "annotations": {P + "of": f"Job/{job_name}"}},
            "spec": {"active": active},
        }
        await self._do(document, "patch")

    async def _restart(self) -> None:
        await self._manager.stop()
        await self._pass(self._rng.choice([0.0, 1.0, 30.0]))
        self._manager = await install_queueing(self._world.cluster, Settings(), Random(self._seed))

    async def _open_all(self) -> None:
        """Everything is there again, runs, and has room for the largest job."""
        for document in base(self._rng):
            if document["kind"] == "ClusterQueue":
                document["spec"]["cohortName"] = document["metadata"]["name"]
                for line in document["spec"]["resourceGroups"][0]["flavors"]:
                    line["resources"] = [{"name": "cpu", "nominalQuota": "6"}]
            if document["kind"] == "LocalQueue":
                document["spec"]["stopPolicy"] = "None"
            refusal = await self._do(document)
            assert refusal is None, refusal

    def _unfinished(self) -> list[str]:
        """Jobs that fit and were not told to stay, and still did not end."""
        objects = self._auditor.objects
        found = []
        for uid, obj in sorted(objects.jobs.items()):
            own = list(objects.workloads_of.get(uid, {}).values())
            ended = any(c["status"] == "True" and c["type"] in ("Complete", "Failed")
                        for c in (obj.get("status") or {}).get("conditions") or ())  # fmt: skip
            resting = any(not w["spec"].get("active", True) for w in own)
            if not ended and not resting:
                found.append(str(obj["metadata"]["name"]))
        return found
