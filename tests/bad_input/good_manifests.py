"""The smallest object of each served kind that the server accepts: what defects are planted in.

Every object is new at each call, so that whoever plants may change it.
"""

from collections.abc import Callable
from typing import Any

from allaboard.api.meta import Json

GROUP = "bad.example.com"
Body = Callable[[], Json]

_LABELS = {"app": "a"}


def _containers() -> Json:
    return {"containers": [{"name": "c", "image": "i"}]}


def _template(**more: Any) -> Json:
    return {"metadata": {"labels": dict(_LABELS)}, "spec": {**_containers(), **more}}


def _workload(**more: Any) -> Json:
    return {"selector": {"matchLabels": dict(_LABELS)}, "template": _template(), **more}


def _job_spec() -> Json:
    return {"template": _template(restartPolicy="Never")}


def _hook() -> Json:
    return {
        "name": "h.example.com",
        "clientConfig": {"url": "https://example.com/h"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }


def _claim_spec() -> Json:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def _volume_spec() -> Json:
    return {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/x"},
    }


def _involved() -> Json:
    return {"kind": "Pod", "namespace": "ns", "name": "p"}


def _role_ref() -> Json:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}


_NEW_EVENT: Json = {
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingController": "example.com/c",
    "reportingInstance": "c-0",
    "action": "Act",
    "reason": "Because",
    "type": "Normal",
    "regarding": _involved(),
}


def definition(plural: str = "things", kind: str = "Thing") -> Json:
    """A CustomResourceDefinition whose schema uses most of what schemas can say."""
    return {
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": _thing_schema()},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


def _thing_schema() -> Json:
    port = {"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535}
    step = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"type": "string", "maxLength": 20}, "weight": {"type": "number"}},
    }
    spec: Json = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 0, "maximum": 1000},
            "big": {"type": "integer", "format": "int64"},
            "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0},
            "mode": {"type": "string", "enum": ["Fast", "Slow"]},
            "name": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9-]*$"},
            "when": {"type": "string", "format": "date-time"},
            "blob": {"type": "string", "format": "byte"},
            "wait": {"type": "string", "format": "duration"},
            "address": {"type": "string", "format": "ipv4"},
            "on": {"type": "boolean", "default": True},
            "port": {"x-kubernetes-int-or-string": True},
            "ports": {"type": "array", "items": port, "x-kubernetes-list-type": "set"},
            "steps": {
                "type": "array",
                "maxItems": 100,
                "items": step,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            "tags": {"type": "object", "additionalProperties": {"type": "string"}},
            "maybe": {"type": "string", "nullable": True},
            "either": {"type": "string", "anyOf": [{"minLength": 1}, {"maxLength": 0}]},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "nested": {"type": "object", "properties": {"deep": step}},
        },
    }
    status = {"type": "object", "properties": {"phase": {"type": "string"}}}
    return {"type": "object", "properties": {"spec": spec, "status": status}}


def _spec(make: Callable[[], Json]) -> Body:
    return lambda: {"spec": make()}


# By group/Kind; a kind that is not here needs nothing but a name.
GOOD: dict[str, Body] = {
    "/Binding": lambda: {"target": {"kind": "Node", "name": "n"}},
    "/Event": lambda: {"involvedObject": _involved(), "reason": "R", "type": "Normal"},
    "/LimitRange": _spec(lambda: {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}),
    "/PersistentVolumeClaim": _spec(_claim_spec),
    "/PersistentVolume": _spec(_volume_spec),
    "/Pod": _spec(_containers),
    "/PodTemplate": lambda: {"template": _template()},
    "/ReplicationController": _spec(lambda: {"selector": dict(_LABELS), "template": _template()}),
    "/Service": _spec(lambda: {"selector": dict(_LABELS), "ports": [{"port": 80}]}),
    "apps/ControllerRevision": lambda: {"revision": 1, "data": {"a": 1}},
    "apps/DaemonSet": _spec(_workload),
    "apps/Deployment": _spec(_workload),
    "apps/ReplicaSet": _spec(_workload),
    "apps/StatefulSet": _spec(lambda: _workload(serviceName="s")),
    "events.k8s.io/Event": lambda: dict(_NEW_EVENT),
    "authentication.k8s.io/TokenReview": _spec(lambda: {"token": "t"}),
    "authorization.k8s.io/LocalSubjectAccessReview": _spec(
        lambda: {"user": "u", "resourceAttributes": {"namespace": "ns", "verb": "get"}}
    ),
    "authorization.k8s.io/SelfSubjectAccessReview": _spec(
        lambda: {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    ),
    "authorization.k8s.io/SelfSubjectRulesReview": _spec(lambda: {"namespace": "ns"}),
    "authorization.k8s.io/SubjectAccessReview": _spec(
        lambda: {"user": "u", "resourceAttributes": {"verb": "get"}}
    ),
    "batch/CronJob": _spec(lambda: {"schedule": "* * * * *", "jobTemplate": {"spec": _job_spec()}}),
    "batch/Job": _spec(_job_spec),
    "networking.k8s.io/Ingress": _spec(
        lambda: {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    ),
    "networking.k8s.io/NetworkPolicy": _spec(lambda: {"podSelector": {}}),
    "policy/PodDisruptionBudget": _spec(
        lambda: {"minAvailable": 1, "selector": {"matchLabels": dict(_LABELS)}}
    ),
    "rbac.authorization.k8s.io/ClusterRoleBinding": lambda: {"roleRef": _role_ref()},
    "rbac.authorization.k8s.io/RoleBinding": lambda: {"roleRef": _role_ref()},
    "storage.k8s.io/StorageClass": lambda: {"provisioner": "example.com/p"},
    "admissionregistration.k8s.io/MutatingWebhookConfiguration": lambda: {"webhooks": [_hook()]},
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration": lambda: {"webhooks": [_hook()]},
    "apiextensions.k8s.io/CustomResourceDefinition": lambda: definition("widgets", "Widget"),
    "scheduling.k8s.io/PriorityClass": lambda: {"value": 1},
    "node.k8s.io/RuntimeClass": lambda: {"handler": "h"},
    "discovery.k8s.io/EndpointSlice": lambda: {"addressType": "IPv4", "endpoints": []},
    f"{GROUP}/Thing": _spec(lambda: {"size": 1}),
}
