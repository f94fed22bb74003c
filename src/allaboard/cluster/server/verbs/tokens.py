"""Tokens for service accounts: short-lived names that this server recognises again.

A token is random text from the operating system, remembered in memory until it ends. Restarting the
server forgets them; whoever holds one asks for another, as pods do anyway.
"""

import secrets
from typing import TYPE_CHECKING

from allaboard.api.fields import bad_value, invalid
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.envelope import decode_body
from allaboard.cluster.server.auth import AUTHENTICATED
from allaboard.cluster.server.exchange import ApiRequest, ApiResponse, User
from allaboard.cluster.server.refusals import absent
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.services import rfc3339
from allaboard.cluster.server.verbs.bodies import complain, read_body

if TYPE_CHECKING:
    from allaboard.cluster.server.api import ApiServer

SHORTEST_S, DEFAULT_S, LONGEST_S = 600, 3600, 2**32


async def issue_token(server: "ApiServer", request: ApiRequest, target: Target) -> ApiResponse:
    """Answer a TokenRequest for one service account."""
    services = server.services
    kind = target.resource.subresources["token"]
    body = read_body(request, kind.kind)
    decoded = decode_body(body, kind, schema_of(kind.group, kind.version, kind.kind))
    complain(request, decoded.complaints, kind)
    account = services.store.get(target.key, target.namespace, target.name)
    if account is None:
        raise absent(target.resource, target.name)
    asked = decoded.data.get("spec") or {}
    lasting = asked.get("expirationSeconds") or DEFAULT_S
    if not SHORTEST_S <= lasting <= LONGEST_S:
        limit = "less than 10 minutes" if lasting < SHORTEST_S else "larger than 1<<32 seconds"
        problem = bad_value(
            "spec.expirationSeconds", lasting, f"may not specify a duration {limit}"
        )
        raise invalid(kind.kind, kind.group, target.name, [problem])
    ends = services.clock.now() + lasting
    token = f"aab1.{secrets.token_urlsafe(32)}"
    namespace = target.namespace
    user = User(
        f"system:serviceaccount:{namespace}:{target.name}",
        ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED),
        str(account.obj["metadata"].get("uid", "")),
    )
    if server.authenticator is not None:
        server.authenticator.remember(token, user, ends)
    spec = {
        **asked,
        "audiences": asked.get("audiences") or ["https://kubernetes.default.svc"],
        "expirationSeconds": lasting,
    }
    status = {"token": token, "expirationTimestamp": rfc3339(ends)}
    meta = {"name": target.name, "namespace": namespace, "creationTimestamp": services.timestamp()}
    answer = {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": meta,
        "spec": spec,
        "status": status,
    }
    return ApiResponse(201, body=answer)
