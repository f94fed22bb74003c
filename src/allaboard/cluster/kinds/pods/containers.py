"""Is a container legal: name, image, ports, environment, mounts, amounts, security?"""

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
from allaboard.cluster.kinds.pods.probes import validate_lifecycle, validate_probes
from allaboard.cluster.kinds.pods.requirements import validate_requirements
from allaboard.cluster.kinds.pods.volumes import validate_mounts

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL = ("Always", "IfNotPresent", "Never")
_RESTART = ("Always", "Never", "OnFailure")
_MAX_ID = 2147483647
_NOT_EPHEMERAL = (
    "ports", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resources",
)  # fmt: skip
_PORT_RANGE = "must be between 1 and 65535, inclusive"
_ID_RANGE = f"must be between 0 and {_MAX_ID}, inclusive"
_ENV_NAME = (
    "a valid environment variable name must consist only of printable ASCII characters other "
    "than '='"
)
# what the downward API can read of a pod; keyed paths take a label or annotation in brackets
_FIELDS = frozenset(
    {
        "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
        "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP",
        "status.podIPs",
    }
)  # fmt: skip
# convertible field labels that exist but an environment variable may not use
_OTHER_FIELDS = frozenset(
    {
        "metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName",
        "status.phase", "spec.hostNetwork", "status.nominatedNodeName",
    }
)  # fmt: skip


def validate_containers(
    containers: list[Json], known: set[str], path: str, spec: Json, out: list[FieldError]
) -> None:
    if not containers:
        out.append(required(path))
        return
    seen: set[str] = set()
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        _validate_one(container, known, at, spec, out)
        name = container.get("name") or ""
        if name in seen:
            out.append(duplicate(f"{at}.name", name))
        seen.add(name)
        if "lifecycle" in container:
            validate_lifecycle(container["lifecycle"], f"{at}.lifecycle", out)
        validate_probes(container, at, out)
        _restart(container, at, out)


def validate_init_containers(
    containers: list[Json], known: set[str], path: str, spec: Json, out: list[FieldError]
) -> None:
    seen = {c.get("name") or "" for c in spec.get("containers") or ()}
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        _validate_one(container, known, at, spec, out)
        sidecar = container.get("restartPolicy") == "Always"
        _restart(container, at, out)
        name = container.get("name") or ""
        if name and name in seen:
            out.append(duplicate(f"{at}.name", name))
        seen.add(name)
        if sidecar:
            if "lifecycle" in container:
                validate_lifecycle(container["lifecycle"], f"{at}.lifecycle", out)
            validate_probes(container, at, out)
        else:
            for key in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if container.get(key) is not None:
                    detail = "may not be set for init containers without restartPolicy=Always"
                    out.append(forbidden(f"{at}.{key}", detail))


def validate_ephemeral_containers(
    containers: list[Json], known: set[str], path: str, spec: Json, out: list[FieldError]
) -> None:
    """Containers for debugging, which reserve nothing and are never restarted."""
    every = (spec.get(key) or () for key in ("containers", "initContainers"))
    seen = {c.get("name") or "" for part in every for c in part}
    for i, container in enumerate(containers):
        at = f"{path}[{i}]"
        _validate_one(container, known, at, spec, out)
        name = container.get("name") or ""
        if name and name in seen:
            out.append(duplicate(f"{at}.name", name))
        seen.add(name)
        for key in _NOT_EPHEMERAL:
            if container.get(key):
                detail = "cannot be set for an Ephemeral Container"
                out.append(forbidden(f"{at}.{key}", detail))


