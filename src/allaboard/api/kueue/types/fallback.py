# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""How is flavor fallback (KEP-2560) written down: the rules, and what was tried?

Decided in DESIGN §1; there is no upstream to follow.
"""

from typing import Annotated, ClassVar

from allaboard.api.kueue.crd.rules import (
    FILLED,
    REQUIRED,
    SUBDOMAIN,
    Cel,
    Count,
    Duration,
    Int32,
    Int64,
    Time,
    at_least,
    items,
    keyed,
    one_of,
    text,
)
from allaboard.api.kueue.types.shared import FlavorName
from allaboard.api.types.model import Model

EVERY_FLAVOR = "*"
TIMED_OUT = "TimeoutForPodsReadyExceeded"
CHECK_REJECTED = "AdmissionCheckRejected"
TRIGGERS = (TIMED_OUT, CHECK_REJECTED)
FAILURE_POLICIES = ("DeactivateWorkload", "RetryAllFlavors")
OUTCOMES = ("Assigned", "Started", "TimedOut", "Rejected", "Released")
MAX_RULES = 514  # 256 flavors and `*`, two triggers each


class FallbackRule(Model, frozen=True):
    """When one flavor, or every flavor, counts as failed."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!(has(self.timeout) && has(self.timeoutMinutes))",
            "timeout and timeoutMinutes exclude each other",
        ),
        Cel(
            "self.trigger != 'AdmissionCheckRejected'"
            " || !has(self.timeout) && !has(self.timeoutMinutes)",
            "a timeout cannot apply to trigger AdmissionCheckRejected",
        ),
    )

    name: Annotated[
        str,
        "A flavor, or * for every flavor without a rule of its own.",
        REQUIRED,
        text(253, 1, rf"^\*$|{SUBDOMAIN}"),
    ] = ""
    trigger: Annotated[str, "What makes the workload move on.", one_of(*TRIGGERS), FILLED] = (
        TIMED_OUT
    )
    timeout: Annotated[
        Duration | None, "Time from reservation to ready pods, such as 10m; unset: no limit."
    ] = None
    timeout_minutes: Annotated[Int32 | None, "The same in minutes.", at_least(1)] = None


class CircuitBreaker(Model, frozen=True):
    """Spares a flavor that failed several workloads."""

    failures: Annotated[Int32, "Timeouts in a row that open it.", REQUIRED, at_least(1)] = 1
    probe_interval: Annotated[Duration, "How often one workload may try.", REQUIRED] = ""


class FallbackStrategy(Model, frozen=True):
    """When a workload gives up a flavor and what follows the last one."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!has(self.rules) || size(self.rules) == 0 || has(self.failurePolicy)",
            "failurePolicy must be set when there are rules",
        ),
    )

    failure_policy: Annotated[
        str | None, "What to do when every flavor failed.", one_of(*FAILURE_POLICIES)
    ] = None
    rules: Annotated[
        list[FallbackRule],
        "Limits by flavor and trigger; their order has no meaning.",
        keyed("name", "trigger"),
        items(0, MAX_RULES),
    ] = []
    circuit_breaker: Annotated[CircuitBreaker | None, "Off unless set."] = None


class ProbingWorkload(Model, frozen=True):
    """The workload that tries a flavor for all others."""

    namespace: Annotated[str, "Its namespace.", REQUIRED, text(253)] = ""
    name: Annotated[str, "Its name.", REQUIRED, text(253)] = ""
    uid: Annotated[str, "Its UID.", REQUIRED, text(253)] = ""


class FlavorBreaker(Model, frozen=True):
    """Whether a flavor is tried after it failed several workloads."""

    name: Annotated[FlavorName, "The flavor.", REQUIRED] = ""
    state: Annotated[
        str,
        "Closed: tried by all; Open: by none; Probing: by one.",
        REQUIRED,
        one_of("Closed", "Open", "Probing"),
    ] = "Closed"
    failures: Annotated[Count, "Timeouts in a row."] = 0
    last_failure_time: Annotated[Time | None, "When the last one was."] = None
    next_probe_time: Annotated[Time | None, "When the next workload may try."] = None
    probe: Annotated[ProbingWorkload | None, "Who tries now."] = None


class FlavorAssignment(Model, frozen=True):
    """What became of one flavor in this round."""

    resource_flavor: Annotated[FlavorName, "The flavor.", REQUIRED] = ""
    assignment_time: Annotated[Time | None, "When it was last assigned."] = None
    used_seconds: Annotated[Int64, "How much of its time is used.", at_least(0)] = 0
    outcome: Annotated[str | None, "How the last assignment ended.", one_of(*OUTCOMES)] = None
