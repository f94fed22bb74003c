"""A server in a process of its own, whose memory can be measured and whose death would show.

Run as a script it serves until its standard input ends; `child()` starts and stops one.
"""

import asyncio
import json
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path
from random import Random
from typing import Any

TOKEN = "child-token"
NAMESPACE = {"metadata": {"name": "ns"}}
TIMEOUT_S = 3.0


@dataclass
class Child:
    port: int
    pid: int
    context: ssl.SSLContext
    process: "subprocess.Popen[str]"

    def memory_mb(self) -> float:
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * 4096 / 1e6

    def is_alive(self) -> bool:
        return self.process.poll() is None and self.call("GET", "/readyz")[0] == 200

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        """(status, data) of one request on a connection of its own."""
        connection = HTTPSConnection("127.0.0.1", self.port, timeout=20, context=self.context)
        sent = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        sent |= headers or {}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            raw = response.read()
            is_json = "json" in (response.headers["content-type"] or "") and raw.count(b"\n") == 1
            return response.status, json.loads(raw) if is_json else raw
        finally:
            connection.close()

    def raw(self, text: bytes) -> bytes:
        """What comes back for these very bytes: one answer, or what there is of it."""
        found = b""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=15) as plain,
            self.context.wrap_socket(plain, server_hostname="localhost") as secure,
        ):
            try:
                secure.sendall(text)
                while not _is_whole(found) and (piece := secure.recv(65536)):
                    found += piece
            except (ConnectionError, ssl.SSLError):
                pass  # cut off, which is an answer too
        return found


def _is_whole(answer: bytes) -> bool:
    head, found, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return bool(found) and (length is None or len(body) >= int(length[1]))


@contextmanager
def child(folder: Path) -> Iterator[Child]:
    """Start one; at the end it must still be there and stop when told."""
    command = [sys.executable, __file__, str(folder)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        greeting = json.loads(process.stdout.readline())
        context = ssl.create_default_context(cafile=greeting["ca"])
        it = Child(greeting["port"], process.pid, context, process)
        assert it.call("POST", "/api/v1/namespaces", NAMESPACE)[0] == 201
        yield it
        assert it.is_alive(), "the server has stopped"
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


async def serve(folder: Path) -> None:
    from allaboard.clock import system_clock
    from allaboard.cluster.server.assembly import assemble
    from allaboard.cluster.server.auth import Authenticator
    from allaboard.cluster.server.exchange import User
    from allaboard.cluster.server.http import HttpServer
    from allaboard.cluster.server.services import Config
    from allaboard.cluster.server.tls import ensure_tls

    clock = system_clock()
    files = ensure_tls(folder, clock.now())
    api = await assemble(clock, Random(1), config=Config(request_timeout_s=TIMEOUT_S))
    user = User("admin", ("system:masters", "system:authenticated"))
    http = HttpServer(api, Authenticator({TOKEN: user}, clock), files.server_context())
    port = await http.start()
    print(json.dumps({"port": port, "ca": str(files.ca)}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await http.stop(0.2)
    await api.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
