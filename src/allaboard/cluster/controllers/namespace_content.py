"""What is in every namespace without anybody asking? A service account and the cluster's CA."""

from allaboard.api.errors import AlreadyExists, Forbidden, NotFound
from allaboard.api.meta import Json, Key, Kind
from allaboard.api.types import ConfigMap, Namespace, ServiceAccount
from allaboard.runtime.controller import DONE, Controller, Outcome
from allaboard.runtime.manager import Manager

ACCOUNT = "default"
ROOT_CA = "kube-root-ca.crt"
SYSTEM_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
# Word for word what every Kubernetes writes there.
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


class NamespaceContent:
    """Puts one object into each namespace, and puts it back when somebody takes it away."""

    def __init__(self, manager: Manager, name: str, kind: Kind, wanted: Json) -> None:
        self._client = manager.client
        self._kind = kind
        self._wanted = wanted
        self._name: str = wanted["metadata"]["name"]
        self._namespaces = manager.informers.of(Namespace.KIND)
        self._objects = manager.informers.of(kind, fields=f"metadata.name={self._name}")
        self.controller = manager.add(Controller(name, self.reconcile))
        self._namespaces.on_change(self._namespace_changed)
        self._objects.on_change(self._object_changed)

    def _namespace_changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None and old is None:
            self.controller.enqueue(new["metadata"]["name"])

    def _object_changed(self, old: Json | None, new: Json | None) -> None:
        obj = new or old or {}
        if old is not None or obj.get("data") != self._wanted.get("data"):
            self.controller.enqueue(obj["metadata"]["namespace"])

    async def reconcile(self, namespace: str) -> Outcome:
        home = self._namespaces.get(Key("", namespace))
        if home is None or home["metadata"].get("deletionTimestamp"):
            return DONE
        found = self._objects.get(Key(namespace, self._name))
        try:
            if found is None:
                await self._client.create(self._wanted, self._kind, namespace)
            elif found.get("data") != self._wanted.get("data"):
                patch = {"data": self._wanted.get("data")}
                await self._client.patch(self._kind, self._name, namespace, patch)
        except (AlreadyExists, NotFound, Forbidden):
            return DONE  # somebody was faster, or the namespace is going
        return DONE


def service_accounts(manager: Manager) -> NamespaceContent:
    wanted = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}}
    return NamespaceContent(manager, "serviceaccount", ServiceAccount.KIND, wanted)


def root_ca(manager: Manager, certificate: str) -> NamespaceContent:
    wanted = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": ROOT_CA, "annotations": {"kubernetes.io/description": _DESCRIPTION}},
        "data": {"ca.crt": certificate},
    }
    return NamespaceContent(manager, "root-ca", ConfigMap.KIND, wanted)


class SystemNamespaces:
    """The namespaces that no cluster is without."""

    def __init__(self, manager: Manager) -> None:
        self._client = manager.client
        self._namespaces = manager.informers.of(Namespace.KIND)
        self.controller = manager.add(Controller("system-namespaces", self.reconcile))
        self._namespaces.on_change(self._changed)
        for name in SYSTEM_NAMESPACES:
            self.controller.enqueue(name)

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is None and old is not None and old["metadata"]["name"] in SYSTEM_NAMESPACES:
            self.controller.enqueue(old["metadata"]["name"])

    async def reconcile(self, name: str) -> Outcome:
        if self._namespaces.get(Key("", name)) is None:
            try:
                await self._client.create({"metadata": {"name": name}}, Namespace.KIND)
            except AlreadyExists:
                return DONE
        return DONE
