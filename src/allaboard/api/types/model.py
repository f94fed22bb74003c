"""How does plain data become a typed view, and what do all views share?

A view is a frozen msgspec Struct: snake_case here, camelCase on the wire, unknown fields dropped,
everything optional. Times stay strings; `api.times` reads them where somebody needs the instant.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from allaboard.api.meta import Json, Key, Kind

Quantities = dict[str, str | int | float]


class Model(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """Base of every view and of its parts. Views hold no cycles, so the collector may skip them."""


class OwnerReference(Model, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Model, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []


class Object(Model, frozen=True):
    """A kind of its own, with an endpoint."""

    KIND: ClassVar[Kind]

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)


class Condition(Model, frozen=True):
    type: str = ""
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    observed_generation: int | None = None
    last_transition_time: str | None = None
    last_probe_time: str | None = None
    last_heartbeat_time: str | None = None


class LabelSelectorRequirement(Model, frozen=True):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class LabelSelector(Model, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []


T = TypeVar("T", bound=Model)


def _without_nulls(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _without_nulls(v) for k, v in data.items() if v is not None}
    if isinstance(data, list):
        return [_without_nulls(v) for v in data if v is not None]
    return data


def typed(cls: type[T], obj: Json) -> T:
    """The view of plain data. A null means "not set", also where the type has no room for it."""
    try:
        return msgspec.convert(obj, cls)
    except msgspec.ValidationError:
        return msgspec.convert(_without_nulls(obj), cls)


def plain(view: Model) -> Json:
    """Plain data with the fields that are set; an object also says its apiVersion and kind."""
    data: Json = msgspec.to_builtins(view)
    if isinstance(view, Object):
        data = {"apiVersion": view.KIND.api_version, "kind": view.KIND.kind, **data}
    return data


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """The one owner that manages this object, if it has one."""
    for owner in metadata.owner_references:
        if owner.controller:
            return owner
    return None


def condition_is(conditions: Sequence[Condition], type_: str, status: str = "True") -> bool:
    return any(c.type == type_ and c.status == status for c in conditions)


def find_condition(conditions: Sequence[Condition], type_: str) -> Condition | None:
    return next((c for c in conditions if c.type == type_), None)


def matches_labels(wanted: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return all(labels.get(k) == v for k, v in wanted.items())
