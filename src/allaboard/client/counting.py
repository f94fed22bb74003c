"""How much do we ask of the server? A transport that counts requests by verb, kind and answer."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from allaboard.api.errors import ApiError
from allaboard.api.meta import Json
from allaboard.client.limits import kind_in
from allaboard.client.transport import Request, Response, Transport

Count = tuple[str, str, str]  # verb (WATCH for a stream), kind, status code or name of the failure


class CountingTransport:
    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.counts: dict[Count, int] = {}

    async def request(self, request: Request) -> Response:
        try:
            answer = await self._inner.request(request)
        except ApiError as error:
            self._count(request.method, request, type(error).__name__)
            raise
        self._count(request.method, request, str(answer.status))
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[Json]]:
        opened = False
        try:
            async with self._inner.stream(request) as lines:
                opened = True
                self._count("WATCH", request, "200")
                yield lines
        except ApiError as error:
            if not opened:
                self._count("WATCH", request, type(error).__name__)
            raise

    async def close(self) -> None:
        await self._inner.close()

    def writes(self) -> int:
        """Changes that the server carried out."""
        return sum(
            count
            for (verb, _, answer), count in self.counts.items()
            if verb in ("POST", "PUT", "PATCH", "DELETE") and answer.startswith("2")
        )

    def _count(self, verb: str, request: Request, answer: str) -> None:
        at = (verb, kind_in(request.path), answer)
        self.counts[at] = self.counts.get(at, 0) + 1
