"""Is a Service legal, and which address does it get?

Addresses and node ports are derived from the Service's UID: nothing routes to them here, they only
have to look right, stay the same and hardly ever coincide.
"""

import hashlib
import ipaddress

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, duplicate, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.metadata import validate_labels
from allaboard.cluster.kinds.pods.probes import validate_target
from allaboard.cluster.kinds.pods.spec import is_ip
from allaboard.cluster.kinds.strategy import KindStrategy

CLUSTER_NETWORK = ipaddress.IPv4Network("10.96.0.0/16")
_NODE_PORTS = range(30000, 32768)
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_EXPOSED = ("NodePort", "LoadBalancer")
_RANGE = "must be between 1 and 65535, inclusive"


class ServiceStrategy(KindStrategy):
    name_problems = staticmethod(names.label_problems)

    def default_spec(self, obj: Json) -> None:
        spec = obj.setdefault("spec", {})
        kind = spec.setdefault("type", "ClusterIP")
        spec.setdefault("sessionAffinity", "None")
        for key in ("ports", "selector", "externalIPs", "publishNotReadyAddresses"):
            if key in spec and not spec[key]:
                del spec[key]
        for port in spec.get("ports") or ():
            port.setdefault("protocol", "TCP")
            if port.get("targetPort") in (None, 0, ""):
                port["targetPort"] = port.get("port") or 0
        if kind in _EXPOSED:
            spec.setdefault("externalTrafficPolicy", "Cluster")
        if kind == "LoadBalancer":
            spec.setdefault("allocateLoadBalancerNodePorts", True)
        if kind != "ExternalName":
            spec.setdefault("internalTrafficPolicy", "Cluster")
        status = obj.get("status")
        if status is not None and "loadBalancer" not in status:
            obj["status"] = {**status, "loadBalancer": {}}

    def reset_status(self, obj: Json) -> None:
        obj["status"] = {"loadBalancer": {}}

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        self._allocate(obj)

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        if subresource == "status":
            return
        spec, before = dict(obj["spec"]), old["spec"]
        if spec.get("type") != "ExternalName":
            for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if not spec.get(key) and key in before:
                    spec[key] = before[key]
            if spec.get("clusterIP") != before.get("clusterIP") and spec.get(
                "clusterIPs"
            ) == before.get("clusterIPs"):
                spec["clusterIPs"] = [spec["clusterIP"]]
        elif before.get("type") != "ExternalName":
            for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                if spec.get(key) == before.get(key):
                    spec.pop(key, None)
        obj["spec"] = spec
        self._allocate(obj)

    def _allocate(self, obj: Json) -> None:
        """An address, families and node ports where the type wants them and none are given."""
        spec = obj["spec"]
        if spec.get("type") == "ExternalName":
            return
        digest = hashlib.sha256(str(obj["metadata"].get("uid", "")).encode()).digest()
        number = int.from_bytes(digest[:8], "big")
        if spec.get("clusterIPs") and not spec.get("clusterIP"):
            spec["clusterIP"] = spec["clusterIPs"][0]
        if not spec.get("clusterIP"):
            size = CLUSTER_NETWORK.num_addresses - 12
            spec["clusterIP"] = str(CLUSTER_NETWORK[10 + number % size])
        if not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]
        if spec["clusterIP"] == "None" and not spec.get("selector"):
            # nobody fills its endpoints but its author, who may use both families
            spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
            spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        spec.setdefault("ipFamilies", ["IPv6" if ":" in spec["clusterIP"] else "IPv4"])
        spec.setdefault("ipFamilyPolicy", "SingleStack")
        if spec.get("type") in _EXPOSED:
            ports = [dict(port) for port in spec.get("ports") or ()]
            taken = {port.get("nodePort") for port in ports}
            for i, port in enumerate(ports):
                candidate = number + i
                while not port.get("nodePort"):
                    chosen = _NODE_PORTS[candidate % len(_NODE_PORTS)]
                    if chosen not in taken:
                        port["nodePort"] = chosen
                        taken.add(chosen)
                    candidate += 1
            if ports:
                spec["ports"] = ports

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj["spec"]
        kind, ports = spec.get("type"), spec.get("ports") or []
        headless = spec.get("clusterIP") == "None"
        if not ports and not headless and kind != "ExternalName":
            out.append(required("spec.ports"))
        if kind == "ExternalName" and not spec.get("externalName"):
            out.append(required("spec.externalName"))
        _ports(ports, out)
        if spec.get("selector"):
            out += validate_labels(spec["selector"], "spec.selector")
        affinity = spec.get("sessionAffinity")
        if affinity not in ("ClientIP", "None"):
            out.append(not_supported("spec.sessionAffinity", affinity, ("ClientIP", "None")))
        if kind not in _TYPES:
            out.append(not_supported("spec.type", kind, _TYPES))
        for i, ip in enumerate(spec.get("externalIPs") or ()):
            if not is_ip(ip):
                out.append(bad_value(f"spec.externalIPs[{i}]", ip, _IP))
        _cluster_ips(spec, out)
        return out

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out: list[FieldError] = []
        spec, before = obj["spec"], old["spec"]
        fixed = "ExternalName" not in (spec.get("type"), before.get("type"))
        if fixed and before.get("clusterIPs") and spec.get("clusterIPs") != before["clusterIPs"]:
            value = spec.get("clusterIPs")
            out.append(bad_value("spec.clusterIPs[0]", value, "may not change once set"))
        return out + super().validate_change(obj, old, subresource)


def _ports(ports: list[Json], out: list[FieldError]) -> None:
    seen_names: set[str] = set()
    seen: set[tuple[object, object]] = set()
    for i, port in enumerate(ports):
        at = f"spec.ports[{i}]"
        name = port.get("name") or ""
        if not name:
            if len(ports) > 1:
                out.append(required(f"{at}.name"))
        elif problems := names.label_problems(name):
            out += [bad_value(f"{at}.name", name, p) for p in problems]
        elif name in seen_names:
            out.append(duplicate(f"{at}.name", name))
        seen_names.add(name)
        number = port.get("port") or 0
        if not 1 <= number <= 65535:
            out.append(bad_value(f"{at}.port", number, _RANGE))
        protocol = port.get("protocol")
        if protocol not in ("SCTP", "TCP", "UDP"):
            out.append(not_supported(f"{at}.protocol", protocol, ("SCTP", "TCP", "UDP")))
        validate_target(port.get("targetPort"), f"{at}.targetPort", out)
        if (number, protocol) in seen:
            out.append(duplicate(at, {"port": number, "protocol": protocol}))
        seen.add((number, protocol))


def _cluster_ips(spec: Json, out: list[FieldError]) -> None:
    for i, ip in enumerate(spec.get("clusterIPs") or ()):
        if ip == "None":
            continue
        if not is_ip(ip):
            out.append(bad_value(f"spec.clusterIPs[{i}]", ip, _IP))
        elif ":" not in ip and ipaddress.IPv4Address(ip) not in CLUSTER_NETWORK:
            detail = (
                f"failed to allocate IP {ip}: the provided network does not match the current range"
            )
            out.append(bad_value("spec.clusterIPs", spec["clusterIPs"], detail))
