"""Which requests and limits does a LimitRange give to a pod, and which does it refuse?

Defaults for containers that name none; then minimum, maximum and the ratio of limit to request,
for each container and for the sum over the pod.
"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.api.quantity import Quantity, canonical, parse, total
from allaboard.cluster.admission.chain import CREATE, UPDATE, AdmissionAttributes, Plugin
from allaboard.cluster.admission.namespaces import refusal
from allaboard.cluster.resource import Resource
from allaboard.cluster.store.store import Store

_NOTE = "kubernetes.io/limit-ranger"


class LimitRanger(Plugin):
    name = "LimitRanger"

    def __init__(self, store: Store) -> None:
        self._store = store

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        return resource.key == "pods" and not subresource and operation == CREATE

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        ranges = self._limits(attributes)
        obj = attributes.object
        if not ranges or obj is None:
            return
        limits, requests = _defaults(ranges)
        spec = dict(obj.get("spec") or {})
        notes: list[str] = []
        for key, word in (("containers", "container"), ("initContainers", "init container")):
            if spec.get(key):
                spec[key] = [_filled(c, limits, requests, word, notes) for c in spec[key]]
        if notes:
            meta = dict(obj.get("metadata") or {})
            text = f"LimitRanger plugin set: {'; '.join(notes)}"
            meta["annotations"] = {**(meta.get("annotations") or {}), _NOTE: text}
            attributes.object = {**obj, "metadata": meta, "spec": spec}

    async def validate(self, attributes: AdmissionAttributes) -> None:
        ranges = self._limits(attributes)
        if not ranges or attributes.operation not in (CREATE, UPDATE):
            return
        problems = _problems(ranges, (attributes.object or {}).get("spec") or {})
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise refusal(attributes, text)

    def _limits(self, attributes: AdmissionAttributes) -> list[Json]:
        records = self._store.list("limitranges", attributes.namespace)
        return [
            item
            for record in records
            for item in (record.obj.get("spec") or {}).get("limits") or ()
        ]


def _defaults(ranges: list[Json]) -> tuple[Json, Json]:
    limits: Json = {}
    requests: Json = {}
    for item in ranges:
        if item.get("type") == "Container":
            limits |= item.get("default") or {}
            requests |= item.get("defaultRequest") or {}
    return limits, requests


def _filled(container: Json, limits: Json, requests: Json, word: str, notes: list[str]) -> Json:
    resources = container.get("resources") or {}
    result = dict(resources)
    for key, defaults, verb in (("requests", requests, "request"), ("limits", limits, "limit")):
        there = resources.get(key) or {}
        added = {name: amount for name, amount in defaults.items() if name not in there}
        if added:
            result[key] = {**there, **added}
            names = ", ".join(sorted(added))
            notes.append(f"{names} {verb} for {word} {container.get('name', '')}")
    return container if result == resources else {**container, "resources": result}


def _problems(ranges: list[Json], spec: Json) -> list[str]:
    found: list[str] = []
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    for item in ranges:
        if item.get("type") == "Container":
            for container in containers:
                found += _bounds(item, container.get("resources") or {}, "Container")
        elif item.get("type") == "Pod":
            found += _bounds(item, _sum(spec.get("containers") or ()), "Pod")
    return found


def _sum(containers: Any) -> Json:
    """What the containers of a pod ask for together."""
    result: Json = {"requests": {}, "limits": {}}
    for key, together in result.items():
        lists = [(c.get("resources") or {}).get(key) or {} for c in containers]
        for name in sorted({n for one in lists for n in one}):
            together[name] = str(total(one[name] for one in lists if name in one))
    return result


def _bounds(item: Json, resources: Json, where: str) -> list[str]:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    found: list[str] = []
    for name, bound in sorted((item.get("min") or {}).items()):
        found += _at_least(name, bound, requests, limits, where)
    for name, bound in sorted((item.get("max") or {}).items()):
        found += _at_most(name, bound, requests, limits, where)
    for name, ratio in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        found += _ratio(name, ratio, requests, limits, where)
    return found


def _amount(amounts: Json, name: str) -> Quantity | None:
    return parse(amounts[name]) if name in amounts else None


def _at_least(name: str, bound: Any, requests: Json, limits: Json, where: str) -> list[str]:
    request, limit, least = _amount(requests, name), _amount(limits, name), parse(bound)
    start = f"minimum {name} usage per {where} is {canonical(bound)}"
    if request is None:
        return [f"{start}.  No request is specified"]
    if request < least:
        return [f"{start}, but request is {canonical(requests[name])}"]
    if limit is not None and limit < least:
        return [f"{start}, but limit is {canonical(limits[name])}"]
    return []


def _at_most(name: str, bound: Any, requests: Json, limits: Json, where: str) -> list[str]:
    request, limit, most = _amount(requests, name), _amount(limits, name), parse(bound)
    start = f"maximum {name} usage per {where} is {canonical(bound)}"
    if limit is None:
        return [f"{start}.  No limit is specified"]
    if limit > most:
        return [f"{start}, but limit is {canonical(limits[name])}"]
    if request is not None and request > most:
        return [f"{start}, but request is {canonical(requests[name])}"]
    return []


def _ratio(name: str, bound: Any, requests: Json, limits: Json, where: str) -> list[str]:
    request, limit, most = _amount(requests, name), _amount(limits, name), parse(bound)
    start = f"{name} max limit to request ratio per {where} is {canonical(bound)}"
    if request is None or request.nano == 0:
        return [f"{start}, but no request is specified or request is 0"]
    if limit is None or limit.nano == 0:
        return [f"{start}, but no limit is specified or limit is 0"]
    if limit.nano * 10**9 > most.nano * request.nano:
        return [f"{start}, but provided ratio is {limit.nano / request.nano:f}"]
    return []
