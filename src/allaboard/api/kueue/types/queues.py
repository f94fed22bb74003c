# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What does a queue say: ClusterQueue, LocalQueue and Cohort?"""

from typing import Annotated, ClassVar

from allaboard.api.kueue.crd.rules import (
    ATOMIC,
    FILLED,
    REQUIRED,
    SET,
    Amount,
    Amounts,
    Cel,
    Count,
    Int32,
    ObjectName,
    Time,
    items,
    keyed,
    one_of,
)
from allaboard.api.kueue.types.fallback import FallbackStrategy, FlavorBreaker
from allaboard.api.kueue.types.shared import (
    GROUP,
    STORED,
    Conditions,
    FairSharing,
    FairSharingStatus,
    FlavorName,
    ResourceName,
    Selector,
    StopPolicy,
)
from allaboard.api.meta import Kind
from allaboard.api.types.model import Model, Object

_CheckName = ObjectName
_SEARCH = ("MayStopSearch", "TryNextFlavor")


class ResourceQuota(Model, frozen=True):
    """Quota of one resource in one flavor."""

    name: Annotated[ResourceName, "The resource.", REQUIRED] = ""
    nominal_quota: Annotated[Amount, "What belongs to this queue; not negative.", REQUIRED] = 0
    borrowing_limit: Annotated[
        Amount | None, "Most that may be borrowed from the cohort; unset: no limit."
    ] = None
    lending_limit: Annotated[
        Amount | None, "Most that may be lent to the cohort when unused; unset: all of it."
    ] = None


class FlavorQuotas(Model, frozen=True):
    """Quotas of one flavor."""

    name: Annotated[FlavorName, "The ResourceFlavor.", REQUIRED] = ""
    resources: Annotated[
        list[ResourceQuota],
        "One quota for each covered resource, in the same order.",
        REQUIRED,
        keyed("name"),
        items(1, 64),
    ] = []


class ResourceGroup(Model, frozen=True):
    """Resources that come together, and the flavors they come in."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "self.flavors.all(x, size(x.resources) == size(self.coveredResources))",
            "flavors must have the same number of resources as the coveredResources",
        ),
    )

    covered_resources: Annotated[
        list[ResourceName], "Resources of this group.", REQUIRED, ATOMIC, items(1, 64)
    ] = []
    flavors: Annotated[
        list[FlavorQuotas], "Flavors in order of preference.", REQUIRED, keyed("name"), items(1, 64)
    ] = []


ResourceGroups = Annotated[list[ResourceGroup], ATOMIC, items(0, 16)]


class FlavorFungibility(Model, frozen=True):
    """When the search for a flavor goes on to the next one."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor'"
            " && self.whenCanPreempt == 'TryNextFlavor')",
            "preference can only be set when both whenCanBorrow and whenCanPreempt are"
            " TryNextFlavor",
        ),
    )

    when_can_borrow: Annotated[
        str, "What to do with a flavor that fits by borrowing.", one_of(*_SEARCH), FILLED
    ] = "MayStopSearch"
    when_can_preempt: Annotated[
        str, "What to do with a flavor that fits by preemption.", one_of(*_SEARCH), FILLED
    ] = "TryNextFlavor"
    preference: Annotated[
        str | None,
        "Which is better when every flavor needs one of the two.",
        one_of("BorrowingOverPreemption", "PreemptionOverBorrowing"),
    ] = None
    fallback_strategy: Annotated[
        FallbackStrategy | None, "When a workload moves on from a flavor it cannot start on."
    ] = None


class BorrowWithinCohort(Model, frozen=True):
    """Preemption in the cohort by a workload that borrows."""

    policy: Annotated[str, "Who may be preempted.", one_of("Never", "LowerPriority"), FILLED] = (
        "Never"
    )
    max_priority_threshold: Annotated[
        Int32 | None, "Only workloads of at most this priority are preempted."
    ] = None


