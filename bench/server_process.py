"""A server in a process of its own, and a client that costs little: what the server benches share.

    python -m bench.server_process DIRECTORY [--in-memory]

prints one line of JSON (port) and serves until its input ends; `cpu` on its input is answered with
the processor seconds used so far.
"""

import argparse
import asyncio
import gc
import json
import ssl
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from allaboard.clock import system_clock
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.server.auth import Authenticator
from allaboard.cluster.server.exchange import User
from allaboard.cluster.server.http import HttpServer
from allaboard.cluster.server.tls import ensure_tls
from allaboard.cluster.store.store import Store

TOKEN = "bench-token"
ADMIN = User("bench", ("system:masters", "system:authenticated"))


async def serve(directory: Path, in_memory: bool) -> None:
    clock = system_clock()
    files = ensure_tls(directory / "tls", clock.now())
    store = Store(clock) if in_memory else Store.open(directory / "data", clock)
    api = await assemble(clock, Random(), store)
    http = HttpServer(api, Authenticator({TOKEN: ADMIN}), files.server_context())
    port = await http.start()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    print(json.dumps({"port": port}), flush=True)
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        if line.strip() == b"cpu":
            print(json.dumps({"cpu": time.process_time()}), flush=True)
    await http.stop(0.2)
    await api.close()


class ServerProcess:
    """Starts the above and talks to it through its pipes."""

    def __init__(self, directory: Path, in_memory: bool = False) -> None:
        command = [sys.executable, "-m", "bench.server_process", str(directory)]
        command += ["--in-memory"] if in_memory else []
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.port: int = self._answer()["port"]
        self.context = ssl.create_default_context(cafile=str(directory / "tls" / "ca.crt"))

    def _answer(self) -> dict[str, float | int]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def cpu_s(self) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write("cpu\n")
        self._process.stdin.flush()
        return self._answer()["cpu"]

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(20)


class Connection:
    """One keep-alive connection; a request is bytes written and an answer read, nothing parsed."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def open(self) -> "Connection":
        self._reader, self._writer = await asyncio.open_connection(
            "127.0.0.1", self._server.port, ssl=self._server.context, limit=64 * 1024 * 1024
        )
        return self

    async def send(self, method: str, path: str, body: bytes = b"", kind: str = "json") -> bytes:
        self.write(method, path, body, kind)
        head = await self._reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 2"):
            raise RuntimeError(head.decode() + (await self._reader.read(2000)).decode())
        lowered = head.lower()
        at = lowered.index(b"content-length: ") + 16
        length = int(lowered[at : lowered.index(b"\r\n", at)])
        return await self._reader.readexactly(length)

    def write(self, method: str, path: str, body: bytes = b"", kind: str = "json") -> None:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
            f"Content-Type: application/{kind}\r\nUser-Agent: bench\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)

    async def read_chunk(self) -> bytes:
        """The next chunk of a stream."""
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        data = await self._reader.readexactly(size + 2)
        return data[:-2]

    async def read_head(self) -> bytes:
        return await self._reader.readuntil(b"\r\n\r\n")

    def close(self) -> None:
        self._writer.close()


async def make_namespace(server: ServerProcess, name: str) -> None:
    connection = await Connection(server).open()
    body = json.dumps({"metadata": {"name": name}}).encode()
    await connection.send("POST", "/api/v1/namespaces", body)
    account = json.dumps({"metadata": {"name": "default"}}).encode()
    await connection.send("POST", f"/api/v1/namespaces/{name}/serviceaccounts", account)
    connection.close()


def render(name: str, count: int, wall_s: float, cpu_s: float) -> str:
    return (
        f"{name:<34}{count / wall_s:>10,.0f} /s{cpu_s / count * 1e6:>10.0f} µs of the server's CPU"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--in-memory", action="store_true")
    options = parser.parse_args()
    asyncio.run(serve(options.directory, options.in_memory))
