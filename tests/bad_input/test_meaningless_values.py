"""Values of the right type that can mean nothing are refused, and the answer names the field.

Each is planted into an object that is otherwise good; the rules are Kubernetes'.
"""

from typing import Any

import pytest
from judging import asker, endpoints
from planting import KEY, Defect, Path, planted

LONG, LONGER = "a" * 64, "a" * 254
CONTAINER: Path = ("spec", "containers", 0)
TEMPLATE: Path = ("spec", "template", "spec")

MEANINGLESS: list[tuple[str, Path, list[Any]]] = [
    ("/Pod", ("metadata", "name"), ["", LONGER, "A", "a/b", "a b", "-a", "a\x00", "é", "a\r\nb"]),
    ("/Pod", ("metadata", "generateName"), ["A/", "a b", "/"]),
    ("/ConfigMap", ("metadata", "labels", KEY), [LONG, "a b", "-a", "é", "a/b"]),
    ("/ConfigMap", ("metadata", "labels"), [{"": "x"}, {LONG: "x"}, {"a/b/c": "x"}, {"é": "x"}]),
    ("/ConfigMap", ("metadata", "annotations"), [{"": "x"}, {"a b": "x"}, {"x": "y" * 262_145}]),
    ("/ConfigMap", ("metadata", "finalizers"), [["x"], ["a b/c"], [""]]),
    ("/ConfigMap", ("metadata", "ownerReferences"), [[{}], [{"kind": "Pod", "name": "x"}]]),
    ("/ConfigMap", ("metadata", "generation"), [-1]),
    ("/ConfigMap", ("data",), [{"a/b": "x"}, {"..": "x"}, {"": "x"}, {LONGER: "x"}]),
    ("/Secret", ("data",), [{"a b": ""}, {"a": "!!!"}, {"a": "YQ"}]),
    ("/Namespace", ("metadata", "name"), [LONG, "a.b", "A"]),
    ("/Service", ("metadata", "name"), [LONG, "a.b", "A"]),
    ("/Pod", (*CONTAINER, "name"), ["", LONG, "A", "a/b", "a.b"]),
    ("/Pod", (*CONTAINER, "image"), [""]),
    ("/Pod", (*CONTAINER, "imagePullPolicy"), ["Sometimes"]),
    ("/Pod", (*CONTAINER, "ports"), [[{"containerPort": 0}], [{"containerPort": 65536}]]),
    ("/Pod", (*CONTAINER, "ports", 0, "containerPort"), [-1, 10**9]),
    ("/Pod", (*CONTAINER, "resources", "requests", "cpu"), ["-1", -1, "1KiMi", "", "x", "+-1"]),
    ("/Pod", (*CONTAINER, "resources", "limits", "memory"), ["-1Gi", "1 Gi", "NaN", "0x10"]),
    ("/Pod", (*CONTAINER, "resources", "requests", "example.com/gpu"), ["0.5", "-1", "1500m"]),
    ("/Pod", (*CONTAINER, "env"), [[{"name": ""}], [{"name": "a=b"}]]),
    ("/Pod", (*CONTAINER, "volumeMounts"), [[{"name": "v", "mountPath": "/x"}]]),
    ("/Pod", ("spec", "containers"), [[], None]),
    ("/Pod", ("spec", "restartPolicy"), ["Perhaps"]),
    ("/Pod", ("spec", "activeDeadlineSeconds"), [0, -1]),
    ("/Pod", ("spec", "nodeName"), ["a/b", "A"]),
    ("/Pod", ("spec", "nodeSelector"), [{"": "x"}, {"a": "b c"}]),
    ("/Pod", ("spec", "tolerations"), [[{"operator": "Maybe"}], [{"effect": "Never"}]]),
    ("/Pod", ("spec", "schedulingGates"), [[{"name": "a b"}], [{"name": "x"}, {"name": "x"}]]),
    ("/Pod", ("spec", "securityContext", "runAsUser"), [-1]),
    ("/Pod", ("spec", "securityContext", "fsGroupChangePolicy"), ["Perhaps"]),
    ("/Pod", ("spec", "securityContext", "supplementalGroupsPolicy"), ["Perhaps"]),
    ("batch/Job", ("spec", "parallelism"), [-1]),
    ("batch/Job", ("spec", "completions"), [-1]),
    ("batch/Job", ("spec", "backoffLimit"), [-1]),
    ("batch/Job", ("spec", "activeDeadlineSeconds"), [-1]),
    ("batch/Job", ("spec", "ttlSecondsAfterFinished"), [-1]),
    ("batch/Job", ("spec", "completionMode"), ["Perhaps"]),
    ("batch/Job", ("spec", "podReplacementPolicy"), ["Perhaps"]),
    ("batch/Job", ("spec", "managedBy"), ["a b", "x", "a" * 64]),
    ("batch/Job", (*TEMPLATE, "restartPolicy"), ["Always", "", "Perhaps"]),
    ("batch/CronJob", ("spec", "schedule"), ["", "* * *", "99 * * * *", "@never"]),
    ("/Node", ("spec", "taints"), [[{"key": "a b", "effect": "NoSchedule"}], [{"key": "a"}]]),
    ("/ResourceQuota", ("spec", "hard"), [{"pods": "-1"}, {"a b": "1"}, {"pods": "1.5"}]),
    ("/LimitRange", ("spec", "limits", 0, "maxLimitRequestRatio"), [{"cpu": "-1"}, {"cpu": "0"}]),
    ("scheduling.k8s.io/PriorityClass", ("value",), [10**9 + 1]),
    ("scheduling.k8s.io/PriorityClass", ("preemptionPolicy",), ["Perhaps"]),
    ("node.k8s.io/RuntimeClass", ("overhead", "podFixed", "cpu"), ["-1"]),
    ("coordination.k8s.io/Lease", ("spec", "leaseDurationSeconds"), [0, -1]),
    ("/Service", ("spec", "ports", 0, "port"), [0, -1, 65536]),
    ("/Service", ("spec", "ports", 0, "nodePort"), [-1, 10**9]),
    ("/Service", ("spec", "type"), ["Perhaps"]),
    ("/Service", ("spec", "ipFamilyPolicy"), ["Perhaps"]),
    ("/Service", ("spec", "internalTrafficPolicy"), ["Perhaps"]),
    ("/Endpoints", ("subsets", 0, "ports", 0, "port"), [-1, 10**9]),
    ("discovery.k8s.io/EndpointSlice", ("addressType",), ["", "Perhaps"]),
    ("discovery.k8s.io/EndpointSlice", ("ports", 0, "port"), [-1, 10**9]),
    ("apps/Deployment", ("spec", "replicas"), [-1]),
    ("apps/StatefulSet", ("spec", "replicas"), [-1]),
    ("apps/StatefulSet", ("spec", "ordinals", "start"), [-1]),
    ("apps/StatefulSet", ("spec", "updateStrategy", "rollingUpdate", "partition"), [-1]),
    ("apps/DaemonSet", ("spec", "updateStrategy", "type"), ["Perhaps"]),
    ("policy/PodDisruptionBudget", ("spec", "minAvailable"), [-1, "-5%", "101%", "x"]),
    ("networking.k8s.io/Ingress", ("spec", "defaultBackend", "service", "port", "number"), [-1]),
    ("networking.k8s.io/NetworkPolicy", ("spec", "policyTypes"), [["Sideways"]]),
    ("storage.k8s.io/StorageClass", ("reclaimPolicy",), ["Perhaps"]),
    ("storage.k8s.io/StorageClass", ("volumeBindingMode",), ["Perhaps"]),
    ("/PersistentVolume", ("spec", "persistentVolumeReclaimPolicy"), ["Perhaps"]),
    ("/PersistentVolume", ("spec", "capacity", "storage"), ["-1"]),
    ("/PersistentVolumeClaim", ("spec", "accessModes"), [["Perhaps"], []]),
    ("/PersistentVolumeClaim", ("spec", "resources", "requests", "storage"), ["-1", "0"]),
    ("bad.example.com/Thing", ("spec", "size"), [-1, 1001, 1.5, 2**63, 2**64, None]),
    ("bad.example.com/Thing", ("spec", "mode"), ["Perhaps", ""]),
    ("bad.example.com/Thing", ("spec", "name"), ["A", LONG, "é", "a\n"]),
    ("bad.example.com/Thing", ("spec", "when"), ["soon", "2026-13-01T00:00:00Z"]),
    ("bad.example.com/Thing", ("spec", "blob"), ["!!!"]),
    ("bad.example.com/Thing", ("spec", "address"), ["1.2.3", "999.1.1.1"]),
    ("bad.example.com/Thing", ("spec", "ports"), [[1, 1], [0], [65536]]),
    ("bad.example.com/Thing", ("spec", "steps"), [[{"name": "a"}, {"name": "a"}], [{}]]),
    ("bad.example.com/Thing", ("metadata", "name"), ["A", LONGER, "a/b"]),
]
ROWS = [(kind, path, value) for kind, path, values in MEANINGLESS for value in values]


