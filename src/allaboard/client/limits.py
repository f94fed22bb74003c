"""How fast may we ask? A transport that lets requests through at so many a second.

A token bucket: `burst` at once, then `qps` a second, in the order they came. With `per_kind` each
kind has a bucket of its own, as Kueue's client has it. It waits by the event loop's clock, so it
works in virtual time. Without limits there is no such transport at all: see `limited`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from allaboard.api.meta import Json
from allaboard.client.transport import Request, Response, Transport


class Bucket:
    """Reservations: each caller takes the next free place in time and sleeps until then."""

    __slots__ = ("_burst_s", "_free_at", "_interval_s")

    def __init__(self, qps: float, burst: int) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError(f"a rate limit needs qps > 0 and burst >= 1, not {qps} and {burst}")
        self._interval_s = 1.0 / qps
        self._burst_s = burst * self._interval_s
        self._free_at = float("-inf")

    def reserve_s(self, now: float) -> float:
        """Take the next place; returns how long to wait for it."""
        self._free_at = max(self._free_at, now - self._burst_s) + self._interval_s
        return max(0.0, self._free_at - now)

    async def wait(self) -> None:
        wait_s = self.reserve_s(asyncio.get_running_loop().time())
        if wait_s > 0:
            await asyncio.sleep(wait_s)


class LimitedTransport:
    def __init__(self, inner: Transport, qps: float, burst: int, per_kind: bool = False) -> None:
        self._inner = inner
        self._rate = (qps, burst)
        self._shared = None if per_kind else Bucket(qps, burst)
        self._by_kind: dict[str, Bucket] = {}

    def _bucket(self, request: Request) -> Bucket:
        if self._shared is not None:
            return self._shared
        kind = kind_in(request.path)
        bucket = self._by_kind.get(kind)
        if bucket is None:
            bucket = self._by_kind[kind] = Bucket(*self._rate)
        return bucket

    async def request(self, request: Request) -> Response:
        await self._bucket(request).wait()
        return await self._inner.request(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[Json]]:
        await self._bucket(request).wait()
        async with self._inner.stream(request) as lines:
            yield lines

    async def close(self) -> None:
        await self._inner.close()


def limited(
    transport: Transport, qps: float | None, burst: int | None = None, per_kind: bool = False
) -> Transport:
    """The transport, held to `qps` and `burst` (default: twice qps); as it is when qps is None."""
    if qps is None:
        return transport
    places = burst if burst is not None else max(1, round(2 * qps))
    return LimitedTransport(transport, qps, places, per_kind)


def kind_in(path: str) -> str:
    """What a path is about: `/apis/batch/v1/namespaces/a/jobs/x/status` is `batch/v1/jobs`."""
    parts = path.strip("/").split("/")
    head = 2 if parts[0] == "api" else 3
    rest = parts[head:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return "/".join([*parts[1:head], *rest[:1]])
