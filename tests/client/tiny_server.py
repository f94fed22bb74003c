"""A small real HTTP server that answers what a test tells it to, and TLS material for it."""

import asyncio
import datetime
import ipaddress
import json
import ssl
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Material(NamedTuple):
    certificate: bytes
    key: bytes


def _pem(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Material:
    return Material(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


class Authority:
    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self.certificate = self._signed(self.name, self.key, True, [])
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str, *alternatives: x509.GeneralName) -> Material:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return _pem(self._signed(subject, key, False, list(alternatives)), key)

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        is_authority: bool,
        alternatives: list[x509.GeneralName],
    ) -> x509.Certificate:
        start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self.name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(start + datetime.timedelta(days=36500))
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        )
        if alternatives:
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), False)
        return builder.sign(self.key, hashes.SHA256())


def server_context(authority: Authority, folder: Path, *names: x509.GeneralName) -> ssl.SSLContext:
    """Serves a certificate for these names (default 127.0.0.1) and asks for a client's."""
    alternatives = names or (x509.IPAddress(ipaddress.ip_address("127.0.0.1")),)
    material = authority.issue("server", *alternatives)
    path = folder / "server.pem"
    path.write_bytes(material.certificate + material.key)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(path)
    return context


class TinyServer:
    """Answers from `answers`, one a request, the last one for ever; remembers requests."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[Any] = []  # method, path with query, headers, body
        self.peer_names: list[str] = []
        self.url = ""

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.requests.append((request.method, str(request.rel_url), request.headers, body))
        peer = request.get_extra_info("peercert")
        self.peer_names.append(dict(x[0] for x in peer["subject"])["commonName"] if peer else "")
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return await answer(request)

    @property
    def authorizations(self) -> list[str | None]:
        return [headers.get("Authorization") for _, _, headers, _ in self.requests]


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> Any:
    tiny = TinyServer()
    runner = web.ServerRunner(web.Server(tiny), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    scheme = "https" if context else "http"
    tiny.url = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield tiny
    finally:
        await runner.cleanup()


def says(body: Any, status: int = 200, **headers: str) -> Answer:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        shown = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(body, status=status, headers=shown)

    return answer


def refuses(code: int, reason: str, **headers: str) -> Answer:
    body = {"kind": "Status", "code": code, "reason": reason, "message": f"no: {reason}"}
    return says(body, code, **headers)


def hangs_up() -> Answer:
    """Read the request, then cut the connection without an answer."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return answer


def streams(*chunks: bytes, cut: bool = False) -> Answer:
    """Send these pieces one by one, then end properly, or cut the connection."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
            await asyncio.sleep(0.01)
        if cut and request.transport is not None:
            request.transport.abort()
        return response

    return answer


def line(type_: str, **fields: Any) -> bytes:
    return json.dumps({"type": type_, "object": fields}).encode() + b"\n"
