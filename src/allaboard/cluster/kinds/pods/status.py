"""What is a pod's status at birth, and may it change like this?"""

from typing import Any

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, duplicate, forbidden
from allaboard.api.meta import Json
from allaboard.api.quantity import parse
from allaboard.cluster.kinds.pods.spec import is_ip

_COMPUTE = ("cpu", "memory")
_STATUS_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


def qos_class(spec: Json) -> str:
    """Guaranteed, Burstable or BestEffort, from the requests and limits of all containers."""
    any_set = False
    guaranteed = True
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            resources = container.get("resources") or {}
            requests = resources.get("requests") or {}
            limits = resources.get("limits") or {}
            for name in _COMPUTE:
                asked, most = requests.get(name), limits.get(name)
                if (asked and parse(asked).nano) or (most and parse(most).nano):
                    any_set = True
                if not most or ((asked or most) != most and parse(asked) != parse(most)):
                    guaranteed = False
    if not any_set:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def first_status(pod: Json) -> Json:
    spec = pod["spec"]
    status: Json = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": pod["metadata"].get("creationTimestamp"),
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]
    status["qosClass"] = qos_class(spec)
    return status


def default_status(status: Json) -> None:
    """Write out what Kubernetes always writes: times without a value and empty states."""
    for condition in status.get("conditions") or ():
        if "lastProbeTime" not in condition:
            condition["lastProbeTime"] = None
        if "lastTransitionTime" not in condition:
            condition["lastTransitionTime"] = None
    for key in _STATUS_LISTS:
        for entry in status.get(key) or ():
            _default_container_status(entry)


def _default_container_status(entry: Json) -> None:
    for key, empty in (("ready", False), ("restartCount", 0), ("image", ""), ("imageID", "")):
        if key not in entry:
            entry[key] = empty
    for key in ("state", "lastState"):
        state = entry.get(key)
        if state is None:
            entry[key] = {}
            continue
        ended = state.get("terminated")
        if ended is not None:
            for field in ("exitCode", "startedAt", "finishedAt"):
                if field not in ended:
                    ended[field] = 0 if field == "exitCode" else None
        running = state.get("running")
        if running is not None and "startedAt" not in running:
            running["startedAt"] = None


def validate_status(pod: Json, old: Json) -> list[FieldError]:
    """Every rule about a change of status. Unchanged parts are not looked at."""
    status, before = pod.get("status") or {}, old.get("status") or {}
    out: list[FieldError] = []
    if status.get("conditions") != before.get("conditions"):
        _conditions(status.get("conditions") or [], out)
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        problems = names.subdomain_problems(nominated)
        out += [bad_value("status.nominatedNodeName", nominated, p) for p in problems]
    qos = status.get("qosClass")
    if qos != before.get("qosClass"):
        out.append(bad_value("status.qosClass", qos, "field is immutable"))
    spec = old.get("spec") or {}
    if spec.get("restartPolicy") != "Always":
        for key in ("containerStatuses", "ephemeralContainerStatuses"):
            if status.get(key) != before.get(key):
                _transitions(status, before, key, spec, out)
    if status.get("podIPs") != before.get("podIPs"):
        _addresses(status.get("podIPs") or [], "status.podIPs", out)
    if status.get("hostIPs") != before.get("hostIPs"):
        _addresses(status.get("hostIPs") or [], "status.hostIPs", out)
    return out


def _conditions(conditions: list[Json], out: list[FieldError]) -> None:
    for i, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        if not names.is_name_part(kind):
            problems = names.qualified_name_problems(kind)
            out += [bad_value(f"status.conditions[{i}].type", kind, p) for p in problems]


def _transitions(status: Json, before: Json, key: str, spec: Json, out: list[FieldError]) -> None:
    """A container that ended and may not restart stays ended."""
    now: dict[Any, Json] = {s.get("name"): s for s in status.get(key) or ()}
    for i, old in enumerate(before.get(key) or ()):
        ended = (old.get("state") or {}).get("terminated")
        if ended is None:
            continue
        if spec.get("restartPolicy") == "OnFailure" and ended.get("exitCode"):
            continue
        new = now.get(old.get("name"))
        if new is not None and (new.get("state") or {}).get("terminated") is None:
            detail = "may not be transitioned to non-terminated state"
            out.append(forbidden(f"status.{key}[{i}].state", detail))


def _addresses(addresses: list[Json], path: str, out: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, address in enumerate(addresses):
        ip = address.get("ip") or ""
        if not is_ip(ip):
            detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            out.append(bad_value(f"{path}[{i}]", ip, detail))
        if ip in seen:
            out.append(duplicate(f"{path}[{i}]", address))
        seen.add(ip)
