"""What is done to pods through their subresources: binding to a node, eviction, logs.

Binding and eviction are the two writes by which schedulers and drainers act; both are ordinary
updates of the pod underneath. Logs come from whoever runs the pod, through a pluggable source.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from allaboard.api.errors import BadRequest, Conflict, TooManyRequests
from allaboard.api.meta import Json
from allaboard.api.selectors import selector_of
from allaboard.cluster.server.exchange import ApiRequest, ApiResponse
from allaboard.cluster.server.refusals import absent
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.services import Services
from allaboard.cluster.server.verbs.options import boolean, integer
from allaboard.cluster.store.records import Record

BUDGETS = "poddisruptionbudgets.policy"
RETRY_AFTER_S = 10
# Gives the text of one container; `options` are the query of the request.
LogSource = Callable[[Json, str, dict[str, str]], Awaitable[str]]


async def no_logs(pod: Json, container: str, options: dict[str, str]) -> str:
    """What a simulated container says: nothing ran, so nothing was written."""
    phase = (pod.get("status") or {}).get("phase", "Unknown")
    name = pod["metadata"]["name"]
    return f"simulated: container {container} of pod {name} ({phase}) writes no log\n"


def created_status() -> Json:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "code": 201,
    }


def bind(pod: Json, binding: Json, now: str) -> Json:
    """The pod as the binding wants it; Conflict when it cannot be bound."""
    target = binding.get("target") or {}
    if not target.get("name"):
        # Kubernetes differs: it answers 500 with the same sentence, here and below.
        raise BadRequest("target.name: Required value")
    if target.get("kind") not in (None, "", "Node"):
        kind = target["kind"]
        raise BadRequest(
            f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"'
        )
    meta, spec = pod["metadata"], pod.get("spec") or {}
    name = meta["name"]
    if meta.get("deletionTimestamp"):
        raise cannot_bind(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise cannot_bind(name, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise cannot_bind(name, f"pod {name} has non-empty .spec.schedulingGates")
    new_meta = dict(meta)
    for key in ("annotations", "labels"):
        added = (binding.get("metadata") or {}).get(key)
        if added:
            new_meta[key] = {**(meta.get(key) or {}), **added}
    status = pod.get("status") or {}
    conditions = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    scheduled: Json = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
    }
    bound = {**status, "conditions": [*conditions, scheduled]}
    bound.pop("nominatedNodeName", None)  # the nomination has served its purpose
    return {
        **pod,
        "metadata": new_meta,
        "spec": {**spec, "nodeName": target["name"]},
        "status": bound,
    }


def cannot_bind(name: str, why: str) -> Conflict:
    return Conflict(
        f'Operation cannot be fulfilled on pods/binding "{name}": {why}',
        details={"name": name, "kind": "pods/binding"},
    )


def check_budget(services: Services, pod: Json) -> tuple[Record, Json] | None:
    """The budget an eviction must be written into, already counted down; None where none applies.

    Raises 429 when the budget allows no disruption now.
    """
    meta, status = pod["metadata"], pod.get("status") or {}
    if status.get("phase") in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in meta:
        return None
    found = [
        record
        for record in services.store.list(BUDGETS, meta["namespace"])
        if selector_of((record.obj.get("spec") or {}).get("selector")).matches(
            meta.get("labels") or {}
        )
    ]
    if not found:
        return None
    if len(found) > 1:
        raise BadRequest(
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does"
            " not support."
        )
    record = found[0]
    budget = record.obj
    state, name = budget.get("status") or {}, record.name
    if state.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise disrupts(
            f"The disruption budget {name} is still being processed by the server.", RETRY_AFTER_S
        )
    allowed = state.get("disruptionsAllowed", 0)
    if allowed <= 0:
        raise disrupts(
            f"The disruption budget {name} needs {state.get('desiredHealthy', 0)} healthy pods and"
            f" has {state.get('currentHealthy', 0)} currently",
            0,
        )
    disrupted = {**(state.get("disruptedPods") or {}), meta["name"]: services.timestamp()}
    changed = {**state, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    return record, {**budget, "status": changed}


def evicting(pod: Json, now: str) -> Json:
    """The pod saying that somebody asked for its eviction."""
    status = pod.get("status") or {}
    conditions = [c for c in status.get("conditions") or () if c.get("type") != "DisruptionTarget"]
    condition: Json = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    return {**pod, "status": {**status, "conditions": [*conditions, condition]}}


def disrupts(why: str, retry_after_s: int) -> TooManyRequests:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
    return TooManyRequests(
        "Cannot evict pod as it would violate the pod's disruption budget.", details=details
    )


async def read_log(
    services: Services, source: LogSource, request: ApiRequest, target: Target
) -> ApiResponse:
    """The log of one container as plain text; 204 before the pod is on a node."""
    record = services.store.get(target.key, target.namespace, target.name)
    if record is None:
        raise absent(target.resource, target.name)
    pod = record.obj
    container = request.query.get("container") or default_container(pod)
    if container not in container_names(pod):
        raise BadRequest(f"container {container} is not valid for pod {target.name}")
    for name in ("tailLines", "limitBytes", "sinceSeconds"):
        if (value := integer(request.query, name)) is not None and value < 0:
            raise BadRequest(f"{name}: must be greater than or equal to 0")
    if not (pod.get("spec") or {}).get("nodeName"):
        return ApiResponse(204, text=b"")
    text = await source(pod, container, dict(request.query))
    text = trimmed(text, request)
    return ApiResponse(200, text=text.encode(), content_type="text/plain; charset=utf-8")


def trimmed(text: str, request: ApiRequest) -> str:
    tail, limit = integer(request.query, "tailLines"), integer(request.query, "limitBytes")
    if tail is not None:
        lines = text.splitlines(keepends=True)
        text = "".join(lines[len(lines) - tail :] if tail < len(lines) else lines)
    if boolean(request.query, "previous"):
        text = ""
    return text if limit is None else text.encode()[:limit].decode(errors="ignore")


def container_names(pod: Json) -> list[str]:
    spec: Any = pod.get("spec") or {}
    kinds = ("containers", "initContainers", "ephemeralContainers")
    return [c["name"] for kind in kinds for c in spec.get(kind) or ()]


def default_container(pod: Json) -> str:
    annotated = (pod["metadata"].get("annotations") or {}).get(
        "kubectl.kubernetes.io/default-container"
    )
    names = [c["name"] for c in (pod.get("spec") or {}).get("containers") or ()]
    if annotated in names:
        return str(annotated)
    if len(names) > 1:
        listing = " ".join(names)
        raise BadRequest(
            f"a container name must be specified for pod {pod['metadata']['name']}, choose one of:"
            f" [{listing}]"
        )
    return names[0] if names else ""
