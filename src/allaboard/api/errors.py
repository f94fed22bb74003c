"""How an API server says no, as exceptions on both sides of the wire.

    ApiError                      any answer of 400 and above
    ├── BadRequest        400     the request cannot be understood
    ├── Unauthorized      401     who are you?
    ├── Forbidden         403     not you, or not now
    ├── NotFound          404
    ├── MethodNotAllowed  405
    ├── NotAcceptable     406
    ├── AlreadyExists     409     a create met an object of that name
    ├── Conflict          409     the object changed meanwhile; read again and redo
    ├── Expired           410     that point of history is forgotten; list again
    ├── TooLarge          413
    ├── UnsupportedMedia  415
    ├── Invalid           422     the object breaks a rule of its kind
    ├── TooManyRequests   429     retryable, after `retry_after_s`
    ├── InternalError     500
    ├── Unavailable       503     retryable
    └── Timeout           504     the outcome may be unknown

`retryable` says whether sending the same request again can help. `to_status` and `from_status`
are inverse on what a `Status` object carries.
"""

from typing import Any, ClassVar

from allaboard.api.meta import Json


class ApiError(Exception):
    code: ClassVar[int] = 500
    reason: ClassVar[str] = "InternalError"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        details: Json | None = None,
        code: int | None = None,
        reason: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        self.status_code = code if code is not None else self.code
        self.status_reason = reason if reason is not None else self.reason

    @property
    def retry_after_s(self) -> int | None:
        seconds = (self.details or {}).get("retryAfterSeconds")
        return int(seconds) if seconds else None

    def to_status(self) -> Json:
        """The `Status` object a server answers with."""
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.status_reason:
            status["reason"] = self.status_reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.status_code
        return status


class BadRequest(ApiError):
    code, reason = 400, "BadRequest"


class Unauthorized(ApiError):
    code, reason = 401, "Unauthorized"


class Forbidden(ApiError):
    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    code, reason = 404, "NotFound"


class MethodNotAllowed(ApiError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptable(ApiError):
    code, reason = 406, "NotAcceptable"


class AlreadyExists(ApiError):
    code, reason = 409, "AlreadyExists"


class Conflict(ApiError):
    """Somebody else wrote first. Retrying the same bytes cannot help; redoing the change can."""

    code, reason = 409, "Conflict"


class Expired(ApiError):
    code, reason = 410, "Expired"


class TooLarge(ApiError):
    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMedia(ApiError):
    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    code, reason, retryable = 429, "TooManyRequests", True


class InternalError(ApiError):
    code, reason = 500, "InternalError"


class Unavailable(ApiError):
    code, reason, retryable = 503, "ServiceUnavailable", True


class Timeout(ApiError):
    code, reason = 504, "Timeout"


_BY_REASON: dict[str, type[ApiError]] = {
    cls.reason: cls
    for cls in (
        BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable,
        AlreadyExists, Conflict, Expired, TooLarge, UnsupportedMedia, Invalid, TooManyRequests,
        InternalError, Unavailable, Timeout,
    )
}  # fmt: skip
_BY_REASON["Gone"] = Expired
_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest, 401: Unauthorized, 403: Forbidden, 404: NotFound, 405: MethodNotAllowed,
    406: NotAcceptable, 409: Conflict, 410: Expired, 413: TooLarge, 415: UnsupportedMedia,
    422: Invalid, 429: TooManyRequests, 503: Unavailable, 504: Timeout,
}  # fmt: skip


def from_status(status: Any, code: int = 500) -> ApiError:
    """The exception for a `Status` body, or for whatever a broken server sent instead of one."""
    if not isinstance(status, dict) or status.get("kind") != "Status":
        cls = _BY_CODE.get(code, InternalError)
        return cls(f"the server answered {code} without a Status: {str(status)[:200]}", code=code)
    code = int(status.get("code") or code)
    reason = str(status.get("reason") or "")
    cls = _BY_REASON.get(reason) or _BY_CODE.get(code, InternalError)
    message = str(status.get("message") or reason or f"HTTP {code}")
    return cls(message, details=status.get("details"), code=code, reason=reason)
