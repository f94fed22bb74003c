"""Is it alive, is it ready, what does it count? Small HTTP endpoints for kubelets and Prometheus.

`/livez` and `/healthz`: the event loop turns. `/readyz`: every named check passes. `/metrics`: the
registry, rendered in another thread. Bound to loopback unless told otherwise: metrics may name
tenants' queues.
"""

import asyncio
from collections.abc import Callable

from aiohttp import web

from allaboard.runtime.metrics import Metrics

Check = Callable[[], bool]
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class HealthSite:
    def __init__(self, metrics: Metrics, host: str = "127.0.0.1", port: int = 0) -> None:
        self._metrics = metrics
        self._host = host
        self._wanted_port = port
        self._checks: dict[str, Check] = {}
        self._runner: web.ServerRunner | None = None
        self.port = 0

    def add_check(self, name: str, check: Check) -> None:
        """Not ready while `check` says no."""
        self._checks[name] = check

    async def start(self) -> None:
        runner = web.ServerRunner(web.Server(self._answer), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, self._host, self._wanted_port).start()
        self._runner = runner
        self.port = int(runner.addresses[0][1])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="method not allowed\n")
        match request.path:
            case "/healthz" | "/livez":
                return web.Response(text="ok\n")
            case "/readyz":
                return self._readiness()
            case "/metrics":
                body = await asyncio.to_thread(self._metrics.render)
                return web.Response(body=body, headers={"Content-Type": METRICS_TYPE})
            case _:
                return web.Response(status=404, text="not found\n")

    def _readiness(self) -> web.Response:
        failing = [name for name, check in self._checks.items() if not check()]
        if failing:
            return web.Response(status=503, text=f"not ready: {', '.join(failing)}\n")
        return web.Response(text="ok\n")
