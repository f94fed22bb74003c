"""What do we count, and how does Prometheus read it?

Hot paths only add to plain integers; a collector turns them into metric families when somebody
scrapes, off the event loop. Every manager has a registry of its own.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import generate_latest

from allaboard.runtime.workqueue import WorkQueue

_BUCKETS_S: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0)


class Timings:
    """A histogram of seconds as plain numbers."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BUCKETS_S) + 1)
        self.total_s = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(_BUCKETS_S, seconds)] += 1
        self.total_s += seconds

    def buckets(self) -> list[tuple[str, float]]:
        result: list[tuple[str, float]] = []
        below = 0
        limits = [str(limit) for limit in _BUCKETS_S] + ["+Inf"]
        for limit, count in zip(limits, list(self.counts), strict=True):
            below += count
            result.append((limit, below))
        return result


class ControllerNumbers:
    def __init__(self, name: str, queue: WorkQueue[Any]) -> None:
        self.name = name
        self.queue = queue
        self.done = 0
        self.again = 0
        self.failed = 0
        self.busy = 0
        self.timings = Timings()
        self.observe = self.timings.observe


Families = Callable[[], Iterable[Metric]]


class Metrics:
    """A registry whose families are computed when asked for."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._sources: list[Families] = []
        self._controllers: list[ControllerNumbers] = []
        self.registry.register(self)

    def add(self, families: Families) -> None:
        """Have `families` called at every scrape. It runs in another thread: it only reads."""
        self._sources.append(families)

    def add_controller(self, numbers: ControllerNumbers) -> None:
        self._controllers.append(numbers)

    def collect(self) -> Iterator[Metric]:
        yield from controller_families(self._controllers)
        for source in list(self._sources):
            yield from source()

    def describe(self) -> Iterator[Metric]:
        """Nothing: names are known only once they are collected."""
        return iter(())

    def render(self) -> bytes:
        """The text that Prometheus reads."""
        return generate_latest(self.registry)


def controller_families(controllers: Iterable[ControllerNumbers]) -> Iterator[Metric]:
    results = CounterMetricFamily(
        "allaboard_reconciles", "Reconciles by outcome", labels=["controller", "outcome"]
    )
    depth = GaugeMetricFamily("allaboard_workqueue_depth", "Keys ready", labels=["controller"])
    delayed = GaugeMetricFamily(
        "allaboard_workqueue_delayed", "Keys waiting for their time", labels=["controller"]
    )
    added = CounterMetricFamily("allaboard_workqueue_adds", "Keys added", labels=["controller"])
    retried = CounterMetricFamily(
        "allaboard_workqueue_retries", "Keys added after a failure", labels=["controller"]
    )
    busy = GaugeMetricFamily("allaboard_workers_busy", "Reconciles running", labels=["controller"])
    seconds = HistogramMetricFamily(
        "allaboard_reconcile_seconds", "How long reconciles took", labels=["controller"]
    )
    for one in list(controllers):
        for outcome in ("done", "again", "failed"):
            results.add_metric([one.name, outcome], getattr(one, outcome))
        depth.add_metric([one.name], len(one.queue))
        delayed.add_metric([one.name], one.queue.delayed)
        added.add_metric([one.name], one.queue.added)
        retried.add_metric([one.name], one.queue.retried)
        busy.add_metric([one.name], one.busy)
        seconds.add_metric([one.name], one.timings.buckets(), one.timings.total_s)
    yield from (results, depth, delayed, added, retried, busy, seconds)
