"""A fresh server in memory, over real HTTPS, and a replay of one vector file against it.

Comparison and normalisation are the vectors' own (`replay.py` beside them); this file only starts
the server, performs the owner's actions in process and counts.
"""

import asyncio
import copy
import importlib.util
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from tests.vectors import RECORDINGS

from allaboard.client.client import Client
from allaboard.clock import system_clock
from allaboard.cluster.controllers.install import install
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.server.auth import Authenticator
from allaboard.cluster.server.bootstrap import bootstrap
from allaboard.cluster.server.exchange import User
from allaboard.cluster.server.http import HttpServer
from allaboard.cluster.server.tls import ensure_tls
from allaboard.cluster.transport import InProcessTransport
from allaboard.runtime.manager import Manager

FOLDER = RECORDINGS
TOKEN = "vectors-token"
CONTROLLERS = "kube-controller-manager"
ADMIN = User("admin", ("system:masters", "system:authenticated"), "admin")


def replay_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vector_replay", FOLDER / "replay.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class RunningServer:
    """The server on its own loop in its own thread, so that a blocking client can talk to it."""

    def __init__(self, controllers: bool = False) -> None:
        self._manager: Manager | None = None
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self._directory = tempfile.TemporaryDirectory()
        self.api: ApiServer
        self.http: HttpServer
        self.run(self._start())
        if controllers:
            self.run(self._control())

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    async def _start(self) -> None:
        clock = system_clock()
        self.files = ensure_tls(Path(self._directory.name), clock.now())
        self.api = await assemble(clock, Random(7))
        await bootstrap(self.api)
        self.http = HttpServer(self.api, Authenticator({TOKEN: ADMIN}), self.files.server_context())
        self.port = await self.http.start()

    async def _control(self) -> None:
        """What the recording had: every controller, no scheduler, no kubelet."""
        client = Client(InProcessTransport(self.api, CONTROLLERS), CONTROLLERS)
        self._manager = Manager(client, self.api.services.clock, Random(8), CONTROLLERS)
        install(self._manager, self.api.services.store)
        await self._manager.start()

    async def _act(self, action: str) -> None:
        assert action in ("compact", "forget-history"), action
        self.api.services.store.forget_history()

    def act(self, action: str) -> None:
        self.run(self._act(action))

    def stop(self) -> None:
        self.run(self.http.stop(0.2))
        if self._manager is not None:
            self.run(self._manager.stop())
        self.run(self.api.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()
        self._directory.cleanup()


class ReplayClient:
    """What `replay.Server` is, made from a running server instead of a command line."""

    def __init__(self, replay: ModuleType, server: RunningServer) -> None:
        self._call = replay.Server.call
        self.host, self.port, self.tls = "127.0.0.1", server.port, True
        self.context = ssl.create_default_context(cafile=str(server.files.ca))
        self.token = TOKEN
        self._open: list[tuple[Any, Any]] = []

    def call(self, request: Any, variables: Any, timeout: float = 100) -> Any:
        connection, response = self._call(self, request, variables, timeout)
        self._open.append((connection, response))
        return connection, response

    def close(self) -> None:
        """Close what an entry left open; replay.py leaves it to the garbage collector."""
        for connection, response in self._open:
            response.close()
            connection.close()
        self._open.clear()


@dataclass
class Entry:
    name: str
    status_agrees: bool
    body_agrees: bool
    differences: list[tuple[str, Any, Any]] = field(default_factory=list)
    status: int = 0


@dataclass
class Result:
    file: str
    entries: list[Entry] = field(default_factory=list)

    def share(self, what: str) -> float:
        if not self.entries:
            return 100.0
        return 100.0 * sum(getattr(e, what) for e in self.entries) / len(self.entries)


def _cut(answer: Any) -> Any:
    body = answer.get("body")
    known = isinstance(body, dict) and body.get("kind") == "Status"
    status = {k: body.get(k) for k in ("reason", "code")} if known else {}
    return {"status": answer["status"], **status}


class Player:
    """Replays entries one by one, keeping the variables and the two normalisers of a file."""

    def __init__(self, replay: ModuleType, server: RunningServer) -> None:
        self.replay, self.server = replay, server
        self.client = ReplayClient(replay, server)
        self.variables: dict[str, Any] = {}
        self.want, self.got = replay.Normaliser(), replay.Normaliser()

    def play(self, entry: Any) -> Entry | None:
        """None where there is nothing to compare."""
        if "request" not in entry:
            self.server.act(entry["action"])
            time.sleep(min(entry.get("pause_seconds", 0), 0.2))
            return None
        if "reviews" in entry:
            return None
        request = entry["request"]
        if "watch" in request.get("query", {}) and "lines" not in entry["response"]:
            # Refused there; should it be opened here, it must end.
            request["query"].setdefault("timeoutSeconds", "1")
        got = self.replay.play(self.client, entry, self.variables)
        want = json.loads(json.dumps(entry["response"]))
        self._capture(entry, got)
        self._wait(entry)
        if entry.get("setup") and got["status"] in (200, 201, 409):
            return None
        return self._compare(entry, want, got)

    def _capture(self, entry: Any, got: Any) -> None:
        for name, pointer in entry.get("capture", {}).items():
            try:
                source = got["lines"] if "lines" in got else got["body"]
                self.variables[name] = self.replay.point(source, pointer)
            except (KeyError, TypeError, IndexError):
                self.variables[name] = "missing"

    def _wait(self, entry: Any) -> None:
        end = time.monotonic() + 5
        wanted = [(path, 200) for path in entry.get("wait_paths", [])]
        wanted += [tuple(entry["wait_status"])] if "wait_status" in entry else []
        for path, status in wanted:
            while time.monotonic() < end:
                if self.client.call({"method": "GET", "path": path}, {})[1].status == status:
                    break
                time.sleep(0.05)
        time.sleep(min(entry.get("pause_seconds", 0), 1.5))

    def _settle(self, got: Any, differences: list[tuple[str, Any, Any]]) -> None:
        """Keep one difference from shifting the tokens of everything after it."""
        for path, want, ours in differences:
            table = {"resourceVersion": "rvs", "uid": "uids"}.get(path.rpartition("/")[2])
            if table is None or not isinstance(ours, str) or "managedFields" in path:
                continue
            try:
                raw = self.replay.point(got, path)
            except (KeyError, IndexError, TypeError, ValueError):
                continue
            getattr(self.got, table)[raw] = want
        for table in ("rvs", "uids"):
            ours_known, theirs_known = getattr(self.got, table), getattr(self.want, table)
            while len(ours_known) < len(theirs_known):
                ours_known[f"missing {len(ours_known)}"] = ""
            while len(theirs_known) < len(ours_known):
                theirs_known[f"missing {len(theirs_known)}"] = ""

    def _compare(self, entry: Any, want: Any, got: Any) -> Entry | None:
        if entry.get("only"):
            for answer in (want, got):
                answer["body"] = self.replay.keep(answer.get("body"), entry["only"])
        for pointer in entry.get("ignore", []):
            for answer in (want, got):
                if isinstance(answer.get("body"), dict | list):
                    self.replay.drop(answer["body"], pointer)
        status = got["status"]
        same_status = _cut(want) == _cut(got)
        # What only one of the two servers made must not shift the tokens of what follows.
        pair = (self.got, self.want)
        ours, theirs = pair if same_status else copy.deepcopy(pair)
        differences = list(self.replay.diff(theirs.norm(want), ours.norm(got)))
        if same_status:
            self._settle(got, differences)
        if differences and entry.get("unstable"):
            return None
        return Entry(entry["name"], same_status, not differences, differences, status)


def replay_file(path: Path) -> Result:
    """Replay one file against a fresh server."""
    document = json.loads(path.read_text())
    replay = replay_module()
    result = Result(path.name)
    server = RunningServer(document.get("controllers") == "all")
    try:
        player = Player(replay, server)
        for entry in document["entries"]:
            played = player.play(entry)
            player.client.close()
            if played is not None:
                result.entries.append(played)
    finally:
        server.stop()
    return result


def files() -> list[Path]:
    """The files that are conversations; first the one that waits longest."""
    found = [p for p in sorted(FOLDER.glob("*.json")) if "entries" in p.read_text()[:4000]]
    return sorted(found, key=lambda p: p.name != "watch.json")
