"""Puts the server on the wire: HTTP/1.1 with keep-alive over TLS, on loopback.

Whatever a client could use to tie the server up has a bound: the time to send a header or a body,
the size of a body before and after decompression, the requests in flight. Host headers other than
ours are refused, so that a web page cannot reach the server through a name of its own that
resolves to 127.0.0.1.
"""

import asyncio
import logging
import socket
import ssl
import zlib
from asyncio import sslproto
from collections.abc import Mapping
from urllib.parse import parse_qsl

from aiohttp import web
from aiohttp.http_exceptions import BadHttpMethod, HttpProcessingError

from allaboard.api.codec import write_json
from allaboard.api.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    InternalError,
    Timeout,
    TooManyRequests,
)
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.auth import Authenticator, certificate_user
from allaboard.cluster.server.deadlines import HEADER_S, Deadlines
from allaboard.cluster.server.exchange import (
    JSON,
    ApiRequest,
    ApiResponse,
    User,
    WatchStream,
    encode_json,
    refusal,
)
from allaboard.cluster.server.protobuf import PROTOBUF, read_protobuf
from allaboard.cluster.server.refusals import verb_not_served
from allaboard.cluster.server.verbs.bodies import too_large

log = logging.getLogger(__name__)
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")
REPEATABLE = ("impersonate-group",)
READS = ("GET", "HEAD", "OPTIONS")
KEEPALIVE_S = 75.0
COMPRESS_BYTES = 131072
# What asyncio reserves for reading from each TLS connection, idle or not: 256 KiB unless told
# otherwise, which would make a thousand watchers cost 300 MB.
TLS_BUFFER = 32768


class StatusHandler(web.RequestHandler):
    """Answers what is not even HTTP with a Status too, and closes the connection."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        if request.writer.output_size > 0:
            raise ConnectionError("part of an answer is sent already")
        error: ApiError = BadRequest(f"this is not HTTP: {(message or '')[:200]}")
        if isinstance(exc, BadHttpMethod):
            error = verb_not_served()
        elif status >= 500:
            log.error("request failed", exc_info=exc)
            error = InternalError("the server could not answer this request; its log says why")
        answer = web.Response(status=error.status_code, body=encode_json(error.to_status()))
        answer.headers["Content-Type"] = JSON
        answer.force_close()
        return answer


class StatusServer(web.Server):
    """aiohttp's server with our handler; it has no other place to say so."""

    def __call__(self) -> web.RequestHandler:
        return StatusHandler(self, loop=self._loop, **self._kwargs)


