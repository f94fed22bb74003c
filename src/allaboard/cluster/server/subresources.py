"""What can be done to a part of an object, or through it?"""

from typing import TYPE_CHECKING

from allaboard.api.meta import Json
from allaboard.cluster.server.exchange import ApiRequest, ApiResponse
from allaboard.cluster.server.refusals import verb_not_served
from allaboard.cluster.server.routes import Target

if TYPE_CHECKING:
    from allaboard.cluster.server.api import ApiServer


class Subresources:
    def __init__(self, server: "ApiServer") -> None:
        self._server = server

    async def answer(self, request: ApiRequest, target: Target) -> ApiResponse:
        if target.subresource in ("status", "finalize", "resize", "ephemeralcontainers"):
            match target.verb:
                case "get":
                    return await self._server.get(request, target)
                case "update":
                    return await self._server.update(request, target)
                case "patch":
                    return await self._server.patch(request, target)
        raise verb_not_served()

    async def review(self, request: ApiRequest, target: Target, obj: Json) -> ApiResponse:
        raise verb_not_served()
