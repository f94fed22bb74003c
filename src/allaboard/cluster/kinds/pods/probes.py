"""Are a container's probes and lifecycle hooks legal?"""

from typing import Any

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, forbidden, not_supported, required
from allaboard.api.meta import Json

_NOT_NEGATIVE = "must be greater than or equal to 0"
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_NUMBERS = (
    "initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
    "failureThreshold",
)  # fmt: skip


def validate_probes(container: Json, at: str, out: list[FieldError]) -> None:
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(key)
        if probe is None:
            continue
        path = f"{at}.{key}"
        _handler(probe, path, out)
        for number in _NUMBERS:
            value = probe.get(number) or 0
            if value < 0:
                out.append(bad_value(f"{path}.{number}", value, _NOT_NEGATIVE))
        grace = probe.get("terminationGracePeriodSeconds")
        if grace is not None and grace <= 0:
            detail = "must be greater than 0"
            out.append(bad_value(f"{path}.terminationGracePeriodSeconds", grace, detail))
        if key != "readinessProbe" and probe.get("successThreshold") != 1:
            value = probe.get("successThreshold")
            out.append(bad_value(f"{path}.successThreshold", value, "must be 1"))


def validate_lifecycle(lifecycle: Json, path: str, out: list[FieldError]) -> None:
    for key in ("postStart", "preStop"):
        if lifecycle.get(key) is not None:
            _handler(lifecycle[key], f"{path}.{key}", out)


def _handler(handler: Json, path: str, out: list[FieldError]) -> None:
    found = False
    for key in _HANDLERS:
        part = handler.get(key)
        if part is None:
            continue
        if found:
            detail = "may not specify more than 1 handler type"
            out.append(forbidden(f"{path}.{key}", detail))
            continue
        found = True
        if key == "exec":
            if not part.get("command"):
                out.append(required(f"{path}.exec.command"))
        elif key == "sleep":
            continue
        else:
            if key == "httpGet":
                _http(part, f"{path}.httpGet", out)
            validate_target(part.get("port"), f"{path}.{key}.port", out)
    if not found:
        out.append(required(path, "must specify a handler type"))


def _http(part: Json, path: str, out: list[FieldError]) -> None:
    if not part.get("path"):
        out.append(required(f"{path}.path"))
    scheme = part.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        out.append(not_supported(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))


def validate_target(port: Any, path: str, out: list[FieldError]) -> None:
    """A port given by number or by name."""
    if isinstance(port, str):
        out += [bad_value(path, port, p) for p in names.port_name_problems(port)]
    elif not 1 <= (port or 0) <= 65535:
        out.append(bad_value(path, port or 0, "must be between 1 and 65535, inclusive"))
