"""Is a pod specification legal? The rules in the order in which Kubernetes reports them."""

import ipaddress
import re
from collections.abc import Callable
from typing import Any

from allaboard.api import names
from allaboard.api.fields import (
    FieldError,
    bad_value,
    duplicate,
    forbidden,
    not_supported,
    required,
)
from allaboard.api.meta import Json
from allaboard.cluster.kinds.amounts import container_name_problems, validate_amount
from allaboard.cluster.kinds.metadata import validate_annotations, validate_labels
from allaboard.cluster.kinds.pods.containers import (
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
    validate_security,
)
from allaboard.cluster.kinds.pods.scheduling import (
    validate_affinity,
    validate_gates,
    validate_spread,
    validate_tolerations,
)
from allaboard.cluster.kinds.pods.volumes import validate_volumes

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_SECONDS = 2147483647
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"(?:{_BYTE}\.){{3}}{_BYTE}").fullmatch
_NO_VOLUMES: set[str] = set()

Check = Callable[[Any, str, list[FieldError]], None]


def validate_pod_spec(spec: Json, path: str, out: list[FieldError]) -> None:
    """Everything that holds for Pods and for pod templates alike."""
    get = spec.get
    known = _NO_VOLUMES
    if "volumes" in spec:
        known = validate_volumes(get("volumes") or [], f"{path}.volumes", out)
    if "resourceClaims" in spec:
        _claims(get("resourceClaims") or [], f"{path}.resourceClaims", out)
    validate_containers(get("containers") or [], known, f"{path}.containers", spec, out)
    if "initContainers" in spec:
        init = get("initContainers") or []
        validate_init_containers(init, known, f"{path}.initContainers", spec, out)
    if "ephemeralContainers" in spec:
        validate_ephemeral_containers(
            get("ephemeralContainers") or [], known, f"{path}.ephemeralContainers", spec, out
        )
    restart = get("restartPolicy") or ""
    if restart not in RESTART_POLICIES:
        out.append(not_supported(f"{path}.restartPolicy", restart, RESTART_POLICIES))
    dns = get("dnsPolicy") or ""
    if dns not in _DNS:
        out.append(not_supported(f"{path}.dnsPolicy", dns, _DNS))
    if get("nodeSelector"):
        out += validate_labels(get("nodeSelector"), f"{path}.nodeSelector")
    if get("securityContext"):
        validate_security(get("securityContext") or {}, f"{path}.securityContext", out)
    for key, check in _RARE:
        if key in spec and spec[key] is not None:
            check(spec[key], f"{path}.{key}", out)


def validate_pod_only(spec: Json, path: str, out: list[FieldError]) -> None:
    """What holds for Pods but not for templates."""
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        out.append(forbidden(f"{path}.nodeName", detail))


def validate_template(template: Json, path: str, out: list[FieldError]) -> None:
    """A pod template: its labels, its annotations, its specification."""
    meta = template.get("metadata") or {}
    if meta.get("labels"):
        out += validate_labels(meta["labels"], f"{path}.labels")
    if meta.get("annotations"):
        out += validate_annotations(meta["annotations"], f"{path}.annotations")
    validate_pod_spec(template.get("spec") or {}, f"{path}.spec", out)


def _named(problems: Callable[[str], list[str]]) -> Check:
    def check(value: Any, path: str, out: list[FieldError]) -> None:
        if value:
            out += [bad_value(path, value, p) for p in problems(value)]

    return check


def _pull_secrets(secrets: Any, path: str, out: list[FieldError]) -> None:
    for i, secret in enumerate(secrets):
        if not secret.get("name"):
            out.append(required(f"{path}[{i}].name"))


def _readiness_gates(gates: Any, path: str, out: list[FieldError]) -> None:
    for i, gate in enumerate(gates):
        name = gate.get("conditionType") or ""
        problems = names.qualified_name_problems(name)
        out += [bad_value(f"{path}[{i}].conditionType", name, p) for p in problems]


def _deadline(seconds: Any, path: str, out: list[FieldError]) -> None:
    if not 1 <= seconds <= _MAX_SECONDS:
        detail = f"must be between 1 and {_MAX_SECONDS}, inclusive"
        out.append(bad_value(path, seconds, detail))


def _host_aliases(aliases: Any, path: str, out: list[FieldError]) -> None:
    for i, alias in enumerate(aliases):
        ip = alias.get("ip") or ""
        if not is_ip(ip):
            detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            out.append(bad_value(f"{path}[{i}].ip", ip, detail))
        for j, name in enumerate(alias.get("hostnames") or ()):
            problems = names.subdomain_problems(name)
            out += [bad_value(f"{path}[{i}].hostnames[{j}]", name, p) for p in problems]


def is_ip(text: str) -> bool:
    if _IPV4(text):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _preemption(policy: Any, path: str, out: list[FieldError]) -> None:
    allowed = ("PreemptLowerPriority", "Never")
    if not policy:
        out.append(required(path))
    elif policy not in allowed:
        out.append(not_supported(path, policy, allowed))


def _overhead(overhead: Any, path: str, out: list[FieldError]) -> None:
    for name, value in overhead.items():
        at = f"{path}.limits[{name}]"
        out += [bad_value(at, name, p) for p in container_name_problems(name)]
        validate_amount(name, value, at, out)


def _claims(claims: list[Json], path: str, out: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        name = claim.get("name") or ""
        if not name:
            out.append(required(f"{path}[{i}].name"))
        elif name in seen:
            out.append(duplicate(f"{path}[{i}].name", name))
        else:
            out += [bad_value(f"{path}[{i}].name", name, p) for p in names.label_problems(name)]
        seen.add(name)
        sources = [k for k in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(k)]
        if len(sources) != 1:
            detail = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
                if sources
                else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            )
            out.append(bad_value(f"{path}[{i}]", claim, detail))


def _dns_config(config: Any, path: str, out: list[FieldError]) -> None:
    servers = config.get("nameservers") or ()
    if len(servers) > 3:
        detail = "must not have more than 3 nameservers"
        out.append(bad_value(f"{path}.nameservers", list(servers), detail))
    for i, server in enumerate(servers):
        if not is_ip(server):
            detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
            out.append(bad_value(f"{path}.nameservers[{i}]", server, detail))


def _os(os: Any, path: str, out: list[FieldError]) -> None:
    name = os.get("name") or ""
    if not name:
        out.append(required(f"{path}.name", "cannot be empty"))
    elif name not in ("linux", "windows"):
        out.append(not_supported(f"{path}.name", name, ("linux", "windows")))


# fields most pods do not have, in reporting order
_RARE: tuple[tuple[str, Check], ...] = (
    ("imagePullSecrets", _pull_secrets),
    ("affinity", validate_affinity),
    ("dnsConfig", _dns_config),
    ("readinessGates", _readiness_gates),
    ("schedulingGates", validate_gates),
    ("topologySpreadConstraints", validate_spread),
    ("serviceAccountName", _named(names.subdomain_problems)),
    ("nodeName", _named(names.subdomain_problems)),
    ("activeDeadlineSeconds", _deadline),
    ("hostname", _named(names.label_problems)),
    ("subdomain", _named(names.label_problems)),
    ("tolerations", validate_tolerations),
    ("hostAliases", _host_aliases),
    ("priorityClassName", _named(names.subdomain_problems)),
    ("runtimeClassName", _named(names.subdomain_problems)),
    ("preemptionPolicy", _preemption),
    ("overhead", _overhead),
    ("os", _os),
)
