"""What do a Job's policies say about a failed pod, and about the indexes that succeeded?"""

from dataclasses import dataclass
from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.controllers.job import indexes
from allaboard.cluster.controllers.job.facts import PodFacts, condition_status
from allaboard.cluster.controllers.job.indexes import Indexes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the first matching rule of a podFailurePolicy says; no rule matched: count it."""

    counted: bool = True
    action: str = ""  # '' when no rule matched
    message: str = ""  # why the whole Job fails, for FailJob


_COUNT = Verdict()


def judge_failure(policy: Json | None, pod: PodFacts) -> Verdict:
    for position, rule in enumerate((policy or {}).get("rules") or ()):
        reason = _matching_reason(rule, pod)
        if reason is None:
            continue
        action = rule.get("action", "")
        if action == "Ignore":
            return Verdict(counted=False, action=action)
        message = f"{reason} matching {action} rule at index {position}"
        return Verdict(action=action, message=message if action == "FailJob" else "")
    return _COUNT


def _matching_reason(rule: Json, pod: PodFacts) -> str | None:
    meta, status = pod.obj["metadata"], pod.obj.get("status") or {}
    full_name = f"{meta.get('namespace', '')}/{meta['name']}"
    if rule.get("onExitCodes") is not None:
        ended = _matching_container(rule["onExitCodes"], status)
        if ended is None:
            return None
        code = ended["state"]["terminated"]["exitCode"]
        return f"Container {ended['name']} for pod {full_name} failed with exit code {code}"
    for wanted in rule.get("onPodConditions") or ():
        if condition_status(status, wanted["type"]) == (wanted.get("status") or "True"):
            return f"Pod {full_name} has condition {wanted['type']}"
    return None


def _matching_container(codes: Json, status: Json) -> Any:
    states = list(status.get("containerStatuses") or ())
    states += status.get("initContainerStatuses") or ()
    values = codes.get("values") or ()
    for state in states:
        terminated = (state.get("state") or {}).get("terminated")
        if not terminated or terminated.get("exitCode", 0) == 0:
            continue
        if codes.get("containerName") not in (None, state.get("name")):
            continue
        if (terminated["exitCode"] in values) == (codes.get("operator") == "In"):
            return state
    return None


def success_message(policy: Json | None, succeeded: Indexes, completions: int) -> str | None:
    """Why a Job counts as successful although indexes are left; None while it does not."""
    for position, rule in enumerate((policy or {}).get("rules") or ()):
        wanted_text, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        if wanted_text is None:
            met = count is not None and indexes.total(succeeded) >= count
        else:
            wanted = indexes.parse(wanted_text, completions)
            needed = indexes.total(wanted) if count is None else count
            met = indexes.common(wanted, succeeded) >= needed
        if met:
            return f"Matched rules at index {position}"
    return None
