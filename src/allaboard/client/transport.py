"""The seam between verbs and wire: one request, one answer, or one stream of watch events.

HTTP (`http.py`) and the in-process server (`allaboard.cluster.transport`) both implement it.
Bodies are plain decoded data on both sides. What a transport hands out is shared with caches and,
in process, with the store itself: read it, never change it.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from allaboard.api.meta import Json


@dataclass(slots=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None  # JSON-able data; a list for a JSON patch
    content_type: str = "application/json"
    accept: str = "application/json"


@dataclass(slots=True)
class Response:
    status: int
    body: Any  # decoded JSON, or text where the server sent text
    headers: Mapping[str, str] = field(default_factory=dict)


class Transport(Protocol):
    async def request(self, request: Request) -> Response:
        """Send once and return whatever came back, also a refusal.

        Raises `Unavailable` (nothing was sent, or surely not processed) or `Timeout` (unknown).
        """
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        """Open a watch; raise ApiError if refused. Yields events `{type, object}` until it ends."""
        ...

    async def close(self) -> None: ...
