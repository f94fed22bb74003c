"""Which controllers does a cluster have? All of them, each switchable by name."""

from collections.abc import Callable
from dataclasses import dataclass

from allaboard.cluster.controllers.events_ttl import EventExpiry
from allaboard.cluster.controllers.feed import StoreFeed
from allaboard.cluster.controllers.finished_jobs import FinishedJobs
from allaboard.cluster.controllers.gc.collector import GarbageCollector
from allaboard.cluster.controllers.job.reconciler import JobController
from allaboard.cluster.controllers.namespace_content import root_ca, service_accounts
from allaboard.cluster.controllers.namespaces import NamespaceController
from allaboard.cluster.store.store import Store
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.manager import Manager


@dataclass(frozen=True, slots=True)
class Config:
    """What an operator may say about the controllers."""

    without: frozenset[str] = frozenset()  # names of controllers to leave out
    root_certificate: str = ""  # PEM, for kube-root-ca.crt
    event_ttl_s: float = 3600.0


Start = Callable[[Manager, StoreFeed, Config], None]


def _job(manager: Manager, feed: StoreFeed, config: Config) -> None:
    JobController(manager, recorder_for(manager, "job-controller"))


def _ttl_after_finished(manager: Manager, feed: StoreFeed, config: Config) -> None:
    FinishedJobs(manager)


def _garbage_collector(manager: Manager, feed: StoreFeed, config: Config) -> None:
    GarbageCollector(manager, feed, recorder_for(manager, "garbage-collector-controller"))


def _namespace(manager: Manager, feed: StoreFeed, config: Config) -> None:
    NamespaceController(manager, feed)


def _serviceaccount(manager: Manager, feed: StoreFeed, config: Config) -> None:
    service_accounts(manager)


def _root_ca(manager: Manager, feed: StoreFeed, config: Config) -> None:
    root_ca(manager, config.root_certificate)


def _event_ttl(manager: Manager, feed: StoreFeed, config: Config) -> None:
    manager.spawn(EventExpiry(feed, manager.clock, config.event_ttl_s).run, "event expiry")


CONTROLLERS: dict[str, Start] = {
    "job": _job,
    "ttl-after-finished": _ttl_after_finished,
    "garbage-collector": _garbage_collector,
    "namespace": _namespace,
    "serviceaccount": _serviceaccount,
    "root-ca": _root_ca,
    "event-ttl": _event_ttl,
}


def install(manager: Manager, store: Store, config: Config | None = None) -> None:
    """Register every controller that the configuration does not leave out."""
    config = config or Config()
    unknown = sorted(config.without - CONTROLLERS.keys())
    if unknown:
        known = ", ".join(CONTROLLERS)
        raise ValueError(f"no controller is named {', '.join(unknown)}; there are {known}")
    feed = StoreFeed(store)
    for name, start in CONTROLLERS.items():
        if name not in config.without:
            start(manager, feed, config)
    manager.spawn(feed.run, "store feed")


def recorder_for(manager: Manager, component: str) -> EventRecorder:
    """A recorder that signs as `component`."""
    recorder = EventRecorder(manager.client, manager.clock, manager.rng, component)
    manager.spawn(recorder.run, f"events of {component}")
    return recorder
