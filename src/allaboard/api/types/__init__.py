"""Typed views of the kinds we touch: what may a reader expect of a Pod or a Job?

May import: `api.meta`. Views are for reading: they know a part of each kind and drop the rest, so
nothing made from a view ever replaces an object; writes are patches of plain data, or creations.
Start with: `model.py` (how views are made from plain data), then `pods.py` and `batch.py`.
"""

from allaboard.api.types.batch import Job, JobCondition, JobSpec, JobStatus
from allaboard.api.types.cluster import (
    ClusterRole,
    ClusterRoleBinding,
    CustomResourceDefinition,
    MutatingWebhookConfiguration,
    PriorityClass,
    Role,
    RoleBinding,
    ValidatingWebhookConfiguration,
)
from allaboard.api.types.core import (
    ConfigMap,
    Event,
    Lease,
    LeaseSpec,
    LimitRange,
    Namespace,
    ObjectReference,
    ResourceQuota,
    Secret,
    Service,
    ServiceAccount,
)
from allaboard.api.types.model import (
    Condition,
    LabelSelector,
    LabelSelectorRequirement,
    Model,
    Object,
    ObjectMeta,
    OwnerReference,
    controller_of,
    plain,
    typed,
)
from allaboard.api.types.nodes import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from allaboard.api.types.pods import (
    Container,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
    Toleration,
)

__all__ = [
    "ClusterRole",
    "ClusterRoleBinding",
    "Condition",
    "ConfigMap",
    "Container",
    "ContainerStatus",
    "CustomResourceDefinition",
    "Event",
    "Job",
    "JobCondition",
    "JobSpec",
    "JobStatus",
    "LabelSelector",
    "LabelSelectorRequirement",
    "Lease",
    "LeaseSpec",
    "LimitRange",
    "Model",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "NodeCondition",
    "NodeSpec",
    "NodeStatus",
    "Object",
    "ObjectMeta",
    "ObjectReference",
    "OwnerReference",
    "Pod",
    "PodCondition",
    "PodSpec",
    "PodStatus",
    "PodTemplateSpec",
    "PriorityClass",
    "ResourceQuota",
    "Role",
    "RoleBinding",
    "Secret",
    "Service",
    "ServiceAccount",
    "Taint",
    "Toleration",
    "ValidatingWebhookConfiguration",
    "controller_of",
    "plain",
    "typed",
]
