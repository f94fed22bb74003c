"""A server in memory, reached over HTTPS like any other, and the simplest client for it."""

import asyncio
import http.client
import json
import ssl
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

from allaboard.clock import system_clock
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.server.auth import Authenticator
from allaboard.cluster.server.exchange import User
from allaboard.cluster.server.http import HttpServer
from allaboard.cluster.server.services import Config
from allaboard.cluster.server.tls import TlsFiles, ensure_tls

TOKEN = "a-token"
ADMIN = User("admin", ("system:masters", "system:authenticated"))
MERGE = "application/merge-patch+json"


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: Any

    @property
    def reason(self) -> str:
        return str(self.body.get("reason", ""))

    @property
    def rv(self) -> int:
        return int(self.body["metadata"]["resourceVersion"])


class Server:
    """A running server and the simplest client for it."""

    def __init__(self, directory: Path, config: Config) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.api: ApiServer
        self.http: HttpServer
        self.files: TlsFiles
        self.run(self._start(directory, config))
        self.context = self.files.client_context()

    async def _start(self, directory: Path, config: Config) -> None:
        clock = system_clock()
        self.files = ensure_tls(directory, clock.now())
        self.api = await assemble(clock, Random(1), config=config)
        authenticator = Authenticator({TOKEN: ADMIN}, clock)
        self.http = HttpServer(self.api, authenticator, self.files.server_context())
        await self.http.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def stop(self) -> None:
        self.run(self.http.stop(0.2))
        self.run(self.api.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def connect(self, context: ssl.SSLContext | None = None) -> http.client.HTTPSConnection:
        context = context or self.context
        return http.client.HTTPSConnection("127.0.0.1", self.http.port, timeout=20, context=context)

    def open(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[http.client.HTTPSConnection, http.client.HTTPResponse]:
        """Send and hand back the open answer. Bytes are sent as they are, the rest as JSON."""
        sent = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        sent |= headers or {}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        connection = self.connect()
        connection.request(
            method, f"{path}?{urlencode(query)}" if query else path, data, headers=sent
        )
        return connection, connection.getresponse()

    def call(self, method: str, path: str, body: Any = None, **more: Any) -> Answer:
        query = more.pop("query", None)
        headers = more.pop("headers", None)
        assert not more, more
        connection, response = self.open(method, path, body, query, headers)
        raw = response.read()
        connection.close()
        is_json = "json" in (response.headers["content-type"] or "")
        return Answer(
            response.status, response.headers, json.loads(raw) if is_json and raw else raw
        )

    def get(self, path: str, **more: Any) -> Answer:
        return self.call("GET", path, **more)

    def post(self, path: str, body: Any, **more: Any) -> Answer:
        return self.call("POST", path, body, **more)

    def put(self, path: str, body: Any, **more: Any) -> Answer:
        return self.call("PUT", path, body, **more)

    def patch(self, path: str, body: Any, kind: str = MERGE, **more: Any) -> Answer:
        headers = {"Content-Type": kind} | more.pop("headers", {})
        return self.call("PATCH", path, body, headers=headers, **more)

    def delete(self, path: str, body: Any = None, **more: Any) -> Answer:
        return self.call("DELETE", path, body, **more)

    def watch(self, path: str, **query: str) -> list[Any]:
        """The events of a watch that ends by itself after a second."""
        wanted = {"watch": "true", "timeoutSeconds": "1"} | query
        connection, response = self.open("GET", path, None, wanted)
        assert response.status == 200, response.read()
        events = [json.loads(line) for line in response.read().splitlines()]
        connection.close()
        return events


def config_map(name: str, **more: Any) -> dict[str, Any]:
    meta = {"name": name, **more.pop("meta", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": more}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "img:1"}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def job(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "img:1"}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


NAMESPACE = "/api/v1/namespaces/t"
MAPS = f"{NAMESPACE}/configmaps"
PODS = f"{NAMESPACE}/pods"
JOBS = "/apis/batch/v1/namespaces/t/jobs"


def make_server(directory: Path, config: Config | None = None) -> Server:
    server = Server(directory, config or Config(version_wait_s=0.1))
    assert server.post("/api/v1/namespaces", {"metadata": {"name": "t"}}).status == 201
    account = {"metadata": {"name": "default"}}
    assert server.post(f"{NAMESPACE}/serviceaccounts", account).status == 201
    return server
