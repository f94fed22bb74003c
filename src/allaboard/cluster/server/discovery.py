"""What does this server serve? Groups, versions, resources, its own version and health."""

from allaboard.cluster.server.exchange import ApiRequest, ApiResponse, plain_text
from allaboard.cluster.server.services import Services


class Discovery:
    def __init__(self, services: Services) -> None:
        self._services = services

    async def answer(self, request: ApiRequest, parts: list[str] | None) -> ApiResponse:
        match parts:
            case ["healthz" | "livez" | "readyz"]:
                return plain_text(200, "ok")
        return plain_text(404, "404 page not found\n")
