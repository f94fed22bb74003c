"""How many durable writes and how many reads a second, over HTTPS?

    python -m bench.server_writes [--clients N] [--count N]

One process serves from a log on disk (every 2xx is on disk first), this one sends: each client has
one connection and waits for every answer. Rates depend on what else the machine does; the server's
processor time a request does so less.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.server_process import Connection, ServerProcess, make_namespace, render

PREFIX = "/api/v1/namespaces/bench"
Step = Callable[[Connection, int], "asyncio.Future[bytes]"]


def config_map(number: int, value: str) -> bytes:
    meta = {"name": f"c{number}", "labels": {"app": "bench"}}
    return json.dumps({"metadata": meta, "data": {"value": value}}).encode()


def pod(number: int) -> bytes:
    container = {"name": "main", "image": "img:1", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [container], "restartPolicy": "Never"}
    return json.dumps({"metadata": {"name": f"p{number}"}, "spec": spec}).encode()


STATUS = json.dumps(
    {"status": {"phase": "Running", "podIP": "10.0.0.1", "startTime": "2026-01-01T00:00:00Z"}}
).encode()


async def measure(server: ServerProcess, name: str, clients: int, count: int, step: Step) -> None:
    connections = [await Connection(server).open() for _ in range(clients)]
    numbers = iter(range(count))

    async def work(connection: Connection) -> None:
        for number in numbers:
            await step(connection, number)

    cpu, begin = server.cpu_s(), time.perf_counter()
    await asyncio.gather(*(work(connection) for connection in connections))
    wall_s, cpu_s = time.perf_counter() - begin, server.cpu_s() - cpu
    print(render(name, count, wall_s, cpu_s))
    for connection in connections:
        connection.close()


async def run(server: ServerProcess, clients: int, count: int) -> None:
    await make_namespace(server, "bench")
    maps, pods = f"{PREFIX}/configmaps", f"{PREFIX}/pods"
    steps: list[tuple[str, Step]] = [
        ("create ConfigMap", lambda c, i: c.send("POST", maps, config_map(i, "a"))),
        ("replace ConfigMap", lambda c, i: c.send("PUT", f"{maps}/c{i}", config_map(i, "b"))),
        ("create Pod", lambda c, i: c.send("POST", pods, pod(i))),
        (
            "patch Pod status (merge)",
            lambda c, i: c.send("PATCH", f"{pods}/p{i}/status", STATUS, "merge-patch+json"),
        ),
        ("get Pod", lambda c, i: c.send("GET", f"{pods}/p{i}")),
        ("delete ConfigMap", lambda c, i: c.send("DELETE", f"{maps}/c{i}")),
    ]  # type: ignore[list-item]
    for name, step in steps:
        await measure(server, name, clients, count, step)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.server_writes")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--in-memory", action="store_true", help="without a log")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory), options.in_memory)
        try:
            asyncio.run(run(server, options.clients, options.count))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
