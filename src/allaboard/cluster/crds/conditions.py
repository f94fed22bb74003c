"""What should the status of a CustomResourceDefinition say?

NamesAccepted: nobody else in the group has its names. Established: it was accepted once and is
served from then on. Terminating: it is being deleted with all its objects. Definitions of the
community's groups say whether they were approved.
"""

from collections.abc import Iterable

from allaboard.api.meta import Json
from allaboard.cluster.crds.acceptance import APPROVAL, is_protected
from allaboard.cluster.crds.names import accept_names

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
MANAGER = "kube-apiserver"


def wanted_status(crd: Json, others: Iterable[Json], now: str) -> Json:
    """The status `crd` should have, given the accepted names of the others; `now` as text."""
    status = dict(crd.get("status") or {})
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    accepted, reason, message = accept_names(crd, others)
    status["acceptedNames"] = accepted
    approved = _approval(crd)
    if approved is not None:
        _set(conditions, ("KubernetesAPIApprovalPolicyConformant", *approved), now)
    if reason:
        _set(conditions, ("NamesAccepted", "False", reason, message), now)
        if _status(conditions, "Established") != "True":
            refused = ("Established", "False", "NotAccepted", "not all names are accepted")
            _set(conditions, refused, now)
    else:
        _set(conditions, ("NamesAccepted", "True", "NoConflicts", "no conflicts found"), now)
        if _status(conditions, "Established") != "True":
            why = "the initial names have been accepted"
            _set(conditions, ("Established", "True", "InitialNamesAccepted", why), now)
    if "deletionTimestamp" in crd["metadata"]:
        why = "CustomResource deletion is in progress"
        _set(conditions, ("Terminating", "True", "InstanceDeletionInProgress", why), now)
    status["conditions"] = list(conditions.values())
    return status


def _status(conditions: dict[str, Json], kind: str) -> str:
    return str(conditions.get(kind, {}).get("status", ""))


def _set(conditions: dict[str, Json], wanted: tuple[str, str, str, str], now: str) -> None:
    kind, value, reason, message = wanted
    there = conditions.get(kind)
    if there is not None and there["status"] == value:
        now = there.get("lastTransitionTime", now)
    conditions[kind] = {
        "type": kind,
        "status": value,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _approval(crd: Json) -> tuple[str, str, str] | None:
    if not is_protected(crd["spec"]["group"]):
        return None
    text = (crd["metadata"].get("annotations") or {}).get(APPROVAL) or ""
    if text.startswith("unapproved"):
        return "False", "UnapprovedAnnotation", f'not approved: "{text}"'
    return "True", "ApprovedAnnotation", f"approved in {text}"


def with_status(crd: Json, status: Json, now: str) -> Json:
    """The definition with this status, written down as the server's own doing."""
    entry = {
        "manager": MANAGER,
        "operation": "Update",
        "apiVersion": "apiextensions.k8s.io/v1",
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:status": _owned(status)},
        "subresource": "status",
    }
    others = [
        e
        for e in crd["metadata"].get("managedFields") or ()
        if (e.get("manager"), e.get("subresource")) != (MANAGER, "status")
    ]
    meta = {**crd["metadata"], "managedFields": [entry, *others]}
    return {**crd, "metadata": meta, "status": status}


def _owned(status: Json) -> Json:
    conditions: Json = {}
    for condition in status["conditions"]:
        key = f'k:{{"type":"{condition["type"]}"}}'
        conditions[key] = {".": {}} | {f"f:{name}": {} for name in sorted(condition)}
    return {
        "f:acceptedNames": {f"f:{name}": {} for name in sorted(status["acceptedNames"])},
        "f:conditions": dict(sorted(conditions.items())),
    }
