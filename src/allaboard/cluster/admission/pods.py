"""What does the server add to a new pod: its account, its priority, its patience?

Also RuntimeClass, and the taint that keeps pods off a new node until it is ready. Each plugin
copies only the path to what it changes.
"""

import asyncio
from random import Random
from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.admission.chain import (
    CREATE,
    UPDATE,
    AdmissionAttributes,
    Plugin,
)
from allaboard.cluster.admission.namespaces import refusal
from allaboard.cluster.resource import Resource
from allaboard.cluster.store.store import Store

_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_TOKEN_S = 3607  # an hour and a little, so that tokens of this kind can be told apart
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
_PATIENCE_S = 300
_PREEMPT = "PreemptLowerPriority"
# The account controller makes `default` right after its namespace; Kubernetes waits as long.
_ACCOUNT_ATTEMPTS, _ACCOUNT_PAUSE_S = 10, 0.15


class _PodPlugin(Plugin):
    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        return resource.key == "pods" and not subresource and operation == CREATE


def _with_spec(attributes: AdmissionAttributes, **changes: Any) -> None:
    obj = attributes.object
    assert obj is not None
    attributes.object = {**obj, "spec": {**(obj.get("spec") or {}), **changes}}


def _spec(attributes: AdmissionAttributes) -> Json:
    return (attributes.object or {}).get("spec") or {}


class ServiceAccounts(_PodPlugin):
    """A pod runs as an account of its namespace and finds that account's token in a volume."""

    name = "ServiceAccount"

    def __init__(self, store: Store, rng: Random) -> None:
        self._store = store
        self._rng = rng

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        spec = _spec(attributes)
        annotations = ((attributes.object or {}).get("metadata") or {}).get("annotations") or {}
        if "kubernetes.io/config.mirror" in annotations:
            return
        name = spec.get("serviceAccountName") or "default"
        account = await self._account(attributes, name)
        changes: Json = {"serviceAccountName": name, "serviceAccount": name}
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            changes["imagePullSecrets"] = account["imagePullSecrets"]
        wants = spec.get("automountServiceAccountToken")
        if wants is None:
            wants = account.get("automountServiceAccountToken", True)
        if wants:
            changes |= self._mounted(spec)
        _with_spec(attributes, **changes)

    async def _account(self, attributes: AdmissionAttributes, name: str) -> Json:
        namespace = attributes.namespace
        attempts = _ACCOUNT_ATTEMPTS if name == "default" else 1
        for attempt in range(attempts):
            record = self._store.get("serviceaccounts", namespace, name)
            if record is not None:
                return record.obj
            if attempt < attempts - 1:
                await asyncio.sleep(_ACCOUNT_PAUSE_S)
        raise refusal(
            attributes,
            f'error looking up service account {namespace}/{name}: serviceaccount "{name}"'
            " not found",
        )

    def _mounted(self, spec: Json) -> Json:
        """The token volume and its mounts, where a container does not mount something there."""
        volumes = spec.get("volumes") or []
        taken = {volume.get("name") for volume in volumes}
        volume = "kube-api-access-" + "".join(self._rng.choices(_LETTERS, k=5))
        while volume in taken:
            volume = "kube-api-access-" + "".join(self._rng.choices(_LETTERS, k=5))
        mount = {"name": volume, "readOnly": True, "mountPath": _MOUNT_PATH}
        changes: Json = {}
        for key in ("initContainers", "containers"):
            containers = spec.get(key)
            if containers:
                changes[key] = [_mounting(container, mount) for container in containers]
        if all(changes[key] == spec[key] for key in changes):
            return {}
        changes["volumes"] = [*volumes, _token_volume(volume)]
        return changes


def _mounting(container: Json, mount: Json) -> Json:
    mounts = container.get("volumeMounts") or []
    if any(m.get("mountPath") == _MOUNT_PATH for m in mounts):
        return container
    return {**container, "volumeMounts": [*mounts, mount]}


def _token_volume(name: str) -> Json:
    namespace = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": _TOKEN_S, "path": "token"}},
                {
                    "configMap": {
                        "name": "kube-root-ca.crt",
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                    }
                },
                {"downwardAPI": {"items": [{"path": "namespace", **namespace}]}},
            ],
            "defaultMode": 420,
        },
    }


