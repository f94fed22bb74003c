"""Are the amounts of a resource list legal, and how are they stored?

Containers, nodes, quotas and limit ranges share these rules; they differ in which names they take.
"""

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value
from allaboard.api.meta import Json
from allaboard.api.quantity import canonical_milli, parse

NOT_NEGATIVE = "must be greater than or equal to 0"
_STANDARD = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        "pods", "resourcequotas", "services", "replicationcontrollers", "secrets",
        "persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers",
    }
)  # fmt: skip
_QUOTA = (
    _STANDARD
    | _COUNTED
    | {
        "requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage",
        "limits.cpu", "limits.memory", "limits.ephemeral-storage",
    }
)  # fmt: skip
_ALL_STANDARD = _QUOTA | {"storage", "requests.storage"}


def canonical_amounts(amounts: Json) -> None:
    """Every amount in the one spelling under which it is stored, in place."""
    for name, value in amounts.items():
        spelling = canonical_milli(value)
        if spelling != value:
            amounts[name] = spelling


def is_huge_page(name: str) -> bool:
    return name.startswith("hugepages-")


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """A countable resource of somebody else, such as a GPU."""
    if is_native(name) or name.startswith("requests."):
        return False
    return not names.qualified_name_problems(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_page(name)


def name_problems(name: str) -> list[str]:
    """What every resource name must satisfy, whatever it is used for."""
    if name in _ALL_STANDARD:
        return []
    problems = names.qualified_name_problems(name)
    if not problems and "/" not in name and not is_huge_page(name):
        problems.append("must be a standard resource type or fully qualified")
    return problems


def container_name_problems(name: str) -> list[str]:
    if name in _STANDARD:
        return []
    problems = name_problems(name)
    if "/" not in name:
        if not is_huge_page(name):
            problems.append("must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        problems.append("doesn't follow extended resource name standard")
    return problems


def quota_name_problems(name: str) -> list[str]:
    if name in _QUOTA:
        return []
    if is_huge_page(name.removeprefix("requests.")) or is_huge_page(name.removeprefix("limits.")):
        return []
    problems = name_problems(name)
    if "/" not in name:
        problems.append("must be a standard resource for quota")
    return problems


def validate_amount(name: str, value: str, path: str, out: list[FieldError]) -> None:
    """Not negative, and whole where half of it makes no sense."""
    quantity = parse(value)
    if quantity.nano < 0:
        out.append(bad_value(path, str(quantity), NOT_NEGATIVE))
    if quantity.nano % 1_000_000_000 and (name in _COUNTED or is_extended(name)):
        out.append(bad_value(path, str(quantity), "must be an integer"))
