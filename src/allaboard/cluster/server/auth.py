"""Who asks? Bearer tokens and client certificates; nobody is anonymous, except for health.

Every authenticated user is allowed everything: permissions are not evaluated yet. Whoever is
allowed everything may also act as somebody else (impersonation).
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from allaboard.api.errors import BadRequest, Unauthorized
from allaboard.cluster.server.exchange import User

AUTHENTICATED = "system:authenticated"
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/version"})
MAX_TOKEN_BYTES = 16_384


@dataclass(slots=True)
class Authenticator:
    """Tokens are compared in constant time; a certificate's name comes from the TLS layer."""

    tokens: dict[str, User] = field(default_factory=dict)

    def user_of(self, headers: Mapping[str, str], certificate: User | None, path: str) -> User:
        user = certificate or self._by_token(headers.get("authorization", ""))
        if user is None:
            if path.rstrip("/") in OPEN_PATHS and "authorization" not in headers:
                return ANONYMOUS
            raise Unauthorized("Unauthorized")
        return impersonated(user, headers)

    def _by_token(self, header: str) -> User | None:
        scheme, _, given = header.partition(" ")
        given = given.strip()
        if scheme.lower() != "bearer" or not given or len(given) > MAX_TOKEN_BYTES:
            return None
        found = None
        for token, user in self.tokens.items():
            if hmac.compare_digest(token.encode(), given.encode(errors="replace")):
                found = user
        return found


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