def _validate_one(
    container: Json, known: set[str], at: str, spec: Json, out: list[FieldError]
) -> None:
    """What holds for every sort of container."""
    get = container.get
    name = get("name") or ""
    if not names.is_label(name) or len(name) > 63:
        if not name:
            out.append(required(f"{at}.name"))
        else:
            out += [bad_value(f"{at}.name", name, p) for p in names.label_problems(name)]
    image = get("image") or ""
    if not image:
        out.append(required(f"{at}.image"))
    elif image != image.strip():
        out.append(bad_value(f"{at}.image", image, "must not have leading or trailing whitespace"))
    policy = get("terminationMessagePolicy")
    if policy not in ("File", "FallbackToLogsOnError"):
        allowed = ("FallbackToLogsOnError", "File")
        out.append(not_supported(f"{at}.terminationMessagePolicy", policy, allowed))
    if "ports" in container:
        _ports(get("ports") or [], f"{at}.ports", bool(spec.get("hostNetwork")), out)
    if "env" in container:
        validate_env(get("env") or [], f"{at}.env", out)
    if "envFrom" in container:
        _env_from(get("envFrom") or [], f"{at}.envFrom", out)
    if "volumeMounts" in container:
        validate_mounts(get("volumeMounts") or [], known, f"{at}.volumeMounts", out)
    pull = get("imagePullPolicy") or ""
    if pull not in _PULL:
        out.append(not_supported(f"{at}.imagePullPolicy", pull, _PULL))
    if get("resources"):
        claims = {c.get("name") for c in spec.get("resourceClaims") or ()}
        validate_requirements(get("resources") or {}, claims, f"{at}.resources", out)
    if "resizePolicy" in container:
        _resize_policy(get("resizePolicy") or [], f"{at}.resizePolicy", out)
    if get("securityContext"):
        validate_security(get("securityContext") or {}, f"{at}.securityContext", out)


def _restart(container: Json, at: str, out: list[FieldError]) -> None:
    policy = container.get("restartPolicy")
    if policy is not None and policy not in _RESTART:
        out.append(not_supported(f"{at}.restartPolicy", policy, _RESTART))


def _ports(ports: list[Json], path: str, host_network: bool, out: list[FieldError]) -> None:
    taken: set[str] = set()
    for i, port in enumerate(ports):
        at = f"{path}[{i}]"
        name = port.get("name")
        if name:
            if problems := names.port_name_problems(name):
                out += [bad_value(f"{at}.name", name, p) for p in problems]
            elif name in taken:
                out.append(duplicate(f"{at}.name", name))
            else:
                taken.add(name)
        number = port.get("containerPort") or 0
        if not number:
            out.append(required(f"{at}.containerPort"))
        elif not 1 <= number <= 65535:
            out.append(bad_value(f"{at}.containerPort", number, _PORT_RANGE))
        host = port.get("hostPort")
        if host and not 1 <= host <= 65535:
            out.append(bad_value(f"{at}.hostPort", host, _PORT_RANGE))
        protocol = port.get("protocol") or ""
        if protocol not in PROTOCOLS:
            if protocol:
                out.append(not_supported(f"{at}.protocol", protocol, PROTOCOLS))
            else:
                out.append(required(f"{at}.protocol"))
        if host_network and host and host != number:
            detail = "must match `containerPort` when `hostNetwork` is true"
            out.append(bad_value(f"{at}.hostPort", host, detail))


def validate_env(variables: list[Json], path: str, out: list[FieldError]) -> None:
    for i, variable in enumerate(variables):
        name = variable.get("name") or ""
        if not name:
            out.append(required(f"{path}[{i}].name"))
        elif not names.is_env_name(name):
            out.append(bad_value(f"{path}[{i}].name", name, _ENV_NAME))
        source = variable.get("valueFrom")
        if source is not None:
            _env_source(variable, source, f"{path}[{i}].valueFrom", out)


def _env_source(variable: Json, source: Json, path: str, out: list[FieldError]) -> None:
    present = [k for k in source if source[k] is not None]
    field = source.get("fieldRef")
    if field is not None:
        _field_ref(field, f"{path}.fieldRef", out)
    for key in ("configMapKeyRef", "secretKeyRef"):
        part = source.get(key)
        if part is not None:
            if not part.get("name"):
                out.append(required(f"{path}.{key}.name"))
            if not part.get("key"):
                out.append(required(f"{path}.{key}.key"))
            else:
                problems = names.config_key_problems(part["key"])
                out += [bad_value(f"{path}.{key}.key", part["key"], p) for p in problems]
    resource = source.get("resourceFieldRef")
    if resource is not None and not resource.get("resource"):
        out.append(required(f"{path}.resourceFieldRef.resource"))
    if variable.get("value"):
        if present:
            out.append(bad_value(path, "", "may not be specified when `value` is not empty"))
    elif len(present) > 1:
        out.append(bad_value(path, "", "may not have more than one field specified at a time"))
    elif not present:
        detail = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or "
            "`secretKeyRef`"
        )
        out.append(bad_value(path, "", detail))


