"""What every Kubernetes object has, and how it is addressed.

`Json` is plain decoded data, the truth about an object; typed views are for reading. A `Kind` is
an endpoint; an object's identity is its UID, its address a `Key`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

Json = dict[str, Any]


class Key(NamedTuple):
    """Where an object is found. Cluster-scoped objects have the namespace ''."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True, slots=True)
class Kind:
    """One served kind in one version: enough to form a URL and to recognise an object."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def resource(self) -> str:
        """The plural with its group, as in error messages: `jobs.batch`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        head = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace and self.namespaced:
            head = f"{head}/namespaces/{namespace}"
        if not name:
            return f"{head}/{self.plural}/{subresource}" if subresource else f"{head}/{self.plural}"
        path = f"{head}/{self.plural}/{name}"
        return f"{path}/{subresource}" if subresource else path


def key_of(obj: Json) -> Key:
    meta = obj.get("metadata") or {}
    return Key(meta.get("namespace") or "", meta.get("name") or "")
