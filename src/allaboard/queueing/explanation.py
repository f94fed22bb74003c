"""What is said about a workload: its state, what is missing, who holds it, what would help.

Values only, and their form on the wire. Names of other workloads reach an explanation through a
`Viewer` alone, so that nobody reads of work in a namespace that he could not list.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.clock import Instant
from allaboard.core.values import FlavorResource, Workload
from allaboard.queueing.translate import render_amount


class State(StrEnum):
    FINISHED = "Finished"
    RUNNING = "Running"
    ADMITTED = "Admitted"
    WAITING_FOR_PODS = "WaitingForPods"
    WAITING_FOR_CHECKS = "WaitingForChecks"
    LEAVING = "Leaving"  # told to stop; its quota is not back yet
    DEACTIVATED = "Deactivated"
    WAITING_FOR_VICTIMS = "WaitingForVictims"
    NO_QUEUE_NAME = "NoQueueName"
    NO_LOCAL_QUEUE = "NoLocalQueue"
    NO_CLUSTER_QUEUE = "NoClusterQueue"
    STOPPED = "QueueStopped"
    BACKOFF = "Backoff"
    NOT_REQUEUED = "NotRequeued"
    BROKEN_COHORT = "BrokenCohort"
    NAMESPACE_NOT_SELECTED = "NamespaceNotSelected"
    BEHIND_OTHERS = "BehindOthers"
    WAITING_FOR_QUOTA = "WaitingForQuota"
    TOO_LARGE = "TooLarge"
    NO_FLAVOR = "NoFlavor"
    CONSIDERED = "Considered"  # nothing speaks against it


class Remedy(StrEnum):
    WAIT = "Wait"
    LOWER_REQUEST = "LowerRequest"
    RAISE_PRIORITY = "RaisePriority"
    RAISE_QUOTA = "RaiseQuota"
    CHANGE_PODS = "ChangePods"
    CHANGE_QUEUE = "ChangeQueue"
    ACTIVATE = "Activate"


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that would let the workload go on."""

    remedy: Remedy
    message: str
    workloads: tuple[str, ...] = ()  # who must end first, as far as the reader may know
    at: Instant | None = None  # when it comes by itself at the latest


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has some of what is missing."""

    name: str  # '' for those whom the reader may not know and those too small to be named
    amounts: Mapping[FlavorResource, int]
    priority: int
    is_leaving: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """What speaks against one flavor."""

    pod_set: str
    flavor: str
    resource: str
    missing: int | None  # None: it is not a matter of amounts
    message: str


@dataclass(frozen=True, slots=True)
class Told:
    state: State
    summary: str
    advice: tuple[Advice, ...] = ()  # the nearest first
    missing: Mapping[FlavorResource, int] | None = None
    findings: tuple[Finding, ...] = ()
    holders: tuple[Holder, ...] = ()
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Position:
    in_cluster_queue: int  # from 0
    in_local_queue: int
    pending: int  # in the ClusterQueue


@dataclass(frozen=True, slots=True)
class Explanation:
    told: Told
    priority: int
    local_queue: str
    cluster_queue: str
    position: Position | None


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who reads the explanation: which namespaces he sees, and how workloads are called."""

    sees: Callable[[str], bool]
    name: Callable[[Workload], str] = lambda w: f"{w.key.namespace}/{w.key.name}"

    def name_of(self, workload: Workload) -> str:
        return self.name(workload) if self.sees(workload.key.namespace) else ""


def listed(words: Iterable[str]) -> str:
    """a, b and c."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def amounts(wanted: Mapping[FlavorResource, int]) -> str:
    """2 cpu and 4Gi memory; summed over flavors."""
    totals: dict[str, int] = {}
    for key, amount in wanted.items():
        totals[key.resource] = totals.get(key.resource, 0) + amount
    return listed(f"{render_amount(r, n)} {r}" for r, n in sorted(totals.items()))


def render(explanation: Explanation) -> Json:
    """As the endpoint answers it."""
    told, position = explanation.told, explanation.position
    shown: Json = {
        "state": told.state.value,
        "summary": told.summary,
        "priority": explanation.priority,
        "localQueueName": explanation.local_queue,
        "clusterQueueName": explanation.cluster_queue,
        "remedies": [_advice(advice) for advice in told.advice],
        "missing": _amounts(told.missing or {}),
        "flavors": [_finding(finding) for finding in told.findings],
        "holders": [_holder(holder) for holder in told.holders],
    }
    if told.until is not None:
        shown["until"] = format_time(told.until)
    if position is not None:
        shown |= {
            "positionInClusterQueue": position.in_cluster_queue,
            "positionInLocalQueue": position.in_local_queue,
            "pendingInClusterQueue": position.pending,
        }
    return shown


def _advice(advice: Advice) -> Json:
    shown: Json = {"remedy": advice.remedy.value, "message": advice.message}
    if advice.workloads:
        shown["workloads"] = list(advice.workloads)
    if advice.at is not None:
        shown["at"] = format_time(advice.at)
    return shown


def _finding(finding: Finding) -> Json:
    shown: Json = {"podSet": finding.pod_set, "flavor": finding.flavor, "message": finding.message}
    if finding.resource:
        shown["resource"] = finding.resource
    if finding.missing is not None:
        shown["missing"] = render_amount(finding.resource, finding.missing)
    return shown


def _holder(holder: Holder) -> Json:
    shown: Json = {
        "name": holder.name,
        "amounts": _amounts(holder.amounts),
        "leaving": holder.is_leaving,
    }
    if holder.name:
        shown["priority"] = holder.priority
    return shown


def _amounts(found: Mapping[FlavorResource, int]) -> list[Json]:
    return [
        {"flavor": k.flavor, "resource": k.resource, "amount": render_amount(k.resource, n)}
        for k, n in sorted(found.items())
    ]