def _field_ref(ref: Json, path: str, out: list[FieldError]) -> None:
    if not ref.get("apiVersion"):
        out.append(required(f"{path}.apiVersion"))
        return
    field = ref.get("fieldPath") or ""
    if not field:
        out.append(required(f"{path}.fieldPath"))
        return
    if field in _FIELDS:
        return
    base, bracket, key = field.partition("['")
    if bracket and key.endswith("']"):
        if base in ("metadata.labels", "metadata.annotations"):
            problems = names.qualified_name_problems(key[:-2].lower())
            out += [bad_value(path, key[:-2], p) for p in problems]
        else:
            detail = "does not support subscript"
            out.append(bad_value(f"{path}.fieldPath", field, detail))
        return
    if field in _OTHER_FIELDS:
        allowed = sorted(_FIELDS)
        out.append(not_supported(f"{path}.fieldPath", field, allowed))
        return
    detail = f"error converting fieldPath: field label not supported: {field}"
    out.append(bad_value(f"{path}.fieldPath", field, detail))


def _env_from(sources: list[Json], path: str, out: list[FieldError]) -> None:
    for i, source in enumerate(sources):
        at = f"{path}[{i}]"
        prefix = source.get("prefix")
        if prefix and not names.is_env_name(prefix):
            out.append(bad_value(f"{at}.prefix", prefix, _ENV_NAME))
        given = 0
        for key in ("configMapRef", "secretRef"):
            part = source.get(key)
            if part is not None:
                given += 1
                if not part.get("name"):
                    out.append(required(f"{at}.{key}.name"))
        if given == 0:
            out.append(bad_value(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif given > 1:
            detail = "may not have more than one field specified at a time"
            out.append(bad_value(path, "", detail))


def _resize_policy(policies: list[Json], path: str, out: list[FieldError]) -> None:
    seen: set[str] = set()
    for i, policy in enumerate(policies):
        name = policy.get("resourceName") or ""
        if name in seen:
            out.append(duplicate(f"{path}[{i}]", name))
        seen.add(name)
        if name not in ("cpu", "memory"):
            out.append(not_supported(path, name, ("cpu", "memory")) if name else required(path))
        restart = policy.get("restartPolicy") or ""
        if restart not in ("NotRequired", "RestartContainer"):
            allowed = ("NotRequired", "RestartContainer")
            out.append(not_supported(path, restart, allowed) if restart else required(path))


_SECURITY_WORDS = (
    ("procMount", ("Default", "Unmasked")),
    ("fsGroupChangePolicy", ("Always", "OnRootMismatch")),
    ("supplementalGroupsPolicy", ("Merge", "Strict")),
    ("seLinuxChangePolicy", ("MountOption", "Recursive")),
)


def validate_security(context: Json, path: str, out: list[FieldError]) -> None:
    """The part of a security context that containers and pods share."""
    for key in ("runAsUser", "runAsGroup", "fsGroup"):
        value: Any = context.get(key)
        if value is not None and not 0 <= value <= _MAX_ID:
            out.append(bad_value(f"{path}.{key}", value, _ID_RANGE))
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        if not 0 <= group <= _MAX_ID:
            out.append(bad_value(f"{path}.supplementalGroups[{i}]", group, _ID_RANGE))
    for key, allowed in _SECURITY_WORDS:
        word = context.get(key)
        if word is not None and word not in allowed:
            out.append(not_supported(f"{path}.{key}", word, allowed))
    escalation = context.get("allowPrivilegeEscalation")
    if escalation is False:
        if context.get("privileged"):
            detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            out.append(bad_value(path, context, detail))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            detail = (
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                "CAP_SYS_ADMIN"
            )
            out.append(bad_value(path, context, detail))
    profile = context.get("seccompProfile")
    if profile is not None:
        _seccomp(profile, f"{path}.seccompProfile", out)


def _seccomp(profile: Json, path: str, out: list[FieldError]) -> None:
    kind = profile.get("type") or ""
    allowed = ("Localhost", "RuntimeDefault", "Unconfined")
    if kind == "Localhost":
        if not profile.get("localhostProfile"):
            out.append(
                required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
            )
    elif profile.get("localhostProfile"):
        detail = "can only be set when seccomp type is Localhost"
        out.append(bad_value(f"{path}.localhostProfile", profile["localhostProfile"], detail))
    if not kind:
        out.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in allowed:
        out.append(not_supported(f"{path}.type", kind, allowed))
