"""What is there, page by page, at which revision?

The table of resourceVersion and resourceVersionMatch is Kubernetes': unset is the newest state, 0
is any, a number is "not older than", `Exact` is that very state. A continue token names a revision
and the last key shown; when that revision is forgotten the answer is 410 with a token that goes on
from the same key in today's state. Field names in the token are Kubernetes' own.
"""

import asyncio
import base64
import binascii
from bisect import bisect_right
from dataclasses import dataclass

import msgspec

from allaboard.api.errors import BadRequest, Expired
from allaboard.api.meta import Json
from allaboard.cluster.server.exchange import ApiResponse, encode_json
from allaboard.cluster.server.refusals import too_large_version
from allaboard.cluster.server.render import Renderer
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.services import Services, is_stored_form, shown
from allaboard.cluster.server.verbs.options import EXACT, ListOptions, revision
from allaboard.cluster.server.verbs.selection import Selection
from allaboard.cluster.store.errors import Compacted
from allaboard.cluster.store.records import Record

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Token:
    """Where a list goes on: `rev` is -1 for "today's state, consistent or not"."""

    rev: int
    start: Key


def encode_token(token: Token, in_namespace: bool) -> str:
    namespace, name = token.start
    start = f"/{name}\0" if in_namespace or not namespace else f"/{namespace}/{name}\0"
    body = encode_json({"v": "meta.k8s.io/v1", "rv": token.rev, "start": start})
    return base64.urlsafe_b64encode(body).decode().rstrip("=")


def decode_token(text: str, namespace: str) -> Token:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise BadRequest("continue key is not valid: illegal base64 data") from None
    try:
        found = msgspec.json.decode(raw)
        rev, start = int(found["rv"]), str(found["start"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        first = raw[:1].decode("latin-1")
        shown_as = f"'\\u{ord(first):04x}'" if first and not first.isascii() else f"'{first}'"
        raise BadRequest(
            "invalid continue token: continue key is not valid: invalid character"
            f" {shown_as} looking for beginning of value"
        ) from None
    if not start or rev < -1 or rev == 0:
        raise BadRequest("continue key is not valid: incorrect continue version or start key")
    parts = start.strip("/").rstrip("\0").split("/")
    return Token(rev, (namespace, parts[0]) if len(parts) == 1 else (parts[0], parts[1]))


async def wait_for_revision(services: Services, wanted: int) -> None:
    """A revision of the future may be on its way to us; wait a little, then say how far we are."""
    if wanted <= services.store.revision:
        return
    step = 0.05
    deadline = services.clock.monotonic() + services.config.version_wait_s
    while services.clock.monotonic() < deadline:
        await asyncio.sleep(step)
        if wanted <= services.store.revision:
            return
    raise too_large_version(wanted, services.store.revision)


def listed_revision(text: str) -> int:
    try:
        return revision(text)
    except BadRequest as error:
        raise BadRequest(f"invalid resource version: {error.message}") from None


def expired_page(token: Token, in_namespace: bool) -> Expired:
    error = Expired(
        "The provided continue parameter is too old to display a consistent list result. You can"
        " start a new list without the continue parameter, or use the continue token in this"
        " response to retrieve the remainder of the results. Continuing with the provided token"
        " results in an inconsistent list - objects that were created, modified, or deleted"
        " between the time the first chunk was returned and now may show up in the list."
    )
    return ExpiredPage(error, encode_token(Token(-1, token.start), in_namespace))


class ExpiredPage(Expired):
    """410 whose Status carries a token to go on with."""

    def __init__(self, error: Expired, token: str) -> None:
        super().__init__(error.message)
        self.token = token

    def to_status(self) -> Json:
        return {**super().to_status(), "metadata": {"continue": self.token}}


class Lister:
    def __init__(self, services: Services) -> None:
        self._services = services

    async def answer(
        self, target: Target, options: ListOptions, selection: Selection, renderer: Renderer
    ) -> ApiResponse:
        page, meta = await self.page(target, options, selection)
        return await self.rendered(target, page, meta, renderer)

    async def rendered(
        self, target: Target, page: list[Record], meta: Json, renderer: Renderer
    ) -> ApiResponse:
        objects = None
        if not is_stored_form(target.resource, target.version.name):
            objects = await shown(
                target.resource, target.version.name, [record.obj for record in page]
            )
        return renderer.many(meta, page, objects)

    async def page(
        self, target: Target, options: ListOptions, selection: Selection
    ) -> tuple[list[Record], Json]:
        """The records of this page and the list's metadata."""
        services, store = self._services, self._services.store
        namespace = target.namespace or None
        start: Key | None = None
        if options.token:
            if options.version and options.version != "0":
                raise BadRequest("specifying resource version is not allowed when using continue")
            token = decode_token(options.token, target.namespace)
            start, rev = token.start, token.rev
            records = self._records_at(target, token)
            if rev == -1:
                rev = store.revision
        elif options.match == EXACT:
            rev = listed_revision(options.version)
            await wait_for_revision(services, rev)
            try:
                records = store.list_at(target.key, namespace, rev)
            except Compacted:
                raise Expired("The resourceVersion for the provided list is too old.") from None
        else:
            await wait_for_revision(services, listed_revision(options.version))
            records, rev = store.list(target.key, namespace), store.revision
        await services.wait_durable(min(rev, store.revision))
        # From version 0 Kubernetes answers out of its cache, which does not page.
        limit = 0 if options.version == "0" and not options.match else options.limit
        return self._cut(target, records, selection, (start, limit, rev))

    def _records_at(self, target: Target, token: Token) -> list[Record]:
        namespace = target.namespace or None
        if token.rev == -1:
            return self._services.store.list(target.key, namespace)
        try:
            return self._services.store.list_at(target.key, namespace, token.rev)
        except Compacted:
            raise expired_page(token, bool(target.namespace)) from None

    def _cut(
        self,
        target: Target,
        records: list[Record],
        selection: Selection,
        where: tuple[Key | None, int, int],
    ) -> tuple[list[Record], Json]:
        start, limit, rev = where
        meta: Json = {"resourceVersion": str(rev)}
        begin = 0
        if start is not None:
            begin = bisect_right(records, start, key=lambda r: (r.namespace, r.name))
        if selection.is_everything:
            end = begin + limit if limit else len(records)
            page = records[begin:end] if begin or end < len(records) else records
            remaining = len(records) - begin - len(page)
        else:
            page, remaining = [], 0
            matches = selection.matches
            for record in records[begin:] if begin else records:
                if matches(record.obj):
                    if limit and len(page) == limit:
                        remaining = 1
                        break
                    page.append(record)
        if remaining > 0:
            last = page[-1]
            token = Token(rev, (last.namespace, last.name))
            meta["continue"] = encode_token(token, bool(target.namespace))
            if selection.is_everything:
                meta["remainingItemCount"] = remaining
        return page, meta
