"""A whole cluster in virtual time: what happened, and what is there in the end.

Composed of the shipped parts: the embedded cluster with an in-memory store, its controllers and
simulated nodes, seeded chance, and the virtual loop's clock. Start one inside `run_virtual`.
"""

import asyncio
from collections.abc import Callable
from random import Random

from allaboard.api.errors import ApiError
from allaboard.api.meta import Json
from allaboard.api.times import format_micro_time
from allaboard.clock import rest
from allaboard.cluster.embedded import PARTS, ClusterConfig, EmbeddedCluster
from allaboard.cluster.server.services import Config as ServerConfig
from allaboard.cluster.store.records import Change
from allaboard.queueing.config import Settings
from allaboard.runtime.manager import Manager
from allaboard.sim.actor import Actor
from allaboard.sim.loop import START, VirtualLoop
from allaboard.sim.queued import install_queueing
from allaboard.sim.script import Step

Trace = Callable[[Json], None]

# In process no connection ever breaks: bookmarks and watches that end only cost virtual days.
UNHURRIED = ServerConfig(bookmark_every_s=30 * 86400.0, min_watch_s=30 * 86400.0)


class World:
    """Use as an async context manager inside `run_virtual`."""

    def __init__(
        self,
        seed: int = 0,
        trace: Trace | None = None,
        parts: frozenset[str] = PARTS,
        queueing: Settings | None = None,
    ) -> None:
        """`queueing`: settings of the queueing controllers; None leaves the bare cluster."""
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop), "a world lives in virtual time"
        self.loop = loop
        self.clock = loop.clock()
        config = ClusterConfig(clock=self.clock, rng=Random(seed), parts=parts, server=UNHURRIED)
        self.cluster = EmbeddedCluster(config)
        self._queueing = queueing
        self._queueing_rng = Random(seed + 1)
        self._queueing_manager: Manager | None = None
        self._trace = trace
        self._tracer: asyncio.Task[None] | None = None
        self._traced = 0
        self.refused: list[tuple[Step, ApiError]] = []

    async def __aenter__(self) -> "World":
        await self.cluster.open()
        if self._trace is not None:
            self._tracer = asyncio.ensure_future(self._follow(self._trace))
        await self.cluster.start()
        if self._queueing is not None:
            self._queueing_manager = await install_queueing(
                self.cluster, self._queueing, self._queueing_rng
            )
        self.client = self.cluster.client("simulate")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._queueing_manager is not None:
            await self._queueing_manager.stop()
        await self.cluster.stop()
        if self._tracer is not None:
            await self._traced_so_far()
            self._tracer.cancel()
            await asyncio.gather(self._tracer, return_exceptions=True)

    @property
    def elapsed_s(self) -> float:
        return self.clock.now() - START

    async def run(self, steps: list[Step], until_s: float | None) -> None:
        """Play the script, then go on until nothing but periodic work is left, or `until_s`."""
        play = asyncio.ensure_future(self._play(steps))
        if until_s is None:
            await self.loop.wait_idle()
        else:
            idle = asyncio.ensure_future(self.loop.wait_idle())
            end = asyncio.ensure_future(rest(until_s - self.elapsed_s))
            await asyncio.wait((idle, end), return_when=asyncio.FIRST_COMPLETED)
            for task in (idle, end):
                task.cancel()
            await asyncio.gather(idle, end, return_exceptions=True)
        if play.done():
            play.result()
        play.cancel()
        await asyncio.gather(play, return_exceptions=True)

    async def _play(self, steps: list[Step]) -> None:
        actor = Actor(self.client)
        for step in steps:
            if step.at_s > self.elapsed_s:
                await asyncio.sleep(step.at_s - self.elapsed_s)
            refusal = await actor.perform(step)
            if refusal is not None:
                self.refused.append((step, refusal))
                await self._trace_refusal(step, refusal)

    def objects(self) -> list[Json]:
        """Every stored object, ordered by kind, namespace and name."""
        store = self.cluster.store
        return [r.obj for resource in sorted(store.resources()) for r in store.list(resource)]

    async def _follow(self, trace: Trace) -> None:
        async for change in self.cluster.store.watch_all(0):
            trace(render_change(change))
            self._traced = change.rev

    async def _traced_so_far(self) -> None:
        """Wait until the changes committed by now are told."""
        revision = self.cluster.store.revision
        while self._traced < revision:
            await asyncio.sleep(0)

    async def _trace_refusal(self, step: Step, refusal: ApiError) -> None:
        if self._trace is None:
            return
        await self._traced_so_far()
        self._trace(
            {
                "time": format_micro_time(self.clock.now()),
                "type": "REFUSED",
                "kind": step.kind,
                "namespace": step.namespace,
                "name": step.name,
                "object": refusal.to_status(),
            }
        )


def render_change(change: Change) -> Json:
    record = change.record
    return {
        "time": format_micro_time(change.time),
        "type": change.type,
        "kind": record.obj.get("kind", ""),
        "namespace": record.namespace,
        "name": record.name,
        "object": record.obj,
    }
