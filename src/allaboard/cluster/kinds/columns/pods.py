"""How do Pods look in a list: what state are they really in?"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.kinds.columns.basic import AGE, NAME, age, seconds_of
from allaboard.cluster.resource import Column


def pod_reason(pod: Json) -> str:
    """The one word kubectl shows under STATUS."""
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    reason = status.get("reason") or status.get("phase") or ""
    if not status.get("reason"):
        for condition in status.get("conditions") or ():
            if (
                condition.get("type") == "PodScheduled"
                and condition.get("reason") == "SchedulingGated"
            ):
                reason = "SchedulingGated"
    initializing, init_reason = _init_reason(status, spec)
    if initializing:
        reason = init_reason
    else:
        reason = _main_reason(status, reason)
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in ("Succeeded", "Failed"):
            return "Terminating"
    return str(reason)


def _init_reason(status: Json, spec: Json) -> tuple[bool, str]:
    """Whether init containers still hold the pod, and how that is shown."""
    total = len(spec.get("initContainers") or ())
    sidecars = _sidecars(spec)
    for i, entry in enumerate(status.get("initContainerStatuses") or ()):
        state = entry.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and not ended.get("exitCode"):
            continue
        if entry.get("name") in sidecars and entry.get("started"):
            continue
        if ended is not None:
            return True, "Init:" + _ended(ended)
        if waiting is not None and waiting.get("reason") not in (None, "", "PodInitializing"):
            return True, f"Init:{waiting['reason']}"
        return True, f"Init:{i}/{total}"
    return False, ""


def _sidecars(spec: Json) -> set[Any]:
    init = spec.get("initContainers") or ()
    return {c.get("name") for c in init if c.get("restartPolicy") == "Always"}


def _ended(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _main_reason(status: Json, reason: str) -> str:
    running = False
    for entry in reversed(status.get("containerStatuses") or ()):
        state = entry.get("state") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif ended is not None:
            reason = _ended(ended)
        elif entry.get("ready") and state.get("running") is not None:
            running = True
    if reason == "Completed" and running:
        ready = any(
            c.get("type") == "Ready" and c.get("status") == "True"
            for c in status.get("conditions") or ()
        )
        return "Running" if ready else "NotReady"
    return reason


def _ready(pod: Json, now: float) -> Any:
    del now
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = _sidecars(spec)
    total = len(spec.get("containers") or ()) + len(sidecars)
    ready = sum(
        1
        for e in status.get("initContainerStatuses") or ()
        if e.get("name") in sidecars and e.get("started") and e.get("ready")
    )
    for entry in status.get("containerStatuses") or ():
        if entry.get("ready") and (entry.get("state") or {}).get("running") is not None:
            ready += 1
    return f"{ready}/{total}"


def _restarts(pod: Json, now: float) -> Any:
    status = pod.get("status") or {}
    entries = list(status.get("containerStatuses") or ())
    initializing, _ = _init_reason(status, pod.get("spec") or {})
    if initializing:
        entries = list(status.get("initContainerStatuses") or ())
    count, last = 0, ""
    for entry in entries:
        count += entry.get("restartCount") or 0
        ended = (entry.get("lastState") or {}).get("terminated") or {}
        finished = ended.get("finishedAt") or ""
        if finished and (not last or (seconds_of(finished) or 0) > (seconds_of(last) or 0)):
            last = finished
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _ip(pod: Json, now: float) -> Any:
    del now
    status = pod.get("status") or {}
    addresses = status.get("podIPs") or ()
    first = addresses[0].get("ip") if addresses else status.get("podIP")
    return first or "<none>"


def _gates(pod: Json, now: float) -> Any:
    del now
    gates = (pod.get("spec") or {}).get("readinessGates") or ()
    if not gates:
        return "<none>"
    true = {
        c.get("type")
        for c in (pod.get("status") or {}).get("conditions") or ()
        if c.get("status") == "True"
    }
    met = sum(1 for gate in gates if gate.get("conditionType") in true)
    return f"{met}/{len(gates)}"


def row_conditions(pod: Json) -> list[Json]:
    """Finished pods are marked, so that a client can grey them out."""
    phase = (pod.get("status") or {}).get("phase")
    if phase == "Succeeded":
        return [_completed("Succeeded", "The pod has completed successfully.")]
    if phase == "Failed":
        return [_completed("Failed", "The pod failed.")]
    return []


def _completed(reason: str, message: str) -> Json:
    return {"type": "Completed", "status": "True", "reason": reason, "message": message}


def _or_none(*path: str) -> Any:
    def cell(pod: Json, now: float) -> Any:
        del now
        value: Any = pod
        for part in path:
            value = (value or {}).get(part)
        return value or "<none>"

    return cell


POD_COLUMNS = (
    NAME,
    Column("Ready", "string", _ready, "", "How many of the containers are ready."),
    Column("Status", "string", lambda pod, now: pod_reason(pod), "", "What the pod is doing."),
    Column("Restarts", "string", _restarts, "", "How often containers restarted, and when last."),
    AGE,
    Column("IP", "string", _ip, "", "The pod's address.", 1),
    Column("Node", "string", _or_none("spec", "nodeName"), "", "The node it runs on.", 1),
    Column(
        "Nominated Node",
        "string",
        _or_none("status", "nominatedNodeName"),
        "",
        "The node being cleared for it.",
        1,
    ),
    Column("Readiness Gates", "string", _gates, "", "How many readiness gates are met.", 1),
)
