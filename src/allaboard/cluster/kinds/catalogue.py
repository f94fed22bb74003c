"""Which rules, columns and selectable fields belong to which built-in kind?"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from allaboard.api.meta import Json
from allaboard.cluster.kinds import access, configs, events, quotas, scheduling, storage, workloads
from allaboard.cluster.kinds.columns import configs as configs_columns
from allaboard.cluster.kinds.columns import nodes as nodes_columns
from allaboard.cluster.kinds.columns import pods
from allaboard.cluster.kinds.columns import workloads as workloads_columns
from allaboard.cluster.kinds.columns.basic import AGE, NAME
from allaboard.cluster.kinds.jobs.strategy import CronJobStrategy, JobStrategy
from allaboard.cluster.kinds.namespaces import NamespaceStrategy
from allaboard.cluster.kinds.nodes import NodeStrategy
from allaboard.cluster.kinds.pods.strategy import PodStrategy, PodTemplateStrategy
from allaboard.cluster.kinds.services import ServiceStrategy
from allaboard.cluster.kinds.strategy import KindStrategy
from allaboard.cluster.kinds.webhooks import WebhookStrategy
from allaboard.cluster.resource import Column, Strategy
from allaboard.cluster.schema.builtin import schema_of

Read = Callable[[Json], str]


@dataclass(frozen=True, slots=True)
class Rules:
    """What is special about one kind."""

    strategy: Strategy
    columns: tuple[Column, ...] = (NAME, AGE)
    selectable: Mapping[str, Read] = field(default_factory=dict)
    row_conditions: Callable[[Json], list[Json]] | None = None
    stored_as: str = ""
    from_stored: Callable[[Json], Json] | None = None
    to_stored: Callable[[Json], Json] | None = None


def _read(path: str) -> Read:
    """The value at a dotted path as a field selector compares it."""
    parts = tuple(path.split("."))

    def read(obj: Json) -> str:
        value: object = obj
        for part in parts:
            if not isinstance(value, dict):
                return ""
            value = value.get(part)
        if value is None:
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)

    return read


def _flag(path: str) -> Read:
    """As `_read`, for a boolean that is left out when false."""
    read = _read(path)
    return lambda obj: read(obj) or "false"


def _count(path: str) -> Read:
    read = _read(path)
    return lambda obj: read(obj) or "0"


def _fields(*paths: str) -> dict[str, Read]:
    return {path: _read(path) for path in paths}


_SELECTABLE: dict[str, Mapping[str, Read]] = {
    "Pod": {
        **_fields(
            "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
            "spec.serviceAccountName", "status.phase", "status.podIP", "status.nominatedNodeName",
        ),
        "spec.hostNetwork": _flag("spec.hostNetwork"),
        "status.podIPs": _read("status.podIP"),
    },
    "Node": {"spec.unschedulable": _flag("spec.unschedulable")},
    "Namespace": _fields("status.phase"),
    "Secret": _fields("type"),
    "Service": _fields("spec.clusterIP", "spec.type"),
    "Job": {"status.successful": _count("status.succeeded")},
    "ReplicaSet": {"status.replicas": _count("status.replicas")},
    "ReplicationController": {"status.replicas": _count("status.replicas")},
}  # fmt: skip

# kinds whose strategy takes no more than scope and status
_STRATEGIES: dict[str, type[KindStrategy]] = {
    "ConfigMap": configs.ConfigMapStrategy,
    "Endpoints": storage.EndpointsStrategy,
    "LimitRange": quotas.LimitRangeStrategy,
    "Namespace": NamespaceStrategy,
    "Node": NodeStrategy,
    "PersistentVolumeClaim": storage.ClaimStrategy,
    "PersistentVolume": storage.VolumeStrategy,
    "Pod": PodStrategy,
    "PodTemplate": PodTemplateStrategy,
    "ReplicationController": workloads.ReplicationControllerStrategy,
    "ResourceQuota": quotas.ResourceQuotaStrategy,
    "Secret": configs.SecretStrategy,
    "ServiceAccount": access.ServiceAccountStrategy,
    "Service": ServiceStrategy,
    "ControllerRevision": workloads.RevisionStrategy,
    "DaemonSet": workloads.DaemonSetStrategy,
    "Deployment": workloads.DeploymentStrategy,
    "ReplicaSet": workloads.ReplicaSetStrategy,
    "StatefulSet": workloads.StatefulSetStrategy,
    "CronJob": CronJobStrategy,
    "Job": JobStrategy,
    "Ingress": storage.IngressStrategy,
    "NetworkPolicy": storage.NetworkPolicyStrategy,
    "PodDisruptionBudget": scheduling.BudgetStrategy,
    "ClusterRoleBinding": access.BindingStrategy,
    "ClusterRole": access.RoleStrategy,
    "RoleBinding": access.BindingStrategy,
    "Role": access.RoleStrategy,
    "StorageClass": storage.StorageClassStrategy,
    "PriorityClass": scheduling.PriorityClassStrategy,
    "Lease": scheduling.LeaseStrategy,
    "RuntimeClass": scheduling.RuntimeClassStrategy,
    "EndpointSlice": storage.SliceStrategy,
}

# kinds whose rules of their own leave enumerations and ranges to the schema
_PLAIN = frozenset(
    {
        "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "NetworkPolicy", "Ingress",
        "EndpointSlice", "Endpoints", "Service", "DaemonSet", "StatefulSet", "Deployment",
        "PodDisruptionBudget", "RuntimeClass", "ResourceQuota",
    }
)  # fmt: skip

_COLUMNS: dict[str, tuple[Column, ...]] = {
    "ConfigMap": configs_columns.CONFIGMAP_COLUMNS,
    "Event": nodes_columns.EVENT_COLUMNS,
    "Namespace": nodes_columns.NAMESPACE_COLUMNS,
    "Node": nodes_columns.NODE_COLUMNS,
    "PersistentVolumeClaim": configs_columns.CLAIM_COLUMNS,
    "PersistentVolume": configs_columns.VOLUME_COLUMNS,
    "Pod": pods.POD_COLUMNS,
    "ReplicationController": workloads_columns.REPLICASET_COLUMNS,
    "ResourceQuota": configs_columns.QUOTA_COLUMNS,
    "Secret": configs_columns.SECRET_COLUMNS,
    "Service": configs_columns.SERVICE_COLUMNS,
    "DaemonSet": workloads_columns.DAEMONSET_COLUMNS,
    "Deployment": workloads_columns.DEPLOYMENT_COLUMNS,
    "ReplicaSet": workloads_columns.REPLICASET_COLUMNS,
    "StatefulSet": workloads_columns.STATEFULSET_COLUMNS,
    "CronJob": workloads_columns.CRONJOB_COLUMNS,
    "Job": workloads_columns.JOB_COLUMNS,
    "PodDisruptionBudget": workloads_columns.BUDGET_COLUMNS,
    "ClusterRoleBinding": configs_columns.BINDING_COLUMNS,
    "ClusterRole": configs_columns.ROLE_COLUMNS,
    "RoleBinding": configs_columns.BINDING_COLUMNS,
    "Role": configs_columns.ROLE_COLUMNS,
    "StorageClass": configs_columns.STORAGE_CLASS_COLUMNS,
    "PriorityClass": nodes_columns.PRIORITY_COLUMNS,
    "Lease": nodes_columns.LEASE_COLUMNS,
    "RuntimeClass": nodes_columns.RUNTIME_CLASS_COLUMNS,
    "MutatingWebhookConfiguration": configs_columns.WEBHOOK_COLUMNS,
    "ValidatingWebhookConfiguration": configs_columns.WEBHOOK_COLUMNS,
    "CustomResourceDefinition": configs_columns.CRD_COLUMNS,
}


def rules_of(group: str, kind: str, namespaced: bool, has_status: bool) -> Rules:
    if kind == "Event":
        return _event_rules(group)
    columns = _COLUMNS.get(kind, (NAME, AGE))
    if kind.endswith("WebhookConfiguration"):
        return Rules(WebhookStrategy(mutating=kind.startswith("Mutating")), columns)
    strategy = _STRATEGIES.get(kind, KindStrategy)(namespaced=namespaced, has_status=has_status)
    if kind in _PLAIN:
        strategy.plain_schema = schema_of(group, "v1", kind)
    conditions = pods.row_conditions if kind == "Pod" else None
    return Rules(strategy, columns, _SELECTABLE.get(kind, {}), conditions)


def _event_rules(group: str) -> Rules:
    """Both groups show the Events that the core group stores."""
    if not group:
        return Rules(events.EventStrategy(), nodes_columns.EVENT_COLUMNS, events.CORE_FIELDS)
    return Rules(
        events.NewEventStrategy(),
        nodes_columns.EVENT_COLUMNS,
        events.NEW_FIELDS,
        stored_as="events",
        from_stored=events.as_new,
        to_stored=events.as_core,
    )
