"""May something be made in this namespace, and may the namespace itself go?"""

from allaboard.api.errors import Forbidden, NotFound
from allaboard.api.meta import Json
from allaboard.cluster.admission.chain import CREATE, DELETE, AdmissionAttributes, Plugin
from allaboard.cluster.resource import Resource
from allaboard.cluster.store.store import Store

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})


def refusal(attributes: AdmissionAttributes, why: str) -> Forbidden:
    """The 403 of an admission plugin, naming the object as far as it has a name."""
    meta = (attributes.object or {}).get("metadata") or {}
    name = attributes.name or meta.get("name") or meta.get("generateName") or "Unknown"
    resource = attributes.resource
    qualified = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    details: Json = {"name": name, "group": resource.group, "kind": resource.plural}
    details = {key: value for key, value in details.items() if value}
    return Forbidden(f'{qualified} "{name}" is forbidden: {why}', details=details)


class NamespaceLifecycle(Plugin):
    """Nothing is written into a namespace that does not exist, nor made in one that is going."""

    name = "NamespaceLifecycle"

    def __init__(self, store: Store) -> None:
        self._store = store

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        if resource.key == "namespaces":
            return operation == DELETE and not subresource
        return resource.namespaced and operation != DELETE

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        if attributes.resource.key == "namespaces":
            if attributes.name in IMMORTAL:
                raise refusal(attributes, "this namespace may not be deleted")
            return
        if attributes.resource.kind.endswith("AccessReview"):
            return
        namespace = attributes.namespace
        record = self._store.get("namespaces", "", namespace)
        if record is None:
            raise NotFound(
                f'namespaces "{namespace}" not found',
                details={"name": namespace, "kind": "namespaces"},
            )
        if attributes.operation == CREATE and _is_terminating(record.obj):
            why = f"unable to create new content in namespace {namespace}"
            error = refusal(attributes, f"{why} because it is being terminated")
            assert error.details is not None
            error.details["causes"] = [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ]
            raise error


def _is_terminating(namespace: Json) -> bool:
    return (namespace.get("status") or {}).get("phase") == "Terminating"
