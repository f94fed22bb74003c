"""Which resources are served at this moment?

Built-in kinds are there from the start; custom ones come and go with their definitions. Lookups
are by (group, version, plural) from a path and by (group, kind) from an object. `generation` moves
with every change, so that discovery and OpenAPI documents may be kept until then.
"""

import re
from collections.abc import Callable, Iterable

from allaboard.api.meta import Kind
from allaboard.cluster.resource import Resource

# Groups in the order Kubernetes lists them; others follow by name.
_ORDER = (
    "", "apiregistration.k8s.io", "apps", "events.k8s.io", "authentication.k8s.io",
    "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "networking.k8s.io",
    "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io",
    "apiextensions.k8s.io", "scheduling.k8s.io", "coordination.k8s.io", "node.k8s.io",
    "discovery.k8s.io",
)  # fmt: skip


class Catalogue:
    def __init__(self, resources: Iterable[Resource] = ()) -> None:
        self.generation = 0
        self._resources: dict[tuple[str, str], Resource] = {}
        self._by_path: dict[tuple[str, str, str], tuple[Resource, Kind]] = {}
        self._listeners: list[Callable[[], None]] = []
        for resource in resources:
            self.add(resource)

    def add(self, resource: Resource) -> None:
        """Serve a resource, in place of an older one of the same group and plural."""
        self.remove(resource.group, resource.plural)
        self._resources[resource.group, resource.plural] = resource
        for version in resource.versions:
            kind = Kind(
                resource.group, version, resource.kind, resource.plural, resource.namespaced
            )
            self._by_path[resource.group, version, resource.plural] = (resource, kind)
        self._changed()

    def remove(self, group: str, plural: str) -> None:
        resource = self._resources.pop((group, plural), None)
        if resource is not None:
            for version in resource.versions:
                self._by_path.pop((group, version, plural), None)
            self._changed()

    def on_change(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def _changed(self) -> None:
        self.generation += 1
        for listener in self._listeners:
            listener()

    def find(self, group: str, version: str, plural: str) -> tuple[Resource, Kind] | None:
        return self._by_path.get((group, version, plural))

    def by_plural(self, group: str, plural: str) -> Resource | None:
        return self._resources.get((group, plural))

    def by_kind(self, group: str, kind: str) -> Resource | None:
        for resource in self._resources.values():
            if resource.group == group and resource.kind == kind:
                return resource
        return None

    def by_key(self, key: str) -> Resource | None:
        """The resource filed under this key in the store, not one that only shows it."""
        plural, _, group = key.partition(".")
        return self._resources.get((group, plural))

    def all(self) -> list[Resource]:
        return list(self._resources.values())

    def groups(self) -> list[str]:
        """Group names, '' for the core group, in discovery's order."""
        present = {group: None for group, _ in self._resources}
        known = [g for g in _ORDER if g in present]
        return known + sorted(g for g in present if g not in _ORDER)

    def has_builtin(self, group: str) -> bool:
        return any(r.group == group and not r.custom for r in self._resources.values())

    def versions_of(self, group: str) -> list[str]:
        """The versions in which a group has anything, preferred first."""
        found: dict[str, None] = {}
        for resource in self._resources.values():
            if resource.group == group:
                found.update(dict.fromkeys(resource.versions))
        return sorted(found, key=version_rank)

    def resources_in(self, group: str, version: str) -> list[Resource]:
        return [r for r in self._resources.values() if r.group == group and version in r.versions]


def version_rank(version: str) -> tuple[int, int, int, str]:
    """Kubernetes' order of versions: v2, v1, v2beta1, v1beta2, v1alpha1, then others by name."""
    found = re.fullmatch(r"v(\d+)(?:(alpha|beta)(\d+))?", version)
    if found is None:
        return (9, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return (stage, -int(found[1]), -int(found[3] or 0), version)
