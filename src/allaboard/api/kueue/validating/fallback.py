"""What may `flavorFungibility.fallbackStrategy` say? (KEP-2560 as DESIGN §1 decides it.)"""

from allaboard.api.fields import FieldError, bad_value, forbidden, required
from allaboard.api.kueue.types.fallback import (
    CHECK_REJECTED,
    EVERY_FLAVOR,
    FAILURE_POLICIES,
    TIMED_OUT,
    TRIGGERS,
)
from allaboard.api.kueue.validating.reading import (
    bad,
    duplicate,
    entries,
    not_supported,
    part,
    text,
)
from allaboard.api.meta import Json
from allaboard.api.times import TimeError, parse_duration_ns

_MAX_MINUTES = 2**31 - 1


def validate_fallback(strategy: Json, flavors: list[str], path: str) -> list[FieldError]:
    """`flavors` are those of the ClusterQueue, in order."""
    errors: list[FieldError] = []
    rules = entries(strategy, "rules")
    policy = strategy.get("failurePolicy")
    if policy is None:
        if rules:
            detail = f"must be one of {', '.join(FAILURE_POLICIES)} when there are rules"
            errors.append(required(f"{path}.failurePolicy", detail))
    elif policy not in FAILURE_POLICIES:
        errors.append(not_supported(f"{path}.failurePolicy", policy, FAILURE_POLICIES))
    seen: dict[tuple[str, str], None] = {}
    for index, rule in rules:
        place = f"{path}.rules[{index}]"
        name, trigger = text(rule, "name"), text(rule, "trigger") or TIMED_OUT
        if (name, trigger) in seen:
            errors.append(duplicate(place, {"name": name, "trigger": trigger}))
        seen[name, trigger] = None
        if name != EVERY_FLAVOR and name not in flavors:
            errors.append(not_supported(f"{place}.name", name, [EVERY_FLAVOR, *flavors]))
        if trigger not in TRIGGERS:
            errors.append(not_supported(f"{place}.trigger", trigger, TRIGGERS))
        errors += _timeout(rule, trigger, place)
    if strategy.get("circuitBreaker") is not None:
        errors += _breaker(part(strategy, "circuitBreaker"), f"{path}.circuitBreaker")
    return errors


def _timeout(rule: Json, trigger: str, place: str) -> list[FieldError]:
    given = [name for name in ("timeout", "timeoutMinutes") if rule.get(name) is not None]
    if trigger == CHECK_REJECTED:
        detail = f"a timeout never applies to trigger {CHECK_REJECTED}; remove it"
        return [forbidden(f"{place}.{name}", detail) for name in given]
    if len(given) == 2:
        detail = "timeout and timeoutMinutes exclude each other; keep one"
        return [bad(f"{place}.timeoutMinutes", rule["timeoutMinutes"], detail)]
    if given == ["timeout"]:
        return duration_errors(rule["timeout"], f"{place}.timeout")
    if given == ["timeoutMinutes"]:
        minutes = rule["timeoutMinutes"]
        whole = isinstance(minutes, int) and not isinstance(minutes, bool)
        if not whole or not 1 <= minutes <= _MAX_MINUTES:
            detail = f"must be a whole number of minutes from 1 to {_MAX_MINUTES}"
            return [bad(f"{place}.timeoutMinutes", minutes, detail)]
    return []


def duration_errors(value: object, field: str) -> list[FieldError]:
    """A time span that must be longer than nothing."""
    detail = "must be a duration longer than zero, such as 10m or 1h30m"
    try:
        nanos = parse_duration_ns(value[:65]) if isinstance(value, str) else 0
    except TimeError as error:
        return [bad(field, value, f"{detail}: {error}")]
    return [] if nanos > 0 else [bad(field, value, detail)]


def _breaker(breaker: Json, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    failures = breaker.get("failures")
    if failures is None:
        errors.append(required(f"{path}.failures", "must be a whole number of at least 1"))
    elif not isinstance(failures, int) or isinstance(failures, bool) or failures < 1:
        errors.append(
            bad_value(f"{path}.failures", failures, "must be a whole number of at least 1")
        )
    if breaker.get("probeInterval") is None:
        errors.append(required(f"{path}.probeInterval", "must be a duration such as 10m"))
    else:
        errors += duration_errors(breaker["probeInterval"], f"{path}.probeInterval")
    return errors
