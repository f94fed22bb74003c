"""What of the cluster is kept at hand for decisions about jobs?"""

from collections.abc import Callable, Iterator, Mapping

from allaboard.api.kueue.types import (
    ResourceFlavor,
    Workload,
    WorkloadPriorityClass,
)
from allaboard.api.meta import Json, Key, Kind
from allaboard.api.types.cluster import PriorityClass
from allaboard.api.types.core import LimitRange, Namespace
from allaboard.queueing.jobs.adapter import JobAdapter, JobKey
from allaboard.queueing.jobs.shapes import Surroundings
from allaboard.queueing.jobs.workload_for import Context
from allaboard.runtime.informer import Informer
from allaboard.runtime.informers import Informers

RUNTIME_CLASS = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)
OWNERS, ADDRESSES, NAMESPACE = "owner uids", "jobs", "namespace"


class ByName(Mapping[str, Json]):
    """An informer of a cluster-scoped kind, read as a mapping."""

    def __init__(self, informer: Informer[Json]) -> None:
        self._informer = informer

    def __getitem__(self, name: str) -> Json:
        found = self._informer.get(Key("", name))
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter([obj["metadata"]["name"] for obj in self._informer.all()])

    def __len__(self) -> int:
        return len(self._informer)


class Caches:
    """What the reconciler reads."""

    def __init__(self, informers: Informers, adapters: Mapping[str, JobAdapter]) -> None:
        self.objects = {name: informers.of(a.kind) for name, a in adapters.items()}
        self.workloads = informers.of(Workload.KIND)
        self.namespaces = informers.of(Namespace.KIND)
        self.flavors = ByName(informers.of(ResourceFlavor.KIND))
        self.workload_classes = ByName(informers.of(WorkloadPriorityClass.KIND))
        self.pod_classes = ByName(informers.of(PriorityClass.KIND))
        self.runtime_classes = ByName(informers.of(RUNTIME_CLASS))
        self.limit_ranges = informers.of(LimitRange.KIND)
        _index(self.workloads, OWNERS, owner_uids)
        _index(self.limit_ranges, NAMESPACE, lambda obj: [obj["metadata"]["namespace"]])
        for name, adapter in adapters.items():
            _index(self.objects[name], f"{ADDRESSES} {name}", _address_of(adapter))

    def members(self, key: JobKey) -> list[Json]:
        index = f"{ADDRESSES} {key.framework}"
        return self.objects[key.framework].by_index(index, f"{key.namespace}/{key.name}")

    def context(self, namespace: str) -> Context:
        around = Surroundings(
            self.limit_ranges.by_index(NAMESPACE, namespace), self.runtime_classes
        )
        return Context(self.flavors, self.workload_classes, self.pod_classes, around)


def _index(informer: Informer[Json], name: str, values_of: Callable[[Json], list[str]]) -> None:
    if not informer.has_index(name):
        informer.add_index(name, values_of)


def owner_uids(obj: Json) -> list[str]:
    return [r["uid"] for r in obj["metadata"].get("ownerReferences") or () if r.get("uid")]


def _address_of(adapter: JobAdapter) -> Callable[[Json], list[str]]:
    def addresses(obj: Json) -> list[str]:
        key = adapter.key_of(obj)
        return [] if key is None else [f"{key.namespace}/{key.name}"]

    return addresses
