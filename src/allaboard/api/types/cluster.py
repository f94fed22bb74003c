# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What does a reader expect of the kinds that shape a cluster: CRDs, webhooks, roles?"""

from typing import ClassVar

from allaboard.api.meta import Json, Kind
from allaboard.api.types.model import Condition, Model, Object


class PriorityClass(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind(
        "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
    )

    value: int = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str = ""


class CustomResourceNames(Model, frozen=True):
    plural: str = ""
    singular: str = ""
    kind: str = ""
    list_kind: str = ""
    short_names: list[str] = []
    categories: list[str] = []


class CustomResourceVersion(Model, frozen=True):
    name: str = ""
    served: bool = False
    storage: bool = False
    deprecated: bool = False
    schema: Json | None = None
    subresources: Json | None = None
    additional_printer_columns: list[Json] = []
    selectable_fields: list[Json] = []


class CustomResourceDefinitionSpec(Model, frozen=True):
    group: str = ""
    scope: str = ""
    names: CustomResourceNames = CustomResourceNames()
    versions: list[CustomResourceVersion] = []
    conversion: Json | None = None
    preserve_unknown_fields: bool = False


class CustomResourceDefinitionStatus(Model, frozen=True):
    conditions: list[Condition] = []
    accepted_names: CustomResourceNames = CustomResourceNames()
    stored_versions: list[str] = []


class CustomResourceDefinition(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        namespaced=False,
    )

    spec: CustomResourceDefinitionSpec = CustomResourceDefinitionSpec()
    status: CustomResourceDefinitionStatus = CustomResourceDefinitionStatus()


class MutatingWebhookConfiguration(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind(
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        namespaced=False,
    )

    webhooks: list[Json] = []


class ValidatingWebhookConfiguration(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
    )

    webhooks: list[Json] = []


class Role(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("rbac.authorization.k8s.io", "v1", "Role", "roles")

    rules: list[Json] = []


class ClusterRole(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind(
        "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
    )

    rules: list[Json] = []


class RoleBinding(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")

    role_ref: Json = {}
    subjects: list[Json] = []


class ClusterRoleBinding(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        namespaced=False,
    )

    role_ref: Json = {}
    subjects: list[Json] = []