def title(row: tuple[str, Path, Any]) -> str:
    return f"{row[0]} {'.'.join(map(str, row[1]))} {str(row[2])[:20]!r}"


@pytest.mark.parametrize("kind", sorted({row[0] for row in ROWS}))
async def test_values_that_mean_nothing_are_refused(kind: str) -> None:
    accepted, unnamed = [], []
    async with asker() as it:
        endpoint = endpoints(it)[kind]
        for row in [row for row in ROWS if row[0] == kind]:
            _, path, value = row
            body = planted(endpoint.good("x"), path, Defect("", value))
            answer = await it.send("POST", endpoint.path(), body, {"dryRun": "All"})
            if answer.status not in (400, 422):
                accepted.append((title(row), answer.status))
            elif not it.check(title(row), answer, 300_000):
                unnamed.append(it.faults[-1])
            elif answer.status == 422 and not _names(answer.body, path):
                unnamed.append(f"{title(row)}: {answer.body['message']}")
    assert not accepted
    assert not unnamed


def _names(status: Any, path: Path) -> bool:
    """Whether a cause is about the field, one of its parts, or the list it is in."""
    words = [str(step) for step in path if isinstance(step, str)]
    fields = " ".join(cause["field"] for cause in status["details"]["causes"])
    return any(word in fields for word in words[-2:])
