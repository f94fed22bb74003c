"""May this webhook configuration be stored? Defaults and rules of both kinds."""

from allaboard.api import names as syntax
from allaboard.api.fields import FieldError, bad_value, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.crds.acceptance import check_client_config
from allaboard.cluster.kinds.selectors import validate_label_selector
from allaboard.cluster.kinds.strategy import KindStrategy

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_MAX_CONDITIONS = 64
_MAX_TIMEOUT_S = 30


class WebhookConfigurationStrategy(KindStrategy):
    has_generation = True
    spec_fields = ("webhooks",)

    def __init__(self, *, mutating: bool) -> None:
        super().__init__(namespaced=False, has_status=False)
        self._mutating = mutating

    def default_spec(self, obj: Json) -> None:
        hooks = obj.get("webhooks")
        if not hooks:
            return
        filled = [self._default_hook(hook) for hook in hooks]
        if filled != hooks:
            obj["webhooks"] = filled

    def _default_hook(self, hook: Json) -> Json:
        result: Json = {
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "timeoutSeconds": 10,
            **hook,
        }
        for selector in ("namespaceSelector", "objectSelector"):
            if result.get(selector) is None:
                result[selector] = {}
        if self._mutating:
            result.setdefault("reinvocationPolicy", "Never")
        if hook.get("rules"):
            result["rules"] = [{"scope": "*", **rule} for rule in hook["rules"]]
        service = (hook.get("clientConfig") or {}).get("service")
        if service and "port" not in service:
            result["clientConfig"] = {**hook["clientConfig"], "service": {**service, "port": 443}}
        return result

    def validate(self, obj: Json) -> list[FieldError]:
        found: list[FieldError] = []
        seen: dict[str, None] = {}
        for index, hook in enumerate(obj.get("webhooks") or ()):
            path = f"webhooks[{index}]"
            found += _check_hook(hook, path)
            name = hook.get("name") or ""
            if name in seen:
                text = f'Duplicate value: "{name}"'
                found.append(FieldError("FieldValueDuplicate", f"{path}.name", text))
            seen[name] = None
        return found


def _check_hook(hook: Json, path: str) -> list[FieldError]:
    found = _check_name(hook.get("name") or "", f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        found += _check_rule(rule, f"{path}.rules[{index}]")
    found += _one_of(hook, "failurePolicy", ("Fail", "Ignore"), path)
    found += _one_of(hook, "matchPolicy", ("Equivalent", "Exact"), path)
    effects = hook.get("sideEffects")
    place = f"{path}.sideEffects"
    if effects is None:
        found.append(required(place, "must specify one of None, NoneOnDryRun"))
    elif effects not in ("None", "NoneOnDryRun"):
        found.append(not_supported(place, effects, ("None", "NoneOnDryRun")))
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= _MAX_TIMEOUT_S:
        detail = f"the timeout value must be between 1 and {_MAX_TIMEOUT_S} seconds"
        found.append(bad_value(f"{path}.timeoutSeconds", timeout, detail))
    for word in ("namespaceSelector", "objectSelector"):
        if hook.get(word):
            found += validate_label_selector(hook[word], f"{path}.{word}")
    found += check_client_config(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    found += _check_conditions(hook.get("matchConditions") or [], f"{path}.matchConditions")
    found += _check_versions(hook.get("admissionReviewVersions"), path)
    found += _one_of(hook, "reinvocationPolicy", ("IfNeeded", "Never"), path)
    return found


def _one_of(hook: Json, word: str, allowed: tuple[str, ...], path: str) -> list[FieldError]:
    value = hook.get(word)
    if value is None or value in allowed:
        return []
    return [not_supported(f"{path}.{word}", value, allowed)]


def _check_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    if problems := syntax.subdomain_problems(name):
        return [bad_value(path, name, ",".join(problems))]
    if name.count(".") < 2:
        detail = "should be a domain with at least three segments separated by dots"
        return [bad_value(path, name, detail)]
    return []


def _check_versions(versions: list[str] | None, path: str) -> list[FieldError]:
    place = f"{path}.admissionReviewVersions"
    if not versions:
        return [required(place, f"must specify one of {', '.join(_REVIEW_VERSIONS)}")]
    if not any(v in _REVIEW_VERSIONS for v in versions):
        detail = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        return [bad_value(place, versions, detail)]
    return []


def _check_rule(rule: Json, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    operations = rule.get("operations") or []
    if not operations:
        found.append(required(f"{path}.operations"))
    if "*" in operations and len(operations) > 1:
        detail = "if '*' is present, must not specify other operations"
        found.append(bad_value(f"{path}.operations", operations, detail))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            place = f"{path}.operations[{index}]"
            found.append(not_supported(place, operation, _OPERATIONS))
    for word, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = rule.get(word) or []
        if not values:
            found.append(required(f"{path}.{word}"))
        if "*" in values and len(values) > 1:
            detail = f"if '*' is present, must not specify other {what}"
            found.append(bad_value(f"{path}.{word}", values, detail))
        if word == "apiVersions":
            found += [
                required(f"{path}.{word}[{i}]") for i, value in enumerate(values) if not value
            ]
    found += _check_resources(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in ("*", "Cluster", "Namespaced"):
        found.append(not_supported(f"{path}.scope", scope, ("*", "Cluster", "Namespaced")))
    return found


def _check_resources(resources: list[str], path: str) -> list[FieldError]:
    if not resources:
        return [required(path)]
    found: list[FieldError] = []
    if "*/*" in resources and len(resources) > 1:
        detail = "if '*/*' is present, must not specify other resources"
        found.append(bad_value(path, resources, detail))
    whole = {r.partition("/")[0] for r in resources if r.endswith("/*")}
    for index, entry in enumerate(resources):
        name, slash, sub = entry.partition("/")
        if not entry:
            found.append(required(f"{path}[{index}]"))
        elif slash and sub != "*" and name in whole:
            detail = f"if '{name}/*' is present, must not specify {entry}"
            found.append(bad_value(f"{path}[{index}]", entry, detail))
    return found


def _check_conditions(conditions: list[Json], path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if len(conditions) > _MAX_CONDITIONS:
        text = f"Too many: {len(conditions)}: must have at most {_MAX_CONDITIONS} items"
        found.append(FieldError("FieldValueTooMany", path, text))
    seen: dict[str, None] = {}
    for index, condition in enumerate(conditions):
        name, place = condition.get("name") or "", f"{path}[{index}]"
        if not (condition.get("expression") or "").strip():
            found.append(required(f"{place}.expression"))
        if not name:
            found.append(required(f"{place}.name"))
        elif name in seen:
            text = f'Duplicate value: "{name}"'
            found.append(FieldError("FieldValueDuplicate", f"{place}.name", text))
        elif problems := syntax.qualified_name_problems(name):
            found.append(bad_value(f"{place}.name", name, ",".join(problems)))
        seen[name] = None
    return found
