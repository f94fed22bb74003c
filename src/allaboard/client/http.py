"""How does a request travel to a real server, and what does it mean when it does not come back?

One session with reused connections. A request that surely never reached the server raises
`Unavailable`, one whose fate is unknown `Timeout`; every answer, also a refusal, is returned. A 401
renews the credentials and asks once more, for the server did nothing. A watch is a stream of lines;
when the connection breaks off mid-line the half line is dropped and the stream just ends, while a
whole line that is no event is an `InternalError`.
"""

import asyncio
import contextlib
import os
import random
import socket
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import getproxies_environment, proxy_bypass

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from allaboard.api.codec import Malformed, read_json, write_json
from allaboard.api.errors import InternalError, Timeout, Unauthorized, Unavailable, from_status
from allaboard.api.meta import Json
from allaboard.client.credentials import Certificate, CredentialError, Identity
from allaboard.client.kubeconfig import Connection, Server
from allaboard.client.transport import Request, Response

CONNECT_S = 10.0
ANSWER_S = 70.0  # the server itself gives up after 60
WATCH_S = (300, 600)  # a watch ends by itself after a random time in between
WATCH_GRACE_S = 30.0
LONGEST_LINE = 64 * 1024 * 1024
POOL = 64  # connections for requests; every watch has one of its own beside them


class HttpTransport:
    def __init__(
        self,
        connection: Connection,
        user_agent: str = "allaboard",
        rng: random.Random | None = None,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._connection = connection
        self._base = URL(connection.server.url)
        self._agent = user_agent
        self._rng = rng if rng is not None else random.Random(0)
        self._timeout = aiohttp.ClientTimeout(total=answer_s, sock_connect=CONNECT_S)
        self._watch_timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S)
        self._sessions: Sessions | None = None
        self._retired: Sessions | None = None
        self._certificate: Certificate | None = None
        self._proxy = connection.server.proxy_url or _proxy_of_environment(self._base)

    def __repr__(self) -> str:
        return f"HttpTransport({self._base})"

    async def request(self, request: Request) -> Response:
        answer = await self._request_once(request)
        if answer.status == Unauthorized.code and self._connection.credentials.forget():
            answer = await self._request_once(request)
        return answer

    async def _request_once(self, request: Request) -> Response:
        identity = await self._identity()
        session = await self._session_for(identity, watching=False)
        data = None if request.body is None else write_json(request.body)
        with _honest_failures(request):
            async with session.request(
                request.method,
                self._url(request.path, request.query),
                data=data,
                headers=self._headers(request, identity),
                timeout=self._timeout,
                **self._options(),
            ) as answer:
                body = _decoded(await answer.read(), answer.content_type)
                return Response(answer.status, body, answer.headers)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        return self._stream(request)

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncIterator[AsyncIterator[Json]]:
        query = dict(request.query)
        asked_s = int(query.setdefault("timeoutSeconds", str(self._rng.randint(*WATCH_S))))
        deadline = asyncio.get_running_loop().time() + asked_s + WATCH_GRACE_S
        request = Request(request.method, request.path, query, accept=request.accept)
        async with contextlib.AsyncExitStack() as stack:
            answer = await self._open(request, stack)
            if answer.status == Unauthorized.code and self._connection.credentials.forget():
                answer.close()
                answer = await self._open(request, stack)
            if answer.status >= 400:
                with _honest_failures(request):
                    body = _decoded(await answer.read(), answer.content_type)
                raise from_status(body, answer.status)
            yield _lines(answer, deadline)

    async def _open(
        self, request: Request, stack: contextlib.AsyncExitStack
    ) -> aiohttp.ClientResponse:
        identity = await self._identity()
        session = await self._session_for(identity, watching=True)
        with _honest_failures(request):
            answer = await session.request(
                request.method,
                self._url(request.path, request.query),
                headers=self._headers(request, identity),
                timeout=self._watch_timeout,
                **self._options(),
            )
        stack.callback(_abandon, answer)
        _keep_alive(answer)
        return answer

    async def close(self) -> None:
        sessions, self._sessions = self._sessions, None
        retired, self._retired = self._retired, None
        await _close(sessions)
        await _close(retired)

    # Parts of a request

    def _url(self, path: str, query: Mapping[str, str]) -> URL:
        url = self._base.with_path(self._base.path.rstrip("/") + path)
        return url.with_query(query) if query else url

    def _headers(self, request: Request, identity: Identity) -> CIMultiDict[str]:
        headers = CIMultiDict(identity.headers)
        headers["Accept"] = request.accept
        headers["User-Agent"] = self._agent
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        for name, value in self._connection.impersonate:
            headers.add(name, value)
        return headers

    def _options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"allow_redirects": False}
        if self._connection.server.tls_server_name:
            options["server_hostname"] = self._connection.server.tls_server_name
        if self._proxy:
            options["proxy"] = self._proxy
        return options

    async def _identity(self) -> Identity:
        try:
            return await self._connection.credentials.current()
        except CredentialError as error:
            raise Unauthorized(str(error)) from error

    async def _session_for(self, identity: Identity, watching: bool) -> aiohttp.ClientSession:
        """The session; a new one when the client certificate, which is per connection, changed."""
        if self._sessions is None or identity.certificate != self._certificate:
            # Watches may go on under the old certificate; those of the one before are over.
            retired, self._retired = self._retired, self._sessions
            tls: ssl.SSLContext | bool = True
            if self._base.scheme == "https":
                tls = tls_context(self._connection.server, identity.certificate)
            self._certificate = identity.certificate
            self._sessions = (_session(tls, POOL, self._base), _session(tls, 0, self._base))
            await _close(retired)
        return self._sessions[watching]


