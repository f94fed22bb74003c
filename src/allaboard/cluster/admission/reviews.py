"""What is an AdmissionReview, and what may an answer say?"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from allaboard.api.errors import ApiError, InternalError
from allaboard.api.meta import Json
from allaboard.cluster.admission.chain import CONNECT, CREATE, AdmissionAttributes
from allaboard.cluster.admission.matching import Hook

_MAX_WARNINGS = 100
_MAX_WARNING_CHARS = 4096
_LOWEST_REFUSAL = 400


class BadAnswer(InternalError):
    """The webhook answered, but not with a review that can be used."""


@dataclass(slots=True)
class Verdict:
    """An accepted answer that allows the write, perhaps changed."""

    patch: list[Any] | None
    warnings: list[str]


def request_of(attributes: AdmissionAttributes, version: str, uid: str, mutating: bool) -> Json:
    """The `request` of a review. Objects must already be in `version`."""
    a, resource = attributes, attributes.resource
    own = a.kind.kind == resource.kind
    seen = _kind(a.kind.group, version if own else a.kind.version, a.kind.kind)
    asked = _kind(a.kind.group, a.version if own else a.kind.version, a.kind.kind)
    request: Json = {
        "uid": uid,
        "kind": seen,
        "resource": {"group": resource.group, "version": version, "resource": resource.plural},
    }
    if a.subresource:
        request["subResource"] = a.subresource
    request["requestKind"] = asked
    request["requestResource"] = {
        "group": resource.group, "version": a.version, "resource": resource.plural,
    }  # fmt: skip
    if a.subresource:
        request["requestSubResource"] = a.subresource
    name = a.name or ((a.object or {}).get("metadata") or {}).get("name") or ""
    if name:
        request["name"] = name
    if a.namespace:
        request["namespace"] = a.namespace
    request["operation"] = a.operation
    request["userInfo"] = a.user
    request["object"] = None if a.object is None else _as_sent(a, a.object, mutating)
    request["oldObject"] = a.old_object
    request["dryRun"] = a.dry_run
    request["options"] = _options(a)
    return request


def _as_sent(attributes: AdmissionAttributes, obj: Json, mutating: bool) -> Json:
    """The object with the namespace of the request and the version a write would replace."""
    meta = dict(obj.get("metadata") or {})
    if attributes.namespace and not meta.get("namespace"):
        meta["namespace"] = attributes.namespace
    if not meta.get("resourceVersion"):
        meta.pop("resourceVersion", None)
        if attributes.old_object is not None and not mutating:
            meta["resourceVersion"] = attributes.old_object["metadata"].get("resourceVersion", "")
    return obj if meta == obj.get("metadata") else {**obj, "metadata": meta}


def _options(attributes: AdmissionAttributes) -> Json | None:
    """A patch creates or updates, and its options are shown as those of what it does."""
    options = attributes.options
    if attributes.operation == CONNECT or options is None or options["kind"] != "PatchOptions":
        return None if attributes.operation == CONNECT else options
    kind = "CreateOptions" if attributes.operation == CREATE else "UpdateOptions"
    return {**{k: v for k, v in options.items() if k != "force"}, "kind": kind}


def _kind(group: str, version: str, kind: str) -> Json:
    return {"group": group, "version": version, "kind": kind}


def review_of(hook: Hook, request: Json) -> Json:
    return {
        "kind": "AdmissionReview",
        "apiVersion": f"admission.k8s.io/{hook.review_version}",
        "request": request,
    }


def verdict_of(hook: Hook, answer: Mapping[str, Any], uid: str, mutating: bool) -> Verdict:
    """What the answer means. Raises BadAnswer for nonsense and `Denied`'s error for a no."""
    expected = f"admission.k8s.io/{hook.review_version}"
    if answer.get("apiVersion") != expected or answer.get("kind") != "AdmissionReview":
        raise BadAnswer(
            "received invalid webhook response: expected webhook response of "
            f"{expected}, Kind=AdmissionReview, got {_shown_kind(answer)}"
        )
    response = answer.get("response")
    if not isinstance(response, dict):
        raise BadAnswer("received invalid webhook response: webhook response was absent")
    if response.get("uid") != uid and hook.review_version == "v1":
        raise BadAnswer(
            "received invalid webhook response: expected response.uid="
            f'"{uid}", got "{response.get("uid", "")}"'
        )
    warnings = _warnings(response.get("warnings"))
    if response.get("allowed") is not True:
        raise denied(hook.name, response.get("status"), warnings)
    return Verdict(_patch(response, mutating), warnings)


def _shown_kind(answer: Mapping[str, Any]) -> str:
    version, kind = answer.get("apiVersion") or "", answer.get("kind") or ""
    return f"{version if '/' in str(version) else f'{version}/'}, Kind={kind}"


def _warnings(given: Any) -> list[str]:
    texts = [str(w)[:_MAX_WARNING_CHARS] for w in given] if isinstance(given, list) else []
    return texts[:_MAX_WARNINGS]


def _patch(response: Json, mutating: bool) -> list[Any] | None:
    text = response.get("patch")
    if not text:
        return None
    if not mutating:
        raise BadAnswer(
            "received invalid webhook response: webhook response.patch must not be set for a"
            " validating webhook"
        )
    if response.get("patchType") != "JSONPatch":
        raise BadAnswer(
            'received invalid webhook response: response.patchType must be "JSONPatch", got'
            f' "{response.get("patchType") or ""}"'
        )
    try:
        patch = msgspec.json.decode(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError) as error:
        raise BadAnswer(f"received invalid webhook response: bad patch: {error}") from None
    if not isinstance(patch, list):
        raise BadAnswer("received invalid webhook response: the patch is not a list")
    return patch


def denied(hook: str, status: Any, warnings: list[str]) -> "Denial":
    """The refusal of a webhook: its code, reason and causes, our sentence round its message."""
    given = status if isinstance(status, dict) else {}
    code = given.get("code")
    code = code if isinstance(code, int) and _LOWEST_REFUSAL <= code < 600 else 400
    reason = given.get("reason") or ""
    text = f'admission webhook "{hook}" denied the request'
    if given.get("message"):
        text += f": {given['message']}"
    elif reason:
        text += f": {reason}"
    else:
        text += " without explanation"
    details = given.get("details")
    return Denial(
        text,
        details=details if isinstance(details, dict) else None,
        code=code,
        reason=str(reason),
        warnings=warnings,
    )


class Denial(ApiError):
    """A webhook said no; `failurePolicy` has no say in that."""

    def __init__(
        self, message: str, *, details: Json | None, code: int, reason: str, warnings: list[str]
    ) -> None:
        super().__init__(message, details=details, code=code, reason=reason)
        self.warnings = warnings


def failed(error: str) -> InternalError:
    """A 500 as Kubernetes gives it when a webhook cannot be used."""
    return InternalError(
        f"Internal error occurred: {error}", details={"causes": [{"message": error}]}
    )
