"""Which conditions do Kueue's objects have, and for which reasons?

The catalogue of reference §§1.4, 1.5 and 2.8 plus our own. Words, not sentences: sentences are
rendered at the edge. A reason that means several things has one name per meaning.
"""

from typing import Final

# --- condition types of a Workload
QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
PODS_READY: Final = "PodsReady"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
FINISHED: Final = "Finished"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
BLOCKED_ON_PREEMPTION_GATES: Final = "BlockedOnPreemptionGates"
WAITING_FOR_REPLACEMENT_PODS: Final = "WaitingForReplacementPods"
# --- of queues and checks
ACTIVE: Final = "Active"

# --- QuotaReserved=False
NO_MATCHING_FLAVOR: Final = "NoMatchingFlavor"
WAITING_FOR_QUOTA: Final = "WaitingForQuota"
EXCEEDS_MAX_QUOTA: Final = "ExceedsMaxQuota"
TOPOLOGY_PLACEMENT_FAILED: Final = "TopologyPlacementFailed"
WAITING_FOR_PREEMPTED_WORKLOADS: Final = "WaitingForPreemptedWorkloads"
MISCONFIGURED: Final = "Misconfigured"
SUSPENDED: Final = "Suspended"
PENDING_EVALUATION: Final = "PendingEvaluation"
WAITING_FOR_PODS_READY: Final = "WaitingForPodsReady"
ADMISSION_GATED: Final = "AdmissionGated"
DEACTIVATED: Final = "Deactivated"
ON_HOLD: Final = "OnHold"
# their older, coarser names
LEGACY_PENDING: Final = "Pending"
INADMISSIBLE: Final = "Inadmissible"
LEGACY_WAITING: Final = "Waiting"

# --- Admitted=False
NO_RESERVATION: Final = "NoReservation"
UNSATISFIED_ADMISSION_CHECKS: Final = "UnsatisfiedAdmissionChecks"
LEGACY_UNSATISFIED_CHECKS: Final = "UnsatisfiedChecks"
LEGACY_NO_RESERVATION_UNSATISFIED_CHECKS: Final = "NoReservationUnsatisfiedChecks"
PENDING_DELAYED_TOPOLOGY_REQUESTS: Final = "PendingDelayedTopologyRequests"

# --- PodsReady
STARTED: Final = "Started"
RECOVERED: Final = "Recovered"
WAIT_FOR_START: Final = "WaitForStart"
WAIT_FOR_RECOVERY: Final = "WaitForRecovery"

# --- Evicted=True (and Requeued=False)
PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
ADMISSION_CHECK: Final = "AdmissionCheck"
CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"
NODE_FAILURES: Final = "NodeFailures"
FLAVOR_MIGRATION: Final = "FlavorMigration"
EVICTED_ON_MANAGER_CLUSTER: Final = "EvictedOnManagerCluster"
FLAVOR_FALLBACK: Final = "FlavorFallback"

# --- DeactivationTarget=True, and what follows "DeactivatedDueTo"
REQUEUING_LIMIT_EXCEEDED: Final = "RequeuingLimitExceeded"
MAXIMUM_EXECUTION_TIME_EXCEEDED: Final = "MaximumExecutionTimeExceeded"
FLAVORS_EXHAUSTED: Final = "FlavorsExhausted"

# --- Preempted=True
IN_CLUSTER_QUEUE: Final = "InClusterQueue"
IN_COHORT_RECLAMATION: Final = "InCohortReclamation"
IN_COHORT_FAIR_SHARING: Final = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING: Final = "InCohortReclaimWhileBorrowing"

# --- Requeued=True
BACKOFF_FINISHED: Final = "BackoffFinished"
REACTIVATED: Final = "Reactivated"
CLUSTER_QUEUE_RESTARTED: Final = "ClusterQueueRestarted"
LOCAL_QUEUE_RESTARTED: Final = "LocalQueueRestarted"

# --- Finished=True
SUCCEEDED: Final = "Succeeded"
FAILED: Final = "Failed"
OUT_OF_SYNC: Final = "OutOfSync"
OWNER_NOT_FOUND: Final = "OwnerNotFound"
FAILED_TO_START: Final = "FailedToStart"
WORKLOAD_SLICE_REPLACED: Final = "WorkloadSliceReplaced"

# --- others of a Workload
PREEMPTION_GATED: Final = "PreemptionGated"
PODS_FAILED: Final = "PodsFailed"

# --- Active of a ClusterQueue
READY: Final = "Ready"
TERMINATING: Final = "Terminating"
STOPPED: Final = "Stopped"
FLAVOR_NOT_FOUND: Final = "FlavorNotFound"
ADMISSION_CHECK_NOT_FOUND: Final = "AdmissionCheckNotFound"
ADMISSION_CHECK_INACTIVE: Final = "AdmissionCheckInactive"
MULTIPLE_MULTIKUEUE_CHECKS: Final = "MultipleMultiKueueAdmissionChecks"
MULTIKUEUE_CHECK_PER_FLAVOR: Final = "MultiKueueAdmissionCheckAppliedPerFlavor"
MULTIKUEUE_WITH_PROVISIONING: Final = "MultiKueueWithProvisioningRequest"
TOPOLOGY_NOT_FOUND: Final = "TopologyNotFound"
UNKNOWN: Final = "Unknown"

# --- Active of a LocalQueue
CLUSTER_QUEUE_IS_INACTIVE: Final = "ClusterQueueIsInactive"
CLUSTER_QUEUE_DOES_NOT_EXIST: Final = "ClusterQueueDoesNotExist"


def deactivated_due_to(cause: str) -> str:
    """The Evicted reason of a workload that was deactivated for `cause`."""
    return f"{DEACTIVATED}DueTo{cause}"


def is_deactivation(reason: str) -> bool:
    """Whether a reason says that the workload was deactivated, whatever the cause."""
    return reason.startswith(DEACTIVATED)
