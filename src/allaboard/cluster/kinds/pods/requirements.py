"""Do a container's requests and limits make sense together?"""

from typing import Any

from allaboard.api.fields import FieldError, bad_value, not_found, required
from allaboard.api.meta import Json
from allaboard.api.quantity import parse
from allaboard.cluster.kinds.amounts import (
    container_name_problems,
    may_overcommit,
    validate_amount,
)


def validate_requirements(
    resources: Json, claims: set[Any], path: str, out: list[FieldError]
) -> None:
    limits = resources.get("limits") or {}
    requests = resources.get("requests") or {}
    for name, value in limits.items():
        at = f"{path}.limits[{name}]"
        out += [bad_value(at, name, p) for p in container_name_problems(name)]
        validate_amount(name, value, at, out)
    for name, value in requests.items():
        at = f"{path}.requests[{name}]"
        out += [bad_value(at, name, p) for p in container_name_problems(name)]
        validate_amount(name, value, at, out)
        limit = limits.get(name)
        if limit is None:
            if not may_overcommit(name):
                detail = "Limit must be set for non overcommitable resources"
                out.append(required(f"{path}.limits", detail))
        elif limit is not value and limit != value:
            _compare(name, value, limit, path, out)
    for i, claim in enumerate(resources.get("claims") or ()):
        name = claim.get("name") or ""
        if not name:
            out.append(required(f"{path}.claims[{i}]"))
        elif name not in claims:
            out.append(not_found(f"{path}.claims[{i}].name", name))


def _compare(name: str, request: str, limit: str, path: str, out: list[FieldError]) -> None:
    asked, most = parse(request), parse(limit)
    if asked != most and not may_overcommit(name):
        detail = f"must be equal to {name} limit of {most}"
        out.append(bad_value(f"{path}.requests", str(asked), detail))
    elif asked > most:
        detail = f"must be less than or equal to {name} limit of {most}"
        out.append(bad_value(f"{path}.requests", str(asked), detail))
