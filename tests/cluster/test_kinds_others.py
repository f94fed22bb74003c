"""The other kinds, a few lines each: what is filled in, what is refused, what may not change."""

import copy
from typing import Any

import pytest

from allaboard.api.fields import FieldError
from allaboard.api.meta import Json
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.resource import Resource

RESOURCES = {(r.group, r.kind): r for r in builtin_resources()}
HOOK = {
    "name": "a.example.com",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "clientConfig": {"url": "https://127.0.0.1:9/x"},
    "rules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ],
}
TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "x", "image": "i"}]},
}
HAS_A = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
DEPLOYMENT = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}


def kind(name: str, group: str = "") -> Resource:
    return RESOURCES[group, name]


def made(resource: Resource, name: str = "x", **body: Any) -> Json:
    """An object as it is about to be judged."""
    meta: Json = {"name": name, "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    if resource.namespaced:
        meta["namespace"] = "ns"
    obj: Json = {"metadata": meta, **copy.deepcopy(body)}
    resource.strategy.default(obj)
    resource.strategy.prepare_create(obj)
    return obj


def where(errors: list[FieldError]) -> list[str]:
    return [e.field for e in errors]


REFUSED: list[tuple[str, str, Json, list[str]]] = [
    ("", "ConfigMap", {"data": {"a.b-c_d": "x"}}, []),
    ("", "ConfigMap", {"data": {"a/b": "x"}}, ["data[a/b]"]),
    ("", "ConfigMap", {"data": {"..": "x"}}, ["data[..]"]),
    ("", "ConfigMap", {"data": {"x": ""}, "binaryData": {"x": "eA=="}}, ["data[x]"]),
    ("", "ConfigMap", {"data": {"x": "y" * (1 << 20)}}, []),
    ("", "ConfigMap", {"data": {"x": "y" * ((1 << 20) + 1)}}, ["[]"]),
    ("", "Secret", {"type": "kubernetes.io/tls", "data": {"tls.crt": ""}}, ["data[tls.key]"]),
    ("", "Node", {"spec": {"taints": [{"key": "a"}]}}, ["metadata.taints[0].effect"]),
    ("", "Node", {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}] * 2}},
     ["metadata.taints[1]"]),
    ("", "Node", {"spec": {"podCIDR": "10.0.0.0/99"}}, ["spec.podCIDRs[0]"]),
    ("", "Node", {"status": {"capacity": {"cpu": "-1"}, "allocatable": {}}},
     ["status.capacity.cpu"]),
    ("", "Namespace", {"spec": {"finalizers": ["nope"]}}, ["spec.finalizers"]),
    ("", "Service", {"spec": {"ports": [{"port": 80}]}}, []),
    ("", "Service", {"spec": {}}, ["spec.ports"]),
    ("", "Service", {"spec": {"clusterIP": "None"}}, []),
    ("", "Service", {"spec": {"ports": [{"port": 80}, {"port": 81}]}},
     ["spec.ports[0].name", "spec.ports[1].name"]),
    ("", "Service", {"spec": {"ports": [{"port": 80}], "clusterIP": "8.8.8.8"}},
     ["spec.clusterIPs"]),
    ("", "ResourceQuota", {"spec": {"hard": {"pods": "1.5"}}}, ["spec.hard[pods]"]),
    ("", "ResourceQuota", {"spec": {"hard": {"requests.cpu": "1.5", "count/jobs.batch": "3"}}}, []),
    ("", "LimitRange", {"spec": {"limits": [{"type": "Odd"}]}}, ["spec.limits[0].type"]),
    ("", "LimitRange", {"spec": {"limits": [
        {"type": "Container", "min": {"cpu": "2"}, "max": {"cpu": "1"},
         "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2"}}]}},
     ["spec.limits[0].min[cpu]", "spec.limits[0].default[cpu]",
      "spec.limits[0].defaultRequest[cpu]"]),
    ("", "Event", {"involvedObject": {"namespace": "other"}}, ["involvedObject.namespace"]),
    ("", "Event", {"involvedObject": {"namespace": "ns"}}, []),
    ("coordination.k8s.io", "Lease", {"spec": {"leaseDurationSeconds": 0}},
     ["spec.leaseDurationSeconds"]),
    ("scheduling.k8s.io", "PriorityClass", {"value": 10**9 + 1}, ["value"]),
    ("policy", "PodDisruptionBudget", {"spec": {"minAvailable": 1, "maxUnavailable": 1}}, ["spec"]),
    ("policy", "PodDisruptionBudget", {"spec": {"minAvailable": "101%"}}, ["spec.minAvailable"]),
    ("apps", "Deployment", {"spec": DEPLOYMENT}, []),
    ("apps", "Deployment", {"spec": {**DEPLOYMENT, "replicas": -1}}, ["spec.replicas"]),
    ("apps", "Deployment", {"spec": {**DEPLOYMENT, "selector": {"matchLabels": {"a": "c"}}}},
     ["spec.template.metadata.labels"]),
    ("apps", "StatefulSet", {"spec": DEPLOYMENT}, []),
    ("apps", "DaemonSet", {"spec": DEPLOYMENT}, []),
    ("", "ReplicationController", {"spec": {"template": TEMPLATE}}, []),
    ("rbac.authorization.k8s.io", "Role", {"rules": [{"verbs": ["get"]}]},
     ["rules[0].apiGroups", "rules[0].resources"]),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", {"roleRef": {"kind": "Role", "name": "r"}},
     ["roleRef.kind"]),
    ("", "PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce"]}},
     ["spec.resources[storage]"]),
]  # fmt: skip


