"""How is a webhook called: over TLS, with a deadline, without believing anything it says?

One aiohttp session with pooled connections, opened at the first call. Every set of CA certificates
has its own TLS context, kept by content. Redirects are refused and answers are bounded, so that a
hostile webhook can waste its own deadline and nothing else.
"""

import asyncio
import base64
import binascii
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from allaboard.api.errors import InternalError
from allaboard.api.meta import Json

MAX_ANSWER_BYTES = 3 * 1024 * 1024
_MAX_CONTEXTS = 64
_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }'
)
_GO_TYPES: dict[type, str] = {str: "string", bool: "bool", int: "number", float: "number",
                              list: "array"}  # fmt: skip
encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to connect to, and the host name the certificate must be for."""

    host: str
    port: int
    server_name: str


# (namespace, name, port) of a Service -> where it answers; None when nobody does
Resolver = Callable[[str, str, int], Endpoint | None]


class CallFailed(InternalError):
    """No usable answer came. `message` is the part after "failed to call webhook: "."""


class WebhookCaller:
    """Posts reviews to webhooks. `resolve` finds Services, which live outside this server."""

    def __init__(self, rng: Random, resolve: Resolver | None = None) -> None:
        self._rng = rng
        self._resolve = resolve
        self._session: aiohttp.ClientSession | None = None
        self._contexts: dict[str, ssl.SSLContext] = {}

    def new_uid(self) -> str:
        """A version 4 UUID for a review."""
        bits = self._rng.getrandbits(128)
        bits = bits & ~(0xF << 76) | 4 << 76
        bits = bits & ~(3 << 62) | 2 << 62
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    async def post(self, client_config: Json, body: Json, timeout_s: float) -> Any:
        """The decoded answer; raises CallFailed in Go's words where they are known."""
        shown = f"?timeout={timeout_s:g}s"
        url, address, name = self._target(client_config)
        try:
            async with asyncio.timeout(timeout_s):
                return await self._patiently(address + shown, name, client_config, body)
        except TimeoutError:
            raise CallFailed(f'Post "{url}{shown}": context deadline exceeded') from None
        except aiohttp.ClientConnectorCertificateError as error:
            raise CallFailed(
                f'Post "{url}{shown}": tls: failed to verify certificate: {error.certificate_error}'
            ) from None
        except aiohttp.ClientConnectorError as error:
            refused = isinstance(error.os_error, ConnectionRefusedError)
            why = "connect: connection refused" if refused else str(error.os_error)
            place = f"dial tcp {error.host}:{error.port}"
            raise CallFailed(f'Post "{url}{shown}": {place}: {why}') from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise CallFailed(f'Post "{url}{shown}": {error}') from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _target(self, config: Json) -> tuple[str, str, str]:
        """The URL as messages show it, the one to connect to, and the TLS server name."""
        if config.get("url"):
            url = str(config["url"])
            return url, url, urlsplit(url).hostname or ""
        service = config.get("service") or {}
        name, namespace = service.get("name", ""), service.get("namespace", "")
        port, path = service.get("port", 443), service.get("path") or "/"
        host = f"{name}.{namespace}.svc"
        found = self._resolve(namespace, name, port) if self._resolve is not None else None
        url = f"https://{host}:{port}{path}"
        if found is None:
            raise CallFailed(f'Post "{url}": service "{name}" not found')
        return url, f"https://{found.host}:{found.port}{path}", found.server_name or host

    async def _patiently(self, url: str, name: str, config: Json, body: Json) -> Any:
        """Try once more on a fresh connection: the webhook may have closed the one it had kept."""
        try:
            return await self._exchange(url, name, config, body)
        except aiohttp.ClientConnectorError:
            raise
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            return await self._exchange(url, name, config, body)

    async def _exchange(self, url: str, name: str, config: Json, body: Json) -> Any:
        if self._session is None:
            # Compressed answers are neither asked for nor unpacked: they could be of any size.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
                skip_auto_headers=("Accept-Encoding", "User-Agent"),
            )
        request = self._session.post(
            url,
            data=encode(body),
            headers={"Content-Type": "application/json", "Accept": "application/json, */*"},
            allow_redirects=False,
            ssl=self._context(config.get("caBundle") or ""),
            server_hostname=name,
        )
        async with request as response:
            raw = await _bounded(response)
            if response.status != 200:
                raise CallFailed(_refused(response.status, raw))
        return _decoded(raw)

    def _context(self, bundle: str) -> ssl.SSLContext:
        context = self._contexts.get(bundle)
        if context is None:
            context = ssl.create_default_context()
            if bundle:
                try:
                    text = base64.b64decode(bundle, validate=True).decode("ascii")
                    context = ssl.create_default_context(cadata=text)
                except (binascii.Error, ValueError, ssl.SSLError) as error:
                    raise CallFailed(f"unable to load root certificates: {error}") from None
            if len(self._contexts) >= _MAX_CONTEXTS:
                self._contexts.clear()
            self._contexts[bundle] = context
        return context


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_chunked(65536):
        size += len(chunk)
        if size > MAX_ANSWER_BYTES:
            raise CallFailed(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
        parts.append(chunk)
    return b"".join(parts)


def _refused(status: int, raw: bytes) -> str:
    if 300 <= status < 400:
        return "the webhook answered with a redirect, which is not followed"
    if status >= 500:
        return 'an error on the server ("unknown") has prevented the request from succeeding'
    text = raw[:200].decode(errors="replace")
    return f"the server rejected our request with status {status}: {text}"


def _decoded(raw: bytes) -> Any:
    try:
        answer = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        # Go reads the body as YAML then, where bare words are a string.
        answer = raw[:200].decode(errors="replace")
    if not isinstance(answer, dict):
        found = _GO_TYPES.get(type(answer), "null")
        raise CallFailed(
            "couldn't get version/kind; json parse error: json: cannot unmarshal"
            f" {found} into Go value of type {_STRUCT}"
        )
    return answer
