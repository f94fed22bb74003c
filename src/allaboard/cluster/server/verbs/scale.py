"""How many replicas: the `scale` subresource as a window on the object behind it.

The paths to replicas and selector come with the resource. Writing a Scale changes one field of the
object; owners of that field are recorded under the subresource `scale`.
"""

from typing import Any

from allaboard.api.fields import bad_value, invalid
from allaboard.api.meta import Json, Kind
from allaboard.cluster.resource import Resource

KIND = Kind("autoscaling", "v1", "Scale", "scales")
INT32_MAX = 2**31 - 1
KEPT = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def at(obj: Json, path: str) -> Any:
    value: Any = obj
    for part in path.strip(".").split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def with_value(obj: Json, path: str, value: Any) -> Json:
    """A copy of `obj` in which the field at `path` is `value`; the rest is shared."""
    head, _, tail = path.strip(".").partition(".")
    if not tail:
        return {**obj, head: value}
    inner = obj.get(head)
    return {**obj, head: with_value(inner if isinstance(inner, dict) else {}, tail, value)}


def scale_of(resource: Resource, obj: Json) -> Json:
    assert resource.scale_paths is not None
    wanted, actual, selector_path = resource.scale_paths
    meta = obj["metadata"]
    status: Json = {"replicas": at(obj, actual) or 0}
    selector = at(obj, selector_path) if selector_path and resource.custom else None
    if not resource.custom:
        selector = render_selector(at(obj, ".spec.selector"))
    if selector:
        status["selector"] = selector
    replicas = at(obj, wanted)
    return {
        "kind": KIND.kind,
        "apiVersion": KIND.api_version,
        "metadata": {key: meta[key] for key in KEPT if key in meta},
        "spec": {"replicas": replicas} if replicas is not None else {},
        "status": status,
    }


def render_selector(selector: Any) -> str:
    """A label selector as one line, sorted by key."""
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        key, operator = term.get("key", ""), term.get("operator", "")
        values = ",".join(sorted(term.get("values") or ()))
        text = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }.get(operator, "")
        terms.append((key, text))
    return ",".join(text for _, text in sorted(terms))


def replicas_in(scale: Json, name: str) -> int:
    """The wanted count in a Scale, checked."""
    value = (scale.get("spec") or {}).get("replicas") or 0
    if value < 0:
        detail = "must be greater than or equal to 0"
        raise invalid("Scale", "autoscaling", name, [bad_value("spec.replicas", value, detail)])
    return int(value)
