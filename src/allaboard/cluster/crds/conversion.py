"""How does a stored object become one of another version?

Strategy None changes only `apiVersion`. Strategy Webhook asks a server with a ConversionReview; a
function registered in process is asked in its place. Whatever answers, only the body may change:
the metadata that comes back must be the metadata that was sent, but for labels and annotations.
What the target version does not know is pruned afterwards.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from allaboard.api.errors import ApiError, InternalError
from allaboard.api.meta import Json
from allaboard.cluster.crds.rules import VersionRules

# (objects, target apiVersion) -> the same objects in that version, in the same order
Converter = Callable[[list[Json], str], Awaitable[list[Json]]]
_CHANGEABLE = ("labels", "annotations")
TIMEOUT_S = 30.0


class Caller(Protocol):
    """Posts JSON to a webhook; raises ApiError with the reason when no usable answer comes."""

    async def post(self, client_config: Json, body: Json, timeout_s: float) -> Any: ...

    def new_uid(self) -> str: ...


async def change_version(objects: list[Json], target: str) -> list[Json]:
    """Strategy None."""
    return [{**obj, "apiVersion": target} for obj in objects]


class WebhookConverter:
    """Strategy Webhook. `conversion` is `spec.conversion` of the definition."""

    def __init__(self, conversion: Json, kind: str, caller: Caller) -> None:
        self._hook = conversion.get("webhook") or {}
        self._kind = kind
        self._caller = caller

    async def __call__(self, objects: list[Json], target: str) -> list[Json]:
        uid = self._caller.new_uid()
        version = self._review_version()
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{version}",
            "request": {"uid": uid, "desiredAPIVersion": target, "objects": objects},
        }
        try:
            answer = await self._caller.post(
                self._hook.get("clientConfig") or {}, review, TIMEOUT_S
            )
        except ApiError as error:
            raise self._failed(objects, error.message) from error
        converted = self._answered(objects, answer, uid)
        if len(converted) != len(objects):
            raise self._failed(
                objects,
                f"webhook returned {len(converted)} objects, expected {len(objects)}",
            )
        return [
            self._checked(objects, before, after, target)
            for before, after in zip(objects, converted, strict=True)
        ]

    def _review_version(self) -> str:
        offered = self._hook.get("conversionReviewVersions") or ["v1"]
        return next((v for v in offered if v in ("v1", "v1beta1")), "v1")

    def _answered(self, objects: list[Json], answer: Any, uid: str) -> list[Any]:
        response = answer.get("response") if isinstance(answer, dict) else None
        if not isinstance(response, dict):
            raise self._failed(objects, "invalid response: the webhook answered no response")
        if response.get("uid") != uid:
            raise self._failed(
                objects, f'expected response.uid="{uid}", got "{response.get("uid", "")}"'
            )
        result = response.get("result")
        if not isinstance(result, dict) or result.get("status") != "Success":
            why = result.get("message") if isinstance(result, dict) else ""
            raise self._failed(objects, str(why or "the webhook gave no reason"))
        found = response.get("convertedObjects")
        return found if isinstance(found, list) else []

    def _checked(self, objects: list[Json], before: Json, after: Any, target: str) -> Json:
        if not isinstance(after, dict) or not isinstance(after.get("metadata"), dict):
            raise self._failed(objects, "the webhook returned something that is not an object")
        if after.get("apiVersion") != target or after.get("kind") != before.get("kind"):
            got = f"{after.get('apiVersion')}, Kind={after.get('kind')}"
            raise self._failed(
                objects,
                f"the webhook returned an object of {got}, expected {target},"
                f" Kind={before.get('kind')}",
            )
        sent, got_meta = before["metadata"], after["metadata"]
        if (got_meta.get("name"), got_meta.get("uid")) != (sent.get("name"), sent.get("uid")):
            raise self._failed(objects, "the webhook changed the name or the uid of an object")
        meta = {k: v for k, v in sent.items() if k not in _CHANGEABLE}
        meta |= {k: got_meta[k] for k in _CHANGEABLE if got_meta.get(k)}
        return {**after, "metadata": meta}

    def _failed(self, objects: list[Json], why: str) -> InternalError:
        source = objects[0].get("apiVersion", "") if objects else ""
        return InternalError(f"conversion webhook for {source}, Kind={self._kind} failed: {why}")


def converter_of(
    convert: Converter, group: str, storage: str, versions: Mapping[str, VersionRules]
) -> Callable[[list[Json], str], Awaitable[list[Json]]]:
    """The function a `Resource` carries: from any version to `target`, pruned by its schema.

    What goes into the store gets the defaults of the storage version too, as reading would do.
    """

    async def converted(objects: list[Json], target: str) -> list[Json]:
        api_version = f"{group}/{target}"
        others = [obj for obj in objects if obj.get("apiVersion") != api_version]
        changed = iter(await convert(others, api_version) if others else [])
        rules = versions[api_version]
        fit = rules.tidied if target == storage else rules.pruned
        return [
            obj if obj.get("apiVersion") == api_version else fit(next(changed)) for obj in objects
        ]

    return converted
