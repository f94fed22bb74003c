"""The core's own words: what it is told and what it decides about. Plain immutable values.

Nothing here knows Kubernetes objects; `queueing/translate.py` is the bridge. Amounts are integers
(milli-units of CPU, whole units of the rest), instants are floats of seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Instant = float


class FlavorResource(NamedTuple):
    flavor: str
    resource: str


class WorkloadKey(NamedTuple):
    namespace: str
    name: str


class LocalQueueKey(NamedTuple):
    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Quota:
    nominal: int
    borrowing: int | None = None
    lending: int | None = None


@dataclass(frozen=True, slots=True)
class FlavorQuotas:
    flavor: str
    quotas: Mapping[str, Quota]  # by resource


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    resources: tuple[str, ...]
    flavors: tuple[FlavorQuotas, ...]


def quotas_of(groups: tuple[ResourceGroup, ...]) -> dict[FlavorResource, Quota]:
    return {
        FlavorResource(flavor.flavor, resource): quota
        for group in groups
        for flavor in group.flavors
        for resource, quota in flavor.quotas.items()
    }


# Label requirements, taints and tolerations, as far as flavors need them.


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: str  # In, NotIn, Exists, DoesNotExist, Gt, Lt
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


@dataclass(frozen=True, slots=True)
class Toleration:
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


@dataclass(frozen=True, slots=True)
class Flavor:
    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: str = ""


StopPolicy = Literal["None", "Hold", "HoldAndDrain"]
Strategy = Literal["BestEffortFIFO", "StrictFIFO"]
WithinPolicy = Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"]
ReclaimPolicy = Literal["Never", "LowerPriority", "Any"]
StopSearch = Literal["MayStopSearch", "TryNextFlavor"]
Preference = Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"]


@dataclass(frozen=True, slots=True)
class Fungibility:
    when_can_borrow: StopSearch = "MayStopSearch"
    when_can_preempt: StopSearch = "TryNextFlavor"
    preference: Preference | None = None


@dataclass(frozen=True, slots=True)
class PreemptionPolicy:
    within_cluster_queue: WithinPolicy = "Never"
    reclaim_within_cohort: ReclaimPolicy = "Never"
    borrow_within_cohort: bool = False  # policy LowerPriority
    borrow_threshold: int | None = None  # only workloads at or below this priority


@dataclass(frozen=True, slots=True)
class Check:
    """An admission check of a ClusterQueue; no flavors means all of them."""

    name: str
    flavors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterQueue:
    name: str
    cohort: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    strategy: Strategy = "BestEffortFIFO"
    namespaces: tuple[Requirement, ...] | None = ()  # None: no namespace at all
    fungibility: Fungibility = Fungibility()
    preemption: PreemptionPolicy = PreemptionPolicy()
    checks: tuple[Check, ...] = ()
    stop: StopPolicy = "None"
    weight_milli: int = 1000
    usage_based: bool = False  # LocalQueues are ordered by what they consumed


@dataclass(frozen=True, slots=True)
class Cohort:
    name: str
    parent: str = ""
    groups: tuple[ResourceGroup, ...] = ()
    weight_milli: int = 1000


@dataclass(frozen=True, slots=True)
class LocalQueue:
    key: LocalQueueKey
    cluster_queue: str
    stop: StopPolicy = "None"
    weight_milli: int = 1000


@dataclass(frozen=True, slots=True)
class PodSet:
    name: str
    count: int
    requests: Mapping[str, int]  # of one pod
    min_count: int | None = None
    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] | None = None  # terms, any of which will do
    tolerations: tuple[Toleration, ...] = ()
    group: str = ""  # pod sets of one group get one flavor


@dataclass(frozen=True, slots=True)
class PodSetAssignment:
    name: str
    flavors: Mapping[str, str]  # resource -> flavor
    usage: Mapping[str, int]  # of all its pods
    count: int


@dataclass(frozen=True, slots=True)
class Assignment:
    cluster_queue: str
    pod_sets: tuple[PodSetAssignment, ...]

    def usage(self, needed: Mapping[str, int] | None = None) -> dict[FlavorResource, int]:
        """What it takes per flavor and resource; `needed` pods of a set at the most, if given."""
        total: dict[FlavorResource, int] = {}
        for part in self.pod_sets:
            count = part.count
            if needed is not None:
                count = min(count, needed.get(part.name, count))
            for resource, amount in part.usage.items():
                flavor = part.flavors.get(resource)
                if flavor is None:
                    continue
                key = FlavorResource(flavor, resource)
                left = amount if count == part.count else amount // part.count * count
                total[key] = total.get(key, 0) + left
        return total


CheckState = Literal["Pending", "Ready", "Retry", "Rejected"]


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload as the API server shows it. Replaced whole by every event."""

    uid: str
    key: WorkloadKey
    local_queue: str
    pod_sets: tuple[PodSet, ...]
    job_uid: str = ""
    priority: int = 0
    created_at: Instant = 0.0
    queued_at: Instant = 0.0  # its place among equals: creation or eviction
    active: bool = True
    finished: bool = False
    may_queue: bool = True  # False while Requeued=False
    requeue_at: Instant | None = None
    assignment: Assignment | None = None  # quota is reserved
    reserved_at: Instant = 0.0
    admitted: bool = False
    admitted_at: Instant = 0.0
    evicted: bool = False
    reclaimable: Mapping[str, int] = field(default_factory=dict)
    checks: Mapping[str, CheckState] = field(default_factory=dict)
    max_execution_s: float | None = None
    executed_s: float = 0.0  # in earlier admissions
    replaces: str = ""  # UID of the workload whose place it takes
    hold: Assignment | None = None  # it preempted others and holds what they free
    held_since: Instant = 0.0
    stopped: str = ""  # ClusterQueue or LocalQueue: evicted because that was stopped

    def usage_on(self, assignment: Assignment) -> dict[FlavorResource, int]:
        """What it takes there, without the pods that will not be needed again."""
        if not self.reclaimable:
            return assignment.usage()
        needed = {
            pods.name: max(0, pods.count - self.reclaimable.get(pods.name, 0))
            for pods in self.pod_sets
        }
        return assignment.usage(needed)

    @property
    def local_queue_key(self) -> LocalQueueKey:
        return LocalQueueKey(self.key.namespace, self.local_queue)


FairStrategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]


@dataclass(frozen=True, slots=True)
class Policies:
    """What the administrator chose for the whole installation."""

    fair_sharing: bool = False
    strategies: tuple[FairStrategy, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
    # Admission fair sharing: how fast consumption is forgotten, and how often it is sampled.
    usage_half_life_s: float = 0.0  # 0: forgotten at once
    usage_sampling_s: float = 300.0
    resource_weights: Mapping[str, float] = field(default_factory=dict)  # 1 where not named
