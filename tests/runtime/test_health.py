"""Probes and metrics over real HTTP, on loopback."""

import random

import aiohttp
from scripted_api import ScriptedApi

from allaboard.api.types import Pod
from allaboard.client.client import Client
from allaboard.client.counting import CountingTransport
from allaboard.clock import system_clock
from allaboard.runtime.controller import Controller, Done, Outcome
from allaboard.runtime.health import HealthSite
from allaboard.runtime.manager import Manager


async def fetch(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    url = f"http://127.0.0.1:{port}{path}"
    async with aiohttp.ClientSession() as session, session.request(method, url) as answer:
        return answer.status, await answer.text()


async def test_probes_and_metrics() -> None:
    api = ScriptedApi()
    api.put("/api/v1/namespaces/a/pods/x")
    manager = Manager(Client(CountingTransport(api)), system_clock(), random.Random(1))
    manager.informers.of(Pod)

    async def reconcile(key: str) -> Outcome:
        return Done()

    controller = manager.add(Controller("tester", reconcile))
    site = HealthSite(manager.metrics)
    site.add_check("caches", lambda: manager.ready)
    await site.start()
    try:
        assert await fetch(site.port, "/livez") == (200, "ok\n")
        assert await fetch(site.port, "/readyz") == (503, "not ready: caches\n")
        await manager.start()
        controller.enqueue("k")
        assert await fetch(site.port, "/readyz") == (200, "ok\n")
        assert await fetch(site.port, "/healthz") == (200, "ok\n")
        code, text = await fetch(site.port, "/metrics")
        assert code == 200
        assert 'allaboard_reconciles_total{controller="tester",outcome="done"} 1.0' in text
        assert 'allaboard_cache_objects{kind="pods/0"} 1.0' in text
        assert 'allaboard_reconcile_seconds_bucket{controller="tester",le="+Inf"} 1.0' in text
        assert 'allaboard_requests_total{answer="200",kind="v1/pods",verb="WATCH"} 1.0' in text
        assert (await fetch(site.port, "/nothing"))[0] == 404
        assert (await fetch(site.port, "/livez", "POST"))[0] == 405
    finally:
        await manager.stop()
        await site.stop()
    assert not manager.ready
