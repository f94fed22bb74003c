"""May a Job's status say this, and may it move there from what it said before?"""

from collections.abc import Mapping
from typing import Any

from allaboard.api.fields import (
    FieldError,
    bad_value,
    duplicate,
    invalid_without_value,
    required,
)
from allaboard.api.meta import Json
from allaboard.cluster.kinds.jobs.indexes import BadIndexes, Indexes, first_overlap, parse_indexes

_NOT_NEGATIVE = "must be greater than or equal to 0"
_TERMINAL = ("Failed", "Complete", "FailureTarget", "SuccessCriteriaMet")
_NONE: Mapping[str, Any] = {}


def validate_job_status(obj: Json, old: Json) -> list[FieldError]:
    out: list[FieldError] = []
    status, before = obj.get("status") or _NONE, old.get("status") or _NONE
    true = _true_conditions(status)
    _counters(status, out)
    if status.get("uncountedTerminatedPods") != before.get("uncountedTerminatedPods"):
        _uncounted(status.get("uncountedTerminatedPods") or {}, out)
    _conditions(status, true, out)
    if "Complete" in true or "Failed" in true:
        _finished(status, out)
    if obj["spec"].get("completionMode") == "Indexed" or (
        status.get("completedIndexes") or status.get("failedIndexes") is not None
    ):
        _indexes(obj["spec"], status, before, out)
    if (status.get("ready") or 0) > max(0, status.get("active") or 0):
        detail = "cannot set more ready pods than active"
        out.append(bad_value("status.ready", status.get("ready") or 0, detail))
    _moves(obj, status, before, true, out)
    return out


def _true_conditions(status: Mapping[str, Any]) -> set[str]:
    return {str(c.get("type")) for c in status.get("conditions") or () if c.get("status") == "True"}


def _counters(status: Mapping[str, Any], out: list[FieldError]) -> None:
    for key in ("active", "succeeded", "failed", "ready", "terminating"):
        value = status.get(key)
        if value is not None and value < 0:
            out.append(bad_value(f"status.{key}", value, _NOT_NEGATIVE))


def _uncounted(pods: Json, out: list[FieldError]) -> None:
    seen: set[str] = set()
    for key in ("succeeded", "failed"):
        for i, uid in enumerate(pods.get(key) or ()):
            path = f"status.uncountedTerminatedPods.{key}[{i}]"
            if not uid:
                out.append(bad_value(path, uid, "must not be empty"))
            elif uid in seen:
                out.append(duplicate(path, uid))
            seen.add(uid)


def _conditions(status: Mapping[str, Any], true: set[str], out: list[FieldError]) -> None:
    path = "status.conditions"
    complete, failed = "Complete" in true, "Failed" in true
    if complete and failed:
        detail = "cannot set Complete=True and Failed=true conditions"
        out.append(invalid_without_value(path, detail))
    if complete and "FailureTarget" in true:
        detail = "cannot set Complete=True and FailureTarget=true conditions"
        out.append(invalid_without_value(path, detail))
    ended, began = status.get("completionTime"), status.get("startTime")
    if ended is not None and not complete:
        detail = "cannot set completionTime when there is no Complete=True condition"
        out.append(bad_value("status.completionTime", ended, detail))
    if ended is None and complete:
        detail = "completionTime is required for Complete jobs"
        out.append(required("status.completionTime", detail))
    if ended is not None and began is not None and ended < began:
        detail = "must be equal to or after `startTime`"
        out.append(bad_value("status.completionTime", ended, detail))
    if failed and "FailureTarget" not in true:
        detail = "cannot set Failed=True condition without the FailureTarget=true condition"
        out.append(invalid_without_value(path, detail))
    if complete and "SuccessCriteriaMet" not in true:
        detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        out.append(invalid_without_value(path, detail))
    if "SuccessCriteriaMet" in true:
        for other in ("Failed", "FailureTarget"):
            if other in true:
                detail = f"cannot set {other}=True and SuccessCriteriaMet=true conditions"
                out.append(invalid_without_value(path, detail))


def _finished(status: Mapping[str, Any], out: list[FieldError]) -> None:
    for key in ("active", "terminating"):
        if (status.get(key) or 0) > 0:
            detail = f"{key}>0 is invalid for finished job"
            out.append(bad_value(f"status.{key}", status[key], detail))
    if status.get("startTime") is None:
        out.append(required("status.startTime", "startTime is required for finished job"))
    pods = status.get("uncountedTerminatedPods") or {}
    if pods.get("succeeded") or pods.get("failed"):
        detail = "uncountedTerminatedPods needs to be empty for finished job"
        out.append(bad_value("status.uncountedTerminatedPods", pods, detail))


def _indexes(
    spec: Json, status: Mapping[str, Any], before: Mapping[str, Any], out: list[FieldError]
) -> None:
    completed, failed = status.get("completedIndexes") or "", status.get("failedIndexes")
    if completed == (before.get("completedIndexes") or "") and failed == before.get(
        "failedIndexes"
    ):
        return
    completions = spec.get("completions")
    done = lost = Indexes()
    if completions is not None and spec.get("completionMode") == "Indexed":
        done = _parsed("completedIndexes", completed, completions, out)
        if spec.get("backoffLimitPerIndex") is not None and failed is not None:
            lost = _parsed("failedIndexes", failed, completions, out)
    if completed and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        out.append(bad_value("status.completedIndexes", completed, detail))
    if failed is not None and spec.get("backoffLimitPerIndex") is None:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        out.append(bad_value("status.failedIndexes", failed, detail))
    overlap = first_overlap(done, lost)
    if overlap is not None:
        detail = f"failedIndexes and completedIndexes overlap at index: {overlap}"
        out.append(bad_value("status.failedIndexes", failed, detail))


def _parsed(key: str, text: str, completions: int, out: list[FieldError]) -> Indexes:
    try:
        return parse_indexes(text, completions)
    except BadIndexes as problem:
        out.append(bad_value(f"status.{key}", text, f"error parsing {key}: {problem}"))
        return Indexes()


def _moves(
    obj: Json,
    status: Mapping[str, Any],
    before: Mapping[str, Any],
    true: set[str],
    out: list[FieldError],
) -> None:
    if before.get("conditions"):
        was = _true_conditions(before)
        for kind in _TERMINAL:
            if kind in was and kind not in true:
                detail = f"cannot disable the terminal {kind}=True condition"
                out.append(invalid_without_value("status.conditions", detail))
    spec = obj["spec"]
    # A Job with as many pods as indexes may be scaled down, and loses the successes beyond.
    elastic = spec.get("completionMode") == "Indexed" and (
        spec.get("completions") == spec.get("parallelism")
    )
    for key in ("failed",) if elastic else ("failed", "succeeded"):
        value = status.get(key) or 0
        if value < (before.get(key) or 0):
            out.append(bad_value(f"status.{key}", value, f"cannot decrease the {key} counter"))
    ended, ended_before = status.get("completionTime"), before.get("completionTime")
    if ended is not None and ended_before is not None and ended != ended_before:
        out.append(bad_value("status.completionTime", ended, "field is immutable"))
    began, began_before = status.get("startTime"), before.get("startTime")
    if began_before is not None and began != began_before and not obj["spec"].get("suspend"):
        detail = "field is immutable for unsuspended job once set"
        out.append(bad_value("status.startTime", began, detail))
