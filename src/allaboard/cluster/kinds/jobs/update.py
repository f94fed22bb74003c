"""What may change in a Job that exists?"""

from allaboard.api.fields import FieldError, bad_value
from allaboard.api.meta import Json
from allaboard.cluster.kinds.jobs.spec import (
    go_failure_policy,
    go_success_policy,
    validate_job_spec,
)
from allaboard.cluster.kinds.selectors import shown

_IMMUTABLE = "field is immutable"
# of the pod template, while the Job is suspended and has not started since
_PLACEMENT = ("nodeSelector", "tolerations", "schedulingGates")


def validate_job_update(obj: Json, old: Json) -> list[FieldError]:
    """The rules about the change, after those about the result."""
    out: list[FieldError] = []
    spec, before = obj["spec"], old["spec"]
    validate_job_spec(spec, "spec", out)
    _completions(spec, before, out)
    if spec.get("selector") != before.get("selector"):
        out.append(bad_value("spec.selector", shown(spec.get("selector")), _IMMUTABLE))
    if spec["template"] != before["template"]:
        _template(spec["template"], before["template"], is_adjustable(old), out)
    for key in _FIXED:
        value = spec.get(key)
        if value != before.get(key):
            text = _SHOWN[key](value) if value is not None and key in _SHOWN else value
            out.append(bad_value(f"spec.{key}", text, _IMMUTABLE))
    return out


_FIXED = (
    "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy",
)  # fmt: skip
_SHOWN = {"podFailurePolicy": go_failure_policy, "successPolicy": go_success_policy}


def is_adjustable(job: Json) -> bool:
    """Suspended, and no pod of it has started since: its template may be aimed elsewhere."""
    status = job.get("status") or {}
    return bool(job["spec"].get("suspend")) and status.get("startTime") is None


def _completions(spec: Json, before: Json, out: list[FieldError]) -> None:
    new, old = spec.get("completions"), before.get("completions")
    if new == old:
        return
    if spec.get("completionMode") != "Indexed" or new is None or old is None:
        out.append(bad_value("spec.completions", new, _IMMUTABLE))
    elif new != spec.get("parallelism"):
        detail = "can only be modified in tandem with spec.parallelism"
        out.append(bad_value("spec.completions", new, detail))


def _template(new: Json, old: Json, adjustable: bool, out: list[FieldError]) -> None:
    if not adjustable:
        out.append(bad_value("spec.template", new, _IMMUTABLE))
        return
    spec, before = dict(new["spec"]), dict(old["spec"])
    for key in _PLACEMENT:
        spec.pop(key, None)
        before.pop(key, None)
    for part in (spec, before):
        affinity = {k: v for k, v in (part.pop("affinity", None) or {}).items() if v}
        affinity.pop("nodeAffinity", None)
        if affinity:
            part["affinity"] = affinity
        for key in ("containers", "initContainers"):
            if part.get(key):
                part[key] = [{**c, "resources": None} for c in part[key]]
    if spec != before:
        out.append(bad_value("spec.template.spec", new["spec"], _IMMUTABLE))
