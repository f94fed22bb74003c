"""Is a label selector legal, and which labels does it match?"""

from collections.abc import Mapping

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, forbidden, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.metadata import validate_labels


def validate_label_selector(selector: Json, path: str) -> list[FieldError]:
    errors = validate_labels(selector.get("matchLabels"), f"{path}.matchLabels")
    for i, requirement in enumerate(selector.get("matchExpressions") or ()):
        errors += _requirement(requirement, f"{path}.matchExpressions[{i}]")
    return errors


def _requirement(requirement: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    operator = requirement.get("operator") or ""
    values = requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            errors.append(required(f"{path}.values", detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", detail))
    else:
        errors.append(bad_value(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.get("key") or ""
    errors += [bad_value(f"{path}.key", key, p) for p in names.label_key_problems(key)]
    for i, value in enumerate(values):
        problems = names.label_value_problems(value)
        errors += [bad_value(f"{path}.values[{i}]", value, p) for p in problems]
    return errors


def shown(selector: Json | None) -> Json | None:
    """A selector as messages show it: labels in alphabetical order."""
    if selector is None or not selector.get("matchLabels"):
        return selector
    return {**selector, "matchLabels": dict(sorted(selector["matchLabels"].items()))}


def shown_labels(labels: Json | None) -> Json | None:
    return None if labels is None else dict(sorted(labels.items()))


def matches(selector: Json | None, labels: Mapping[str, str]) -> bool:
    """Whether a legal selector selects these labels; no selector selects nothing."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_met(term, labels) for term in selector.get("matchExpressions") or ())


def _met(term: Json, labels: Mapping[str, str]) -> bool:
    value = labels.get(term.get("key") or "")
    match term.get("operator"):
        case "In":
            return value is not None and value in (term.get("values") or ())
        case "NotIn":
            return value is None or value not in (term.get("values") or ())
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False
