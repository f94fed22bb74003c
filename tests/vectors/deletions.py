"""Replays conversations about deletion with all controllers running, in virtual time.

Pauses and waits of the recording cost nothing here. Comparison is the vectors' own.
"""

import asyncio
import copy
import json
from pathlib import Path
from random import Random
from typing import Any

from tests.vectors.harness import replay_module

from allaboard.client.client import Client
from allaboard.client.transport import Request
from allaboard.cluster.controllers.install import Config, install
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.transport import InProcessTransport
from allaboard.runtime.manager import Manager
from allaboard.sim.loop import START, VirtualLoop, run_virtual

CERTIFICATE = "-----BEGIN CERTIFICATE----- ..."  # as the recording shortens it
LATER = START + 30 * 86400  # the normaliser takes times of 2026-01-01 for written ones
Differences = dict[str, list[tuple[str, Any, Any]]]


class Conversation:
    def __init__(self, path: Path) -> None:
        self._entries = json.loads(path.read_text())["entries"]
        self._replay = replay_module()
        self._variables: dict[str, Any] = {}
        self._want, self._got = self._replay.Normaliser(), self._replay.Normaliser()
        self.differences: Differences = {}  # of the entries that do not agree
        self.compared = 0

    def run(self) -> None:
        run_virtual(self._main())

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        clock = loop.clock(LATER)
        server = await assemble(clock, Random(1))
        client = Client(InProcessTransport(server), user_agent="kube-controller-manager")
        manager = Manager(client, clock, Random(2))
        install(manager, server.services.store, Config(root_certificate=CERTIFICATE))
        self._transport = InProcessTransport(server, "vectors/1.0")
        await manager.start()
        for entry in self._entries:
            await self._play(entry)
        await manager.stop()
        await server.close()

    async def _play(self, entry: Any) -> None:
        got = await self._call(entry["request"])
        for name, pointer in entry.get("capture", {}).items():
            self._variables[name] = self._replay.point(got["body"], pointer)
        await self._wait(entry)
        if entry.get("unstable") or (entry.get("setup") and got["status"] in (200, 201, 409)):
            return
        want = {k: v for k, v in entry["response"].items() if k in ("status", "body")}
        found = list(self._replay.diff(self._want.norm(want), self._got.norm(got)))
        self.compared += 1
        if found:
            self.differences[entry["name"]] = found

    async def _call(self, request: Any) -> Any:
        fill = self._replay.fill
        headers = request.get("headers", {})
        answer = await self._transport.request(
            Request(
                request["method"],
                fill(request["path"], self._variables),
                {k: str(v) for k, v in fill(request.get("query") or {}, self._variables).items()},
                fill(request.get("body"), self._variables),
                headers.get("Content-Type", "application/json"),
                headers.get("Accept", "application/json"),
            )
        )
        return {"status": answer.status, "body": copy.deepcopy(answer.body)}

    async def _wait(self, entry: Any) -> None:
        if "wait_status" in entry:
            path, status = entry["wait_status"]
            for _ in range(600):
                if (await self._call({"method": "GET", "path": path}))["status"] == status:
                    break
                await asyncio.sleep(0.1)
        await asyncio.sleep(entry.get("pause_seconds", 0.0))
