"""Who waits in a ClusterQueue, in which order, and what would wake them?

Workloads of one shape ask for the same in the same way, so what is hopeless for the first of them
is hopeless for all: they wait in one bucket, in order, and are parked and woken together. The
order is total: priority, then the time of queueing, then creation, namespace, name and UID.
"""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from allaboard.core.reasons import Reason
from allaboard.core.values import FlavorResource, PodSet, Workload

Order = tuple[int, float, float, str, str, str]
Shape = tuple[object, ...]


def order_of(workload: Workload) -> Order:
    return (
        -workload.priority,
        workload.queued_at,
        workload.created_at,
        workload.key.namespace,
        workload.key.name,
        workload.uid,
    )


def shape_of(workload: Workload) -> Shape:
    """Equal for workloads that no rule of admission can tell apart."""
    return (
        workload.key.namespace,
        workload.priority,
        tuple(_pod_set_shape(pods, workload.reclaimable) for pods in workload.pod_sets),
    )


def _pod_set_shape(pods: PodSet, reclaimable: Mapping[str, int]) -> Shape:
    requests = tuple(sorted(pods.requests.items()))
    gone = reclaimable.get(pods.name, 0)
    return (pods.name, pods.count - gone, pods.min_count, requests, pods.selector, pods.affinity,
            pods.tolerations, pods.group)  # fmt: skip


@dataclass(slots=True)
class Parked:
    """Why a bucket waits, and what could help it: these amounts, or with None anything at all."""

    reasons: tuple[Reason, ...]
    waits_for: tuple[FlavorResource, ...] | None


@dataclass(slots=True)
class Bucket:
    shape: Shape
    members: dict[str, Workload] = field(default_factory=dict)  # by UID
    heap: list[tuple[Order, str]] = field(default_factory=list)
    parked: Parked | None = None

    def head(self) -> Workload | None:
        while self.heap:
            order, uid = self.heap[0]
            member = self.members.get(uid)
            if member is not None and order_of(member) == order:
                return member
            heapq.heappop(self.heap)  # left, or moved to another place
        return None


@dataclass(slots=True)
class Pending:
    """The workloads of one ClusterQueue that hold no quota and may be considered."""

    buckets: dict[Shape, Bucket] = field(default_factory=dict)
    _shapes: dict[str, Shape] = field(default_factory=dict)  # UID -> where it waits
    _heap: list[tuple[Order, Shape]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._shapes)

    def __contains__(self, uid: str) -> bool:
        return uid in self._shapes

    def add(self, workload: Workload) -> None:
        """Put it in its place; one that waits already is moved."""
        shape = shape_of(workload)
        if self._shapes.get(workload.uid, shape) != shape:
            self.remove(workload.uid)
        bucket = self.buckets.get(shape)
        if bucket is None:
            bucket = self.buckets[shape] = Bucket(shape)
        self._shapes[workload.uid] = shape
        bucket.members[workload.uid] = workload
        heapq.heappush(bucket.heap, (order_of(workload), workload.uid))
        if bucket.parked is None:
            self._offer(bucket)

    def remove(self, uid: str) -> None:
        shape = self._shapes.pop(uid, None)
        if shape is None:
            return
        bucket = self.buckets[shape]
        del bucket.members[uid]
        if not bucket.members:
            del self.buckets[shape]

    def head(self) -> Workload | None:
        """The first that is not parked; stays where it is."""
        while self._heap:
            order, shape = self._heap[0]
            bucket = self.buckets.get(shape)
            if bucket is not None and bucket.parked is None:
                first = bucket.head()
                if first is not None and order_of(first) == order:
                    return first
                heapq.heappop(self._heap)
                self._offer(bucket)
            else:
                heapq.heappop(self._heap)
        return None

    def park(self, uid: str, parked: Parked) -> list[Workload]:
        """Set aside all that share this one's shape; they are returned, in order."""
        bucket = self.buckets[self._shapes[uid]]
        bucket.parked = parked
        return sorted(bucket.members.values(), key=order_of)

    def wake(self, shape: Shape) -> None:
        bucket = self.buckets.get(shape)
        if bucket is not None and bucket.parked is not None:
            bucket.parked = None
            self._offer(bucket)

    def wake_all(self) -> None:
        for shape in list(self.buckets):
            self.wake(shape)

    def parked_for(self, key: FlavorResource) -> Iterator[Shape]:
        """Shapes that more of `key` could help."""
        for shape, bucket in self.buckets.items():
            parked = bucket.parked
            if parked is not None and (parked.waits_for is None or key in parked.waits_for):
                yield shape

    def in_order(self) -> list[Workload]:
        """Everybody, as they would be considered; for positions."""
        waiting = [m for bucket in self.buckets.values() for m in bucket.members.values()]
        return sorted(waiting, key=order_of)

    def _offer(self, bucket: Bucket) -> None:
        first = bucket.head()
        if first is not None:
            heapq.heappush(self._heap, (order_of(first), bucket.shape))
