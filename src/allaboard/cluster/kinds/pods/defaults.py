"""What does the server fill into a pod specification that its author left out?

Templates get `default_pod_spec` alone; Pods get `default_pod` on top. Both are idempotent.
"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.api.quantity import canonical
from allaboard.cluster.kinds.amounts import canonical_amounts

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_MODE = 0o644


def default_pod_spec(spec: Json) -> None:
    """Defaults common to Pods and pod templates."""
    spec.setdefault("containers", None)
    spec.setdefault("restartPolicy", "Always")
    grace = spec.setdefault("terminationGracePeriodSeconds", 30)
    if grace < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"]
    host = spec.get("hostNetwork")
    for container in spec["containers"] or ():
        default_container(container)
        if host:
            _default_host_ports(container)
    for container in spec.get("initContainers") or ():
        default_container(container)
        if host:
            _default_host_ports(container)
    for container in spec.get("ephemeralContainers") or ():
        default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    if "overhead" in spec:
        canonical_amounts(spec["overhead"])


def default_pod(spec: Json) -> None:
    """What only a Pod itself gets: service links, and requests that follow its limits."""
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            resources = container["resources"]
            limits = resources.get("limits")
            if limits:
                requests = resources.get("requests")
                if requests is None:
                    requests = resources["requests"] = {}
                for name, amount in limits.items():
                    requests.setdefault(name, amount)


def default_container(container: Json) -> None:
    if "imagePullPolicy" not in container:
        image = container.get("image") or ""
        container["imagePullPolicy"] = "Always" if _is_latest(image) else "IfNotPresent"
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    resources = container.setdefault("resources", {})
    for amounts in resources.values():
        if isinstance(amounts, dict):
            canonical_amounts(amounts)
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            _default_field_ref(source)
    for key in _PROBES:
        if key in container:
            _default_probe(container[key])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _default_handler(handler)


def default_volume(volume: Json) -> None:
    if len(volume) == 1:
        volume["emptyDir"] = {}
        return
    for key in ("configMap", "secret", "downwardAPI", "projected"):
        source = volume.get(key)
        if source is not None:
            source.setdefault("defaultMode", _MODE)
            _default_volume_items(source)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    empty = volume.get("emptyDir")
    if empty and "sizeLimit" in empty:
        empty["sizeLimit"] = canonical(empty["sizeLimit"])
    if "ephemeral" in volume:
        template = volume["ephemeral"].get("volumeClaimTemplate")
        if template:
            template.setdefault("metadata", {})
            template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _default_volume_items(source: Json) -> None:
    for item in source.get("items") or ():
        if "fieldRef" in item:
            item["fieldRef"].setdefault("apiVersion", "v1")
        if "resourceFieldRef" in item:
            item["resourceFieldRef"].setdefault("divisor", "0")
    for projection in source.get("sources") or ():
        if projection.get("downwardAPI"):
            _default_volume_items(projection["downwardAPI"])
        token = projection.get("serviceAccountToken")
        if token:
            token.setdefault("expirationSeconds", 3600)


def _default_field_ref(source: Json) -> None:
    if "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")
    if "resourceFieldRef" in source:
        source["resourceFieldRef"].setdefault("divisor", "0")


def _default_probe(probe: Json) -> None:
    for key, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(key):
            probe[key] = value
    _default_handler(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _default_handler(handler: Json) -> None:
    get: Any = handler.get("httpGet")
    if get is not None:
        if not get.get("path"):
            get["path"] = "/"
        if not get.get("scheme"):
            get["scheme"] = "HTTP"


def _default_host_ports(container: Json) -> None:
    for port in container.get("ports") or ():
        if not port.get("hostPort") and port.get("containerPort"):
            port["hostPort"] = port["containerPort"]


def _is_latest(image: str) -> bool:
    """No tag and no digest means latest; the colon of a registry's port is not a tag."""
    if "@" in image:
        return False
    name, _, tag = image.rpartition(":")
    if not name or "/" in tag:
        return True
    return tag == "latest"
