"""Are ResourceQuotas and LimitRanges legal?"""

from allaboard.api.fields import FieldError, bad_value, duplicate, forbidden
from allaboard.api.meta import Json
from allaboard.api.quantity import from_units, parse
from allaboard.cluster.kinds.amounts import (
    canonical_amounts,
    name_problems,
    quota_name_problems,
    validate_amount,
)
from allaboard.cluster.kinds.strategy import KindStrategy

_SCOPES = (
    "BestEffort", "CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass",
    "Terminating", "VolumeAttributesClass",
)  # fmt: skip
_AMOUNTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


class ResourceQuotaStrategy(KindStrategy):
    def default_spec(self, obj: Json) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("hard"):
            canonical_amounts(spec["hard"])
        for key in ("hard", "used"):
            amounts = (obj.get("status") or {}).get(key)
            if amounts:
                canonical_amounts(amounts)

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj.get("spec") or {}
        _hard(spec.get("hard") or {}, "spec.hard", out)
        scopes = spec.get("scopes") or []
        for i, scope in enumerate(scopes[:64]):
            if scope not in _SCOPES:
                out.append(bad_value("spec.scopes", scopes, "unsupported scope"))
            elif scope in scopes[:i]:
                out.append(duplicate("spec.scopes", scope))
        return out

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out = super().validate_change(obj, old, subresource)
        scopes = (obj.get("spec") or {}).get("scopes")
        if scopes != (old.get("spec") or {}).get("scopes"):
            out.append(bad_value("spec.scopes", scopes, "field is immutable"))
        return out

    def validate_status(self, obj: Json, old: Json) -> list[FieldError]:
        del old
        out: list[FieldError] = []
        for key in ("hard", "used"):
            _hard((obj.get("status") or {}).get(key) or {}, f"status.{key}", out)
        return out


def _hard(amounts: Json, path: str, out: list[FieldError]) -> None:
    for name, value in amounts.items():
        at = f"{path}[{name}]"
        out += [bad_value(at, name, p) for p in quota_name_problems(name)]
        validate_amount(name, value, at, out)


class LimitRangeStrategy(KindStrategy):
    def default_spec(self, obj: Json) -> None:
        for limit in (obj.setdefault("spec", {})).get("limits") or ():
            for key in _AMOUNTS:
                if limit.get(key):
                    canonical_amounts(limit[key])
            if limit.get("type") == "Container":
                _container_defaults(limit)

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        seen: set[str] = set()
        for i, limit in enumerate((obj.get("spec") or {}).get("limits") or ()):
            path = f"spec.limits[{i}]"
            kind = limit.get("type") or ""
            if kind not in ("Container", "PersistentVolumeClaim", "Pod") and "/" not in kind:
                detail = "must be a standard limit type or fully qualified"
                out.append(bad_value(f"{path}.type", kind, detail))
            if kind in seen:
                out.append(duplicate(f"{path}.type", kind))
            seen.add(kind)
            if kind == "Pod":
                for key in ("default", "defaultRequest"):
                    if limit.get(key):
                        detail = "may not be specified when `type` is 'Pod'"
                        out.append(forbidden(f"{path}.{key}", detail))
            _limits(limit, path, out)
        return out


def _container_defaults(limit: Json) -> None:
    """Limits default to the maximum, requests to the limits and else to the minimum."""
    for target, sources in (("default", ("max",)), ("defaultRequest", ("default", "min"))):
        merged = dict(limit.get(target) or {})
        for source in sources:
            for name, value in (limit.get(source) or {}).items():
                merged.setdefault(name, value)
        if merged and merged != limit.get(target):
            limit[target] = merged


def _limits(limit: Json, path: str, out: list[FieldError]) -> None:
    for key in _AMOUNTS:
        for name in limit.get(key) or {}:
            problems = name_problems(name)
            out += [bad_value(f"{path}.{key}[{name}]", name, p) for p in problems]
    for name, value in (limit.get("maxLimitRequestRatio") or {}).items():
        if parse(value) < from_units(1):
            at = f"{path}.maxLimitRequestRatio[{name}]"
            out.append(bad_value(at, value, f"ratio {value} is less than 1"))
    least, most = limit.get("min") or {}, limit.get("max") or {}
    for name, value in least.items():
        if name in most and parse(value) > parse(most[name]):
            detail = f"min value {value} is greater than max value {most[name]}"
            out.append(bad_value(f"{path}.min[{name}]", value, detail))
    for key, lower in (("default", "min"), ("defaultRequest", "min")):
        for name, value in (limit.get(key) or {}).items():
            floor, ceiling = (limit.get(lower) or {}).get(name), most.get(name)
            label = "default" if key == "default" else "default request"
            if floor is not None and parse(floor) > parse(value):
                detail = f"min value {floor} is greater than {label} value {value}"
                out.append(bad_value(f"{path}.{key}[{name}]", value, detail))
            if ceiling is not None and parse(value) > parse(ceiling):
                detail = f"{label} value {value} is greater than max value {ceiling}"
                out.append(bad_value(f"{path}.{key}[{name}]", value, detail))
