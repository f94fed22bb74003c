"""What does a node's state mean for the pods on it, and for those that might come?"""

from collections.abc import Iterable

from allaboard.api.meta import Json
from allaboard.api.times import format_time, parse_time
from allaboard.clock import Instant

PREFIX = "node.kubernetes.io/"
NOT_READY, UNREACHABLE = f"{PREFIX}not-ready", f"{PREFIX}unreachable"
UNSCHEDULABLE = f"{PREFIX}unschedulable"
_BY_CONDITION = {
    "MemoryPressure": f"{PREFIX}memory-pressure",
    "DiskPressure": f"{PREFIX}disk-pressure",
    "PIDPressure": f"{PREFIX}pid-pressure",
    "NetworkUnavailable": f"{PREFIX}network-unavailable",
}
_OURS = {NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_BY_CONDITION.values()}
_SILENT = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

Since = dict[tuple[str, str], Instant]  # key and value of a taint, and since when it is there


def ready_status(node: Json) -> str:
    """True, False, Unknown, or '' when the node never said."""
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            return str(condition.get("status", ""))
    return ""


def wanted_taints(node: Json, now: Instant) -> list[Json]:
    """The node's taints as its conditions want them; what is there already is kept as it is."""
    wanted = _wanted(node)
    taints = [dict(t) for t in node["spec"].get("taints") or ()]
    unknown = not ready_status(node)  # until it speaks, whoever tainted it knows better
    kept = [
        taint
        for taint in taints
        if (taint["key"], taint["effect"]) in wanted
        or taint["key"] not in _OURS
        or (unknown and taint["key"] in (NOT_READY, UNREACHABLE))
    ]
    present = [(taint["key"], taint["effect"]) for taint in kept]
    for key, effect in wanted:
        if (key, effect) not in present:
            new = {"key": key, "effect": effect}
            kept.append({**new, "timeAdded": format_time(now)} if effect == "NoExecute" else new)
    return kept


def _wanted(node: Json) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    key = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(ready_status(node))
    if key is not None:
        found += [(key, "NoSchedule"), (key, "NoExecute")]
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") in _BY_CONDITION and condition.get("status") == "True":
            found.append((_BY_CONDITION[condition["type"]], "NoSchedule"))
    if node["spec"].get("unschedulable"):
        found.append((UNSCHEDULABLE, "NoSchedule"))
    return found


def silent_conditions(node: Json, now: Instant) -> list[Json]:
    """What is said of a node that is no longer heard of."""
    at = format_time(now)
    known = {c.get("type"): c for c in (node.get("status") or {}).get("conditions") or ()}
    found = []
    for type_ in _SILENT:
        old = known.get(type_)
        if old is None:
            reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
        elif old.get("status") == "Unknown":
            continue
        else:
            reason, message = "NodeStatusUnknown", "Kubelet stopped posting node status."
        found.append(
            {
                "type": type_,
                "status": "Unknown",
                "lastHeartbeatTime": (old or {}).get("lastHeartbeatTime") or at,
                "lastTransitionTime": at,
                "reason": reason,
                "message": message,
            }
        )
    return found


def evicting_taints(node: Json) -> list[Json]:
    return [t for t in node["spec"].get("taints") or () if t.get("effect") == "NoExecute"]


def taints_since(taints: Iterable[Json], before: Since, now: Instant) -> Since:
    """Since when each taint is there: as it says itself, else when it was first seen."""
    since: Since = {}
    for taint in taints:
        told = taint.get("timeAdded")
        since[taint_id(taint)] = parse_time(told) if told else before.get(taint_id(taint), now)
    return since


def taint_id(taint: Json) -> tuple[str, str]:
    return taint["key"], taint.get("value", "")


def eviction_time(pod: Json, taints: Iterable[Json], since: Since, now: Instant) -> Instant | None:
    """When the pod has to leave a node with these NoExecute taints; None if it may stay."""
    tolerations = pod["spec"].get("tolerations") or ()
    times: list[Instant] = []
    for taint in taints:
        matching = [t for t in tolerations if tolerates(t, taint)]
        if not matching:
            return now
        limits = [t.get("tolerationSeconds") for t in matching]
        bounded = [limit for limit in limits if limit is not None]
        if bounded:
            times.append(since.get(taint_id(taint), now) + max(0, min(bounded)))
    return min(times, default=None)


def tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def disruption(reason: str, message: str, now: Instant) -> Json:
    """The pod condition that says: not the pod's fault."""
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": format_time(now),
        "reason": reason,
        "message": message,
    }
