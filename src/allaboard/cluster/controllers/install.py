"""Which controllers does a cluster have? All of them, each switchable by name."""

from collections.abc import Callable
from dataclasses import dataclass

from allaboard.cluster.controllers.endpoints import EndpointsController
from allaboard.cluster.controllers.events_ttl import EventExpiry
from allaboard.cluster.controllers.feed import StoreFeed
from allaboard.cluster.controllers.finished_jobs import FinishedJobs
from allaboard.cluster.controllers.gc.collector import GarbageCollector
from allaboard.cluster.controllers.job.reconciler import JobController
from allaboard.cluster.controllers.namespace_content import (
    SystemNamespaces,
    root_ca,
    service_accounts,
)
from allaboard.cluster.controllers.namespaces import NamespaceController
from allaboard.cluster.controllers.nodes.eviction import TaintEviction
from allaboard.cluster.controllers.nodes.lifecycle import NodeLifecycle
from allaboard.cluster.controllers.nodes.pod_collector import PodCollector
from allaboard.cluster.controllers.nodes.residents import Residents
from allaboard.cluster.store.store import Store
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.manager import Manager


@dataclass(frozen=True, slots=True)
class Config:
    """What an operator may say about the controllers."""

    without: frozenset[str] = frozenset()  # names of controllers to leave out
    root_certificate: str = ""  # PEM, for kube-root-ca.crt
    event_ttl_s: float = 3600.0
    node_grace_s: float = 50.0  # without a renewed Lease a node is Unknown after this
    most_ended_pods: int = 0  # the oldest ended pods go beyond this many; 0: all may stay


Start = Callable[[Manager, StoreFeed, Config], None]


def _job(manager: Manager, feed: StoreFeed, config: Config) -> None:
    JobController(manager, recorder_for(manager, "job-controller"))


def _ttl_after_finished(manager: Manager, feed: StoreFeed, config: Config) -> None:
    FinishedJobs(manager)


def _garbage_collector(manager: Manager, feed: StoreFeed, config: Config) -> None:
    GarbageCollector(manager, feed, recorder_for(manager, "garbage-collector-controller"))


def _namespace(manager: Manager, feed: StoreFeed, config: Config) -> None:
    NamespaceController(manager, feed)


def _system_namespaces(manager: Manager, feed: StoreFeed, config: Config) -> None:
    SystemNamespaces(manager)


def _serviceaccount(manager: Manager, feed: StoreFeed, config: Config) -> None:
    service_accounts(manager)


def _root_ca(manager: Manager, feed: StoreFeed, config: Config) -> None:
    root_ca(manager, config.root_certificate)


def _event_ttl(manager: Manager, feed: StoreFeed, config: Config) -> None:
    manager.spawn(EventExpiry(feed, manager.clock, config.event_ttl_s).run, "event expiry")


def _node_lifecycle(manager: Manager, feed: StoreFeed, config: Config) -> None:
    recorder = recorder_for(manager, "node-controller")
    NodeLifecycle(manager, Residents(manager), recorder, config.node_grace_s)


def _taint_eviction(manager: Manager, feed: StoreFeed, config: Config) -> None:
    recorder = recorder_for(manager, "taint-eviction-controller")
    TaintEviction(manager, Residents(manager), recorder)


def _pod_collector(manager: Manager, feed: StoreFeed, config: Config) -> None:
    PodCollector(manager, Residents(manager), config.most_ended_pods)


def _endpoints(manager: Manager, feed: StoreFeed, config: Config) -> None:
    EndpointsController(manager)


CONTROLLERS: dict[str, Start] = {
    "system-namespaces": _system_namespaces,
    "job": _job,
    "ttl-after-finished": _ttl_after_finished,
    "garbage-collector": _garbage_collector,
    "namespace": _namespace,
    "serviceaccount": _serviceaccount,
    "root-ca": _root_ca,
    "event-ttl": _event_ttl,
    "node-lifecycle": _node_lifecycle,
    "taint-eviction": _taint_eviction,
    "pod-collector": _pod_collector,
    "endpoints": _endpoints,
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
