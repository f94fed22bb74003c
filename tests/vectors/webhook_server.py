"""A webhook over TLS that answers as told and remembers what it was asked."""

import asyncio
import base64
import datetime
import json
import ssl
import tempfile
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SLOW_S = 2.5
# A fixed span of time: what matters is that it holds the moment of the test.
_FROM = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
_UNTIL = datetime.datetime(2120, 1, 1, tzinfo=datetime.UTC)


def self_signed(names: tuple[str, ...] = ("localhost",)) -> tuple[bytes, bytes]:
    """A certificate that is its own CA, for 127.0.0.1 and `names`, and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "webhook")])
    hosts: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
    hosts.append(x509.IPAddress(ip_address("127.0.0.1")))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def patch_text(operations: list[Any]) -> str:
    return base64.b64encode(json.dumps(operations).encode()).decode()


class HookServer:
    """`mode` is how it answers from now on; `received` collects path, headers and review."""

    def __init__(self, names: tuple[str, ...] = ("localhost",)) -> None:
        self.mode = "allow"
        self.patch: list[Any] = []  # what mode `patch` answers with
        self.received: list[dict[str, Any]] = []
        self.url = ""
        self.port = 0
        self._certificate, self._key = self_signed(names)
        self.ca = base64.b64encode(self._certificate).decode()
        self._runner: web.AppRunner | None = None
        self._stopping = asyncio.Event()

    async def start(self, port: int = 0) -> None:
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port, ssl_context=self._context())
        await site.start()
        self.port = self._runner.addresses[0][1]
        self.url = f"https://127.0.0.1:{self.port}"

    def _context(self) -> ssl.SSLContext:
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder, "c.pem"), Path(folder, "k.pem")
            certificate.write_bytes(self._certificate)
            key.write_bytes(self._key)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
        return context

    async def stop(self) -> None:
        self._stopping.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        review = await request.json()
        self.received.append(
            {
                "path": request.path_qs,
                "headers": {k: request.headers.get(k) for k in ("Content-Type", "Accept")},
                "review": review,
            }
        )
        if self.mode == "slow":
            await asyncio.wait([asyncio.ensure_future(self._stopping.wait())], timeout=SLOW_S)
        if self.mode == "garbage":
            return web.Response(text="zzz")
        if self.mode == "http500":
            return web.Response(status=500, text="broken")
        if self.mode == "redirect":
            return web.Response(status=302, headers={"Location": "https://127.0.0.1:1/"})
        if self.mode == "huge":
            return web.Response(body=b" " * (4 * 1024 * 1024))
        return web.json_response(self._review(request.path, review))

    def _review(self, path: str, review: dict[str, Any]) -> dict[str, Any]:
        asked = review["request"]
        response = {"uid": asked["uid"], "allowed": True, **self._opinion(path, asked)}
        if self.mode == "noversion":
            return {"response": response}
        return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}

    def _opinion(self, path: str, asked: dict[str, Any]) -> dict[str, Any]:
        match self.mode:
            case "deny":
                return {"allowed": False, "status": {"code": 403, "message": "no thanks"}}
            case "deny422":
                cause = {"reason": "FieldValueInvalid", "message": "m", "field": "data.x"}
                status = {"code": 422, "reason": "Invalid", "message": "bad value"}
                return {"allowed": False, "status": {**status, "details": {"causes": [cause]}}}
            case "denybare":
                return {"allowed": False}
            case "warn":
                return {"warnings": ["first warning", "second warning"]}
            case "wronguid":
                return {"uid": "other"}
            case "badpatch":
                return _patch([{"op": "remove", "path": "/nope"}])
            case "patch":
                return _patch(self.patch)
            case "invalidpatch":
                labels = {"op": "add", "path": "/metadata/labels", "value": {"a": "b c"}}
                return _patch([labels])
        if path.startswith("/mutate") and asked["operation"] != "DELETE":
            key = f"mutate-{path.rpartition('/')[2]}"
            return _patch([{"op": "add", "path": f"/data/{key}", "value": "yes"}])
        return {}


def _patch(operations: list[Any]) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "patch": patch_text(operations)}
