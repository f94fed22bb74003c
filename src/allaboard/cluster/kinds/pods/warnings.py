"""What is legal in a pod but probably not meant? Sentences for Warning headers."""

from allaboard.api import names
from allaboard.api.meta import Json
from allaboard.api.quantity import parse

_BYTES = frozenset({"memory", "ephemeral-storage"})


def pod_warnings(pod: Json) -> list[str]:
    found: list[str] = []
    name = pod["metadata"].get("name") or ""
    if not names.is_label(name) or len(name) > 63:
        problems = []
        if len(name) > 63:
            problems.append(names.too_long_message(63))
        if "." in name:
            problems.append("must not contain dots")
        if problems:
            found.append(
                "metadata.name: this is used in the Pod's hostname, which can result in "
                "surprising behavior; a DNS label is recommended: "
                f"[{' '.join(problems)}]"
            )
    found += spec_warnings(pod["spec"], "spec")
    return found


def spec_warnings(spec: Json, path: str) -> list[str]:
    found: list[str] = []
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        if constraint.get("labelSelector") is None:
            found.append(_no_selector(f"{path}.topologySpreadConstraints[{i}]"))
    if "affinity" in spec:
        found += _affinity(spec["affinity"] or {}, f"{path}.affinity")
    for key in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(key) or ()):
            _container(container, f"{path}.{key}[{i}]", found)
    return found


def _no_selector(at: str) -> str:
    return f"{at}.labelSelector: a null labelSelector results in matching no pod"


def _affinity(affinity: Json, path: str) -> list[str]:
    found = []
    for kind in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(kind) or {}
        key = "requiredDuringSchedulingIgnoredDuringExecution"
        for i, term in enumerate(part.get(key) or ()):
            if term.get("labelSelector") is None:
                found.append(_no_selector(f"{path}.{kind}.{key}[{i}]"))
        key = "preferredDuringSchedulingIgnoredDuringExecution"
        for i, weighted in enumerate(part.get(key) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                found.append(_no_selector(f"{path}.{kind}.{key}[{i}].podAffinityTerm"))
    return found


def _container(container: Json, at: str, found: list[str]) -> None:
    resources = container.get("resources")
    if resources:
        for key in ("limits", "requests"):
            for name, value in (resources.get(key) or {}).items():
                if name in _BYTES and parse(value).nano % 1_000_000_000:
                    found.append(
                        f'{at}.resources.{key}[{name}]: fractional byte value "{value}" is '
                        "invalid, must be an integer"
                    )
    if "env" in container:
        seen: set[str] = set()
        for i, variable in enumerate(container["env"] or ()):
            name = variable.get("name") or ""
            if name in seen:
                found.append(
                    f'{at}.env[{i}]: hides previous definition of "{name}", which may be dropped '
                    "when using apply"
                )
            seen.add(name)
    if "ports" in container:
        _ports(container["ports"] or [], at, found)


def _ports(ports: list[Json], at: str, found: list[str]) -> None:
    first: dict[tuple[object, ...], int] = {}
    for i, port in enumerate(ports):
        key = (port.get("containerPort"), port.get("protocol"), port.get("hostPort"))
        if key in first:
            found.append(
                f"{at}.ports[{i}]: duplicate port definition with {at}.ports[{first[key]}]"
            )
        else:
            first[key] = i