class HttpServer:
    """One listening socket in front of an `ApiServer`."""

    def __init__(
        self, api: ApiServer, authenticator: Authenticator, tls: ssl.SSLContext | None = None
    ) -> None:
        self.api = api
        self.authenticator = api.authenticator = authenticator
        if authenticator.clock is None:
            authenticator.clock = api.services.clock  # or issued tokens would never end
        self._tls = tls
        self._config = api.services.config
        self._reads = 0
        self._writes = 0
        self._server = StatusServer(
            self._handle,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=KEEPALIVE_S,
            lingering_time=2.0,
            auto_decompress=False,
            max_line_size=16384,
            max_field_size=32768,
        )
        self._deadlines = Deadlines(self._config.request_timeout_s)
        self._streams: dict[WatchStream, None] = {}
        self._listener: asyncio.Server | None = None
        self.port = 0

    async def start(self, port: int = 0, host: str = "127.0.0.1") -> int:
        """Listen and return the port. Only loopback addresses are accepted."""
        if host not in LOOPBACK:
            raise ValueError(f"{host} is not a loopback address; the server listens on loopback")
        loop = asyncio.get_running_loop()
        handshake_s = HEADER_S if self._tls is not None else None
        if self._tls is not None:
            sslproto.SSLProtocol.max_size = TLS_BUFFER
        self._listener = await loop.create_server(
            self._deadlines.watched(self._server),
            host.strip("[]"),
            port,
            ssl=self._tls,
            backlog=1024,
            reuse_address=True,
            ssl_handshake_timeout=handshake_s,
        )
        self.port = self._listener.sockets[0].getsockname()[1]
        self._deadlines.start()
        return self.port

    async def stop(self, grace_s: float = 2.0) -> None:
        """Take no more connections, end open watches, let running requests finish."""
        if self._listener is not None:
            self._listener.close()
        await self._deadlines.stop()
        for stream in list(self._streams):
            stream.close()
        await self._server.shutdown(grace_s)

    # --- one request -------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self._deadlines.has_spoken(request.protocol)
        try:
            response = await self._answer(request)
        except ApiError as error:
            response = refusal(error)
        if response.stream is not None:
            return await self._stream(request, response)
        return self._whole(request, response)

    async def _answer(self, request: web.BaseRequest) -> ApiResponse:
        path, _, query = request.raw_path.partition("?")
        headers = plain_headers(request)
        self._check_host(headers.get("host", ""))
        api_request = ApiRequest(request.method, path, parse_query(query), headers)
        certificate = None if "authorization" in headers else self._certificate(request)
        api_request.user = self.authenticator.user_of(headers, certificate, path)
        is_write = request.method not in READS
        if not is_write and ("watch" in api_request.query or "/watch/" in path):
            return await self.api.handle(api_request)
        self._enter(is_write)
        task = asyncio.current_task()
        assert task is not None
        self._deadlines.begin(task)
        try:
            if request.can_read_body:
                await self._read_body(request, api_request)
            return await self.api.handle(api_request)
        except asyncio.CancelledError:
            if not self._deadlines.was_overdue(task):
                raise
            task.uncancel()
            raise Timeout(
                "Timeout: request did not complete within the allotted timeout", details={}
            ) from None
        finally:
            self._deadlines.end(task)
            self._leave(is_write)

    async def _read_body(self, request: web.BaseRequest, api_request: ApiRequest) -> None:
        api_request.body = await self._body(request, api_request.headers)
        if api_request.content_type == PROTOBUF:
            api_request.body = write_json(read_protobuf(api_request.body))
            api_request.headers = {**api_request.headers, "content-type": "application/json"}

    def _enter(self, is_write: bool) -> None:
        config = self._config
        if (self._writes if is_write else self._reads) >= (
            config.max_writes_in_flight if is_write else config.max_reads_in_flight
        ):
            raise TooManyRequests(
                "Too many requests, please try again later.", details={"retryAfterSeconds": 1}
            )
        if is_write:
            self._writes += 1
        else:
            self._reads += 1

    def _leave(self, is_write: bool) -> None:
        if is_write:
            self._writes -= 1
        else:
            self._reads -= 1

    async def _body(self, request: web.BaseRequest, headers: Mapping[str, str]) -> bytes:
        limit = self._config.max_body_bytes
        if request.content_length is not None and request.content_length > limit:
            raise too_large(limit)
        content = request.content
        if content.is_eof():  # it came together with the header
            body = content.read_nowait(-1)
        else:
            parts: list[bytes] = []
            size = 0
            async for chunk in content.iter_any():
                size += len(chunk)
                if size > limit:
                    raise too_large(limit)
                parts.append(chunk)
            body = b"".join(parts)
        if len(body) > limit:
            raise too_large(limit)
        encoding = headers.get("content-encoding", "").lower()
        if encoding in ("", "identity"):
            return body
        if encoding != "gzip":
            raise BadRequest(f"the content encoding {encoding[:50]!r} is not served; use gzip")
        return gunzip(body, limit)

    def _check_host(self, host: str) -> None:
        """Loopback names and the configured ones, with or without a port."""
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name.lower() in LOOPBACK or name.lower() in self._config.hosts:
            return
        raise Forbidden(f"the Host header {host[:100]!r} is not one of this server's names")

    def _certificate(self, request: web.BaseRequest) -> User | None:
        if self._tls is None or request.transport is None:
            return None
        return certificate_user(request.transport.get_extra_info("peercert"))

    # --- answers -----------------------------------------------------------------------------

    def _whole(self, request: web.BaseRequest, response: ApiResponse) -> web.StreamResponse:
        try:
            body = response.to_bytes()
        except UnicodeEncodeError:  # a header that was not text came back in the answer
            return self._whole(request, refusal(BadRequest("the request is not valid UTF-8")))
        headers = {"Content-Type": response.content_type, "Cache-Control": "no-cache, private"}
        if response.status in (204, 304):
            del headers["Content-Type"]
        answer = web.Response(status=response.status, body=body, headers=headers)
        for name, value in response.headers:
            answer.headers.add(name, value)
        if len(body) > COMPRESS_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
            answer.enable_compression(web.ContentCoding.gzip)
        return answer

    async def _stream(self, request: web.BaseRequest, response: ApiResponse) -> web.StreamResponse:
        assert response.stream is not None
        answer = web.StreamResponse(status=200)
        answer.headers["Content-Type"] = response.content_type
        answer.headers["Cache-Control"] = "no-cache, private"
        for name, value in response.headers:
            answer.headers.add(name, value)
        answer.enable_chunked_encoding()
        transport = request.transport
        self._streams[response.stream] = None
        self.api.metrics.watchers.inc()
        try:
            await answer.prepare(request)
            async for line in response.stream.lines():
                if transport is not None:
                    self._deadlines.sending(transport)
                await answer.write(line)
                if transport is not None:
                    self._deadlines.sent(transport)
            await answer.write_eof()
        except (ConnectionError, HttpProcessingError):
            log.debug("a watcher went away", extra={"path": request.raw_path[:200]})
        finally:
            self.api.metrics.watchers.dec()
            self._streams.pop(response.stream, None)
            if transport is not None:
                self._deadlines.sent(transport)
            response.stream.close()
        return answer


def plain_headers(request: web.BaseRequest) -> Mapping[str, str]:
    """The headers, found by names in lower case; repeated ones joined where that has a meaning."""
    headers = request.headers
    if "impersonate-user" not in headers and "impersonate-group" not in headers:
        return headers if len(headers.getall("accept", ())) < 2 else joined(request)
    return joined(request)


def joined(request: web.BaseRequest) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in request.headers.items():
        key = name.lower()
        if key in headers and (key in REPEATABLE or key.startswith("impersonate-extra-")):
            headers[key] += "\n" + value
        elif key == "accept" and key in headers:
            headers[key] += "," + value
        else:
            headers.setdefault(key, value)
    return headers


def parse_query(text: str) -> dict[str, str]:
    """The first value of each parameter, as Kubernetes reads them."""
    if not text:
        return {}
    found: dict[str, str] = {}
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=200)
    except ValueError:
        raise BadRequest("the query has more than 200 parameters") from None
    for name, value in pairs:
        found.setdefault(name, value)
    return found


def gunzip(body: bytes, limit: int) -> bytes:
    """Decompress at most `limit` bytes; a bomb is noticed when it goes past them."""
    inflater = zlib.decompressobj(wbits=31)
    try:
        data = inflater.decompress(body, limit + 1)
    except zlib.error:
        raise BadRequest("the body is not gzip, although Content-Encoding says so") from None
    if len(data) > limit:
        raise too_large(limit)
    if not inflater.eof:
        raise BadRequest("the gzip body ends too early")
    return data


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