@pytest.mark.parametrize("group, name, body, fields", REFUSED)
def test_refused_objects(group: str, name: str, body: Json, fields: list[str]) -> None:
    resource = kind(name, group)
    assert where(resource.strategy.validate_create(made(resource, **body))) == fields


@pytest.mark.parametrize(
    "change, fields",
    [
        ({}, []),
        ({"sideEffects": None}, ["webhooks[0].sideEffects"]),
        ({"sideEffects": "Some"}, ["webhooks[0].sideEffects"]),
        ({"admissionReviewVersions": []}, ["webhooks[0].admissionReviewVersions"]),
        ({"admissionReviewVersions": ["v9"]}, ["webhooks[0].admissionReviewVersions"]),
        ({"clientConfig": {}}, ["webhooks[0].clientConfig"]),
        ({"clientConfig": {"url": "http://x"}}, ["webhooks[0].clientConfig.url"]),
        ({"clientConfig": {"service": {"name": "s"}}},
         ["webhooks[0].clientConfig.service.namespace"]),
        ({"timeoutSeconds": 31}, ["webhooks[0].timeoutSeconds"]),
        ({"name": "x"}, ["webhooks[0].name"]),
        ({"failurePolicy": "Shrug"}, ["webhooks[0].failurePolicy"]),
    ],
)  # fmt: skip
def test_webhook_configurations(change: Json, fields: list[str]) -> None:
    resource = kind("ValidatingWebhookConfiguration", "admissionregistration.k8s.io")
    obj = made(resource, webhooks=[{**HOOK, **change}])
    assert where(resource.strategy.validate_create(obj)) == fields


def test_webhooks_get_their_defaults() -> None:
    resource = kind("MutatingWebhookConfiguration", "admissionregistration.k8s.io")
    hook = made(resource, webhooks=[HOOK])["webhooks"][0]
    assert (hook["failurePolicy"], hook["timeoutSeconds"]) == ("Fail", 10)
    assert hook["reinvocationPolicy"] == "Never"
    assert hook["rules"][0]["scope"] == "*"


@pytest.mark.parametrize(
    "name, legal",
    [("a-b", True), ("a.b", False), ("A", False), ("a" * 63, True), ("a" * 64, False)],
)
def test_namespaces_are_labels(name: str, legal: bool) -> None:
    resource = kind("Namespace")
    obj = made(resource, name=name)
    assert (resource.strategy.validate_create(obj) == []) is legal
    assert obj["metadata"]["labels"]["kubernetes.io/metadata.name"] == name
    assert (obj["spec"]["finalizers"], obj["status"]["phase"]) == (["kubernetes"], "Active")


def test_only_finalize_takes_a_namespaces_finalizers() -> None:
    resource = kind("Namespace")
    old = made(resource)
    for subresource, kept in (("", ["kubernetes"]), ("finalize", None)):
        new = {**old, "metadata": dict(old["metadata"]), "spec": {}}
        resource.strategy.prepare_update(new, old, subresource)
        assert new["spec"].get("finalizers") == kept


@pytest.mark.parametrize(
    "name, group, reserved",
    [("system-mine", "scheduling.k8s.io", True), ("mine", "scheduling.k8s.io", False)],
)
def test_system_priorities_are_reserved(name: str, group: str, reserved: bool) -> None:
    resource = kind("PriorityClass", group)
    errors = resource.strategy.validate_create(made(resource, name=name, value=1))
    assert (where(errors) == ["metadata.name"]) is reserved


