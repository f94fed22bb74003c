"""What is wrong with which field: field errors as values, rendered as Kubernetes renders them.

A validator is a pure function that returns a list of `FieldError`; `invalid()` folds the list into
the one `Invalid` answer. Source of the wording: apimachinery's field package (facts only).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from allaboard.api.errors import Invalid

# A hostile object must not make a hostile answer. Kubernetes differs: it tells all of everything.
MAX_CAUSES = 200
MAX_SHOWN = 10_000  # characters of one value
MAX_NAME_SHOWN = 1_000
MAX_TEXT = 50_000  # characters of all causes together, about


@dataclass(frozen=True, slots=True)
class FieldError:
    """One broken rule. `field` is a path such as `spec.template.spec.containers[0].name`."""

    reason: str  # FieldValueInvalid and so on: the cause's reason
    field: str
    text: str  # everything after "<field>: "

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


def _quoted(value: Any) -> str:
    """A value as Go's field errors print it: strings quoted, null spelled out, the rest as JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return json.dumps(cut(value, MAX_SHOWN), ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return cut(text, MAX_SHOWN)


def cut(text: str, limit: int) -> str:
    """The beginning of a text that is too long to repeat."""
    return text if len(text) <= limit else f"{text[:limit]}…"


def bad_value(field: str, value: Any, detail: str) -> FieldError:
    tail = f": {detail}" if detail else ""
    return FieldError("FieldValueInvalid", field, f"Invalid value: {_quoted(value)}{tail}")


def invalid_without_value(field: str, detail: str) -> FieldError:
    """As `bad_value` where the value is too large, or too indirect, to show."""
    return FieldError("FieldValueInvalid", field, f"Invalid value: {detail}")


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(
        "FieldValueRequired", field, "Required value" + (f": {detail}" if detail else "")
    )


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, f"Duplicate value: {_quoted(value)}")


def not_supported(field: str, value: Any, allowed: Sequence[str]) -> FieldError:
    options = f": supported values: {', '.join(_quoted(a) for a in allowed)}" if allowed else ""
    return FieldError(
        "FieldValueNotSupported", field, f"Unsupported value: {_quoted(value)}{options}"
    )


def forbidden(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueForbidden", field, "Forbidden" + (f": {detail}" if detail else ""))


def not_found(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", field, f"Not found: {_quoted(value)}")


def too_long(field: str, limit: int) -> FieldError:
    return FieldError("FieldValueTooLong", field, f"Too long: may not be more than {limit} bytes")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    return FieldError(
        "FieldValueTooMany", field, f"Too many: {actual}: must have at most {limit} items"
    )


def _tellable(errors: Sequence[FieldError]) -> int:
    """How many of these, from the first one on, fit into an answer."""
    size = 0
    for index, error in enumerate(errors[:MAX_CAUSES]):
        size += len(error.text)
        if size > MAX_TEXT and index:
            return index
    return min(len(errors), MAX_CAUSES)


def invalid(kind: str, group: str, name: str, errors: Sequence[FieldError]) -> Invalid:
    """One 422 naming every broken field once, in the order found; of very many the first ones."""
    told = errors[: _tellable(errors)]
    unseen = len(errors) - len(told)
    errors = told
    unique = list(dict.fromkeys(str(e) for e in errors))
    if unseen > 0:
        unique.append(f"and {unseen} more")
    name = cut(name, MAX_NAME_SHOWN)
    listing = unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
    full_kind = f"{kind}.{group}" if group else kind
    causes = [{"reason": e.reason, "message": e.text, "field": e.field} for e in errors]
    details: dict[str, Any] = {"name": name, "group": group, "kind": kind, "causes": causes}
    details = {k: v for k, v in details.items() if v}
    return Invalid(f'{full_kind} "{name}" is invalid: {listing}', details=details)
