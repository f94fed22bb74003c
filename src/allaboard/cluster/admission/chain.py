"""Who may change or refuse a write, and in which order are they asked?

The server calls the chain twice for every write, also for deletes and for writes to subresources:

    create   decode → default → `mutate` → prepare_create → validate_create → `validate` → store
    update   patch → default → `mutate` → prepare_update → validate_update → `validate` → store
    delete   `mutate` → `validate` → remove (`object` is None, `old_object` the stored one)

Mutating plugins run one after the other in the order of the list; then the rules of the kind are
checked; then validating plugins run. Webhooks are the last plugin of either phase, so that they
see what the plugins before them did. A plugin refuses by raising an `ApiError`.

Objects are shared with the store and with callers: a plugin never changes one in place, it puts a
changed copy into `attributes.object`, copying only the path to the change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from allaboard.api.meta import Json, Kind
from allaboard.cluster.resource import Resource

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"


@dataclass(slots=True, eq=False)
class AdmissionAttributes:
    """One write as admission sees it.

    Objects are in the version the client spoke (`version`). `kind` is the kind of `object`, which
    differs from the resource's own for subresources such as binding, eviction and scale.
    `user` has the shape of authentication.k8s.io UserInfo, `options` of CreateOptions and so on
    (with `kind` and `apiVersion`; None for CONNECT).
    """

    operation: str  # CREATE | UPDATE | DELETE | CONNECT
    resource: Resource
    version: str
    subresource: str
    kind: Kind
    namespace: str
    name: str  # '' for a create whose name is still to be generated
    object: Json | None
    old_object: Json | None
    options: Json | None
    user: Json
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)  # for `Warning: 299` headers; plugins append


class AdmissionPlugin(Protocol):
    """One rule. Implement what is needed; `Plugin` below has empty answers for the rest."""

    name: str

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        """Whether to ask this plugin about such writes at all; the answer is remembered."""
        ...

    async def mutate(self, attributes: AdmissionAttributes) -> None: ...

    async def validate(self, attributes: AdmissionAttributes) -> None: ...

    async def close(self) -> None: ...


class Plugin:
    """A plugin with nothing to say."""

    name = ""

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        return True

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        return None

    async def validate(self, attributes: AdmissionAttributes) -> None:
        return None

    async def close(self) -> None:
        return None


def _overrides(plugin: AdmissionPlugin, method: str) -> bool:
    return getattr(type(plugin), method, None) is not getattr(Plugin, method)


class AdmissionChain:
    """The plugins in order, with the list that matters remembered per kind of write."""

    def __init__(self, plugins: Sequence[AdmissionPlugin] = ()) -> None:
        self._plugins: list[AdmissionPlugin] = list(plugins)
        self._mutators: dict[tuple[str, str, str], list[AdmissionPlugin]] = {}
        self._validators: dict[tuple[str, str, str], list[AdmissionPlugin]] = {}

    @property
    def plugins(self) -> tuple[AdmissionPlugin, ...]:
        return tuple(self._plugins)

    def insert(self, plugin: AdmissionPlugin, before: str = "") -> None:
        """Add a plugin in front of the one named `before`, or at the end."""
        names = [p.name for p in self._plugins]
        at = names.index(before) if before in names else len(names)
        self._plugins.insert(at, plugin)
        self.refresh()

    def refresh(self) -> None:
        """Ask all plugins again what they handle: something they depend on has changed."""
        self._mutators.clear()
        self._validators.clear()

    def mutators(self, resource: Resource, subresource: str, operation: str) -> bool:
        """Whether any plugin could change such a write; lets the server skip building a review."""
        return bool(self._asked(self._mutators, "mutate", resource, subresource, operation))

    def validators(self, resource: Resource, subresource: str, operation: str) -> bool:
        return bool(self._asked(self._validators, "validate", resource, subresource, operation))

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        """Let every mutating plugin change `attributes.object`; the first refusal is raised."""
        a = attributes
        for plugin in self._asked(self._mutators, "mutate", a.resource, a.subresource, a.operation):
            await plugin.mutate(attributes)

    async def validate(self, attributes: AdmissionAttributes) -> None:
        a = attributes
        for plugin in self._asked(
            self._validators, "validate", a.resource, a.subresource, a.operation
        ):
            await plugin.validate(attributes)

    async def close(self) -> None:
        """Let go of connections that plugins hold."""
        for plugin in self._plugins:
            await plugin.close()

    def _asked(
        self,
        memory: dict[tuple[str, str, str], list[AdmissionPlugin]],
        method: str,
        resource: Resource,
        subresource: str,
        operation: str,
    ) -> list[AdmissionPlugin]:
        key = (resource.key, subresource, operation)
        found = memory.get(key)
        if found is None:
            found = memory[key] = [
                p
                for p in self._plugins
                if _overrides(p, method) and p.handles(resource, subresource, operation)
            ]
        return found
