"""Who asks? Bearer tokens and client certificates; nobody is anonymous, except for health.

Every authenticated user is allowed everything: permissions are not evaluated yet. Whoever is
allowed everything may also act as somebody else (impersonation).
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field

from allaboard.api.errors import BadRequest, Unauthorized
from allaboard.clock import Clock
from allaboard.cluster.server.exchange import User

AUTHENTICATED = "system:authenticated"
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})
MAX_TOKEN_BYTES = 16_384
MAX_TOKENS = 100_000


@dataclass(slots=True)
class Authenticator:
    """Knows tokens by their digest, so that looking one up takes no secret-dependent time."""

    tokens: InitVar[dict[str, User] | None] = None
    clock: Clock | None = None  # needed where tokens end
    _known: dict[bytes, tuple[User, float]] = field(default_factory=dict, init=False)

    def __post_init__(self, tokens: dict[str, User] | None) -> None:
        for token, user in (tokens or {}).items():
            self.remember(token, user)

    def remember(self, token: str, user: User, until: float = math.inf) -> None:
        """Recognise `token` as `user` until that instant."""
        if len(self._known) >= MAX_TOKENS:
            self._forget_ended()
        self._known[_digest(token)] = (user, until)

    def user_of(self, headers: Mapping[str, str], certificate: User | None, path: str) -> User:
        """Who sent these headers; Unauthorized for nobody we know."""
        header = headers.get("authorization")
        user = certificate if header is None else self._by_header(header)
        if user is None:
            if header is None and path.rstrip("/") in OPEN_PATHS:
                return ANONYMOUS
            raise Unauthorized("Unauthorized")
        return impersonated(user, headers)

    def user_of_token(self, token: str) -> User | None:
        if not token or len(token) > MAX_TOKEN_BYTES:
            return None
        found = self._known.get(_digest(token))
        if found is None:
            return None
        user, until = found
        now = self.clock.now() if self.clock is not None else -math.inf
        return user if now < until else None

    def _by_header(self, header: str) -> User | None:
        scheme, _, token = header.partition(" ")
        return self.user_of_token(token.strip()) if scheme.lower() == "bearer" else None

    def _forget_ended(self) -> None:
        now = self.clock.now() if self.clock is not None else -math.inf
        self._known = {key: value for key, value in self._known.items() if value[1] > now}


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="replace")).digest()


def impersonated(user: User, headers: Mapping[str, str]) -> User:
    """The user somebody asks to be taken for."""
    name = headers.get("impersonate-user", "")
    groups = headers.get("impersonate-group", "")
    uid = headers.get("impersonate-uid", "")
    if not name:
        if groups or uid:
            listing = ", ".join(f'"{g}"' for g in groups.split("\n") if g)
            shown = f"[]string{{{listing}}}" if groups else "[]string(nil)"
            raise BadRequest(
                f'requested &user.DefaultInfo{{Name:"", UID:"{uid}", Groups:{shown},'
                " Extra:map[string][]string(nil)} without impersonating a user name"
            )
        return user
    wanted = [g for g in groups.split("\n") if g]
    if AUTHENTICATED not in wanted and name != ANONYMOUS.name:
        wanted.append(AUTHENTICATED)
    prefix = "impersonate-extra-"
    extra = {
        key[len(prefix) :]: value.split("\n")
        for key, value in headers.items()
        if key.startswith(prefix)
    }
    return User(name, tuple(wanted), uid, extra)


def certificate_user(peer: Mapping[str, object] | None) -> User | None:
    """The user in a verified client certificate: common name and organisations."""
    if not peer:
        return None
    name, groups = "", []
    subject = peer.get("subject")
    for relative in subject if isinstance(subject, tuple) else ():
        for key, value in relative:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return User(name, (*groups, AUTHENTICATED)) if name else None
