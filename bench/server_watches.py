"""How does a change reach a thousand watchers over HTTPS, and what does a large list cost?

    python -m bench.server_watches [--watchers N] [--changes N] [--pods N]

Fan-out: every watcher must see every change, in order and without a gap. Lists: all pods in one
answer, and in pages of 500.
"""

import argparse
import asyncio
import json
import tempfile
import time
from pathlib import Path

from bench.server_process import Connection, ServerProcess, make_namespace
from bench.server_writes import PREFIX, config_map, pod

MAPS, PODS = f"{PREFIX}/configmaps", f"{PREFIX}/pods"


async def follow(connection: Connection, changes: int, started: asyncio.Event) -> float:
    """Read events until the last change; returns when it arrived. Gaps and disorder raise."""
    connection.write("GET", f"{MAPS}?watch=true&resourceVersion=0")
    await connection.read_head()
    started.set()
    seen, last = 0, 0
    while seen < changes:
        for line in (await connection.read_chunk()).splitlines():
            meta = json.loads(line)["object"]["metadata"]
            revision = int(meta["resourceVersion"])
            if revision <= last:
                raise RuntimeError(f"revision {revision} after {last}")
            if meta["name"] != f"c{seen}":
                raise RuntimeError(f"{meta['name']} came instead of c{seen}")
            last, seen = revision, seen + 1
    return time.perf_counter()


async def fan_out(server: ServerProcess, watchers: int, changes: int) -> None:
    connections = [await Connection(server).open() for _ in range(watchers)]
    events = [asyncio.Event() for _ in connections]
    tasks = [
        asyncio.create_task(follow(connection, changes, event))
        for connection, event in zip(connections, events, strict=True)
    ]
    for event in events:
        await event.wait()
    writer = await Connection(server).open()
    cpu, begin = server.cpu_s(), time.perf_counter()
    for number in range(changes):
        await writer.send("POST", MAPS, config_map(number, "x"))
    written = time.perf_counter()
    arrived = await asyncio.gather(*tasks)
    wall_s, cpu_s = max(arrived) - begin, server.cpu_s() - cpu
    total = watchers * changes
    print(f"{watchers} watchers, {changes} changes, none missed, all in order")
    print(f"  events delivered       {total / wall_s:>12,.0f} /s")
    print(f"  server's CPU an event  {cpu_s / total * 1e6:>12.1f} µs")
    print(f"  last event after last write {max(arrived) - written:>7.3f} s")
    for connection in [*connections, writer]:
        connection.close()


async def lists(server: ServerProcess, count: int) -> None:
    connections = [await Connection(server).open() for _ in range(16)]
    numbers = iter(range(count))

    async def fill(connection: Connection) -> None:
        for number in numbers:
            await connection.send("POST", PODS, pod(number))

    await asyncio.gather(*(fill(c) for c in connections))
    one = connections[0]
    for name in ("first time", "again"):
        cpu, begin = server.cpu_s(), time.perf_counter()
        data = await one.send("GET", PODS)
        wall_s, cpu_s = time.perf_counter() - begin, server.cpu_s() - cpu
        print(f"list of {count} pods, {name}: {len(data) / 1e6:.1f} MB in {wall_s:.3f} s", end="")
        print(f", {cpu_s:.3f} s of the server's CPU")
    begin, pages, token = time.perf_counter(), 0, ""
    while True:
        query = f"?limit=500&continue={token}" if token else "?limit=500"
        meta = json.loads(await one.send("GET", PODS + query))["metadata"]
        pages += 1
        token = meta.get("continue", "")
        if not token:
            break
    print(f"the same in {pages} pages: {time.perf_counter() - begin:.3f} s")
    for connection in connections:
        connection.close()


async def run(server: ServerProcess, options: argparse.Namespace) -> None:
    await make_namespace(server, "bench")
    await fan_out(server, options.watchers, options.changes)
    await lists(server, options.pods)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.server_watches")
    parser.add_argument("--watchers", type=int, default=1_000)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory), in_memory=True)
        try:
            asyncio.run(run(server, options))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