class Preemption(Model, frozen=True):
    """Who gives way to a workload of this queue."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort)"
            " && self.borrowWithinCohort.policy != 'Never')",
            "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
        ),
    )

    reclaim_within_cohort: Annotated[
        str,
        "Who in the cohort gives back borrowed quota.",
        one_of("Never", "LowerPriority", "Any"),
        FILLED,
    ] = "Never"
    borrow_within_cohort: Annotated[BorrowWithinCohort, "Preemption while borrowing.", FILLED] = (
        BorrowWithinCohort()
    )
    within_cluster_queue: Annotated[
        str,
        "Who in the same queue gives way.",
        one_of("Never", "LowerPriority", "LowerOrNewerEqualPriority"),
        FILLED,
    ] = "Never"


class AdmissionCheckRule(Model, frozen=True):
    """One admission check and the flavors it is for."""

    name: Annotated[_CheckName, "The AdmissionCheck.", REQUIRED] = ""
    on_flavors: Annotated[
        list[FlavorName], "Flavors that need the check; empty: all.", SET, items(0, 64)
    ] = []


class AdmissionChecksStrategy(Model, frozen=True):
    """Checks a workload must pass after quota is reserved."""

    admission_checks: Annotated[
        list[AdmissionCheckRule], "The checks.", REQUIRED, keyed("name"), items(1, 64)
    ] = []


class AdmissionScope(Model, frozen=True):
    """Whether LocalQueues are ordered by what they consumed."""

    admission_mode: Annotated[
        str,
        "How LocalQueues of this ClusterQueue share it.",
        REQUIRED,
        one_of("UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"),
    ] = ""


class MigrationConstraints(Model, frozen=True):
    """How far a running workload may migrate."""

    last_acceptable_flavor_name: Annotated[
        FlavorName | None, "The last flavor, in the queue's order, worth migrating to."
    ] = None


class Migration(Model, frozen=True):
    """What happens to the better flavors once one was admitted."""

    mode: Annotated[
        str,
        "Keep trying the better flavors, or stay.",
        REQUIRED,
        one_of("TryPreferredFlavors", "RetainFirstAdmission"),
    ] = ""
    constraints: Annotated[
        MigrationConstraints | None, "Bounds, for TryPreferredFlavors alone."
    ] = None


class ConcurrentAdmissionPolicy(Model, frozen=True):
    """Trying several flavors at the same time."""

    migration: Annotated[Migration, "What follows the first admission.", REQUIRED] = Migration()


class ClusterQueueSpec(Model, frozen=True):
    """What a ClusterQueue offers, to whom, and by which rules."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "has(self.cohortName) && self.cohortName != '' || !has(self.resourceGroups)"
            " || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r,"
            " !has(r.borrowingLimit))))",
            "borrowingLimit must be nil when cohort is empty",
        ),
    )

    resource_groups: Annotated[
        ResourceGroups, "Quotas. A resource and a flavor belong to one group each."
    ] = []
    cohort_name: Annotated[ObjectName, "Cohort whose unused quota this queue shares."] = ""
    queueing_strategy: Annotated[
        str,
        "Whether a workload that does not fit holds up those behind it.",
        one_of("StrictFIFO", "BestEffortFIFO"),
        FILLED,
    ] = "BestEffortFIFO"
    namespace_selector: Annotated[
        Selector | None, "Namespaces that may use this queue; unset: none; empty: all."
    ] = None
    flavor_fungibility: Annotated[
        FlavorFungibility, "When the search for a flavor goes on.", FILLED
    ] = FlavorFungibility()
    preemption: Annotated[Preemption, "Who gives way.", FILLED] = Preemption()
    admission_checks_strategy: Annotated[AdmissionChecksStrategy | None, "Checks beyond quota."] = (
        None
    )
    stop_policy: Annotated[
        StopPolicy, "None admits, Hold admits nothing new, HoldAndDrain evicts too.", FILLED
    ] = "None"
    fair_sharing: Annotated[FairSharing | None, "Weight among the cohort."] = None
    admission_scope: Annotated[AdmissionScope | None, "Fairness between LocalQueues."] = None
    concurrent_admission_policy: Annotated[
        ConcurrentAdmissionPolicy | None, "Trying several flavors at once; cannot be changed."
    ] = None


class ResourceUsage(Model, frozen=True):
    """Quota of one resource in use."""

    name: Annotated[ResourceName, "The resource.", REQUIRED] = ""
    total: Annotated[Amount, "In use, borrowed included."] = 0
    borrowed: Annotated[Amount, "Of it, borrowed from the cohort."] = 0


class FlavorUsage(Model, frozen=True):
    """Quota of one flavor in use."""

    name: Annotated[FlavorName, "The flavor.", REQUIRED] = ""
    resources: Annotated[
        list[ResourceUsage], "By resource.", REQUIRED, keyed("name"), items(0, 64)
    ] = []


# As many as a queue may have flavors; Kueue's 64 would leave some out.
FlavorUsages = Annotated[list[FlavorUsage], keyed("name"), items(0, 256)]


class ClusterQueueStatus(Model, frozen=True):
    """What a ClusterQueue holds now."""

    conditions: Conditions = []
    flavors_reservation: Annotated[
        FlavorUsages, "Quota reserved by workloads, admitted or not."
    ] = []
    flavors_usage: Annotated[FlavorUsages, "Quota in use by admitted workloads."] = []
    pending_workloads: Annotated[Count, "Workloads waiting."] = 0
    reserving_workloads: Annotated[Count, "Workloads with quota reserved."] = 0
    admitted_workloads: Annotated[Count, "Workloads admitted and not finished."] = 0
    fair_sharing: Annotated[FairSharingStatus | None, "Its share."] = None
    flavor_breakers: Annotated[
        list[FlavorBreaker],
        "Flavors that failed several workloads, and whether they are tried.",
        keyed("name"),
        items(0, 256),
    ] = []


