"""`allaboard up` killed while clients write to it: what was acknowledged is there afterwards.

Writers own names of their own and know what each must hold. A watcher notes what it is told and
resumes where it stopped; what it then knows must be what is there.
"""

import asyncio
import base64
import contextlib
import json
import random
import ssl
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

WRITERS = 6
NAMES = 8  # of each writer
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
LOST = (aiohttp.ClientError, asyncio.TimeoutError, ConnectionError)


class Witness:
    def __init__(self) -> None:
        self.value: dict[str, str | None] = {}  # what each name holds, None for nothing
        self.doubt: dict[str, str | None] = {}  # what it may hold instead: asked for, no answer
        self.newest = 0  # the newest resourceVersion that anybody was shown
        self.told: dict[str, str] = {}  # what the watch said
        self.told_to = 0
        self.acknowledged = 0

    def saw(self, version: str) -> int:
        self.newest = max(self.newest, int(version))
        return int(version)


@contextlib.asynccontextmanager
async def up(data: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, aiohttp.ClientSession]]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "allaboard.cli", "up", "--data", str(data), "--port", "0"),
        *("--nodes", "1"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    try:
        said = b""
        while b"Ctrl-C" not in said:
            line = await process.stdout.readline()
            assert line, f"it ended before it was up: {said.decode()}"
            said += line
        async with session(data / "kubeconfig") as http:
            yield process, http
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def session(kubeconfig: Path) -> aiohttp.ClientSession:
    settings: Any = yaml.safe_load(kubeconfig.read_text())
    cluster, user = settings["clusters"][0]["cluster"], settings["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return aiohttp.ClientSession(
        cluster["server"],
        headers={"Authorization": f"Bearer {user['token']}"},
        connector=aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority)),
        timeout=aiohttp.ClientTimeout(total=20),
    )


async def write(http: aiohttp.ClientSession, witness: Witness, name: str, number: int) -> None:
    """Create, change or delete one object, whichever it is the turn for."""
    held = witness.value.get(name)
    wanted = None if held is not None and number % 5 == 0 else str(number)
    witness.doubt[name] = wanted
    body: Any = {"metadata": {"name": name, "labels": {"by": "writer"}}, "data": {"n": wanted}}
    if held is None:
        request = http.post(CONFIG_MAPS, json=body)
    elif wanted is None:
        request = http.delete(f"{CONFIG_MAPS}/{name}")
    else:
        change = {"Content-Type": "application/merge-patch+json"}
        request = http.patch(f"{CONFIG_MAPS}/{name}", json={"data": {"n": wanted}}, headers=change)
    async with request as answer:
        told = await answer.json()
        assert answer.status < 300, told
    witness.value[name] = witness.doubt.pop(name)
    witness.acknowledged += 1
    if wanted is not None:
        witness.saw(told["metadata"]["resourceVersion"])


async def keep_writing(http: aiohttp.ClientSession, witness: Witness, writer: int) -> None:
    number = witness.acknowledged
    with contextlib.suppress(*LOST):
        while True:
            number += 1
            await write(http, witness, f"w{writer}-{number % NAMES}", number)


async def keep_watching(http: aiohttp.ClientSession, witness: Witness) -> None:
    """From where it stopped; from a list where the server has forgotten that."""
    with contextlib.suppress(*LOST):
        if not witness.told_to:
            await relist(http, witness)
        where: dict[str, str | int] = {
            "watch": 1,
            "labelSelector": "by=writer",
            "resourceVersion": witness.told_to,
        }
        async with http.get(CONFIG_MAPS, params=where, timeout=aiohttp.ClientTimeout()) as answer:
            if answer.status == 410:
                witness.told_to = 0
                return
            assert answer.status == 200
            async for line in answer.content:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    assert event["object"]["code"] == 410
                    witness.told_to = 0
                    return
                note(witness, event)


def note(witness: Witness, event: Any) -> None:
    meta = event["object"]["metadata"]
    version = witness.saw(meta["resourceVersion"])
    assert version > witness.told_to, "news are new, and in order"
    witness.told_to = version
    if event["type"] == "DELETED":
        del witness.told[meta["name"]]
    else:
        assert (event["type"] == "ADDED") == (meta["name"] not in witness.told)
        witness.told[meta["name"]] = event["object"]["data"]["n"]


async def relist(http: aiohttp.ClientSession, witness: Witness) -> None:
    witness.told, witness.told_to = await listed(http)


async def listed(http: aiohttp.ClientSession) -> tuple[dict[str, str], int]:
    async with http.get(CONFIG_MAPS, params={"labelSelector": "by=writer"}) as answer:
        body = await answer.json()
        assert answer.status == 200, body
    there = {item["metadata"]["name"]: item["data"]["n"] for item in body["items"]}
    return there, int(body["metadata"]["resourceVersion"])


async def check(http: aiohttp.ClientSession, witness: Witness) -> None:
    there, version = await listed(http)
    assert version >= witness.newest, "time does not go back"
    for name in sorted({*witness.value, *witness.doubt, *there}):
        expected = {witness.value.get(name), witness.doubt.get(name, witness.value.get(name))}
        assert there.get(name) in expected, name
        witness.value[name] = there.get(name)
    witness.doubt.clear()


async def caught_up(http: aiohttp.ClientSession, witness: Witness) -> None:
    """The resumed watch alone leads to what is there."""
    there, _ = await listed(http)
    watching = asyncio.ensure_future(keep_watching(http, witness))
    async with asyncio.timeout(10):
        while witness.told != there and not watching.done():
            await asyncio.sleep(0.01)
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert witness.told_to == 0 or witness.told == there


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.soak)])
async def test_no_acknowledged_write_is_lost_and_watches_resume(tmp_path: Path, kills: int) -> None:
    witness, chance = Witness(), random.Random(7)
    for _ in range(kills):
        async with up(tmp_path) as (process, http):
            await check(http, witness)
            if witness.told_to:
                await caught_up(http, witness)
            before = witness.acknowledged
            work = [keep_writing(http, witness, writer) for writer in range(WRITERS)]
            tasks = [asyncio.ensure_future(w) for w in (keep_watching(http, witness), *work)]
            enough = before + chance.randrange(50, 400)
            async with asyncio.timeout(30):
                while witness.acknowledged < enough:
                    await asyncio.sleep(0.001)
            process.kill()
            for problem in await asyncio.gather(*tasks, return_exceptions=True):
                if problem is not None:
                    raise problem
    async with up(tmp_path) as (_, http):
        await check(http, witness)
        await caught_up(http, witness)
