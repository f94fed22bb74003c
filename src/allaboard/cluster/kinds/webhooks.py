"""Are webhook configurations legal, and what do they leave to defaults?"""

from typing import Any
from urllib.parse import urlsplit

from allaboard.api import names
from allaboard.api.fields import (
    FieldError,
    bad_value,
    duplicate,
    forbidden,
    not_supported,
    required,
)
from allaboard.api.meta import Json
from allaboard.cluster.kinds.expressions import syntax_problem
from allaboard.cluster.kinds.selectors import validate_label_selector
from allaboard.cluster.kinds.strategy import KindStrategy

_FORMAT = "; desired format: https://host[/path]"
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_REVIEWS = ("v1", "v1beta1")
_MAX_CONDITIONS = 64


class WebhookStrategy(KindStrategy):
    has_generation = True
    allow_unconditional_update = False
    spec_fields = ("webhooks",)

    def __init__(self, *, mutating: bool) -> None:
        super().__init__(namespaced=False)
        self.mutating = mutating

    def default_spec(self, obj: Json) -> None:
        for hook in obj.get("webhooks") or ():
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("matchPolicy", "Equivalent")
            hook.setdefault("namespaceSelector", {})
            hook.setdefault("objectSelector", {})
            hook.setdefault("timeoutSeconds", 10)
            if self.mutating:
                hook.setdefault("reinvocationPolicy", "Never")
            for rule in hook.get("rules") or ():
                rule.setdefault("scope", "*")
            hook.setdefault("clientConfig", {})
            service = hook["clientConfig"].get("service")
            if service:
                service.setdefault("port", 443)

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        seen: set[str] = set()
        for i, hook in enumerate(obj.get("webhooks") or ()):
            path = f"webhooks[{i}]"
            _hook(hook, path, self.mutating, out)
            name = hook.get("name") or ""
            if name in seen:
                out.append(duplicate(f"{path}.name", name))
            seen.add(name)
        return out


