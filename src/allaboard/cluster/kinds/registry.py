"""Which kinds are built in, under which names, with which verbs and rules?

One line a kind. `builtin_resources()` turns the lines into `Resource`s in the order discovery
lists them; the rules of a kind come from `catalogue.py`, its schema from `schema/builtin.py`.
"""

from dataclasses import dataclass
from functools import cache

from allaboard.api.meta import Kind
from allaboard.cluster.kinds.catalogue import rules_of
from allaboard.cluster.resource import Resource, Version
from allaboard.cluster.schema.builtin import schema_of

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
CREATE_ONLY = ("create",)
READ_WRITE = ("get", "patch", "update")
_PROXY = ("create", "delete", "get", "patch", "update")

# What may be done with a subresource; anything not named here is read and written like a status.
SUBRESOURCE_VERBS: dict[str, tuple[str, ...]] = {
    "attach": ("create", "get"),
    "binding": CREATE_ONLY,
    "ephemeralcontainers": READ_WRITE,
    "eviction": CREATE_ONLY,
    "exec": ("create", "get"),
    "finalize": ("update",),
    "log": ("get",),
    "portforward": ("create", "get"),
    "proxy": _PROXY,
    "resize": READ_WRITE,
    "scale": READ_WRITE,
    "status": READ_WRITE,
    "token": CREATE_ONLY,
}

_SCALE = Kind("autoscaling", "v1", "Scale", "")
_SUBRESOURCE_KINDS: dict[str, Kind] = {
    "attach": Kind("", "v1", "PodAttachOptions", ""),
    "binding": Kind("", "v1", "Binding", ""),
    "eviction": Kind("policy", "v1", "Eviction", ""),
    "exec": Kind("", "v1", "PodExecOptions", ""),
    "portforward": Kind("", "v1", "PodPortForwardOptions", ""),
    "scale": _SCALE,
    "token": Kind("authentication.k8s.io", "v1", "TokenRequest", ""),
}
_SCALE_PATHS = (".spec.replicas", ".status.replicas", ".status.selector")
_POD_SUBRESOURCES = (
    "attach binding ephemeralcontainers eviction exec log portforward proxy resize status"
)


@dataclass(frozen=True, slots=True)
class _Line:
    """How one kind is written in the table below."""

    group: str
    kind: str
    plural: str
    namespaced: bool = True
    subresources: str = ""
    short: str = ""
    categories: str = ""
    verbs: tuple[str, ...] = ALL_VERBS


def _cluster(group: str, kind: str, plural: str, subresources: str = "", short: str = "") -> _Line:
    return _Line(group, kind, plural, False, subresources, short)


def _extension(
    group: str, kind: str, plural: str, subresources: str = "", short: str = ""
) -> _Line:
    return _Line(group, kind, plural, False, subresources, short, "api-extensions")


def _review(group: str, kind: str, plural: str, namespaced: bool = False) -> _Line:
    return _Line(group, kind, plural, namespaced, verbs=CREATE_ONLY)


_RBAC = "rbac.authorization.k8s.io"
_NAMESPACE_VERBS = tuple(v for v in ALL_VERBS if v != "deletecollection")

