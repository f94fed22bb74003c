"""Who are we, to an API server? Sources of tokens, passwords and client certificates.

`current` gives what to send now and renews it when it is about to end; `forget` says the server
refused it. Secrets appear in no repr and in no error.
"""

import asyncio
import base64
import binascii
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from allaboard.api.meta import Json
from allaboard.api.times import TimeError, parse_time
from allaboard.clock import Clock, Instant

TOKEN_FILE_REREAD_S = 60.0
EARLY_S = 10.0  # an exec credential is renewed this long before it ends
EXEC_TIMEOUT_S = 60.0
EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


class CredentialError(Exception):
    """A credential cannot be had. The text says why, never what."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client certificate and its key, PEM."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Identity:
    """What to send with a request, and how to open a connection."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    certificate: Certificate | None = None


class Credentials(Protocol):
    async def current(self) -> Identity: ...

    def forget(self) -> bool:
        """The server refused what `current` gave; True if asking again may give another."""
        ...


@dataclass(frozen=True, slots=True)
class Fixed:
    """What never changes: a token, a password, a certificate, or nothing."""

    identity: Identity = field(default_factory=Identity)

    async def current(self) -> Identity:
        return self.identity

    def forget(self) -> bool:
        return False


def token_headers(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def password_headers(username: str, password: str) -> dict[str, str]:
    pair = base64.b64encode(f"{username}:{password}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


@dataclass(slots=True)
class TokenFile:
    """A token in a file that somebody else keeps fresh (a mounted service account token)."""

    path: Path
    clock: Clock
    certificate: Certificate | None = None
    fallback: str = field(default="", repr=False)
    _token: str = field(default="", init=False, repr=False)
    _read_at: float = field(default=float("-inf"), init=False)

    async def current(self) -> Identity:
        now = self.clock.monotonic()
        if now - self._read_at >= TOKEN_FILE_REREAD_S:
            self._token = self._read() or self._token or self.fallback
            self._read_at = now
        if not self._token:
            raise CredentialError(f"{self.path}: there is no token in this file")
        return Identity(token_headers(self._token), self.certificate)

    def _read(self) -> str:
        try:
            return self.path.read_text().strip()
        except OSError:
            return ""  # being replaced just now; the last one may still do

    def forget(self) -> bool:
        self._read_at = float("-inf")
        return True


@dataclass(frozen=True, slots=True)
class ExecSpec:
    """The `exec` section of a kubeconfig user."""

    command: str
    api_version: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    cluster: Json | None = field(default=None, repr=False)  # where provideClusterInfo asks for it


@dataclass(slots=True)
class ExecPlugin:
    """A program that prints an ExecCredential. Runs when needed, one at a time."""

    spec: ExecSpec
    clock: Clock
    _identity: Identity | None = field(default=None, init=False, repr=False)
    _ends_at: Instant = field(default=float("inf"), init=False)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock, init=False, repr=False)

    async def current(self) -> Identity:
        async with self._lock:
            if self._identity is None or self.clock.now() >= self._ends_at - EARLY_S:
                self._identity, self._ends_at = parse_exec_credential(
                    await self._run(), self.spec.api_version
                )
            return self._identity

    def forget(self) -> bool:
        self._identity = None
        return True

    async def _run(self) -> bytes:
        interactive = _may_interact(self.spec.interactive_mode)
        info: Json = {"interactive": interactive}
        if self.spec.cluster is not None:
            info["cluster"] = self.spec.cluster
        request = {"apiVersion": self.spec.api_version, "kind": "ExecCredential", "spec": info}
        env = {**os.environ, **self.spec.env, "KUBERNETES_EXEC_INFO": json.dumps(request)}
        try:
            process = await asyncio.create_subprocess_exec(
                self.spec.command,
                *self.spec.args,
                env=env,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"; {self.spec.install_hint}" if self.spec.install_hint else ""
            reason = error.strerror or "cannot be run"
            raise CredentialError(f"exec plugin {self.spec.command}: {reason}{hint}") from error
        try:
            async with asyncio.timeout(EXEC_TIMEOUT_S):
                output, _ = await process.communicate()
        except TimeoutError as error:
            process.kill()
            await process.wait()
            raise CredentialError(f"exec plugin {self.spec.command}: no answer") from error
        if process.returncode != 0:
            raise CredentialError(
                f"exec plugin {self.spec.command}: ended with code {process.returncode}"
            )
        return output


def _may_interact(mode: str) -> bool:
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not has_terminal:
        raise CredentialError("the exec plugin needs a terminal (interactiveMode: Always)")
    return mode != "Never" and has_terminal


def parse_exec_credential(output: bytes, api_version: str) -> tuple[Identity, Instant]:
    """What a plugin printed: an identity, and when it ends."""
    try:
        said = json.loads(output)
        status = said["status"]
        if said.get("kind") != "ExecCredential" or said.get("apiVersion") != api_version:
            raise CredentialError(f"the exec plugin did not answer an ExecCredential {api_version}")
        ends_at = _end(status.get("expirationTimestamp"))
        token, certificate = status.get("token"), status.get("clientCertificateData")
        key = status.get("clientKeyData")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # The cause may quote the output, which is secret.
        raise CredentialError(
            f"the exec plugin's answer is no ExecCredential ({type(error).__name__})"
        ) from None
    if not token and not (certificate and key):
        raise CredentialError("the exec plugin answered neither a token nor a certificate and key")
    pair = Certificate(certificate.encode(), key.encode()) if certificate and key else None
    return Identity(token_headers(token) if token else {}, pair), ends_at


def _end(text: Any) -> Instant:
    if not text:
        return float("inf")
    try:
        return parse_time(str(text))
    except TimeError as error:
        raise CredentialError("the exec plugin's expirationTimestamp is no time") from error


def decoded(data: str, field_name: str) -> bytes:
    """The bytes of a base64 field, named in the error."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise CredentialError(f"{field_name} is not base64") from error
