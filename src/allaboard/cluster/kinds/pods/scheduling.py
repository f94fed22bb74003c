"""Where may a pod run, is that written legally? Affinity, tolerations, spreading, gates."""

from typing import Any

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
from allaboard.cluster.kinds.selectors import validate_label_selector

TAINT_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_FIELD_KEYS = ("metadata.name",)


def validate_affinity(affinity: Json, path: str, out: list[FieldError]) -> None:
    node = affinity.get("nodeAffinity")
    if node:
        _node_affinity(node, f"{path}.nodeAffinity", out)
    for key in ("podAffinity", "podAntiAffinity"):
        if affinity.get(key):
            _pod_affinity(affinity[key], f"{path}.{key}", out)


def _node_affinity(node: Json, path: str, out: list[FieldError]) -> None:
    if node.get(_REQUIRED) is not None:
        validate_node_selector(node[_REQUIRED], f"{path}.{_REQUIRED}", out)
    for i, term in enumerate(node.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{i}]"
        _weight(term, at, out)
        _node_selector_term(term.get("preference") or {}, f"{at}.preference", out)


def _weight(term: Json, at: str, out: list[FieldError]) -> None:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        out.append(bad_value(f"{at}.weight", weight, "must be in the range 1-100"))


def validate_node_selector(selector: Json, path: str, out: list[FieldError]) -> None:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        detail = "must have at least one node selector term"
        out.append(required(f"{path}.nodeSelectorTerms", detail))
    for i, term in enumerate(terms):
        _node_selector_term(term, f"{path}.nodeSelectorTerms[{i}]", out)


def _node_selector_term(term: Json, path: str, out: list[FieldError]) -> None:
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        _node_requirement(requirement, f"{path}.matchExpressions[{i}]", out)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        _node_field(requirement, f"{path}.matchFields[{i}]", out)


