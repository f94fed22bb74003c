"""What is filled into a Pod, what is refused in one, and what may change in it later."""

import copy
from typing import Any

import pytest

from allaboard.api.fields import FieldError
from allaboard.api.meta import Json
from allaboard.cluster.kinds.pods.status import qos_class
from allaboard.cluster.kinds.pods.strategy import PodStrategy

STRATEGY = PodStrategy(has_status=True)


def pod(**spec: Any) -> Json:
    container = {"name": "main", "image": "img:1", **spec.pop("container", {})}
    meta = {"name": "p", "namespace": "ns", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


def born(**spec: Any) -> Json:
    """A Pod as it is stored."""
    obj = pod(**spec)
    STRATEGY.default(obj)
    STRATEGY.prepare_create(obj)
    assert STRATEGY.validate_create(obj) == []
    return obj


def refused(**spec: Any) -> list[FieldError]:
    obj = pod(**spec)
    STRATEGY.default(obj)
    STRATEGY.prepare_create(obj)
    return STRATEGY.validate_create(obj)


def changed(old: Json, subresource: str = "", **spec: Any) -> tuple[Json, list[FieldError]]:
    new = {**copy.deepcopy(old), "spec": {**copy.deepcopy(old["spec"]), **spec}}
    STRATEGY.prepare_update(new, old, subresource)
    return new, STRATEGY.validate_update(new, old, subresource)


def test_a_pod_is_completed() -> None:
    spec = born()["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["containers"][0]["terminationMessagePath"] == "/dev/termination-log"
    assert spec["enableServiceLinks"] is True


@pytest.mark.parametrize(
    "image, policy",
    [
        ("img", "Always"),
        ("img:latest", "Always"),
        ("img:1", "IfNotPresent"),
        ("host:5000/img", "Always"),
        ("host:5000/img:1", "IfNotPresent"),
        ("img@sha256:abc", "IfNotPresent"),
    ],
)
def test_images_without_a_fixed_tag_are_always_pulled(image: str, policy: str) -> None:
    container = born(container={"image": image})["spec"]["containers"][0]
    assert container["imagePullPolicy"] == policy


def test_requests_follow_limits_and_are_spelled_canonically() -> None:
    resources = {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": "1n"}}
    container = born(container={"resources": resources})["spec"]["containers"][0]
    assert container["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"},
        "requests": {"cpu": "1m", "memory": "1Gi"},
    }


@pytest.mark.parametrize(
    "resources, quality",
    [
        ({}, "BestEffort"),
        ({"requests": {"example.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m"}}, "Guaranteed"),
    ],
)
def test_quality_of_service(resources: Json, quality: str) -> None:
    assert qos_class({"containers": [{"resources": resources}]}) == quality


def test_a_gated_pod_says_so_from_birth() -> None:
    status = born(schedulingGates=[{"name": "a.io/g"}])["status"]
    assert status["phase"] == "Pending"
    assert status["conditions"][0]["reason"] == "SchedulingGated"
    assert status["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "spec, where",
    [
        ({"containers": []}, ["spec.containers"]),
        ({"container": {"name": "A"}}, ["spec.containers[0].name"]),
        ({"container": {"image": ""}}, ["spec.containers[0].image"]),
        ({"container": {"ports": [{"containerPort": 70000}]}},
         ["spec.containers[0].ports[0].containerPort"]),
        ({"container": {"env": [{"name": "a=b"}]}}, ["spec.containers[0].env[0].name"]),
        ({"container": {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}},
         ["spec.containers[0].volumeMounts[0].name"]),
        ({"container": {"resources": {"requests": {"cpu": "-1"}}}},
         ["spec.containers[0].resources.requests[cpu]"]),
        ({"container": {"resources": {"limits": {"a.io/gpu": "500m"}}}},
         ["spec.containers[0].resources.limits[a.io/gpu]",
          "spec.containers[0].resources.requests[a.io/gpu]"]),
        ({"container": {"resources": {"requests": {"a.io/gpu": "1"}}}},
         ["spec.containers[0].resources.limits"]),
        ({"container": {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}},
         ["spec.containers[0].resources.requests"]),
        ({"container": {"livenessProbe": {}}}, ["spec.containers[0].livenessProbe"]),
        ({"initContainers": [{"name": "main", "image": "i"}]}, ["spec.initContainers[0].name"]),
        ({"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]},
         ["spec.volumes[0].hostPath"]),
        ({"restartPolicy": "Perhaps"}, ["spec.restartPolicy"]),
        ({"nodeSelector": {"a": "b c"}}, ["spec.nodeSelector"]),
        ({"tolerations": [{"key": "k", "operator": "Exists", "value": "v"}]},
         ["spec.tolerations[0].operator"]),
        ({"schedulingGates": [{"name": "g"}, {"name": "g"}]}, ["spec.schedulingGates[1]"]),
        ({"schedulingGates": [{"name": "g"}], "nodeName": "n"}, ["spec.nodeName"]),
        ({"activeDeadlineSeconds": 0}, ["spec.activeDeadlineSeconds"]),
        ({"hostname": "a.b"}, ["spec.hostname"]),
        ({"securityContext": {"runAsUser": -1}}, ["spec.securityContext.runAsUser"]),
    ],
)  # fmt: skip
def test_refused_pods(spec: Json, where: list[str]) -> None:
    assert [e.field for e in refused(**spec)] == where


@pytest.mark.parametrize(
    "term, tail",
    [
        ({"key": "k", "operator": "In"}, "values"),
        ({"key": "k", "operator": "Exists", "values": ["v"]}, "values"),
        ({"key": "k", "operator": "Gt", "values": ["1", "2"]}, "values"),
        ({"key": "k", "operator": "Like"}, "operator"),
        ({"key": "k k", "operator": "Exists"}, "key"),
    ],
)
def test_refused_node_affinity(term: Json, tail: str) -> None:
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    errors = refused(affinity={"nodeAffinity": {key: required}})
    assert errors[0].field.endswith(f"nodeSelectorTerms[0].matchExpressions[0].{tail}")


@pytest.mark.parametrize(
    "spec, change, where",
    [
        ({}, {"nodeName": "n"}, ["spec"]),
        ({}, {"hostname": "h"}, ["spec"]),
        ({}, {"containers": []}, ["spec.containers", "spec.containers"]),
        ({"activeDeadlineSeconds": 9}, {"activeDeadlineSeconds": 8}, []),
        ({"activeDeadlineSeconds": 9}, {"activeDeadlineSeconds": 10},
         ["spec.activeDeadlineSeconds"]),
        ({"tolerations": [{"key": "a", "operator": "Exists"}]},
         {"tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]},
         []),
        ({"tolerations": [{"key": "a", "operator": "Exists"}]}, {"tolerations": []},
         ["spec.tolerations"]),
        ({"schedulingGates": [{"name": "g"}, {"name": "h"}]}, {"schedulingGates": []}, []),
        ({}, {"schedulingGates": [{"name": "g"}]}, ["spec.schedulingGates[0].name"]),
        ({"schedulingGates": [{"name": "g"}]}, {"nodeSelector": {"a": "b"}}, []),
        ({"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}},
         {"nodeSelector": {"a": "c"}}, ["spec.nodeSelector"]),
        ({}, {"nodeSelector": {"a": "b"}}, ["spec"]),
    ],
)  # fmt: skip
def test_what_may_change_in_a_pod(spec: Json, change: Json, where: list[str]) -> None:
    _, errors = changed(born(**spec), **change)
    assert [e.field for e in errors] == where


def test_a_new_image_is_a_new_generation() -> None:
    old = born()
    containers = [{**old["spec"]["containers"][0], "image": "img:2"}]
    new, errors = changed(old, containers=containers)
    assert (errors, new["metadata"]["generation"]) == ([], 2)


def test_resizing_keeps_the_quality_of_service() -> None:
    old = born(container={"resources": {"requests": {"cpu": "1"}}})
    more = [{"name": "main", "resources": {"requests": {"cpu": "2"}}, "image": "other"}]
    new, errors = changed(old, "resize", containers=more)
    assert errors == []
    assert new["spec"]["containers"][0]["image"] == "img:1"  # a resize changes nothing else
    none = [{"name": "main", "resources": {}}]
    _, errors = changed(old, "resize", containers=none)
    assert [e.field for e in errors] == ["spec"]


def test_status_keeps_owners_and_class_but_takes_labels() -> None:
    old = born()
    new = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}, "ownerReferences": [{}]}}
    new["status"] = {"phase": "Running"}
    STRATEGY.prepare_update(new, old, "status")
    assert STRATEGY.validate_update(new, old, "status") == []
    assert new["status"]["qosClass"] == "BestEffort"
    assert new["metadata"]["labels"] == {"a": "b"}
    assert "ownerReferences" not in new["metadata"]


def test_what_ended_stays_ended_unless_it_may_restart() -> None:
    ended = [{"name": "main", "state": {"terminated": {"exitCode": 1}}}]
    running = [{"name": "main", "state": {"running": {}}}]
    for policy, where in (
        ("Never", ["status.containerStatuses[0].state"]),
        ("OnFailure", []),
        ("Always", []),
    ):
        base = born(restartPolicy=policy)
        old = {**base, "status": {**base["status"], "containerStatuses": ended}}
        new = {**base, "status": {**base["status"], "containerStatuses": running}}
        assert [e.field for e in STRATEGY.validate_update(new, old, "status")] == where


@pytest.mark.parametrize(
    "spec, words",
    [
        ({}, []),
        ({"container": {"env": [{"name": "A"}, {"name": "A"}]}}, ["hides previous definition"]),
        ({"container": {"resources": {"limits": {"memory": "100m"}}}},
         ["fractional byte value", "fractional byte value"]),
        ({"topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}]},
         ["a null labelSelector"]),
    ],
)  # fmt: skip
def test_legal_but_doubtful_pods_get_a_warning(spec: Json, words: list[str]) -> None:
    found = STRATEGY.warnings(born(**spec), None)
    assert len(found) == len(words)
    assert all(word in text for word, text in zip(words, found, strict=True))


def test_a_running_pod_takes_containers_for_debugging_but_keeps_them() -> None:
    assert [e.field for e in refused(ephemeralContainers=[{"name": "d", "image": "i"}])] == [
        "spec.ephemeralContainers"
    ]
    old = born()
    debug = {"name": "d", "image": "i", "terminationMessagePolicy": "File"}
    debug["imagePullPolicy"] = "Always"
    new, errors = changed(old, "ephemeralcontainers", ephemeralContainers=[debug])
    assert errors == [] and new["spec"]["ephemeralContainers"] == [debug]
    _, errors = changed(new, "ephemeralcontainers", ephemeralContainers=[])
    assert [e.field for e in errors] == ["spec.ephemeralContainers[0]"]
    clash = {**debug, "name": "main"}
    _, errors = changed(old, "ephemeralcontainers", ephemeralContainers=[clash])
    assert [e.field for e in errors] == ["spec.ephemeralContainers[0].name"]


def test_comparing_long_lists_takes_no_longer_than_reading_them() -> None:
    many = [{"key": f"k{i}", "operator": "Exists"} for i in range(30_000)]
    old = born(tolerations=many)
    _, errors = changed(old, tolerations=[*many, {"key": "z", "operator": "Exists"}])
    assert errors == []
