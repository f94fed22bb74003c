"""May this user do that? Asked of the API server, whose answer is the only one that counts."""

from collections.abc import Awaitable, Callable

from allaboard.api.meta import Json, Kind
from allaboard.client.client import Client

Access = Callable[[Json, Json], Awaitable[bool]]  # UserInfo and resourceAttributes
REVIEW = Kind(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)


def review_access(client: Client) -> Access:
    """One SubjectAccessReview a question."""

    async def may(user: Json, attributes: Json) -> bool:
        spec: Json = {"user": user.get("username", ""), "resourceAttributes": attributes}
        for name in ("groups", "uid", "extra"):
            if user.get(name):
                spec[name] = user[name]
        body = {"apiVersion": REVIEW.api_version, "kind": REVIEW.kind, "spec": spec}
        answer = await client.create(body, REVIEW)
        return bool((answer.get("status") or {}).get("allowed"))

    return may