def _hook(hook: Json, path: str, mutating: bool, out: list[FieldError]) -> None:
    name = hook.get("name") or ""
    out += _name(name, f"{path}.name")
    for i, rule in enumerate(hook.get("rules") or ()):
        _rule(rule, f"{path}.rules[{i}]", out)
    _choice(hook, "failurePolicy", ("Fail", "Ignore"), path, out)
    _choice(hook, "matchPolicy", ("Equivalent", "Exact"), path, out)
    effects = hook.get("sideEffects")
    if effects is None:
        out.append(required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun"))
    else:
        _choice(hook, "sideEffects", ("None", "NoneOnDryRun"), path, out)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        out.append(bad_value(f"{path}.timeoutSeconds", seconds, detail))
    for key in ("namespaceSelector", "objectSelector"):
        if hook.get(key) is not None:
            out += validate_label_selector(hook[key], f"{path}.{key}")
    if mutating:
        _choice(hook, "reinvocationPolicy", ("IfNeeded", "Never"), path, out)
    out += check_client(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    out += _review_versions(hook.get("admissionReviewVersions"), path)
    _conditions(hook.get("matchConditions") or [], f"{path}.matchConditions", out)


def _name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    errors = [bad_value(path, name, p) for p in names.subdomain_problems(name)]
    if not errors and len(name.split(".")) < 3:
        detail = "should be a domain with at least three segments separated by dots"
        errors.append(bad_value(path, name, detail))
    return errors


def _choice(
    hook: Json, key: str, allowed: tuple[str, ...], path: str, out: list[FieldError]
) -> None:
    value = hook.get(key)
    if value is not None and value not in allowed:
        out.append(not_supported(f"{path}.{key}", value, allowed))


def _review_versions(versions: Any, path: str) -> list[FieldError]:
    at = f"{path}.admissionReviewVersions"
    if not versions:
        return [required(at, f"must specify one of {', '.join(_REVIEWS)}")]
    errors = []
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            errors.append(duplicate(f"{at}[{i}]", version))
        seen.add(version)
        problems = names.label_1035_problems(version)
        errors += [bad_value(f"{at}[{i}]", version, p) for p in problems]
    if not seen & set(_REVIEWS):
        detail = f"must include at least one of {', '.join(_REVIEWS)}"
        errors.append(bad_value(at, versions, detail))
    return errors


def check_client(config: Json, path: str) -> list[FieldError]:
    """Where a webhook is found: exactly one of a URL and a Service."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    return (
        _url(url, f"{path}.url") if url is not None else _service(service or {}, f"{path}.service")
    )


def _url(url: str, path: str) -> list[FieldError]:
    errors = []
    try:
        parts = urlsplit(url)
    except ValueError as problem:
        return [required(path, f"url must be a valid URL: {problem}{_FORMAT}")]
    if parts.scheme != "https":
        detail = f"'https' is the only allowed URL scheme{_FORMAT}"
        errors.append(bad_value(path, parts.scheme, detail))
    if not parts.netloc:
        errors.append(bad_value(path, "", f"host must be specified{_FORMAT}"))
    if "@" in parts.netloc:
        errors.append(bad_value(path, url, "user information is not permitted in the URL"))
    if parts.fragment:
        detail = "fragments are not permitted in the URL"
        errors.append(bad_value(path, parts.fragment, detail))
    if parts.query:
        detail = "query parameters are not permitted in the URL"
        errors.append(bad_value(path, parts.query, detail))
    return errors


def _service(service: Json, path: str) -> list[FieldError]:
    errors = []
    if not service.get("name"):
        errors.append(required(f"{path}.name", "service name is required"))
    if not service.get("namespace"):
        errors.append(required(f"{path}.namespace", "service namespace is required"))
    port = service.get("port")
    if port is not None and not 1 <= port <= 65535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(bad_value(f"{path}.port", port, detail))
    return errors


def _rule(rule: Json, path: str, out: list[FieldError]) -> None:
    for key in ("apiGroups", "apiVersions", "resources"):
        values = rule.get(key) or []
        if not values:
            out.append(required(f"{path}.{key}"))
        elif key != "resources" and len(values) > 1 and "*" in values:
            detail = f"if '*' is present, must not specify other {_WORDS[key]}"
            out.append(bad_value(f"{path}.{key}", values, detail))
    operations = rule.get("operations") or []
    if not operations:
        out.append(required(f"{path}.operations"))
    if len(operations) > 1 and "*" in operations:
        detail = "if '*' is present, must not specify other operations"
        out.append(bad_value(f"{path}.operations", operations, detail))
    for i, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            out.append(not_supported(f"{path}.operations[{i}]", operation, _OPERATIONS))
    scope = rule.get("scope")
    if scope is not None and scope not in ("*", "Cluster", "Namespaced"):
        out.append(not_supported(f"{path}.scope", scope, ("*", "Cluster", "Namespaced")))


_WORDS = {"apiGroups": "API groups", "apiVersions": "API versions"}


def _conditions(conditions: list[Json], path: str, out: list[FieldError]) -> None:
    if len(conditions) > _MAX_CONDITIONS:
        detail = f"must have at most {_MAX_CONDITIONS} items"
        out.append(forbidden(path, detail))
        return
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        if not condition.get("expression"):
            out.append(required(f"{path}[{i}].expression"))
        elif problem := syntax_problem(condition["expression"]):
            out.append(bad_value(f"{path}[{i}].expression", condition["expression"], problem))
        name = condition.get("name") or ""
        if not name:
            out.append(required(f"{path}[{i}].name"))
        else:
            problems = names.qualified_name_problems(name)
            out += [bad_value(f"{path}[{i}].name", name, p) for p in problems]
        if name and name in seen:
            out.append(duplicate(f"{path}[{i}].name", name))
        seen.add(name)
