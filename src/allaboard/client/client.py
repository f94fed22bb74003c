"""The verbs: how does a program read and change objects on an API server?

Every verb takes *what* it is about: a typed view (`Pod`), then answers are views, or a plain
`Kind`, then answers are plain data. Reads of one object raise `NotFound` (`get`) or return None
(`find`). Writes carry our field manager. A view knows only part of its kind, so `update` takes
plain data.

`hears_of_writes` is told of every change that the server confirmed to this task; the runtime's
read-your-writes hangs there. Answers are shared with caches and, in process, with the store: never
change them.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from msgspec import ValidationError

from allaboard.api.errors import Expired, InternalError, NotFound, from_status
from allaboard.api.meta import Json, Key, Kind, key_of
from allaboard.api.types.model import Object, plain, typed
from allaboard.client.kinds import kind_of
from allaboard.client.options import Propagation, Selection, delete_options, query
from allaboard.client.retries import Retries
from allaboard.client.transport import Request, Response, Transport

T = TypeVar("T", bound=Object)
V = TypeVar("V")
PatchKind = Literal["merge", "json", "strategic"]

Patch = Json | list[Json]

_PATCH_TYPES: Mapping[str, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Listing(Generic[V]):
    items: list[V]
    resource_version: str


class WatchEvent(NamedTuple, Generic[V]):
    type: str  # ADDED, MODIFIED, DELETED; BOOKMARK when asked for
    object: V


class Written(NamedTuple):
    """A confirmed change. `object` is what the server answered: the object, or a Status."""

    kind: Kind
    key: Key
    verb: Literal["write", "delete"]
    object: Json


# Set for a task, and those it starts, by whoever wants to know what they change.
hears_of_writes: ContextVar[Callable[[Written], None] | None] = ContextVar(
    "hears_of_writes", default=None
)


@dataclass(slots=True)
class Client:
    transport: Transport
    user_agent: str = "allaboard"
    retries: Retries = field(default_factory=Retries)

    @property
    def field_manager(self) -> str:
        return self.user_agent.split("/", 1)[0]

    # Reads

    @overload
    async def get(
        self, what: type[T], name: str, namespace: str = "", subresource: str = ""
    ) -> T: ...
    @overload
    async def get(
        self, what: Kind, name: str, namespace: str = "", subresource: str = ""
    ) -> Json: ...
    async def get(
        self, what: type[T] | Kind, name: str, namespace: str = "", subresource: str = ""
    ) -> T | Json:
        kind = _kind(what)
        answer = await self._send(Request("GET", kind.path(namespace, _name(name), subresource)))
        return _as(what, answer.body)

    @overload
    async def find(self, what: type[T], name: str, namespace: str = "") -> T | None: ...
    @overload
    async def find(self, what: Kind, name: str, namespace: str = "") -> Json | None: ...
    async def find(self, what: type[T] | Kind, name: str, namespace: str = "") -> T | Json | None:
        try:
            return await self.get(what, name, namespace)
        except NotFound:
            return None

    @overload
    async def list(
        self,
        what: type[T],
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        page: int = 500,
    ) -> Listing[T]: ...
    @overload
    async def list(
        self, what: Kind, namespace: str = "", labels: str = "", fields: str = "", page: int = 500
    ) -> Listing[Json]: ...
    async def list(
        self,
        what: type[T] | Kind,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        page: int = 500,
    ) -> Listing[T] | Listing[Json]:
        """All matching objects, fetched page by page (`page` 0: in one answer).

        When a continue token expires on the way the rest is read from a newer state, as the server
        offers; then objects may be missed or seen twice at the seam, so the first page's
        resourceVersion is kept: a watch from there brings whatever the later pages lack.
        """
        kind = _kind(what)
        items: list[Json] = []
        first_version = ""
        wanted = query(labelSelector=labels, fieldSelector=fields, limit=page)
        token = ""
        while True:
            body = await self._page(kind, namespace, wanted | query(**{"continue": token}))
            meta = body.get("metadata") or {}
            first_version = first_version or str(meta.get("resourceVersion") or "")
            items.extend(body.get("items") or [])
            token = str(meta.get("continue") or "")
            if not token:
                break
        if isinstance(what, Kind):
            return Listing(_named(kind, items), first_version)
        return Listing([_view(what, item) for item in items], first_version)

    async def newest_version(self, what: type[Object] | Kind, namespace: str = "") -> str:
        """The resourceVersion that a list would have now, for the price of one object."""
        body = await self._page(_kind(what), namespace, {"limit": "1"})
        return _dig(body, "metadata", "resourceVersion")

    async def _page(self, kind: Kind, namespace: str, wanted: dict[str, str]) -> Json:
        path = kind.path(namespace)
        answer = await self._exchange(Request("GET", path, wanted))
        if answer.status == Expired.code and "continue" in wanted:
            token = _dig(answer.body, "metadata", "continue")
            if token:
                answer = await self._exchange(Request("GET", path, wanted | {"continue": token}))
        body = _checked(answer).body
        if not isinstance(body, dict):
            raise InternalError(f"list of {kind.resource}: the answer is not an object")
        return body

    def stream(
        self, kind: Kind, namespace: str, resource_version: str, selection: Selection
    ) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        """A watch as it comes over the wire, bookmarks and ERROR events included."""
        request = Request("GET", kind.path(namespace), selection.query(resource_version))
        return self.transport.stream(request)

    @overload
    def watch(
        self,
        what: type[T],
        namespace: str = "",
        *,
        resource_version: str = "",
        selection: Selection | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent[T]]]: ...
    @overload
    def watch(
        self,
        what: Kind,
        namespace: str = "",
        *,
        resource_version: str = "",
        selection: Selection | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent[Json]]]: ...
    def watch(
        self,
        what: type[T] | Kind,
        namespace: str = "",
        *,
        resource_version: str = "",
        selection: Selection | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[WatchEvent[Any]]]:
        """Changes after `resource_version`, as they happen, until the server ends the stream.

        An ERROR event is raised as the ApiError it carries. Nothing reconnects here: an informer
        does. Use it as `async with client.watch(Pod, "ns") as events: async for event in events`.
        """
        return self._watch(what, namespace, resource_version, selection or Selection())

    @asynccontextmanager
    async def _watch(
        self, what: type[T] | Kind, namespace: str, version: str, selection: Selection
    ) -> AsyncIterator[AsyncIterator[WatchEvent[Any]]]:
        async with self.stream(_kind(what), namespace, version, selection) as lines:
            yield _events(what, lines)

    # Writes

    @overload
    async def create(self, obj: T, what: None = None, namespace: str = "") -> T: ...
    @overload
    async def create(self, obj: Json, what: type[T], namespace: str = "") -> T: ...
    @overload
    async def create(self, obj: Json, what: Kind | None = None, namespace: str = "") -> Json: ...
    async def create(
        self, obj: Object | Json, what: type[T] | Kind | None = None, namespace: str = ""
    ) -> Any:
        """Create it, in `namespace` or the one it names. Never sent twice unless surely lost."""
        data, what = _body(obj, what)
        kind = _kind(what)
        namespace = namespace or _dig(data, "metadata", "namespace")
        answer = await self._write(kind, Request("POST", kind.path(namespace), body=data))
        return _as(what, answer)

    @overload
    async def update(
        self, obj: Json, what: type[T], namespace: str = "", subresource: str = ""
    ) -> T: ...
    @overload
    async def update(
        self, obj: Json, what: Kind | None = None, namespace: str = "", subresource: str = ""
    ) -> Json: ...
    async def update(
        self,
        obj: Json,
        what: type[T] | Kind | None = None,
        namespace: str = "",
        subresource: str = "",
    ) -> T | Json:
        """Replace it. With a resourceVersion in it, only if nobody changed it since."""
        data, what = _body(obj, what)
        kind = _kind(what)
        namespace = namespace or _dig(data, "metadata", "namespace")
        path = kind.path(namespace, _name(_dig(data, "metadata", "name")), subresource)
        return _as(what, await self._write(kind, Request("PUT", path, body=data)))

    @overload
    async def patch(
        self,
        what: type[T],
        name: str,
        namespace: str = "",
        patch: Patch = ...,
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> T: ...
    @overload
    async def patch(
        self,
        what: Kind,
        name: str,
        namespace: str = "",
        patch: Patch = ...,
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> Json: ...
    async def patch(
        self,
        what: type[T] | Kind,
        name: str,
        namespace: str = "",
        patch: Patch | None = None,
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> T | Json:
        """Change part of it. `metadata.resourceVersion` in a merge patch is a precondition."""
        path = _kind(what).path(namespace, _name(name), subresource)
        body = {} if patch is None else patch
        request = Request("PATCH", path, body=body, content_type=_PATCH_TYPES[kind])
        return _as(what, await self._write(_kind(what), request))

    @overload
    async def apply(
        self,
        obj: T,
        what: None = None,
        namespace: str = "",
        force: bool = False,
        subresource: str = "",
    ) -> T: ...
    @overload
    async def apply(
        self,
        obj: Json,
        what: type[T],
        namespace: str = "",
        force: bool = False,
        subresource: str = "",
    ) -> T: ...
    @overload
    async def apply(
        self,
        obj: Json,
        what: Kind | None = None,
        namespace: str = "",
        force: bool = False,
        subresource: str = "",
    ) -> Json: ...
    async def apply(
        self,
        obj: Object | Json,
        what: type[T] | Kind | None = None,
        namespace: str = "",
        force: bool = False,
        subresource: str = "",
    ) -> Any:
        """Server-side apply: these fields shall have these values, and we own them."""
        data, what = _body(obj, what)
        kind = _kind(what)
        namespace = namespace or _dig(data, "metadata", "namespace")
        path = kind.path(namespace, _name(_dig(data, "metadata", "name")), subresource)
        request = Request("PATCH", path, {"force": "true"} if force else {}, data, _APPLY)
        return _as(what, await self._write(kind, request))

    async def post(
        self, what: type[Object] | Kind, name: str, namespace: str, subresource: str, body: Json
    ) -> Json:
        """Create a subresource: `binding`, `eviction`, `token`. Answers what the server says."""
        kind = _kind(what)
        path = kind.path(namespace, _name(name), subresource)
        return dict((await self._send(self._signed(Request("POST", path, body=body)))).body)

    async def delete(  # noqa: PLR0913  (the options of the API's DeleteOptions)
        self,
        what: type[Object] | Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: Propagation | None = None,
        grace_s: int | None = None,
    ) -> Json:
        """Delete it, only if uid and resourceVersion are still these where given.

        Answers what the server says: a Status, or the object if it stays a while (finalizers,
        graceful termination).
        """
        kind = _kind(what)
        options = delete_options(uid, resource_version, propagation, grace_s)
        request = Request("DELETE", kind.path(namespace, _name(name)), body=options or None)
        answer = await self._send(request)
        body = answer.body if isinstance(answer.body, dict) else {}
        _tell(kind, Key(namespace, name), "delete", body)
        return body

    async def delete_collection(
        self,
        what: type[Object] | Kind,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        propagation: Propagation | None = None,
    ) -> None:
        wanted = query(labelSelector=labels, fieldSelector=fields)
        options = delete_options(propagation=propagation)
        await self._send(Request("DELETE", _kind(what).path(namespace), wanted, options or None))

    # The wire

    def _signed(self, request: Request) -> Request:
        request.query = {**request.query, "fieldManager": self.field_manager}
        return request

    async def _write(self, kind: Kind, request: Request) -> Json:
        answer = await self._send(self._signed(request))
        body = answer.body
        if not isinstance(body, dict):
            raise InternalError(f"{request.method} {request.path}: the answer is not an object")
        _tell(kind, key_of(body), "write", body)
        return body

    async def _send(self, request: Request) -> Response:
        return _checked(await self._exchange(request))

    async def _exchange(self, request: Request) -> Response:
        """One request, sent again only where that is safe; refusals are returned."""
        return await self.retries.run(self.transport, request)


async def _events(
    what: type[T] | Kind, lines: AsyncIterator[Json]
) -> AsyncIterator[WatchEvent[Any]]:
    async for line in lines:
        type_, obj = line.get("type"), line.get("object")
        if type_ == "ERROR":
            raise from_status(obj)
        if not isinstance(type_, str) or not isinstance(obj, dict):
            raise InternalError("the watch sent something that is no event")
        yield WatchEvent(type_, obj if type_ == "BOOKMARK" else _as(what, obj))


def _tell(kind: Kind, key: Key, verb: Literal["write", "delete"], body: Json) -> None:
    listener = hears_of_writes.get()
    if listener is not None:
        listener(Written(kind, key, verb, body))


def _checked(answer: Response) -> Response:
    if answer.status >= 400:
        raise from_status(answer.body, answer.status)
    return answer


def _kind(what: type[Object] | Kind) -> Kind:
    return what if isinstance(what, Kind) else what.KIND


def _name(name: str) -> str:
    """A name that really is one: with '' a delete of one object would become one of all."""
    if not name or "/" in name or name in (".", ".."):
        raise ValueError(f"not a name of an object: {name!r}")
    return name


def _dig(data: Any, *path: str) -> str:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data if isinstance(data, str) else ""


def _body(obj: Object | Json, what: type[T] | Kind | None) -> tuple[Json, type[T] | Kind]:
    """Plain data that says its apiVersion and kind, and what it is."""
    if isinstance(obj, Object):
        return plain(obj), what or type(obj)  # type: ignore[return-value]
    what = what or kind_of(obj)
    if "kind" in obj and "apiVersion" in obj:
        return obj, what
    kind = _kind(what)
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj}, what


@overload
def _as(what: type[T], body: Any) -> T: ...
@overload
def _as(what: Kind, body: Any) -> Json: ...
@overload
def _as(what: type[T] | Kind, body: Any) -> T | Json: ...
def _as(what: type[T] | Kind, body: Any) -> T | Json:
    if not isinstance(body, dict):
        raise InternalError(f"the answer about {_kind(what).resource} is not an object")
    return body if isinstance(what, Kind) else _view(what, body)


def _view(what: type[T], body: Json) -> T:
    try:
        return typed(what, body)
    except ValidationError as error:
        raise InternalError(f"{what.KIND.kind} {key_of(body)} cannot be read: {error}") from error


def _named(kind: Kind, items: list[Json]) -> list[Json]:
    """Items of a list leave out what the list says for all of them; alone they must say it."""
    head = {"kind": kind.kind, "apiVersion": kind.api_version}
    return [item if "kind" in item else {**head, **item} for item in items]
