"""Is a Node legal, and what does the server add to it?"""

import ipaddress

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, duplicate, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.amounts import canonical_amounts, validate_amount
from allaboard.cluster.kinds.pods.scheduling import TAINT_EFFECTS
from allaboard.cluster.kinds.strategy import KindStrategy

_INFO = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion",
    "kubeletVersion", "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_TIMES = ("lastHeartbeatTime", "lastTransitionTime")


class NodeStrategy(KindStrategy):
    """A Node's status may be set when it is created; afterwards only through `status`."""

    def default_spec(self, obj: Json) -> None:
        spec = obj.setdefault("spec", {})
        for key in ("unschedulable", "taints"):
            if key in spec and not spec[key]:
                del spec[key]
        if spec.get("podCIDR") and not spec.get("podCIDRs"):
            spec["podCIDRs"] = [spec["podCIDR"]]
        status = obj.get("status")
        if status is None:
            status = obj["status"] = {}
        default_node_status(status)

    def reset_status(self, obj: Json) -> None:
        """Whoever registers a node says what it has."""

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj.get("spec") or {}
        _taints(spec.get("taints") or [], out)
        status = obj.get("status") or {}
        for key in ("capacity", "allocatable"):
            for name, value in (status.get(key) or {}).items():
                validate_amount(name, value, f"status.{key}.{name}", out)
        for i, cidr in enumerate(spec.get("podCIDRs") or ()):
            if not _is_cidr(cidr):
                out.append(bad_value(f"spec.podCIDRs[{i}]", cidr, _CIDR))
        return out

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out = super().validate_change(obj, old, subresource)
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        if before.get("providerID") and spec.get("providerID") != before["providerID"]:
            detail = 'node updates may not change providerID except from "" to valid'
            out.append(bad_value("spec.providerID", spec.get("providerID"), detail))
        return out

    def validate_status(self, obj: Json, old: Json) -> list[FieldError]:
        out: list[FieldError] = []
        status, before = obj.get("status") or {}, old.get("status") or {}
        for key in ("capacity", "allocatable"):
            if status.get(key) != before.get(key):
                for name, value in (status.get(key) or {}).items():
                    validate_amount(name, value, f"status.{key}.{name}", out)
        if status.get("addresses") != before.get("addresses"):
            seen: list[Json] = []
            for i, address in enumerate(status.get("addresses") or ()):
                if address in seen[:64]:
                    out.append(duplicate(f"status.addresses[{i}]", address))
                seen.append(address)
        return out


def default_node_status(status: Json) -> None:
    """Write out what Kubernetes always writes, and take what is allocatable from the capacity."""
    capacity = status.get("capacity")
    if capacity is not None:
        canonical_amounts(capacity)
    allocatable = status.get("allocatable")
    if allocatable is not None:
        canonical_amounts(allocatable)
    elif capacity:
        status["allocatable"] = dict(capacity)
    if "daemonEndpoints" not in status:
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 0}}
    info = status.get("nodeInfo")
    if info is None:
        status["nodeInfo"] = dict.fromkeys(_INFO, "")
    else:
        for key in _INFO:
            if key not in info:
                info[key] = ""
    for condition in status.get("conditions") or ():
        for key in _TIMES:
            if key not in condition:
                condition[key] = None


def _taints(taints: list[Json], out: list[FieldError]) -> None:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        at = f"metadata.taints[{i}]"
        key, effect = taint.get("key") or "", taint.get("effect") or ""
        out += [bad_value(f"{at}.key", key, p) for p in names.qualified_name_problems(key)]
        value = taint.get("value") or ""
        if problems := names.label_value_problems(value):
            out.append(bad_value(f"{at}.value", value, ";".join(problems)))
        if not effect:
            out.append(required(f"{at}.effect"))
        elif effect not in TAINT_EFFECTS:
            out.append(not_supported(f"{at}.effect", effect, TAINT_EFFECTS))
        if (key, effect) in seen:
            shown = {
                "Key": key,
                "Value": value,
                "Effect": effect,
                "TimeAdded": taint.get("timeAdded"),
            }
            error = duplicate(at, shown)
            detail = f"{error.text}: taints must be unique by key and effect pair"
            out.append(FieldError(error.reason, at, detail))
        seen.add((key, effect))


def _is_cidr(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text
