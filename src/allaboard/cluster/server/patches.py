"""What becomes of an object under a patch: JSON, merge, strategic merge, apply."""

from collections.abc import Awaitable, Callable
from typing import Any

from allaboard.api.codec import Malformed, read_json
from allaboard.api.errors import BadRequest
from allaboard.api.meta import Json
from allaboard.cluster.patching.json_patch import apply_json_patch
from allaboard.cluster.patching.merge_patch import apply_merge_patch
from allaboard.cluster.server.bodies import decode_object
from allaboard.cluster.server.exchange import ApiRequest
from allaboard.cluster.server.negotiate import check_body_type
from allaboard.cluster.server.options import WriteOptions
from allaboard.cluster.server.ownership import track_update
from allaboard.cluster.server.services import Services
from allaboard.cluster.server.writes import Write, Writer, Written

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
APPLY_CBOR = "application/apply-patch+cbor"


class Patcher:
    def __init__(self, services: Services, writer: Writer) -> None:
        self._services = services
        self._writer = writer

    async def patch(self, request: ApiRequest, write: Write) -> Written:
        target, how = write.target, request.content_type
        allowed = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
        if target.resource.custom:
            allowed = (JSON_PATCH, MERGE, APPLY)
        check_body_type(how, allowed, ", ".join(allowed))
        patch = read_patch(request)

        async def change(old: Json) -> Json:
            patched = self._patched(how, old, patch, write)
            obj = decode_object(request, patched, target.resource, target.version, target.kind)
            target.resource.strategy.default(obj)
            return track_update(write, old, obj, self._services.timestamp())

        return await self._writer.update(write, change)

    def _patched(self, how: str, old: Json, patch: Any, write: Write) -> Any:
        if how == JSON_PATCH:
            return apply_json_patch(old, patch)
        return apply_merge_patch(old, patch)


def read_patch(request: ApiRequest) -> Any:
    if request.data is not None:
        return request.data
    try:
        return read_json(request.body)
    except Malformed as error:
        raise BadRequest(f"error decoding patch: {error}") from None


def options_of(request: ApiRequest) -> WriteOptions:
    return WriteOptions.parse(
        request.query, "PatchOptions", request.content_type in (APPLY, APPLY_CBOR)
    )


Change = Callable[[Json], Awaitable[Json]]
