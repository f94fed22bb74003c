"""What does a set of controllers need around it, and in which order does it start and stop?

Start: informers list and follow, then controllers turn, so no reconcile sees an empty cache. Stop:
no new keys, running reconciles end, background tasks end, events are written out, informers stop.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from allaboard.client.client import Client
from allaboard.client.counting import CountingTransport
from allaboard.clock import Clock
from allaboard.runtime.backoff import Backoff
from allaboard.runtime.controller import Controller
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.informers import Informers
from allaboard.runtime.metrics import Metrics

log = logging.getLogger(__name__)
Background = Callable[[], Awaitable[None]]


class Manager:
    """Owns informers, controllers, recorder and metrics of one component."""

    def __init__(
        self, client: Client, clock: Clock, rng: random.Random, component: str = "allaboard"
    ) -> None:
        self.client = client
        self.clock = clock
        self.rng = rng
        self.component = component
        self.informers = Informers(client, clock, rng)
        self.recorder = EventRecorder(client, clock, rng, component)
        self.metrics = Metrics()
        self.metrics.add(self._families)
        self._controllers: list[Controller] = []
        self._backgrounds: list[tuple[str, Background]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._stopped = asyncio.Event()
        self._started = False

    def add(self, controller: Controller) -> Controller:
        """Have it started with the others, or at once if they already turn."""
        self._controllers.append(controller)
        self.metrics.add_controller(controller.numbers)
        if self._started:
            controller.start(self.informers, self.client, self.clock)
        return controller

    def spawn(self, work: Background, name: str) -> None:
        """Run `work` as long as the manager runs; if it breaks it is begun again."""
        self._backgrounds.append((name, work))
        if self._started:
            self._begin(name, work)

    @property
    def ready(self) -> bool:
        return self._started and not self._stopped.is_set() and self.informers.synced

    async def start(self) -> None:
        """Informers first, then controllers; returns when all turn, or `stop` was called."""
        self.informers.start()
        synced = asyncio.ensure_future(self.informers.wait_synced())
        stopped = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({synced, stopped}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            synced.cancel()
            stopped.cancel()
        if self._stopped.is_set():
            return
        self._started = True
        self._begin("events", self.recorder.run)
        for name, work in self._backgrounds:
            self._begin(name, work)
        for controller in self._controllers:
            controller.start(self.informers, self.client, self.clock)

    async def run(self) -> None:
        """Start, then wait for `stop`."""
        try:
            await self.start()
            await self._stopped.wait()
        finally:
            await self.stop()

    async def stop(self) -> None:
        if self._stopped.is_set():
            return
        self._stopped.set()
        await asyncio.gather(*(controller.stop() for controller in self._controllers))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        if self._started:
            await self.recorder.flush()
        await self.informers.stop()
        self._started = False

    def _begin(self, name: str, work: Background) -> None:
        self._tasks.append(asyncio.create_task(self._keep(name, work), name=name))

    async def _keep(self, name: str, work: Background) -> None:
        backoff = Backoff(1.0, 60.0, self.rng)
        while True:
            started = self.clock.monotonic()
            try:
                await work()
                return
            except Exception:  # one background's bug must not end the others
                log.exception("a background task broke", extra={"task": name})
            if self.clock.monotonic() - started > 300.0:
                backoff.reset()
            await asyncio.sleep(backoff.next_s())

    def _families(self) -> Iterator[Metric]:
        objects = GaugeMetricFamily("allaboard_cache_objects", "Objects cached", labels=["kind"])
        news = CounterMetricFamily("allaboard_cache_news", "Changes heard of", labels=["kind"])
        lists = CounterMetricFamily("allaboard_cache_lists", "Lists read", labels=["kind"])
        failures = CounterMetricFamily(
            "allaboard_cache_failures", "Broken lists and watches", labels=["kind"]
        )
        for number, reflector in enumerate(self.informers.reflectors()):
            label = [f"{reflector.scope.kind.resource}/{number}"]
            objects.add_metric(label, max(len(informer) for informer in reflector.informers))
            news.add_metric(label, reflector.events)
            lists.add_metric(label, reflector.lists)
            failures.add_metric(label, reflector.failures)
        events = CounterMetricFamily("allaboard_events", "Events told", labels=["fate"])
        events.add_metric(["written"], self.recorder.written)
        events.add_metric(["dropped"], self.recorder.dropped)
        yield from (objects, news, lists, failures, events)
        transport = self.client.transport
        if isinstance(transport, CountingTransport):
            requests = CounterMetricFamily(
                "allaboard_requests",
                "Requests to the API server",
                labels=["verb", "kind", "answer"],
            )
            for labels, count in list(transport.counts.items()):
                requests.add_metric(labels, count)
            yield requests
