"""The webhooks' turn in the chain: who is asked, what becomes of the answers?

Mutating webhooks are asked one after the other, by configuration name; each sees what the ones
before it did. One with `reinvocationPolicy: IfNeeded` is asked once more when others changed the
object after it. Validating webhooks are asked all at once; the first refusal in their order
counts. A webhook that cannot be used refuses or is ignored as its `failurePolicy` says; an
explicit no is always a no. Match conditions in CEL are not evaluated yet: a webhook with
conditions counts as one that cannot be used.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from allaboard.api.errors import ApiError, BadRequest, InternalError
from allaboard.api.meta import Json
from allaboard.cluster.admission.caller import CallFailed, WebhookCaller
from allaboard.cluster.admission.chain import AdmissionAttributes, Plugin
from allaboard.cluster.admission.matching import (
    Hook,
    could_match,
    hooks_of,
    is_exempt,
    matched_version,
    selects,
)
from allaboard.cluster.admission.reviews import (
    BadAnswer,
    Denial,
    Verdict,
    failed,
    request_of,
    review_of,
    verdict_of,
)
from allaboard.cluster.patching.json_patch import apply_json_patch
from allaboard.cluster.resource import Resource
from allaboard.cluster.store.records import Change
from allaboard.cluster.store.store import Store

log = logging.getLogger(__name__)
_GROUP = "admissionregistration.k8s.io"
_UNEVALUATED = "match conditions are not evaluated by this server"


class _Webhooks(Plugin):
    """What both kinds share: the hooks in force, choosing among them, calling one."""

    resource = ""
    is_mutating = False

    def __init__(self, store: Store, caller: WebhookCaller) -> None:
        self._store = store
        self._caller = caller
        self._hooks: list[Hook] = []
        self._refresh: Callable[[], None] = lambda: None

    def start(self, refresh: Callable[[], None]) -> None:
        """Follow the configurations in the store; `refresh` makes the chain ask `handles` again."""
        self._refresh = refresh
        self._store.on_commit(self.resource, self._changed)
        self._reload()

    def _changed(self, change: Change) -> None:
        del change
        self._reload()

    def _reload(self) -> None:
        self._hooks = hooks_of(record.obj for record in self._store.list(self.resource))
        self._refresh()

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        if not self._hooks or is_exempt(resource):
            return False
        return any(could_match(h, resource, subresource, operation) for h in self._hooks)

    async def close(self) -> None:
        await self._caller.close()

    def _wanting(self, attributes: AdmissionAttributes) -> list[tuple[Hook, str]]:
        """The hooks to ask, each with the version to ask in."""
        labels = self._namespace_labels(attributes)
        found: list[tuple[Hook, str]] = []
        for hook in self._hooks:
            version = matched_version(hook, attributes)
            if version is not None and selects(hook, attributes, labels):
                found.append((hook, version))
        return found

    def _namespace_labels(self, attributes: AdmissionAttributes) -> Json | None:
        if not attributes.resource.namespaced:
            return None
        record = self._store.get("namespaces", "", attributes.namespace)
        labels = record.obj["metadata"].get("labels") if record is not None else None
        return labels or {}

    async def _ask(self, hook: Hook, version: str, attributes: AdmissionAttributes) -> Verdict:
        """One call. Raises Denial, or the refusal of a webhook that cannot be used."""
        if attributes.dry_run and hook.side_effects not in ("None", "NoneOnDryRun"):
            raise BadRequest(f'admission webhook "{hook.name}" does not support dry run')
        uid = self._caller.new_uid()
        try:
            if hook.conditions:
                raise BadAnswer(_UNEVALUATED)
            if not hook.review_version:
                raise BadAnswer("the webhook speaks no version of AdmissionReview that we know")
            shown = await _in_version(attributes, version)
            review = review_of(hook, request_of(shown, version, uid, self.is_mutating))
            answer = await self._caller.post(hook.client, review, hook.timeout_s)
            return verdict_of(hook, answer, uid, self.is_mutating)
        except Denial as denial:
            attributes.warnings += denial.warnings
            raise
        except CallFailed as error:
            return self._unusable(hook, f"failed to call webhook: {error.message}")
        except BadAnswer as error:
            return self._unusable(hook, error.message)

    @staticmethod
    def _unusable(hook: Hook, why: str) -> Verdict:
        text = f'failed calling webhook "{hook.name}": {why}'
        if hook.fails_closed:
            raise failed(text)
        log.warning("a webhook was ignored", extra={"webhook": hook.name, "why": why})
        return Verdict(None, [])


class MutatingWebhooks(_Webhooks):
    name = "MutatingAdmissionWebhook"
    resource = f"mutatingwebhookconfigurations.{_GROUP}"
    is_mutating = True

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        again: list[tuple[Hook, Json | None]] = []
        asked: dict[tuple[str, str], None] = {}
        labels = self._namespace_labels(attributes)
        for hook in self._hooks:
            version = matched_version(hook, attributes)
            # Selectors look at the object as it is now, not as it came in.
            if version is None or hook.key in asked or not selects(hook, attributes, labels):
                continue
            asked[hook.key] = None
            await self._apply(hook, version, attributes)
            if hook.reinvokes:
                again.append((hook, attributes.object))
        for hook, seen in again:
            version = matched_version(hook, attributes)
            if version is not None and attributes.object != seen:
                await self._apply(hook, version, attributes)

    async def _apply(self, hook: Hook, version: str, attributes: AdmissionAttributes) -> None:
        verdict = await self._ask(hook, version, attributes)
        attributes.warnings += verdict.warnings
        if not verdict.patch or attributes.object is None:
            return
        shown = await _in_version(attributes, version)
        assert shown.object is not None
        patched = _patched(shown.object, verdict.patch)
        resource = attributes.resource
        if version != attributes.version and resource.convert is not None:
            patched = (await resource.convert([patched], attributes.version))[0]
        attributes.object = _defaulted(attributes, patched)


class ValidatingWebhooks(_Webhooks):
    name = "ValidatingAdmissionWebhook"
    resource = f"validatingwebhookconfigurations.{_GROUP}"

    async def validate(self, attributes: AdmissionAttributes) -> None:
        wanting = self._wanting(attributes)
        if len(wanting) == 1:
            verdict = await self._ask(*wanting[0], attributes)
            attributes.warnings += verdict.warnings
            return
        results = await asyncio.gather(
            *(self._ask(hook, version, attributes) for hook, version in wanting),
            return_exceptions=True,
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result
            attributes.warnings += result.warnings


async def _in_version(attributes: AdmissionAttributes, version: str) -> AdmissionAttributes:
    """The same write with its objects in another version of the resource."""
    a = attributes
    convert = a.resource.convert
    if version == a.version or convert is None or a.kind.kind != a.resource.kind:
        return a
    objects = [o for o in (a.object, a.old_object) if o is not None]
    converted = iter(await convert(objects, version))
    return AdmissionAttributes(
        a.operation, a.resource, a.version, a.subresource, a.kind, a.namespace, a.name,
        next(converted) if a.object is not None else None,
        next(converted) if a.old_object is not None else None,
        a.options, a.user, a.dry_run, a.warnings,
    )  # fmt: skip


def _patched(obj: Json, patch: list[Any]) -> Json:
    """The object after a webhook's patch; whatever is wrong with the patch is the webhook's."""
    result: Any = obj
    for step in patch:
        try:
            result = apply_json_patch(result, [step])
        except ApiError as error:
            raise failed(_patch_problem(step, error)) from None
    if not isinstance(result, dict) or not isinstance(result.get("metadata"), dict):
        raise failed("the patched object is not an object of the API any more")
    return result


def _patch_problem(step: Any, error: ApiError) -> str:
    """What the JSON patch library of Kubernetes says about the commonest failures."""
    kind, path = (step.get("op"), step.get("path")) if isinstance(step, dict) else ("", "")
    if kind in ("remove", "replace") and isinstance(path, str):
        key = path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
        return (
            f"error in {kind} for path: '{path}': Unable to {kind} nonexistent key: {key}:"
            " missing value"
        )
    return f"the patch of the webhook failed: {error.message}"


def _defaulted(attributes: AdmissionAttributes, obj: Json) -> Json:
    resource = attributes.resource
    if attributes.kind.kind != resource.kind:
        return obj
    wanted = (resource.kind, _api_version(attributes))
    if (obj.get("kind"), obj.get("apiVersion")) != wanted:
        raise InternalError(
            f"Internal error occurred: a webhook changed the kind to {obj.get('apiVersion')},"
            f" Kind={obj.get('kind')}"
        )
    fresh = dict(obj)
    resource.strategy.default(fresh)
    return fresh


def _api_version(attributes: AdmissionAttributes) -> str:
    group, version = attributes.resource.group, attributes.version
    return f"{group}/{version}" if group else version
