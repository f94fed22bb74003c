"""What goes into the server and what comes out, free of HTTP.

A request carries its body as bytes (from the wire) or as plain data (in process). An answer carries
plain data, a stored record whose JSON already exists, ready text, or a stream of watch events;
whoever sends it on picks the form that costs least.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from allaboard.api.errors import ApiError
from allaboard.api.meta import Json

encode_json = msgspec.json.Encoder().encode
JSON = "application/json"
YAML = "application/yaml"


@dataclass(frozen=True, slots=True)
class User:
    """Who asks, as authentication found out."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.name, self.groups, self.uid))

    def to_info(self) -> Json:
        """The shape of authentication.k8s.io UserInfo."""
        info: Json = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        if self.groups:
            info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = {key: list(values) for key, values in self.extra.items()}
        return info


@dataclass(slots=True, eq=False)
class ApiRequest:
    method: str
    path: str  # as sent, percent-encoding included, without the query
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""
    data: Any = None  # the body as plain data, instead of bytes; never changed by the server
    user: User | None = None
    verb: str = ""  # what it turned out to be, and about which resource; for metrics
    resource: str = ""
    warnings: list[str] = field(default_factory=list)  # become `Warning: 299` headers

    @property
    def has_body(self) -> bool:
        return self.data is not None or bool(self.body)

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Encodable(Protocol):
    """A body that can show itself as data and as JSON, whichever is asked for."""

    def to_data(self) -> Any: ...

    def to_json(self) -> bytes: ...


class WatchStream(Protocol):
    """Watch events, either as data or as lines of JSON; only one of the two is consumed."""

    def events(self) -> AsyncIterator[Json]: ...

    def lines(self) -> AsyncIterator[bytes]: ...

    def close(self) -> None: ...


@dataclass(slots=True, eq=False)
class ApiResponse:
    status: int
    body: Any = None  # plain data
    lazy: Encodable | None = None  # instead of `body`
    text: bytes | None = None  # instead of both, with its own content type
    stream: WatchStream | None = None
    content_type: str = JSON
    headers: list[tuple[str, str]] = field(default_factory=list)

    def to_data(self) -> Any:
        if self.text is not None:
            return self.text.decode(errors="replace")
        return self.lazy.to_data() if self.lazy is not None else self.body

    def to_bytes(self) -> bytes:
        if self.text is not None:
            return self.text
        if self.content_type == YAML:
            return to_yaml(self.to_data())
        if self.lazy is not None:
            return self.lazy.to_json()
        return b"" if self.body is None else encode_json(self.body) + b"\n"


def to_yaml(data: Any) -> bytes:
    """YAML as Kubernetes prints it: keys sorted, block style."""
    import yaml

    plain = msgspec.to_builtins(data)
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(plain, Dumper=dumper, default_flow_style=False, allow_unicode=True, width=4096)
    return str(text).encode()


def plain_text(status: int, text: str) -> ApiResponse:
    return ApiResponse(status, text=text.encode(), content_type="text/plain; charset=utf-8")


def refusal(error: ApiError) -> ApiResponse:
    """The answer for an error: its Status, and Retry-After where there is something to wait for."""
    response = ApiResponse(error.status_code, body=error.to_status())
    if error.retry_after_s is not None:
        response.headers.append(("Retry-After", str(error.retry_after_s)))
    return response