class ClusterQueue(Object, frozen=True):
    """A pool of quota that workloads queue for."""

    KIND: ClassVar[Kind] = Kind(GROUP, STORED, "ClusterQueue", "clusterqueues", namespaced=False)
    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "has(self.spec) && has(self.spec.concurrentAdmissionPolicy)"
            " == (has(oldSelf.spec) && has(oldSelf.spec.concurrentAdmissionPolicy))"
            " && (!has(self.spec.concurrentAdmissionPolicy)"
            " || self.spec.concurrentAdmissionPolicy == oldSelf.spec.concurrentAdmissionPolicy)"
            " || !has(self.spec) && (!has(oldSelf.spec)"
            " || !has(oldSelf.spec.concurrentAdmissionPolicy))",
            "concurrentAdmissionPolicy is immutable",
        ),
    )

    spec: Annotated[ClusterQueueSpec, "What it offers."] = ClusterQueueSpec()
    status: Annotated[ClusterQueueStatus, "What it holds."] = ClusterQueueStatus()


class LocalQueueSpec(Model, frozen=True):
    """Which ClusterQueue serves a namespace."""

    cluster_queue: Annotated[ObjectName, "The ClusterQueue behind it; cannot be changed."] = ""
    stop_policy: Annotated[
        StopPolicy, "None admits, Hold admits nothing new, HoldAndDrain evicts too.", FILLED
    ] = "None"
    fair_sharing: Annotated[FairSharing | None, "Weight among the LocalQueues."] = None


class LocalResourceUsage(Model, frozen=True):
    """Quota of one resource in use through this queue."""

    name: Annotated[ResourceName, "The resource.", REQUIRED] = ""
    total: Annotated[Amount, "In use."] = 0


class LocalFlavorUsage(Model, frozen=True):
    """Quota of one flavor in use through this queue."""

    name: Annotated[FlavorName, "The flavor.", REQUIRED] = ""
    resources: Annotated[
        list[LocalResourceUsage], "By resource.", REQUIRED, keyed("name"), items(0, 64)
    ] = []


class ConsumedResources(Model, frozen=True):
    """What was consumed lately."""

    consumed_resources: Annotated[Amounts, "Consumption, fading with time.", REQUIRED] = {}
    last_update: Annotated[Time | None, "When it was computed.", REQUIRED] = None


class LocalFairSharingStatus(FairSharingStatus, frozen=True):
    """What fair sharing measured for a LocalQueue."""

    admission_fair_sharing_status: Annotated[
        ConsumedResources | None, "For the order between LocalQueues."
    ] = None


class LocalQueueStatus(Model, frozen=True):
    """What a LocalQueue holds now."""

    conditions: Conditions = []
    pending_workloads: Annotated[Count, "Workloads waiting."] = 0
    reserving_workloads: Annotated[Count, "Workloads with quota reserved."] = 0
    admitted_workloads: Annotated[Count, "Workloads admitted and not finished."] = 0
    flavors_reservation: Annotated[
        list[LocalFlavorUsage], "Quota reserved.", keyed("name"), items(0, 256)
    ] = []
    flavors_usage: Annotated[
        list[LocalFlavorUsage], "Quota in use.", keyed("name"), items(0, 256)
    ] = []
    fair_sharing: Annotated[LocalFairSharingStatus | None, "Its share."] = None


class LocalQueue(Object, frozen=True):
    """A namespace's door to a ClusterQueue."""

    KIND: ClassVar[Kind] = Kind(GROUP, STORED, "LocalQueue", "localqueues")
    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!has(oldSelf.spec) || !has(oldSelf.spec.clusterQueue)"
            " || has(self.spec) && has(self.spec.clusterQueue)"
            " && self.spec.clusterQueue == oldSelf.spec.clusterQueue",
            "clusterQueue is immutable",
        ),
    )

    spec: Annotated[LocalQueueSpec, "Which ClusterQueue serves it."] = LocalQueueSpec()
    status: Annotated[LocalQueueStatus, "What it holds."] = LocalQueueStatus()


class CohortSpec(Model, frozen=True):
    """Where a cohort stands in the tree and what it adds."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "has(self.parentName) && self.parentName != '' || !has(self.resourceGroups)"
            " || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r,"
            " !has(r.borrowingLimit) && !has(r.lendingLimit))))",
            "borrowingLimit and lendingLimit must be nil when parent is empty",
        ),
    )

    parent_name: Annotated[ObjectName, "The cohort above; unset: this is a root."] = ""
    resource_groups: Annotated[
        ResourceGroups, "Quota shared by all members, beside what they bring."
    ] = []
    fair_sharing: Annotated[FairSharing | None, "Weight among its siblings."] = None


class CohortStatus(Model, frozen=True):
    """What is measured of a cohort."""

    fair_sharing: Annotated[FairSharingStatus | None, "Its share."] = None


class Cohort(Object, frozen=True):
    """ClusterQueues and cohorts that lend each other what they do not use."""

    KIND: ClassVar[Kind] = Kind(GROUP, STORED, "Cohort", "cohorts", namespaced=False)

    spec: Annotated[CohortSpec, "Its place and its quota."] = CohortSpec()
    status: Annotated[CohortStatus, "What is measured."] = CohortStatus()
