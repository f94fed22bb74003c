"""Who am I, and what may I do? Reviews are answered, never stored.

Permissions are not evaluated yet: whoever is authenticated may do everything, and the reviews say
so. Tokens that the server knows are recognised.
"""

from allaboard.api.meta import Json
from allaboard.cluster.server.auth import Authenticator
from allaboard.cluster.server.exchange import ApiRequest, User

EVERYTHING: Json = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def answer_review(
    request: ApiRequest, kind: str, obj: Json, tokens: Authenticator | None, now: str
) -> Json:
    """The review with its status filled in."""
    user = request.user or User("system:anonymous")
    match kind:
        case "SelfSubjectReview":
            return {
                **obj,
                "metadata": {"creationTimestamp": now},
                "status": {"userInfo": user.to_info()},
            }
        case "SelfSubjectRulesReview":
            return {**obj, "metadata": {}, "spec": {}, "status": EVERYTHING}
        case "TokenReview":
            return {**obj, "status": token_status(obj, tokens)}
    return {**obj, "status": {"allowed": True}}


def token_status(obj: Json, tokens: Authenticator | None) -> Json:
    given = (obj.get("spec") or {}).get("token") or ""
    user = tokens.user_of_token(given) if tokens is not None else None
    if user is None:
        return {"user": {}, "error": "[invalid bearer token]"}
    return {
        "authenticated": True,
        "user": user.to_info(),
        "audiences": ["https://kubernetes.default.svc"],
    }