Sessions = tuple[aiohttp.ClientSession, aiohttp.ClientSession]  # for requests, for watches


def _session(tls: ssl.SSLContext | bool, limit: int, base: URL) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=limit, ssl=tls, keepalive_timeout=60),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"Accept-Encoding": "identity"} if _is_local(base) else None,
    )


def _abandon(answer: aiohttp.ClientResponse) -> None:
    """Leave a watch at once: an orderly end of TLS would outlive whoever closes its loop next."""
    if answer.connection is not None and answer.connection.transport is not None:
        answer.connection.transport.abort()
    answer.close()


async def _close(sessions: Sessions | None) -> None:
    for session in sessions or ():
        await session.close()


def tls_context(server: Server, certificate: Certificate | None) -> ssl.SSLContext:
    """Trust the given authority alone, or the system's; TLS 1.2 at least."""
    try:
        if server.ca is not None:
            context = ssl.create_default_context(cadata=server.ca.decode("ascii"))
        else:
            context = ssl.create_default_context()
        if server.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if certificate is not None:
            _load(context, certificate)
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise Unauthorized(f"TLS material of {server.url} cannot be used") from error
    return context


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """OpenSSL reads certificates from files only: one that nobody else may read, for a moment."""
    with tempfile.TemporaryDirectory() as folder:  # made with mode 0700
        path = Path(folder) / "client.pem"
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(certificate.certificate + b"\n" + certificate.key)
        context.load_cert_chain(path)


@contextlib.contextmanager
def _honest_failures(request: Request) -> Any:
    """Say what is known about a request that got no answer."""
    about = f"{request.method} {request.path}"
    try:
        yield
    except aiohttp.ClientConnectorCertificateError as error:
        raise InternalError(f"the server's certificate is not trusted: {error}") from error
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise Unavailable(f"{about}: the server cannot be reached: {error}") from error
    except TimeoutError as error:
        raise Timeout(f"{about}: no answer in time") from error
    except aiohttp.ClientError as error:
        raise Timeout(f"{about}: the connection broke: {type(error).__name__}") from error


def _decoded(raw: bytes, content_type: str) -> Any:
    if "json" in content_type:
        try:
            return read_json(raw)
        except Malformed:
            pass  # a proxy's idea of JSON: shown as the text it is
    return raw.decode(errors="replace")


async def _lines(answer: aiohttp.ClientResponse, deadline: float) -> AsyncIterator[Json]:
    """Whole lines of a watch, decoded, until the stream ends or breaks or the deadline passes."""
    pending: list[bytes] = []  # pieces of the line that has not ended yet
    chunks = answer.content.iter_any()
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await anext(chunks, b"")
        except (aiohttp.ClientError, TimeoutError, ConnectionError):
            return
        if not chunk:
            return
        first, *others = chunk.split(b"\n")
        pending.append(first)
        if sum(map(len, pending)) > LONGEST_LINE:
            raise InternalError("a line of the watch is too long")
        if others:
            whole = [b"".join(pending), *others[:-1]]
            pending = [others[-1]]
            for line in whole:
                if line.strip():
                    yield _event(line)


def _event(line: bytes) -> Json:
    try:
        event = read_json(line)
    except Malformed as error:
        raise InternalError(f"a line of the watch is not JSON: {error}") from error
    if not isinstance(event, dict):
        raise InternalError("a line of the watch is no event")
    return event


def _keep_alive(answer: aiohttp.ClientResponse) -> None:
    """Have the kernel notice a peer that vanished; a watch may be silent for long."""
    transport = answer.connection.transport if answer.connection is not None else None
    sock = transport.get_extra_info("socket") if transport is not None else None
    if sock is None:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _is_local(url: URL) -> bool:
    return url.host in ("127.0.0.1", "localhost", "::1")


def _proxy_of_environment(url: URL) -> str:
    if not url.host or proxy_bypass(url.host) or _is_local(url):
        return ""
    return getproxies_environment().get(url.scheme, "")
