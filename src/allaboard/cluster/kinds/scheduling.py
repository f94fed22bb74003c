"""Are Leases, PriorityClasses, PodDisruptionBudgets and RuntimeClasses legal?"""

import re

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, forbidden, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.selectors import validate_label_selector
from allaboard.cluster.kinds.strategy import KindStrategy

HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_NOT_NEGATIVE = "must be greater than or equal to 0"
_PERCENT = re.compile(r"[0-9]+%")


class LeaseStrategy(KindStrategy):
    allow_create_on_update = True
    allow_unconditional_update = False

    def default_spec(self, obj: Json) -> None:
        obj.setdefault("spec", {})

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        _without_coordination(obj)

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        _without_coordination(obj)

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj.get("spec") or {}
        seconds = spec.get("leaseDurationSeconds")
        if seconds is not None and seconds <= 0:
            out.append(bad_value("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
        moves = spec.get("leaseTransitions")
        if moves is not None and moves < 0:
            out.append(bad_value("spec.leaseTransitions", moves, _NOT_NEGATIVE))
        return out


def _without_coordination(lease: Json) -> None:
    """Coordinated leader election is switched off: what only it reads is not kept."""
    spec = lease["spec"]
    if "preferredHolder" in spec or "strategy" in spec:
        unread = ("preferredHolder", "strategy")
        lease["spec"] = {k: v for k, v in spec.items() if k not in unread}


class PriorityClassStrategy(KindStrategy):
    has_generation = True
    spec_fields = ("value", "globalDefault", "description", "preemptionPolicy")

    def default_spec(self, obj: Json) -> None:
        obj.setdefault("value", 0)
        obj.setdefault("preemptionPolicy", "PreemptLowerPriority")
        if "globalDefault" in obj and not obj["globalDefault"]:
            del obj["globalDefault"]

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        if "generation" in old["metadata"]:
            obj["metadata"]["generation"] = old["metadata"]["generation"]

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        name, value = obj["metadata"].get("name") or "", obj.get("value") or 0
        if name.startswith("system-"):
            known = SYSTEM_CLASSES.get(name)
            if known is None:
                problem = f"{name} is not a known system priority class"
            elif known != value:
                problem = f"value of {name} PriorityClass must be {known}"
            else:
                problem = ""
            if problem:
                detail = (
                    "priority class names with 'system-' prefix are reserved for system use only. "
                    f"error: {problem}"
                )
                out.append(forbidden("metadata.name", detail))
        elif value > HIGHEST_USER_PRIORITY:
            detail = f"maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
            out.append(forbidden("value", detail))
        policy = obj.get("preemptionPolicy")
        if policy not in ("PreemptLowerPriority", "Never"):
            allowed = ("PreemptLowerPriority", "Never")
            out.append(not_supported("preemptionPolicy", policy, allowed))
        return out

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        del subresource
        out: list[FieldError] = []
        if obj.get("value") != old.get("value"):
            out.append(forbidden("value", "may not be changed in an update."))
        policy = obj.get("preemptionPolicy")
        if policy != old.get("preemptionPolicy"):
            out.append(bad_value("preemptionPolicy", policy, "field is immutable"))
        return out


class BudgetStrategy(KindStrategy):
    """PodDisruptionBudget."""

    has_generation = True
    allow_unconditional_update = False

    def default_spec(self, obj: Json) -> None:
        obj.setdefault("spec", {})
        status = obj.get("status")
        if status is not None:
            obj["status"] = {**_EMPTY_BUDGET, **status}

    def reset_status(self, obj: Json) -> None:
        obj["status"] = dict(_EMPTY_BUDGET)

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj.get("spec") or {}
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        if least is not None and most is not None:
            detail = "minAvailable and maxUnavailable cannot be both set"
            out.append(bad_value("spec", spec, detail))
        for key in ("minAvailable", "maxUnavailable"):
            if spec.get(key) is not None:
                out += validate_share(spec[key], f"spec.{key}")
        if spec.get("selector") is not None:
            out += validate_label_selector(spec["selector"], "spec.selector")
        policy = spec.get("unhealthyPodEvictionPolicy")
        allowed = ("AlwaysAllow", "IfHealthyBudget")
        if policy is not None and policy not in allowed:
            out.append(not_supported("spec.unhealthyPodEvictionPolicy", policy, allowed))
        return out


_EMPTY_BUDGET = {
    "disruptionsAllowed": 0,
    "currentHealthy": 0,
    "desiredHealthy": 0,
    "expectedPods": 0,
}


def validate_share(value: int | str, path: str) -> list[FieldError]:
    """A number of pods, or a percentage of them."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            detail = (
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
                "'1%',  or '93%', regex used for validation is '[0-9]+%')"
            )
            return [bad_value(path, value, detail)]
        if int(value[:-1][:9]) > 100:
            return [bad_value(path, value, "must not be greater than 100%")]
        return []
    return [bad_value(path, value, _NOT_NEGATIVE)] if value < 0 else []


class RuntimeClassStrategy(KindStrategy):
    spec_fields = ("handler", "overhead", "scheduling")

    def validate(self, obj: Json) -> list[FieldError]:
        handler = obj.get("handler") or ""
        if not handler:
            return [required("handler")]
        return [bad_value("handler", handler, p) for p in names.label_problems(handler)]

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        del subresource
        if obj.get("handler") != old.get("handler"):
            return [bad_value("handler", obj.get("handler"), "field is immutable")]
        return []
