# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What does a reader expect of the small core kinds: namespaces, config, events, leases?"""

from typing import ClassVar

from msgspec import field

from allaboard.api.meta import Json, Kind
from allaboard.api.types.model import Condition, Model, Object, Quantities


class NamespaceSpec(Model, frozen=True):
    finalizers: list[str] = []


class NamespaceStatus(Model, frozen=True):
    phase: str = ""
    conditions: list[Condition] = []


class Namespace(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "Namespace", "namespaces", namespaced=False)

    spec: NamespaceSpec = NamespaceSpec()
    status: NamespaceStatus = NamespaceStatus()


class ConfigMap(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "ConfigMap", "configmaps")

    data: dict[str, str] = {}
    binary_data: dict[str, str] = {}
    immutable: bool = False


class Secret(Object, frozen=True):
    """`data` is base64, as on the wire. Its repr leaves the contents out: reprs end in logs."""

    KIND: ClassVar[Kind] = Kind("", "v1", "Secret", "secrets")

    type: str = ""
    data: dict[str, str] = {}
    immutable: bool = False

    def __repr__(self) -> str:
        return f"Secret({self.key}, keys={sorted(self.data)})"


class ObjectReference(Model, frozen=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class ServiceAccount(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "ServiceAccount", "serviceaccounts")

    secrets: list[ObjectReference] = []
    image_pull_secrets: list[Json] = []
    automount_service_account_token: bool | None = None


class ServiceSpec(Model, frozen=True):
    selector: dict[str, str] = {}
    cluster_ip: str = field(default="", name="clusterIP")
    type: str = ""
    ports: list[Json] = []
    publish_not_ready_addresses: bool = False


class Service(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "Service", "services")

    spec: ServiceSpec = ServiceSpec()


class EventSeries(Model, frozen=True):
    count: int = 0
    last_observed_time: str | None = None


class EventSource(Model, frozen=True):
    component: str = ""
    host: str = ""


class Event(Object, frozen=True):
    """The core v1 event; events.k8s.io serves the same objects under other names."""

    KIND: ClassVar[Kind] = Kind("", "v1", "Event", "events")

    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    action: str = ""
    source: EventSource = EventSource()
    reporting_component: str = ""
    reporting_instance: str = ""
    series: EventSeries | None = None


class LeaseSpec(Model, frozen=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("coordination.k8s.io", "v1", "Lease", "leases")

    spec: LeaseSpec = LeaseSpec()


class ResourceQuotaSpec(Model, frozen=True):
    hard: Quantities = {}
    scopes: list[str] = []
    scope_selector: Json | None = None


class ResourceQuotaStatus(Model, frozen=True):
    hard: Quantities = {}
    used: Quantities = {}


class ResourceQuota(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "ResourceQuota", "resourcequotas")

    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class LimitRangeItem(Model, frozen=True):
    type: str = ""
    max: Quantities = {}
    min: Quantities = {}
    default: Quantities = {}
    default_request: Quantities = {}


class LimitRangeSpec(Model, frozen=True):
    limits: list[LimitRangeItem] = []


class LimitRange(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "LimitRange", "limitranges")

    spec: LimitRangeSpec = LimitRangeSpec()