IMMUTABLE: list[tuple[str, str, Json, Json, list[str]]] = [
    ("", "ConfigMap", {"data": {"a": "1"}, "immutable": True}, {"data": {"a": "2"}}, ["data"]),
    ("", "ConfigMap", {"data": {"a": "1"}}, {"data": {"a": "2"}}, []),
    ("", "Secret", {"type": "Opaque"}, {"type": "a.io/x"}, ["type"]),
    ("scheduling.k8s.io", "PriorityClass", {"value": 1}, {"value": 2}, ["value"]),
    ("apps", "Deployment", {"spec": DEPLOYMENT},
     {"spec": {**DEPLOYMENT, "selector": HAS_A}},
     ["spec.selector"]),
    ("apps", "StatefulSet", {"spec": {**DEPLOYMENT, "serviceName": "s"}},
     {"spec": {**DEPLOYMENT, "serviceName": "t"}}, ["spec"]),
    ("rbac.authorization.k8s.io", "RoleBinding", {"roleRef": {"kind": "Role", "name": "r"}},
     {"roleRef": {"kind": "Role", "name": "s"}}, ["roleRef"]),
    ("node.k8s.io", "RuntimeClass", {"handler": "a"}, {"handler": "b"}, ["handler"]),
]  # fmt: skip


@pytest.mark.parametrize("group, name, body, change, fields", IMMUTABLE)
def test_what_may_not_change(
    group: str, name: str, body: Json, change: Json, fields: list[str]
) -> None:
    resource = kind(name, group)
    old = made(resource, **body)
    new = {**old, "metadata": dict(old["metadata"]), **copy.deepcopy(change)}
    resource.strategy.default(new)
    resource.strategy.prepare_update(new, old, "")
    assert where(resource.strategy.validate_update(new, old, "")) == fields


def test_secrets_take_plain_text_and_keep_it_encoded() -> None:
    secret = made(kind("Secret"), stringData={"a": "b"}, data={"c": "ZA=="})
    assert secret["data"] == {"a": "Yg==", "c": "ZA=="}
    assert "stringData" not in secret and secret["type"] == "Opaque"


def test_services_get_an_address_of_their_own() -> None:
    resource = kind("Service")
    first = made(resource, spec={"type": "NodePort", "ports": [{"port": 80}]})["spec"]
    assert first["clusterIP"].startswith("10.96.") and first["clusterIPs"] == [first["clusterIP"]]
    assert 30000 <= first["ports"][0]["nodePort"] < 32768
    assert first["ports"][0]["targetPort"] == 80
    headless = made(resource, spec={"clusterIP": "None", "selector": {"a": "b"}})["spec"]
    assert headless["clusterIPs"] == ["None"]
    outside = made(resource, spec={"type": "ExternalName", "externalName": "a.io"})["spec"]
    assert "clusterIP" not in outside


def test_a_services_address_is_for_life() -> None:
    resource = kind("Service")
    old = made(resource, spec={"ports": [{"port": 80}]})
    new = {**old, "metadata": dict(old["metadata"]), "spec": {"ports": [{"port": 81}]}}
    resource.strategy.default(new)
    resource.strategy.prepare_update(new, old, "")
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    new["spec"] = {**new["spec"], "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"]}
    assert where(resource.strategy.validate_update(new, old, "")) == ["spec.clusterIPs[0]"]


def test_nodes_offer_what_they_have() -> None:
    node = made(kind("Node"), status={"capacity": {"cpu": "4000m", "memory": "1024Mi"}})
    assert node["status"]["allocatable"] == {"cpu": "4", "memory": "1Gi"}


def test_limit_ranges_complete_their_defaults() -> None:
    limits = [{"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}]
    limit = made(kind("LimitRange"), spec={"limits": limits})["spec"]["limits"][0]
    assert limit["default"] == {"cpu": "2"}
    assert limit["defaultRequest"] == {"cpu": "2", "memory": "1Mi"}


def test_deployments_roll_a_quarter_at_a_time() -> None:
    spec = made(kind("Deployment", "apps"), spec=DEPLOYMENT)["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": "25%", "maxSurge": "25%"}
    assert (spec["replicas"], spec["revisionHistoryLimit"]) == (1, 10)


def test_new_events_must_say_who_reports_what() -> None:
    resource = kind("Event", "events.k8s.io")
    event = made(resource, regarding={"namespace": "ns"}, eventTime="2026-01-01T00:00:00.000000Z")
    assert where(resource.strategy.validate_create(event)) == [
        "reportingController",
        "reportingController",
        "reportingController",
        "reportingInstance",
        "action",
        "reason",
        "type",
    ]


def test_leases_are_created_by_put_and_updated_with_a_version() -> None:
    strategy = kind("Lease", "coordination.k8s.io").strategy
    assert strategy.allow_create_on_update and not strategy.allow_unconditional_update
