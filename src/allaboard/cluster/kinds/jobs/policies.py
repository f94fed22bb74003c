"""Are a Job's pod failure policy and success policy legal?"""

from allaboard.api import names
from allaboard.api.fields import (
    FieldError,
    bad_value,
    duplicate,
    invalid_without_value,
    not_supported,
    required,
    too_long,
    too_many,
)
from allaboard.api.meta import Json
from allaboard.cluster.kinds.jobs.indexes import BadIndexes, parse_indexes

_MAX_RULES = 20
_MAX_PATTERNS = 20
_MAX_CODES = 255
_MAX_INDEXES_BYTES = 64 * 1024
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


def validate_failure_policy(spec: Json, path: str, out: list[FieldError]) -> None:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MAX_RULES:
        out.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
        rules = rules[:_MAX_RULES]
    pod = (spec.get("template") or {}).get("spec") or {}
    known = {c.get("name") for key in ("containers", "initContainers") for c in pod.get(key) or ()}
    for i, rule in enumerate(rules):
        _failure_rule(spec, rule, f"{path}.rules[{i}]", known, out)


def _failure_rule(
    spec: Json, rule: Json, path: str, known: set[str | None], out: list[FieldError]
) -> None:
    action = rule.get("action") or ""
    if not action:
        listing = " ".join(f'"{a}"' for a in _ACTIONS)
        out.append(required(f"{path}.action", f"valid values: [{listing}]"))
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            detail = "requires the backoffLimitPerIndex to be set"
            out.append(bad_value(f"{path}.action", action, detail))
    elif action not in _ACTIONS:
        out.append(not_supported(f"{path}.action", action, _ACTIONS))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        _exit_codes(codes, f"{path}.onExitCodes", known, out)
    if len(conditions) > _MAX_PATTERNS:
        out.append(too_many(f"{path}.onPodConditions", len(conditions), _MAX_PATTERNS))
        conditions = conditions[:_MAX_PATTERNS]
    for i, pattern in enumerate(conditions):
        _pattern(pattern, f"{path}.onPodConditions[{i}]", out)
    if codes is not None and conditions:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        out.append(invalid_without_value(path, detail))
    if codes is None and not conditions:
        detail = "specifying one of OnExitCodes and OnPodConditions is required"
        out.append(invalid_without_value(path, detail))


def _pattern(pattern: Json, path: str, out: list[FieldError]) -> None:
    kind = pattern.get("type") or ""
    out += [bad_value(f"{path}.type", kind, p) for p in names.qualified_name_problems(kind)]
    status = pattern.get("status") or ""
    allowed = ("False", "True", "Unknown")
    if not status:
        listing = " ".join(f'"{s}"' for s in allowed)
        out.append(required(f"{path}.status", f"valid values: [{listing}]"))
    elif status not in allowed:
        out.append(not_supported(f"{path}.status", status, allowed))


def _exit_codes(codes: Json, path: str, known: set[str | None], out: list[FieldError]) -> None:
    operator = codes.get("operator") or ""
    if not operator:
        out.append(required(f"{path}.operator", 'valid values: ["In" "NotIn"]'))
    elif operator not in ("In", "NotIn"):
        out.append(not_supported(f"{path}.operator", operator, ("In", "NotIn")))
    container = codes.get("containerName")
    if container is not None and container not in known:
        detail = "must be one of the container or initContainer names in the pod template"
        out.append(bad_value(f"{path}.containerName", container, detail))
    values = codes.get("values") or []
    at = f"{path}.values"
    if not values:
        out.append(bad_value(at, [], "at least one value is required"))
    elif len(values) > _MAX_CODES:
        out.append(too_many(at, len(values), _MAX_CODES))
        return
    ordered, seen = True, set[int]()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            out.append(bad_value(f"{at}[{i}]", 0, "must not be 0 for the In operator"))
        if value in seen:
            out.append(duplicate(f"{at}[{i}]", value))
        seen.add(value)
        ordered = ordered and (i == 0 or values[i - 1] <= value)
    if not ordered:
        out.append(bad_value(at, values, "must be ordered"))


def validate_success_policy(spec: Json, path: str, out: list[FieldError]) -> None:
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        out.append(required(f"{path}.rules", detail))
    if len(rules) > _MAX_RULES:
        out.append(too_many(f"{path}.rules", len(rules), _MAX_RULES))
        rules = rules[:_MAX_RULES]
    for i, rule in enumerate(rules):
        _success_rule(spec, rule, f"{path}.rules[{i}]", out)


def _success_rule(spec: Json, rule: Json, path: str, out: list[FieldError]) -> None:
    count, text = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and text is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        out.append(required(path, detail))
    completions = spec.get("completions") or 0
    if text is not None:
        at = f"{path}.succeededIndexes"
        if len(text) > _MAX_INDEXES_BYTES:
            out.append(too_long(at, _MAX_INDEXES_BYTES))
            return
        try:
            found = parse_indexes(text, completions)
        except BadIndexes as problem:
            out.append(bad_value(at, text, f"error parsing succeededIndexes: {problem}"))
        else:
            if count is not None and count > found.count:
                detail = (
                    f"must be less than or equal to {found.count} (the number of indexes in the "
                    "specified succeededIndexes field)"
                )
                out.append(bad_value(f"{path}.succeededCount", count, detail))
    if count is not None:
        if count < 0:
            detail = "must be greater than or equal to 0"
            out.append(bad_value(f"{path}.succeededCount", count, detail))
        if count > completions:
            detail = (
                f"must be less than or equal to {completions} (the number of specified completions)"
            )
            out.append(bad_value(f"{path}.succeededCount", count, detail))
