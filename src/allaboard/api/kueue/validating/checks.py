"""What may AdmissionChecks, ProvisioningRequestConfigs and priority classes say? (Ref. §1.10.)"""

from typing import Final

from allaboard.api.fields import FieldError, required, too_many
from allaboard.api.kueue.validating.reading import (
    IMMUTABLE,
    NOT_NEGATIVE,
    bad,
    bounded,
    changed,
    duplicate,
    entries,
    label_key_errors,
    name_errors,
    part,
    resource_name_errors,
    text,
    texts,
)
from allaboard.api.meta import Json

MAX_DESCRIPTION: Final = 2048
MAX_PARAMETERS: Final = 100
MAX_PARAMETER: Final = 255


def validate_admission_check(obj: Json, old: Json | None = None) -> list[FieldError]:
    spec = part(obj, "spec")
    errors: list[FieldError] = []
    controller = text(spec, "controllerName")
    if changed(obj, old, "spec"):
        if not controller:
            errors.append(required("spec.controllerName", "the controller that decides the check"))
        if spec.get("parameters") is not None:
            errors += _parameters(part(spec, "parameters"))
    before = text(part(old, "spec"), "controllerName")
    if before and controller != before:
        errors.append(bad("spec.controllerName", controller, f"{IMMUTABLE}; it is {before!r}"))
    return bounded(errors)


def _parameters(parameters: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("apiGroup", "kind", "name"):
        place, value = f"spec.parameters.{name}", text(parameters, name)
        if not value:
            errors.append(required(place))
        elif name != "kind":
            errors += name_errors(value, place)
        elif len(value) > 63 or not value.replace("-", "a").isalnum():
            errors.append(bad(place, value, "must be the name of a kind, of at most 63 characters"))
    return errors


def validate_provisioning_request_config(obj: Json, old: Json | None = None) -> list[FieldError]:
    if not changed(obj, old, "spec"):
        return []
    spec = part(obj, "spec")
    errors: list[FieldError] = []
    name = text(spec, "provisioningClassName")
    if name:
        errors += name_errors(name, "spec.provisioningClassName")
    else:
        errors.append(required("spec.provisioningClassName"))
    parameters = part(spec, "parameters")
    if len(parameters) > MAX_PARAMETERS:
        errors.append(too_many("spec.parameters", len(parameters), MAX_PARAMETERS))
    for key, value in list(parameters.items())[:MAX_PARAMETERS]:
        if isinstance(value, str) and len(value) > MAX_PARAMETER:
            detail = f"must be no more than {MAX_PARAMETER} characters"
            errors.append(bad(f"spec.parameters[{key[:63]}]", value, detail))
    for index, resource in texts(spec, "managedResources"):
        errors += resource_name_errors(resource, f"spec.managedResources[{index}]")
    retry = part(spec, "retryStrategy")
    for field in ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"):
        value = retry.get(field)
        if isinstance(value, int) and value < 0:
            errors.append(bad(f"spec.retryStrategy.{field}", value, NOT_NEGATIVE))
    errors += _selector_updates(part(spec, "podSetUpdates"))
    return bounded(errors)


def _selector_updates(updates: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: dict[str, None] = {}
    for index, update in entries(updates, "nodeSelector"):
        place, key = f"spec.podSetUpdates.nodeSelector[{index}]", text(update, "key")
        errors += label_key_errors(key, f"{place}.key")
        if key in seen:
            errors.append(duplicate(f"{place}.key", key))
        seen[key] = None
        if not text(update, "valueFromProvisioningClassDetail"):
            errors.append(required(f"{place}.valueFromProvisioningClassDetail"))
    return errors


def validate_workload_priority_class(obj: Json, old: Json | None = None) -> list[FieldError]:
    errors: list[FieldError] = []
    value = obj.get("value")
    if value is None:
        errors.append(required("value", "the priority, a 32-bit integer"))
    elif not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        errors.append(bad("value", value, f"must be between {-(2**31)} and {2**31 - 1}"))
    description = text(obj, "description")
    if len(description) > MAX_DESCRIPTION:
        detail = f"must be no more than {MAX_DESCRIPTION} characters"
        errors.append(bad("description", description, detail))
    return errors
