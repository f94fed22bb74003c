"""How long does one write take in this process, and how long does an informer take to hear of it?

    python -m bench.inprocess_writes [--count N]

A client, the whole server pipeline (routing, decoding, owners, admission, validation, store) and no
controllers; then the same changes again, followed by a watch that feeds a typed and a plain cache.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from random import Random

from allaboard.api.meta import Json, Kind
from allaboard.api.types.core import Event, Namespace
from allaboard.api.types.pods import Pod
from allaboard.client.client import Client
from allaboard.clock import system_clock
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.transport import InProcessTransport
from allaboard.runtime.informers import Informers

SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")
NOW = "2026-01-01T00:00:00Z"
Write = Callable[[int], Awaitable[object]]


def pod(number: int) -> Json:
    container = {"name": "main", "image": "img:1", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "restartPolicy": "Never"}
    return {"metadata": {"name": f"p{number}", "labels": {"app": "bench"}}, "spec": spec}


def event(number: int) -> Json:
    return {
        "metadata": {"name": f"p{number}.1", "namespace": "bench"},
        "involvedObject": {"kind": "Pod", "name": f"p{number}", "namespace": "bench"},
        "reason": "Scheduled", "message": f"assigned bench/p{number} to n", "type": "Normal",
        "count": 1, "firstTimestamp": NOW, "lastTimestamp": NOW, "source": {"component": "bench"},
    }  # fmt: skip


def status(ready: bool) -> Json:
    word = "True" if ready else "False"
    conditions = [
        {"type": kind, "status": word, "lastProbeTime": None, "lastTransitionTime": NOW}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
    ]
    running = {"name": "main", "image": "img:1", "imageID": "", "ready": ready, "restartCount": 0,
               "state": {"running": {"startedAt": NOW}}}  # fmt: skip
    return {
        "status": {"phase": "Running", "conditions": conditions, "containerStatuses": [running]}
    }


async def timed(name: str, count: int, write: Write) -> None:
    cpu = time.process_time()
    for number in range(count):
        await write(number)
    print(f"{name:<40}{(time.process_time() - cpu) / count * 1e6:>8.0f} µs", flush=True)


async def run(count: int) -> None:
    clock = system_clock()
    server = await assemble(clock, Random(1))
    client = Client(InProcessTransport(server, "bench"), "bench")
    await client.create({"metadata": {"name": "bench"}}, Namespace)
    await client.create({"metadata": {"name": "default"}}, SERVICE_ACCOUNT, "bench")
    kind = Pod.KIND

    def show(ready: bool) -> Write:
        body = status(ready)
        return lambda n: client.patch(kind, f"p{n}", "bench", body, "strategic", "status")

    await timed("create a Pod", count, lambda n: client.create(pod(n), kind, "bench"))
    await timed("patch its status, strategic, all new", count, show(False))
    await timed("patch its status, strategic, again", count, show(True))
    label = {"metadata": {"labels": {"b": "c"}}}
    await timed(
        "patch a label, merge", count, lambda n: client.patch(kind, f"p{n}", "bench", label)
    )
    await timed("create an Event", count, lambda n: client.create(event(n), Event.KIND, "bench"))
    await timed("get a Pod", count, lambda n: client.get(kind, f"p{n}", "bench"))

    informers = Informers(client, clock)
    caches = informers.of(Pod), informers.of(kind)
    informers.start()
    await informers.wait_synced()
    version = 0
    for n in range(count):
        patch = {"metadata": {"labels": {"b": "d"}}}
        written = await client.patch(kind, f"p{n}", "bench", patch)
        version = int(written["metadata"]["resourceVersion"])
    cpu = time.process_time()
    for cache in caches:
        await cache.wait_seen(version)
    spent = (time.process_time() - cpu) / count * 1e6
    print(f"{'a change to two caches of one watch':<40}{spent:>8.0f} µs")
    await informers.stop()
    await server.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=3_000)
    asyncio.run(run(parser.parse_args().count))


if __name__ == "__main__":
    main()
