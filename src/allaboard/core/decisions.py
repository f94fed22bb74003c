"""What the core decides. The shell carries each out and reports back what became of it."""

from dataclasses import dataclass
from typing import Literal

from allaboard.core.preemption import Because
from allaboard.core.reasons import Reason
from allaboard.core.values import Assignment, Workload


@dataclass(frozen=True, slots=True)
class Reserve:
    """Quota is reserved; `admitted` too when nothing else stands between."""

    workload: Workload
    assignment: Assignment
    admitted: bool


@dataclass(frozen=True, slots=True)
class Admit:
    """All checks of a workload with reserved quota are ready."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class Preempted:
    """Evicted to make room for another workload."""

    by_uid: str
    by_job_uid: str
    because: Because


@dataclass(frozen=True, slots=True)
class QueueStopped:
    """Its ClusterQueue, or its LocalQueue, was told to drain."""

    is_local: bool


@dataclass(frozen=True, slots=True)
class CheckRetry:
    """An admission check asks for another try later."""

    check: str


ResumedBecause = Literal["BackoffFinished", "ClusterQueueRestarted", "LocalQueueRestarted"]
EvictionCause = Preempted | QueueStopped | CheckRetry


@dataclass(frozen=True, slots=True)
class Evict:
    workload: Workload
    cause: EvictionCause


@dataclass(frozen=True, slots=True)
class Unreserve:
    """Take a reservation back that was not admitted yet (the queue is on hold)."""

    workload: Workload


@dataclass(frozen=True, slots=True)
class Deactivate:
    workload: Workload
    cause: str  # AdmissionCheck, MaximumExecutionTimeExceeded


@dataclass(frozen=True, slots=True)
class Resume:
    """It may be considered again: the backoff is over, or its queue runs again."""

    workload: Workload
    because: ResumedBecause = "BackoffFinished"


@dataclass(frozen=True, slots=True)
class Park:
    """It waits, and why. `hold` is what it holds meanwhile, to be kept in its status."""

    workload: Workload
    reasons: tuple[Reason, ...]
    hold: Assignment | None = None


Decision = Reserve | Admit | Evict | Unreserve | Deactivate | Resume | Park
