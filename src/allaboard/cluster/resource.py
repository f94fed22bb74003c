"""What a served kind is: names, schema per version, and the rules of its life.

A `Resource` is one line of discovery and one endpoint family. `Strategy` is what differs between
kinds; every method is pure and sees plain data. The server calls them in this order:

    create   decode → default → prepare_create → admission (default again) → validate → store
    update   decode/patch → default → prepare_update → admission → validate_update → store

Kinds of the built-in groups come from `kinds/registry.py`, custom ones from `crds/`.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from allaboard.api.fields import FieldError
from allaboard.api.meta import Json, Kind
from allaboard.cluster.schema.node import Schema


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a Table; `cell` computes its value from an object and `now`."""

    name: str
    type: str
    cell: Callable[[Json, float], Any]
    format: str = ""
    description: str = ""
    priority: int = 0


class Strategy(Protocol):
    """The rules of one kind. `old` is the stored object; neither may be kept or changed later.

    The methods that take `obj` alone may change it in place; `old` is read-only.
    """

    allow_create_on_update: bool  # PUT of an absent object creates it (Lease, Event)
    allow_unconditional_update: bool  # PUT without resourceVersion

    def default(self, obj: Json) -> None: ...

    def prepare_create(self, obj: Json) -> None:
        """Drop what a creator may not set (status) and fill what only the server knows."""

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        """Keep what this subresource may not change; count `generation` up if the spec changed."""

    def validate_create(self, obj: Json) -> list[FieldError]: ...

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]: ...

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        """Sentences for `Warning: 299` headers."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """One served version of a resource."""

    name: str
    schema: Schema
    columns: tuple[Column, ...] = ()
    deprecation: str = ""  # a warning sentence, '' when not deprecated


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    group: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    namespaced: bool
    versions: Mapping[str, Version]  # served ones, preferred first
    storage_version: str
    strategy: Strategy
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Kind] = field(default_factory=dict)  # 'status', 'scale', 'log', …
    verbs: tuple[str, ...] = (
        "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch",
    )  # fmt: skip
    custom: bool = False  # comes from a CustomResourceDefinition
    # fields a field selector may name besides metadata.name and metadata.namespace
    selectable: Mapping[str, Callable[[Json], str]] = field(default_factory=dict)
    # (objects, target version) -> the objects in that version; only asked when versions differ
    convert: Callable[[list[Json], str], Awaitable[list[Json]]] | None = None
    # specReplicasPath, statusReplicasPath, labelSelectorPath where `scale` is served
    scale_paths: tuple[str, str, str] | None = None
    # conditions of a Table row (`Completed` pods and jobs), beside its cells
    row_conditions: Callable[[Json], list[Json]] | None = None
    # another resource's key when both show the same stored objects (events.k8s.io and core Events);
    # these two turn a stored object into this one's shape and back, without changing the original
    stored_as: str = ""
    from_stored: Callable[[Json], Json] | None = None
    to_stored: Callable[[Json], Json] | None = None

    @property
    def key(self) -> str:
        """The name under which the store files it: `pods`, `jobs.batch`."""
        if self.stored_as:
            return self.stored_as
        return f"{self.plural}.{self.group}" if self.group else self.plural