def _node_requirement(requirement: Json, path: str, out: list[FieldError]) -> None:
    values = requirement.get("values") or ()
    operator = requirement.get("operator") or ""
    if operator in ("In", "NotIn"):
        if not values:
            detail = "must be specified when `operator` is 'In' or 'NotIn'"
            out.append(required(f"{path}.values", detail))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            out.append(forbidden(f"{path}.values", detail))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            out.append(required(f"{path}.values", detail))
    else:
        out.append(bad_value(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.get("key") or ""
    out += [bad_value(f"{path}.key", key, p) for p in names.label_key_problems(key)]
    for i, value in enumerate(values):
        problems = names.label_value_problems(value)
        out += [bad_value(f"{path}.values[{i}]", value, p) for p in problems]


def _node_field(requirement: Json, path: str, out: list[FieldError]) -> None:
    values = requirement.get("values") or ()
    operator = requirement.get("operator") or ""
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            detail = (
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            )
            out.append(required(f"{path}.values", detail))
    else:
        out.append(bad_value(f"{path}.operator", operator, "not a valid selector operator"))
    key = requirement.get("key") or ""
    if key not in _FIELD_KEYS:
        out.append(bad_value(f"{path}.key", key, "not a valid field selector key"))
    else:
        for i, value in enumerate(values):
            problems = names.subdomain_problems(value)
            out += [bad_value(f"{path}.values[{i}]", value, p) for p in problems]


def _pod_affinity(affinity: Json, path: str, out: list[FieldError]) -> None:
    for i, term in enumerate(affinity.get(_REQUIRED) or ()):
        _pod_term(term, f"{path}.{_REQUIRED}[{i}]", out)
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{i}]"
        _weight(weighted, at, out)
        _pod_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm", out)


def _pod_term(term: Json, path: str, out: list[FieldError]) -> None:
    for key in ("labelSelector", "namespaceSelector"):
        if term.get(key) is not None:
            out += validate_label_selector(term[key], f"{path}.{key}")
    for namespace in term.get("namespaces") or ():
        problems = names.label_problems(namespace)
        out += [bad_value(f"{path}.namespace", namespace, p) for p in problems]
    key = term.get("topologyKey") or ""
    if not key:
        out.append(required(f"{path}.topologyKey", "can not be empty"))
    out += [bad_value(f"{path}.topologyKey", key, p) for p in names.qualified_name_problems(key)]


def validate_tolerations(tolerations: list[Json], path: str, out: list[FieldError]) -> None:
    for i, toleration in enumerate(tolerations):
        _toleration(toleration, f"{path}[{i}]", out)


def _toleration(toleration: Json, path: str, out: list[FieldError]) -> None:
    key = toleration.get("key") or ""
    operator = toleration.get("operator") or ""
    effect = toleration.get("effect") or ""
    value = toleration.get("value") or ""
    if key:
        out += [bad_value(f"{path}.key", key, p) for p in names.qualified_name_problems(key)]
    elif operator != "Exists":
        detail = (
            'operator must be Exists when `key` is empty, which means "match all values and all '
            'keys"'
        )
        out.append(bad_value(f"{path}.operator", operator, detail))
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        out.append(bad_value(f"{path}.effect", effect, detail))
    if operator in ("Equal", ""):
        if value and (problems := names.label_value_problems(value)):
            out.append(bad_value(f"{path}.operator", value, ";".join(problems)))
    elif operator == "Exists":
        if value:
            detail = "value must be empty when `operator` is 'Exists'"
            out.append(bad_value(f"{path}.operator", value, detail))
    else:
        out.append(not_supported(f"{path}.operator", operator, ("Equal", "Exists")))
    if effect and effect not in TAINT_EFFECTS:
        out.append(not_supported(f"{path}.effect", effect, TAINT_EFFECTS))


def validate_gates(gates: list[Json], path: str, out: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, gate in enumerate(gates):
        name = gate.get("name") or ""
        problems = names.qualified_name_problems(name)
        out += [bad_value(f"{path}[{i}]", name, p) for p in problems]
        if name in seen:
            out.append(duplicate(f"{path}[{i}]", name))
        seen.add(name)


def validate_spread(constraints: list[Json], path: str, out: list[FieldError]) -> None:
    pairs: set[tuple[Any, Any]] = set()
    for i, constraint in enumerate(constraints):
        at = f"{path}[{i}]"
        skew = constraint.get("maxSkew") or 0
        if skew <= 0:
            out.append(bad_value(f"{at}.maxSkew", skew, "must be greater than zero"))
        key = constraint.get("topologyKey") or ""
        if not key:
            out.append(required(f"{at}.topologyKey", "can not be empty"))
        else:
            problems = names.qualified_name_problems(key)
            out += [bad_value(f"{at}.topologyKey", key, p) for p in problems]
        when = constraint.get("whenUnsatisfiable") or ""
        if when not in ("DoNotSchedule", "ScheduleAnyway"):
            allowed = ("DoNotSchedule", "ScheduleAnyway")
            out.append(not_supported(f"{at}.whenUnsatisfiable", when, allowed))
        if (key, when) in pairs:
            out.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {when}}}"))
        pairs.add((key, when))
        _spread_options(constraint, when, at, out)


def _spread_options(constraint: Json, when: str, at: str, out: list[FieldError]) -> None:
    domains = constraint.get("minDomains")
    if domains is not None:
        if domains <= 0:
            out.append(bad_value(f"{at}.minDomains", domains, "must be greater than zero"))
        if when != "DoNotSchedule":
            detail = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not " + when
            out.append(bad_value(f"{at}.minDomains", domains, detail))
    for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(key)
        if policy is not None and policy not in ("Honor", "Ignore"):
            out.append(not_supported(f"{at}.{key}", policy, ("Honor", "Ignore")))
    if constraint.get("labelSelector") is not None:
        out += validate_label_selector(constraint["labelSelector"], f"{at}.labelSelector")
