"""Are label selectors, taints and tolerations legal? Kubernetes' own rules for them."""

from typing import Any

from allaboard.api import names
from allaboard.api.fields import FieldError, forbidden, required
from allaboard.api.kueue.types.shared import EFFECTS
from allaboard.api.kueue.validating.reading import (
    bad,
    duplicate,
    entries,
    label_errors,
    label_key_errors,
    not_supported,
    text,
    texts,
)
from allaboard.api.meta import Json

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def selector_errors(selector: Any, path: str) -> list[FieldError]:
    if not isinstance(selector, dict):
        return [bad(path, str(selector), "must be a label selector")]
    errors = label_errors(selector.get("matchLabels"), f"{path}.matchLabels")
    for index, requirement in entries(selector, "matchExpressions"):
        errors += _requirement(requirement, f"{path}.matchExpressions[{index}]")
    return errors


def _requirement(requirement: Json, path: str) -> list[FieldError]:
    operator, values = text(requirement, "operator"), texts(requirement, "values")
    errors = label_key_errors(text(requirement, "key"), f"{path}.key")
    if operator not in _OPERATORS:
        errors.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    elif operator in ("In", "NotIn") and not values:
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        errors.append(required(f"{path}.values", detail))
    elif operator in ("Exists", "DoesNotExist") and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.append(forbidden(f"{path}.values", detail))
    for at, value in values:
        problems = names.label_value_problems(value[:64])
        errors += [bad(f"{path}.values[{at}]", value, problem) for problem in problems]
    return errors


def taint_errors(spec: Json, path: str) -> list[FieldError]:
    """The taints of a flavor's nodes."""
    errors: list[FieldError] = []
    seen: dict[tuple[str, str], None] = {}
    for index, taint in entries(spec, "nodeTaints"):
        place = f"{path}[{index}]"
        key, effect = text(taint, "key"), text(taint, "effect")
        errors += label_key_errors(key, f"{place}.key")
        problems = names.label_value_problems(text(taint, "value")[:64])
        errors += [bad(f"{place}.value", text(taint, "value"), problem) for problem in problems]
        if effect not in EFFECTS:
            errors.append(not_supported(f"{place}.effect", effect, EFFECTS))
        if (key, effect) in seen:
            errors.append(duplicate(place, {"key": key, "effect": effect}))
        seen[key, effect] = None
    return errors


def toleration_errors(holder: Json, path: str) -> list[FieldError]:
    """The tolerations in `holder`."""
    errors: list[FieldError] = []
    for index, toleration in entries(holder, "tolerations"):
        errors += _toleration(toleration, f"{path}[{index}]")
    return errors


def _toleration(toleration: Json, place: str) -> list[FieldError]:
    key, operator, effect = (text(toleration, name) for name in ("key", "operator", "effect"))
    errors = label_key_errors(key, f"{place}.key") if key else []
    if not key and operator != "Exists":
        detail = (
            "operator must be Exists when 'key' is empty, which means 'match all values and all"
            " keys'"
        )
        errors.append(bad(f"{place}.operator", operator, detail))
    if operator not in ("", "Equal", "Exists"):
        errors.append(not_supported(f"{place}.operator", operator, ("Equal", "Exists")))
    value = text(toleration, "value")
    if operator == "Exists" and value:
        errors.append(
            bad(f"{place}.value", value, "a value must be empty when 'operator' is 'Exists'")
        )
    elif value:
        problems = names.label_value_problems(value[:64])
        errors += [bad(f"{place}.value", value, problem) for problem in problems]
    if effect and effect not in EFFECTS:
        errors.append(not_supported(f"{place}.effect", effect, EFFECTS))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when 'tolerationSeconds' is set"
        errors.append(bad(f"{place}.effect", effect, detail))
    return errors
