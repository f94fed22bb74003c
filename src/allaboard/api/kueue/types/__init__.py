"""What do the objects of `kueue.x-k8s.io/v1beta2` look like? Frozen views with their rules.

Annotations say what the schema says: a string describes a field, a `Rule` constrains it (see
`crd/rules.py`). Start with `queues.py`.
"""

from allaboard.api.kueue.types.checks import (
    AdmissionCheck,
    ProvisioningRequestConfig,
    WorkloadPriorityClass,
)
from allaboard.api.kueue.types.flavors import ResourceFlavor, Topology
from allaboard.api.kueue.types.queues import ClusterQueue, Cohort, LocalQueue
from allaboard.api.kueue.types.workloads import Workload

__all__ = [
    "AdmissionCheck",
    "ClusterQueue",
    "Cohort",
    "LocalQueue",
    "ProvisioningRequestConfig",
    "ResourceFlavor",
    "Topology",
    "Workload",
    "WorkloadPriorityClass",
]