class Priorities(Plugin):
    """A pod's priority comes from its class, never from its author; one class may be default."""

    name = "Priority"

    def __init__(self, store: Store) -> None:
        self._store = store

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        if resource.key == "pods":
            return not subresource and operation == CREATE
        return resource.key == "priorityclasses.scheduling.k8s.io" and operation in (CREATE, UPDATE)

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.key != "pods":
            return
        spec = _spec(attributes)
        name = spec.get("priorityClassName") or ""
        name, value, policy = self._class(attributes, name) if name else self._default()
        given = spec.get("priority")
        if given is not None and given != value:
            raise refusal(
                attributes,
                f"the integer value of priority ({given}) must not be provided in pod spec;"
                f" priority admission controller computed {value} from the given PriorityClass"
                " name",
            )
        given = spec.get("preemptionPolicy")
        if given is not None and given != policy:
            raise refusal(
                attributes,
                f"the string value of PreemptionPolicy ({given}) must not be provided in pod spec;"
                f" priority admission controller computed {policy} from the given PriorityClass"
                " name",
            )
        changes: Json = {"priority": value, "preemptionPolicy": policy}
        if name:
            changes["priorityClassName"] = name
        _with_spec(attributes, **changes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.key == "pods" or not (attributes.object or {}).get("globalDefault"):
            return
        own = (attributes.object or {}).get("metadata", {}).get("name")
        for record in self._store.list("priorityclasses.scheduling.k8s.io"):
            if record.obj.get("globalDefault") and record.name != own:
                raise refusal(
                    attributes,
                    f"PriorityClass {record.name} is already marked as default for pods. Only one"
                    " default can exist",
                )

    def _class(self, attributes: AdmissionAttributes, name: str) -> tuple[str, int, str]:
        record = self._store.get("priorityclasses.scheduling.k8s.io", "", name)
        if record is not None:
            return _triple(record.obj)
        if name in _SYSTEM_PRIORITIES:
            return name, _SYSTEM_PRIORITIES[name], _PREEMPT
        raise refusal(attributes, f"no PriorityClass with name {name} was found")

    def _default(self) -> tuple[str, int, str]:
        """The default class; of several, as after a race, the one of least value."""
        found = [
            _triple(record.obj)
            for record in self._store.list("priorityclasses.scheduling.k8s.io")
            if record.obj.get("globalDefault")
        ]
        return min(found, key=lambda c: (c[1], c[0])) if found else ("", 0, _PREEMPT)


def _triple(cls: Json) -> tuple[str, int, str]:
    policy = cls.get("preemptionPolicy") or _PREEMPT
    return cls["metadata"]["name"], int(cls.get("value") or 0), str(policy)


class DefaultTolerations(_PodPlugin):
    """Pods stay five minutes on a node that is not ready or cannot be reached."""

    name = "DefaultTolerationSeconds"

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        given = _spec(attributes).get("tolerations") or []
        added = [
            {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": _PATIENCE_S,
            }
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
            if not any(_covers(toleration, key) for toleration in given)
        ]
        if added:
            _with_spec(attributes, tolerations=[*given, *added])


def _covers(toleration: Json, key: str) -> bool:
    if toleration.get("effect") not in (None, "", "NoExecute"):
        return False
    return toleration.get("key") in (None, "", key)


class RuntimeClasses(_PodPlugin):
    """A pod's runtime class must exist; the overhead it brings is written into the pod."""

    name = "RuntimeClass"

    def __init__(self, store: Store) -> None:
        self._store = store

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        spec = _spec(attributes)
        name = spec.get("runtimeClassName")
        if not name:
            if spec.get("overhead"):
                raise _rejected(attributes)
            return
        record = self._store.get("runtimeclasses.node.k8s.io", "", name)
        if record is None:
            raise refusal(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        overhead = (record.obj.get("overhead") or {}).get("podFixed")
        if spec.get("overhead") and spec["overhead"] != overhead:
            raise _rejected(attributes)
        changes: Json = {"overhead": overhead} if overhead else {}
        scheduling = record.obj.get("scheduling") or {}
        wanted = scheduling.get("nodeSelector") or {}
        given = spec.get("nodeSelector") or {}
        clash = [k for k in wanted if k in given and given[k] != wanted[k]]
        if clash:
            raise refusal(
                attributes,
                f"conflict: runtimeClass.scheduling.nodeSelector[{clash[0]}] ="
                f" {wanted[clash[0]]}; pod.spec.nodeSelector[{clash[0]}] = {given[clash[0]]}",
            )
        if wanted:
            changes["nodeSelector"] = {**given, **wanted}
        tolerations = spec.get("tolerations") or []
        extra = [t for t in scheduling.get("tolerations") or () if t not in tolerations]
        if extra:
            changes["tolerations"] = [*tolerations, *extra]
        if changes:
            _with_spec(attributes, **changes)


def _rejected(attributes: AdmissionAttributes) -> Exception:
    why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    return refusal(attributes, why)


class TaintNewNodes(Plugin):
    """A new node takes no pods until it has said that it is ready."""

    name = "TaintNodesByCondition"
    _TAINT: Json = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}  # noqa: RUF012

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        return resource.key == "nodes" and not subresource and operation == CREATE

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        taints = _spec(attributes).get("taints") or []
        wanted = (self._TAINT["key"], self._TAINT["effect"])
        if not any((t.get("key"), t.get("effect")) == wanted for t in taints):
            _with_spec(attributes, taints=[*taints, dict(self._TAINT)])
