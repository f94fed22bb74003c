"""What are the labels, annotations, gates, finalizers and controllers of Kueue called?

Reference §§3.1, 4.8, 4.9. Names read in two spellings have the KEP's one as `…_KEP`.
"""

from typing import Final

PREFIX: Final = "kueue.x-k8s.io/"
OWN_PREFIX: Final = "allaboard.dev/"

# finalizer of queues, flavors, checks and admitted workloads
RESOURCE_IN_USE: Final = PREFIX + "resource-in-use"

# labels of jobs and pods
QUEUE_NAME: Final = PREFIX + "queue-name"
PRIORITY_CLASS: Final = PREFIX + "priority-class"
MAX_EXEC_TIME_SECONDS: Final = PREFIX + "max-exec-time-seconds"
MANAGED: Final = PREFIX + "managed"
JOB_UID: Final = PREFIX + "job-uid"
PREBUILT_WORKLOAD: Final = PREFIX + "prebuilt-workload-name"
POD_SET: Final = PREFIX + "podset"
LOCAL_QUEUE: Final = PREFIX + "local-queue-name"
CLUSTER_QUEUE: Final = PREFIX + "cluster-queue-name"
POD_GROUP: Final = PREFIX + "pod-group-name"
POD_GROUP_POD_INDEX: Final = PREFIX + "pod-group-pod-index"
CONCURRENT_ADMISSION_PARENT: Final = PREFIX + "concurrent-admission-parent"

# annotations of jobs, pods and workloads
POD_GROUP_TOTAL_COUNT: Final = PREFIX + "pod-group-total-count"
POD_GROUP_FAST_ADMISSION: Final = PREFIX + "pod-group-fast-admission"
POD_GROUP_POD_INDEX_LABEL: Final = PREFIX + "pod-group-pod-index-label"
POD_GROUP_RETRIABLE: Final = PREFIX + "retriable-in-group"
ROLE_HASH: Final = PREFIX + "role-hash"
IS_GROUP_WORKLOAD: Final = PREFIX + "is-group-workload"
WORKLOAD: Final = PREFIX + "workload"
WORKLOAD_SLICE: Final = PREFIX + "workload-slice-name"
WORKLOAD_ALLOWED_FLAVORS: Final = PREFIX + "workload-allowed-resource-flavors"
POD_INDEX_OFFSET: Final = PREFIX + "pod-index-offset"
JOB_MIN_PARALLELISM: Final = PREFIX + "job-min-parallelism"
JOB_COMPLETIONS_EQUAL_PARALLELISM: Final = PREFIX + "job-completions-equal-parallelism"
STOPPING: Final = PREFIX + "stopping"
ELASTIC_JOB: Final = PREFIX + "elastic-job"
ADMISSION_GATED_BY: Final = PREFIX + "admission-gated-by"

# annotations of pod templates, about topology
REQUIRED_TOPOLOGY: Final = PREFIX + "podset-required-topology"
PREFERRED_TOPOLOGY: Final = PREFIX + "podset-preferred-topology"
UNCONSTRAINED_TOPOLOGY: Final = PREFIX + "podset-unconstrained-topology"
REQUIRED_TOPOLOGY_KEP: Final = PREFIX + "require-topology"
PREFERRED_TOPOLOGY_KEP: Final = PREFIX + "prefer-topology"
SLICE_REQUIRED_TOPOLOGY: Final = PREFIX + "podset-slice-required-topology"
SLICE_SIZE: Final = PREFIX + "podset-slice-size"
SLICE_CONSTRAINTS: Final = PREFIX + "podset-slice-required-topology-constraints"
POD_SET_GROUP: Final = PREFIX + "podset-group-name"
AUTO_LEVEL: Final = "auto"  # the lowest level there is

# our own annotations (DESIGN §1)
PODS_READY_TIMEOUT: Final = OWN_PREFIX + "pods-ready-timeout"
RECOVERY_TIMEOUT: Final = OWN_PREFIX + "recovery-timeout"

# scheduling gates
ADMISSION_GATE: Final = PREFIX + "admission"
TOPOLOGY_GATE: Final = PREFIX + "topology"

# labels that hold a pod's rank
JOB_COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOBSET_JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
KUBEFLOW_REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
HOSTNAME: Final = "kubernetes.io/hostname"

# controllers of admission checks
PROVISIONING_REQUEST: Final = PREFIX + "provisioning-request"
MULTIKUEUE: Final = PREFIX + "multikueue"

# what is applied where nobody said anything, and what nobody may say
DEFAULT_LOCAL_QUEUE: Final = "default"
DEFAULT_PRIORITY_CLASS: Final = "default"
DEFAULT_POD_SET: Final = "main"
PODS: Final = "pods"  # the resource that counts pods; reserved for the controller

ADMISSION_MANAGER: Final = "kueue-admission"  # field manager of admission writes
