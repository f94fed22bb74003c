"""How code in this process speaks to the server: the same verbs, without bytes.

Bodies go in and come out by reference, watches arrive as they happen, and the caller has an
identity and a user agent like any other client. Time passes only where the server itself waits.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from allaboard.api.errors import from_status
from allaboard.api.meta import Json
from allaboard.client.transport import Request, Response
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.exchange import ApiRequest, User

LOCAL_USER = User("system:admin", ("system:masters", "system:authenticated"))


class InProcessTransport:
    """A `client.transport.Transport` that hands requests to an `ApiServer`."""

    def __init__(
        self, server: ApiServer, user_agent: str = "allaboard", user: User = LOCAL_USER
    ) -> None:
        self._server = server
        self._user = user
        self._agent = user_agent

    async def request(self, request: Request) -> Response:
        response = await self._server.handle(self._api_request(request))
        if response.stream is not None:
            response.stream.close()
            raise ValueError("a watch is opened with stream(), not with request()")
        headers = {name.lower(): value for name, value in response.headers}
        return Response(response.status, response.to_data(), headers)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[Json]]:
        response = await self._server.handle(self._api_request(request))
        if response.stream is None:
            raise from_status(response.to_data(), response.status)
        events = response.stream.events()
        try:
            yield events
        finally:
            response.stream.close()
            close: Any = getattr(events, "aclose", None)
            if close is not None:
                await close()

    async def close(self) -> None:
        """Nothing is held."""

    def _api_request(self, request: Request) -> ApiRequest:
        headers = {
            "accept": request.accept,
            "content-type": request.content_type,
            "user-agent": self._agent,
        }
        return ApiRequest(
            request.method,
            request.path,
            request.query,
            headers,
            data=request.body,
            user=self._user,
        )
