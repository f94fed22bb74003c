# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What else is configured: admission checks, provisioning, priorities?"""

from typing import Annotated, ClassVar

from allaboard.api.kueue.crd.rules import (
    FILLED,
    LABEL_KEY,
    REQUIRED,
    SET,
    SUBDOMAIN,
    Cel,
    Count,
    Int32,
    at_least,
    at_most,
    cel,
    items,
    keyed,
    one_of,
    text,
)
from allaboard.api.kueue.types.shared import GROUP, STORED, Conditions, ResourceName
from allaboard.api.meta import Kind
from allaboard.api.types.model import Model, Object


class CheckParameters(Model, frozen=True):
    """Where a check's controller finds its settings."""

    api_group: Annotated[str, "Group of the settings.", REQUIRED, text(253, 1, SUBDOMAIN)] = ""
    kind: Annotated[
        str,
        "Kind of the settings.",
        REQUIRED,
        text(63, 1, r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$"),
    ] = ""
    name: Annotated[str, "Name of the settings.", REQUIRED, text(253, 1, SUBDOMAIN)] = ""


class AdmissionCheckSpec(Model, frozen=True):
    """Who decides a check."""

    controller_name: Annotated[
        str,
        "The controller that decides it; cannot be changed.",
        REQUIRED,
        text(153, 1),
        cel(Cel("self == oldSelf", "field is immutable")),
    ] = ""
    parameters: Annotated[CheckParameters | None, "Settings for that controller."] = None


class AdmissionCheckStatus(Model, frozen=True):
    """Whether a check works."""

    conditions: Conditions = []


class AdmissionCheck(Object, frozen=True):
    """Something beside quota that must agree to an admission."""

    KIND: ClassVar[Kind] = Kind(
        GROUP, STORED, "AdmissionCheck", "admissionchecks", namespaced=False
    )

    spec: Annotated[AdmissionCheckSpec, "Who decides it.", REQUIRED] = AdmissionCheckSpec()
    status: Annotated[AdmissionCheckStatus, "Whether it works."] = AdmissionCheckStatus()


class RetryStrategy(Model, frozen=True):
    """When a failed provisioning request is repeated."""

    backoff_limit_count: Annotated[Count, "Retries; 0 means none.", FILLED] = 3
    backoff_base_seconds: Annotated[
        Int32, "Delay of the first; it doubles with each.", FILLED, at_least(0)
    ] = 60
    backoff_max_seconds: Annotated[Int32, "The longest delay.", FILLED, at_least(0)] = 1800


class SelectorUpdate(Model, frozen=True):
    """A node selector taken from what was provisioned."""

    key: Annotated[str, "Label of the node selector.", REQUIRED, text(317, 1, LABEL_KEY)] = ""
    value_from_provisioning_class_detail: Annotated[
        str, "Detail of the provisioning request that has the value.", REQUIRED, text(32768, 1)
    ] = ""


class ProvisionedUpdates(Model, frozen=True):
    """What pods are given so that they find the provisioned nodes."""

    node_selector: Annotated[
        list[SelectorUpdate], "Node selectors.", keyed("key"), items(0, 8)
    ] = []


class ProvisioningRequestConfigSpec(Model, frozen=True):
    """How nodes are asked for."""

    provisioning_class_name: Annotated[
        str, "Class of the provisioning request.", REQUIRED, text(253, 1, SUBDOMAIN)
    ] = ""
    parameters: Annotated[
        dict[str, Annotated[str, text(255)]], "Parameters of the class.", at_most(100)
    ] = {}
    managed_resources: Annotated[
        list[ResourceName], "Ask only for pods that want one of these.", SET, items(0, 100)
    ] = []
    retry_strategy: Annotated[RetryStrategy, "Retries.", FILLED] = RetryStrategy()
    pod_set_updates: Annotated[ProvisionedUpdates | None, "What pods are given."] = None
    pod_set_merge_policy: Annotated[
        str | None,
        "Which pod sets are asked for together.",
        one_of("IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"),
    ] = None


class ProvisioningRequestConfig(Object, frozen=True):
    """Settings of the check that asks an autoscaler for nodes."""

    KIND: ClassVar[Kind] = Kind(
        GROUP, STORED, "ProvisioningRequestConfig", "provisioningrequestconfigs", namespaced=False
    )

    spec: Annotated[ProvisioningRequestConfigSpec, "How nodes are asked for.", REQUIRED] = (
        ProvisioningRequestConfigSpec()
    )


class WorkloadPriorityClass(Object, frozen=True):
    """A priority for workloads that leaves their pods' priority alone."""

    KIND: ClassVar[Kind] = Kind(
        GROUP, STORED, "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False
    )

    value: Annotated[Int32, "The priority; more is sooner.", REQUIRED] = 0
    description: Annotated[str, "When to use it.", text(2048)] = ""
