"""Who waits in a ClusterQueue, in which order, and what would wake them?

Workloads of one shape ask for the same in the same way, so what is hopeless for the first of them
is hopeless for all: they wait in one bucket, in order, and are parked and woken together. The
order is total: priority, then the time of queueing, then creation, namespace, name and UID. Where
LocalQueues share by what they consumed, the lightest LocalQueue comes before all that.
"""

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from allaboard.core.reasons import Reason
from allaboard.core.values import FlavorResource, LocalQueueKey, PodSet, Workload

Order = tuple[int, float, float, str, str, str]
Shape = tuple[object, ...]
Load = Callable[[LocalQueueKey], float]


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
    """Equal for workloads that no rule of admission can tell apart.

    One that replaces another is alone of its kind: it counts the room of the one it replaces.
    """
    return (
        workload.key.namespace,
        workload.local_queue,
        workload.priority,
        workload.replaces,
        tuple(_pod_set_shape(pods, workload.reclaimable) for pods in workload.pod_sets),
    )


def _pod_set_shape(pods: PodSet, reclaimable: Mapping[str, int]) -> Shape:
    requests = tuple(sorted(pods.requests.items()))
    gone = reclaimable.get(pods.name, 0) if reclaimable else 0
    return (pods.name, pods.count - gone, pods.min_count, requests, pods.selector, pods.affinity,
            pods.tolerations, pods.group)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Parked:
    """Why a bucket waits, and how much of what would help; nothing: only other rules would."""

    reasons: tuple[Reason, ...]
    waits_for: tuple[tuple[FlavorResource, int], ...] = ()
    gist: object = None  # the reasons without amounts: news worth telling everybody


@dataclass(slots=True, eq=False)
class Bucket:
    shape: Shape
    priority: int
    local_queue: LocalQueueKey
    members: dict[str, tuple[Order, Workload]] = field(default_factory=dict)  # by UID
    heap: list[tuple[Order, str]] = field(default_factory=list)
    parked: Parked | None = None
    told: object = None  # the gist that all but `untold` have heard
    untold: dict[str, None] = field(default_factory=dict)  # by UID, told from the end on

    def head(self) -> tuple[Order, Workload] | None:
        while self.heap:
            order, uid = self.heap[0]
            member = self.members.get(uid)
            if member is not None and member[0] == order:
                return member
            heapq.heappop(self.heap)  # left, or moved to another place
        return None


@dataclass(slots=True)
class Pending:
    """The workloads of one ClusterQueue that hold no quota and may be considered."""

    load: Load | None = None  # how much a LocalQueue consumed, where that counts
    buckets: dict[Shape, Bucket] = field(default_factory=dict)
    _places: dict[str, Bucket] = field(default_factory=dict)  # UID -> where it waits
    _heap: list[tuple[Order, int, Bucket]] = field(default_factory=list)
    _serial: int = 0  # so that buckets are never compared

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, uid: str) -> bool:
        return uid in self._places

    def bucket_of(self, uid: str) -> Bucket | None:
        return self._places.get(uid)

    def add(self, workload: Workload) -> Bucket:
        """Put it in its place; one that waits already is moved."""
        uid, shape, order = workload.uid, shape_of(workload), order_of(workload)
        bucket = self._places.get(uid)
        if bucket is not None and bucket.shape == shape:
            if bucket.members[uid][0] == order:
                bucket.members[uid] = (order, workload)
                return bucket
        else:
            if bucket is not None:
                self.remove(uid)
            bucket = self.buckets.get(shape)
            if bucket is None:
                bucket = Bucket(shape, workload.priority, workload.local_queue_key)
                self.buckets[shape] = bucket
            self._places[uid] = bucket
            bucket.untold[uid] = None
        bucket.members[uid] = (order, workload)
        heapq.heappush(bucket.heap, (order, uid))
        if bucket.parked is None and bucket.heap[0][1] == uid:
            self._offer(bucket)
        return bucket

    def remove(self, uid: str) -> None:
        bucket = self._places.pop(uid, None)
        if bucket is None:
            return
        was_first = bucket.heap and bucket.heap[0][1] == uid
        del bucket.members[uid]
        bucket.untold.pop(uid, None)
        if not bucket.members:
            del self.buckets[bucket.shape]
        elif was_first and bucket.parked is None:
            self._offer(bucket)

    def head(self) -> Workload | None:
        """The first that is not parked; stays where it is."""
        if self.load is not None:
            return self._lightest(self.load)
        while self._heap:
            order, _, bucket = self._heap[0]
            if bucket.parked is None and bucket.members:
                first = bucket.head()
                if first is not None and first[0] == order:
                    return first[1]
            heapq.heappop(self._heap)  # somebody was offered in its stead, or will be when woken
        return None

    def _lightest(self, load: Load) -> Workload | None:
        best: tuple[float, Order] | None = None
        found: Workload | None = None
        for bucket in self.buckets.values():
            first = bucket.head() if bucket.parked is None else None
            if first is not None:
                rank = (load(bucket.local_queue), first[0])
                if best is None or rank < best:
                    best, found = rank, first[1]
        return found

    def park(self, uid: str, parked: Parked) -> Bucket:
        """Set aside all that share this one's shape."""
        bucket = self._places[uid]
        bucket.parked = parked
        if bucket.told != parked.gist:
            bucket.told, bucket.untold = parked.gist, dict.fromkeys(reversed(bucket.members))
        return bucket

    def wake(self, bucket: Bucket) -> None:
        if bucket.parked is not None and bucket.members:
            bucket.parked = None
            self._offer(bucket)

    def wake_all(self) -> None:
        for bucket in self.buckets.values():
            self.wake(bucket)

    def in_order(self) -> list[Workload]:
        """Everybody, as they would be considered; for positions."""
        waiting = [m for bucket in self.buckets.values() for m in bucket.members.values()]
        load = self.load
        if load is None:
            return [workload for _, workload in sorted(waiting, key=lambda m: m[0])]
        ranked = sorted(waiting, key=lambda m: (load(m[1].local_queue_key), m[0]))
        return [workload for _, workload in ranked]

    def _offer(self, bucket: Bucket) -> None:
        first = bucket.head()
        if first is not None:
            self._serial += 1
            heapq.heappush(self._heap, (first[0], self._serial, bucket))
