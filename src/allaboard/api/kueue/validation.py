"""Is an object of `kueue.x-k8s.io` acceptable, and as a change of what was there before?

`validate` knows every rule that is not in the schema, of Kueue's webhooks and of the CEL
expressions in the definitions alike; `check` asks the schema first. Both take objects of both
versions, are pure, never raise, and name field, value and what is allowed.
"""

from collections.abc import Callable

from allaboard.api.fields import FieldError, bad_value
from allaboard.api.kueue.conversion import ConversionError, convert
from allaboard.api.kueue.types.shared import GROUP, OLD, STORED
from allaboard.api.kueue.validating.checks import (
    validate_admission_check,
    validate_provisioning_request_config,
    validate_workload_priority_class,
)
from allaboard.api.kueue.validating.flavors import validate_resource_flavor, validate_topology
from allaboard.api.kueue.validating.queues import (
    validate_cluster_queue,
    validate_cohort,
    validate_local_queue,
)
from allaboard.api.kueue.validating.reading import not_supported
from allaboard.api.kueue.validating.shape import check_shape, schema_for
from allaboard.api.kueue.validating.workloads import validate_workload
from allaboard.api.meta import Json

__all__ = [
    "VALIDATORS",
    "check",
    "validate",
    "validate_admission_check",
    "validate_cluster_queue",
    "validate_cohort",
    "validate_local_queue",
    "validate_provisioning_request_config",
    "validate_resource_flavor",
    "validate_topology",
    "validate_workload",
    "validate_workload_priority_class",
]

Validator = Callable[[Json, Json | None], list[FieldError]]
VALIDATORS: dict[str, Validator] = {
    "AdmissionCheck": validate_admission_check,
    "ClusterQueue": validate_cluster_queue,
    "Cohort": validate_cohort,
    "LocalQueue": validate_local_queue,
    "ProvisioningRequestConfig": validate_provisioning_request_config,
    "ResourceFlavor": validate_resource_flavor,
    "Topology": validate_topology,
    "Workload": validate_workload,
    "WorkloadPriorityClass": validate_workload_priority_class,
}


# What an error about the stored version is about in v1beta1; the longest match counts.
_OLDER_NAMES = (
    ("spec.cohortName", "spec.cohort"),
    ("spec.priorityClassRef.group", "spec.priorityClassSource"),
    ("spec.priorityClassRef.kind", "spec.priorityClassSource"),
    ("spec.priorityClassRef.name", "spec.priorityClassName"),
    ("spec.priorityClassRef", "spec.priorityClassName"),
    ("status.accumulatedPastExecution", "status.accumulatedPastExexcution"),
)


def validate(obj: Json, old: Json | None = None) -> list[FieldError]:
    """What is wrong with an object whose shape is right; a kind unknown here may pass."""
    rules = VALIDATORS.get(str(obj.get("kind")))
    if rules is None:
        return []
    try:
        stored = convert(obj, STORED)
        before = convert(old, STORED) if old is not None else None
    except ConversionError as error:
        field, _, problem = str(error).partition(": ")
        return [bad_value(field, "", problem)]
    errors = rules(stored, before)
    return errors if stored is obj else [_in_older_words(error) for error in errors]


def _in_older_words(error: FieldError) -> FieldError:
    for name, older in _OLDER_NAMES:
        if error.field.startswith(name):
            return FieldError(error.reason, older + error.field[len(name) :], error.text)
    return error


def check(obj: Json, old: Json | None = None) -> list[FieldError]:
    """What is wrong with an object of any shape."""
    versions = (f"{GROUP}/{OLD}", f"{GROUP}/{STORED}")
    version = str(obj.get("apiVersion"))
    if version not in versions:
        return [not_supported("apiVersion", version, versions)]
    kind = str(obj.get("kind"))
    schema = schema_for(kind, version.removeprefix(f"{GROUP}/"))
    if schema is None:
        return [not_supported("kind", kind, sorted(VALIDATORS))]
    return check_shape(schema, obj) or validate(obj, old)
