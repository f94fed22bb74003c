"""How do rules read data that may have any shape, and judge names and amounts?

Readers give what is there in the expected shape and nothing otherwise: `shape.py` reports the rest.
"""

from collections.abc import Sequence
from typing import Any, Final

from allaboard.api import fields, names, quantity
from allaboard.api.fields import FieldError, bad_value
from allaboard.api.meta import Json

MAX_REPORTED: Final = 64  # no answer grows with the input
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
IMMUTABLE: Final = "field is immutable"
MAX_AMOUNT: Final = 2**63 - 1
_SHOWN: Final = 200  # characters of a value worth repeating
_NAMED: Final = 20  # allowed values worth listing


def part(holder: Any, *path: str) -> Json:
    """The object at `path`, or an empty one."""
    for name in path:
        holder = holder.get(name) if isinstance(holder, dict) else None
    return holder if isinstance(holder, dict) else {}


def entries(holder: Any, name: str) -> list[tuple[int, Json]]:
    """The members of a list that are objects, with their places."""
    found = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(found, list):
        return []
    return [(index, entry) for index, entry in enumerate(found) if isinstance(entry, dict)]


def texts(holder: Any, name: str) -> list[tuple[int, str]]:
    found = holder.get(name) if isinstance(holder, dict) else None
    if not isinstance(found, list):
        return []
    return [(index, entry) for index, entry in enumerate(found) if isinstance(entry, str)]


def text(holder: Any, name: str) -> str:
    """A string field; '' where it is absent, as Kubernetes sees no difference."""
    found = holder.get(name) if isinstance(holder, dict) else None
    return found if isinstance(found, str) else ""


def number(holder: Any, name: str, default: int = 0) -> int:
    found = holder.get(name) if isinstance(holder, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else default


def shown(value: Any) -> Any:
    """A value as a message repeats it: never longer than a few lines."""
    if isinstance(value, str) and len(value) > _SHOWN:
        return value[:_SHOWN] + "…"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**127:
        return "a number too long to show"
    if isinstance(value, dict | list):
        members = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
        if len(members) <= 4 and not any(isinstance(m, dict | list) for _, m in members):
            plain = {str(name)[:63]: shown(member) for name, member in members}
            return plain if isinstance(value, dict) else list(plain.values())
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(members)}"
    return value


def bad(field: str, value: Any, detail: str) -> FieldError:
    return bad_value(field, shown(value), detail)


def duplicate(field: str, value: Any) -> FieldError:
    return fields.duplicate(field, shown(value))


def not_supported(field: str, value: Any, allowed: Sequence[str]) -> FieldError:
    """Of many allowed values the first few are named."""
    return fields.not_supported(field, shown(value), allowed[:_NAMED])


def bounded(errors: list[FieldError]) -> list[FieldError]:
    return errors[:MAX_REPORTED]


def changed(obj: Json, old: Json | None, *path: str) -> bool:
    """Whether there is anything new at `path`; everything is on creation."""
    if old is None:
        return True
    before: Any = old
    now: Any = obj
    for name in path:
        before = before.get(name) if isinstance(before, dict) else None
        now = now.get(name) if isinstance(now, dict) else None
    return bool(before != now)


# --- names ------------------------------------------------------------------------------------


def name_errors(value: str, field: str) -> list[FieldError]:
    """A reference to an object by name."""
    if len(value) > 253:
        return [bad(field, value, names.too_long_message(253))]
    return [bad(field, value, problem) for problem in names.subdomain_problems(value)]


def resource_name_errors(value: str, field: str) -> list[FieldError]:
    if len(value) > 317:
        return [bad(field, value, names.too_long_message(317))]
    return [bad(field, value, problem) for problem in names.qualified_name_problems(value)]


def label_key_errors(value: str, field: str) -> list[FieldError]:
    if len(value) > 317:
        return [bad(field, value, names.too_long_message(317))]
    return [bad(field, value, problem) for problem in names.label_key_problems(value)]


def label_errors(labels: Any, field: str) -> list[FieldError]:
    """Keys and values of labels or of a node selector."""
    found: list[FieldError] = []
    for key, value in labels.items() if isinstance(labels, dict) else ():
        if not names.is_clean_key(key):
            found += label_key_errors(key, field)
        if isinstance(value, str) and (len(value) > 63 or not names.is_label_value(value)):
            problems = names.label_value_problems(value[:64])
            found += [bad(f"{field}[{shown(key)}]", value, problem) for problem in problems]
        if len(found) >= MAX_REPORTED:
            break
    return found


def annotation_errors(annotations: Any, field: str) -> list[FieldError]:
    found: list[FieldError] = []
    for key in annotations if isinstance(annotations, dict) else ():
        if not names.is_clean_key(key):
            lowered = key.lower()
            found += [
                bad(field, key, problem) for problem in names.qualified_name_problems(lowered)
            ]
        if len(found) >= MAX_REPORTED:
            break
    return found


# --- amounts ----------------------------------------------------------------------------------


def counted(resource: str, amount: quantity.Quantity) -> int:
    """An amount as quota counts it: thousandths of a CPU, whole units of the rest."""
    return amount.milli if resource == "cpu" else amount.value


def parsed(value: Any) -> quantity.Quantity | None:
    """The amount, or None where there is no legal one."""
    if value is None or isinstance(value, bool | float | dict | list):
        return None
    try:
        return quantity.parse(value)
    except (quantity.QuantityError, ValueError):  # a number of too many digits to print
        return None


def amount_errors(resource: str, value: Any, field: str) -> list[FieldError]:
    """An amount of a resource: legal, not negative, and small enough to count exactly."""
    if isinstance(value, float):
        value = repr(value)  # in a pod template, where a bare 0.5 is usual
    amount = parsed(value)
    if amount is None:
        return [bad(field, value, quantity.FORMAT_MESSAGE)]
    if amount.nano < 0:
        return [bad(field, value, NOT_NEGATIVE)]
    if counted(resource, amount) > MAX_AMOUNT:
        unit = "thousandths of a CPU" if resource == "cpu" else "units"
        return [bad(field, value, f"must be at most {MAX_AMOUNT} {unit}")]
    return []