_LINES: tuple[_Line, ...] = (
    _Line("", "Binding", "bindings", verbs=CREATE_ONLY),
    _Line("", "ConfigMap", "configmaps", short="cm"),
    _Line("", "Endpoints", "endpoints", short="ep"),
    _Line("", "Event", "events", short="ev"),
    _Line("", "LimitRange", "limitranges", short="limits"),
    _Line("", "Namespace", "namespaces", False, "finalize status", "ns", "", _NAMESPACE_VERBS),
    _cluster("", "Node", "nodes", "proxy status", "no"),
    _Line("", "PersistentVolumeClaim", "persistentvolumeclaims", True, "status", "pvc"),
    _cluster("", "PersistentVolume", "persistentvolumes", "status", "pv"),
    _Line("", "Pod", "pods", True, _POD_SUBRESOURCES, "po", "all"),
    _Line("", "PodTemplate", "podtemplates"),
    _Line("", "ReplicationController", "replicationcontrollers", True, "scale status", "rc", "all"),
    _Line("", "ResourceQuota", "resourcequotas", True, "status", "quota"),
    _Line("", "Secret", "secrets"),
    _Line("", "ServiceAccount", "serviceaccounts", True, "token", "sa"),
    _Line("", "Service", "services", True, "proxy status", "svc", "all"),
    _Line("apps", "ControllerRevision", "controllerrevisions"),
    _Line("apps", "DaemonSet", "daemonsets", True, "status", "ds", "all"),
    _Line("apps", "Deployment", "deployments", True, "scale status", "deploy", "all"),
    _Line("apps", "ReplicaSet", "replicasets", True, "scale status", "rs", "all"),
    _Line("apps", "StatefulSet", "statefulsets", True, "scale status", "sts", "all"),
    _Line("events.k8s.io", "Event", "events", short="ev"),
    _review("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews"),
    _review("authentication.k8s.io", "TokenReview", "tokenreviews"),
    _review("authorization.k8s.io", "LocalSubjectAccessReview", "localsubjectaccessreviews", True),
    _review("authorization.k8s.io", "SelfSubjectAccessReview", "selfsubjectaccessreviews"),
    _review("authorization.k8s.io", "SelfSubjectRulesReview", "selfsubjectrulesreviews"),
    _review("authorization.k8s.io", "SubjectAccessReview", "subjectaccessreviews"),
    _Line("batch", "CronJob", "cronjobs", True, "status", "cj", "all"),
    _Line("batch", "Job", "jobs", True, "status", "", "all"),
    _Line("networking.k8s.io", "Ingress", "ingresses", True, "status", "ing"),
    _Line("networking.k8s.io", "NetworkPolicy", "networkpolicies", short="netpol"),
    _Line("policy", "PodDisruptionBudget", "poddisruptionbudgets", True, "status", "pdb"),
    _cluster(_RBAC, "ClusterRoleBinding", "clusterrolebindings"),
    _cluster(_RBAC, "ClusterRole", "clusterroles"),
    _Line(_RBAC, "RoleBinding", "rolebindings"),
    _Line(_RBAC, "Role", "roles"),
    _cluster("storage.k8s.io", "StorageClass", "storageclasses", short="sc"),
    _extension(
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    ),
    _extension(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    ),
    _extension(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "status",
        "crd crds",
    ),
    _cluster("scheduling.k8s.io", "PriorityClass", "priorityclasses", short="pc"),
    _Line("coordination.k8s.io", "Lease", "leases"),
    _cluster("node.k8s.io", "RuntimeClass", "runtimeclasses"),
    _Line("discovery.k8s.io", "EndpointSlice", "endpointslices"),
)


def _subresource_kind(line: _Line, name: str) -> Kind:
    if name == "proxy":
        return Kind("", "v1", f"{line.kind}ProxyOptions", "")
    own = Kind(line.group, "v1", line.kind, line.plural, line.namespaced)
    return _SUBRESOURCE_KINDS.get(name, own)


def _resource(line: _Line) -> Resource:
    subresources = tuple(line.subresources.split())
    rules = rules_of(line.group, line.kind, line.namespaced, "status" in subresources)
    version = Version("v1", schema_of(line.group, "v1", line.kind), rules.columns)
    return Resource(
        group=line.group,
        plural=line.plural,
        singular=line.kind.lower(),
        kind=line.kind,
        list_kind=f"{line.kind}List",
        namespaced=line.namespaced,
        versions={"v1": version},
        storage_version="v1",
        strategy=rules.strategy,
        short_names=tuple(line.short.split()),
        categories=tuple(line.categories.split()),
        subresources={name: _subresource_kind(line, name) for name in subresources},
        verbs=line.verbs,
        selectable=rules.selectable,
        scale_paths=_SCALE_PATHS if "scale" in subresources else None,
        row_conditions=rules.row_conditions,
        stored_as=rules.stored_as,
        from_stored=rules.from_stored,
        to_stored=rules.to_stored,
    )


@cache
def _all() -> tuple[Resource, ...]:
    return tuple(_resource(line) for line in _LINES)


def builtin_resources() -> list[Resource]:
    """Every built-in kind. The list is the caller's, the resources are shared."""
    return list(_all())
