"""What happens to the objects of one resource, as it happens?

A stream is a cursor into the store's history, so a thousand watchers share every change and its
JSON. Objects that start or stop matching the selector are ADDED and DELETED; a deletion by selector
carries the revision of the change that caused it. A watch ends after its timeout; bookmarks come
about once a minute and two seconds before the end. The timers are periodic work: a simulation does
not wait for them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextvars import copy_context

from allaboard.api.errors import ApiError, Expired
from allaboard.api.meta import Json
from allaboard.clock import setting_periodic_timer
from allaboard.cluster.server.exchange import encode_json
from allaboard.cluster.server.render import Renderer
from allaboard.cluster.server.routes import Target
from allaboard.cluster.server.services import Services, is_stored_form, shown
from allaboard.cluster.server.verbs.options import ListOptions, revision
from allaboard.cluster.server.verbs.selection import Selection
from allaboard.cluster.store.errors import Compacted
from allaboard.cluster.store.records import Change, Record
from allaboard.cluster.store.watch import Watch

LAST_BOOKMARK_S = 2.0
INITIAL_END = "k8s.io/initial-events-end"
BATCH = 100
Event = tuple[str, Json, Record | None]  # type, object, the record whose JSON shows it as it is


def periodic_timer(
    loop: asyncio.AbstractEventLoop, delay_s: float, callback: Callable[[], None]
) -> asyncio.TimerHandle:
    """A timer that does not keep a simulation alive."""
    context = copy_context()

    def arm() -> asyncio.TimerHandle:
        setting_periodic_timer.set(True)
        return loop.call_later(delay_s, callback)

    return context.run(arm)


class Stream:
    """One watch, as events for callers in process or as lines for the wire."""

    def __init__(
        self, services: Services, target: Target, options: ListOptions, selection: Selection
    ) -> None:
        self._services = services
        self._target = target
        self._options = options
        self._selection = selection
        self._initial: list[Record] = []
        self._marks_end = False
        self._bookmark_due = False
        self._ended = False
        self._timers: list[asyncio.TimerHandle] = []
        self._failure: ApiError | None = None
        self._watch: Watch | None = None
        self._as_stored = is_stored_form(target.resource, target.version.name)
        self._open()

    def _open(self) -> None:
        """Fix the point from which the watch sees everything; raises only for bad options."""
        store, options = self._services.store, self._options
        after = revision(options.version)
        from_start = options.initial_events
        if from_start is None:
            from_start = options.version in ("", "0")
        if from_start:
            # Kubernetes answers a future version here once it has caught up; so does the list.
            after = store.revision
            self._initial = store.list(self._target.key, self._target.namespace or None)
            self._marks_end = bool(options.initial_events and options.bookmarks)
        elif options.initial_events is False and options.version in ("", "0"):
            after = store.revision
        try:
            self._watch = store.watch(self._target.key, self._target.namespace or None, after)
        except Compacted as gone:
            self._failure = too_old(self._target.key, gone)

    def close(self) -> None:
        self._ended = True
        for timer in self._timers:
            timer.cancel()
        if self._watch is not None:
            self._watch.close()

    def lines_in(self, renderer: Renderer) -> "Lines":
        return Lines(self, renderer)

    # --- the engine --------------------------------------------------------------------------

    async def batches(self) -> AsyncIterator[list[Event]]:
        """Events as they happen, many at once if they are there; an error is the last event."""
        if self._failure is not None:
            yield [("ERROR", self._failure.to_status(), None)]
            return
        assert self._watch is not None
        self._set_timers()
        try:
            await self._services.wait_durable(self._services.store.revision)
            async for batch in self._initial_events():
                yield batch
            while not self._ended:
                changes = self._watch.take(BATCH)
                if changes:
                    events = await self._translate(changes)
                    if events:
                        yield events
                elif self._bookmark_due:
                    self._bookmark_due = False
                    yield [self._bookmark({})]
                else:
                    await self._watch.wait()
        except Compacted as gone:
            yield [("ERROR", too_old(self._target.key, gone).to_status(), None)]
        except ApiError as error:  # a conversion webhook that fails, for instance
            yield [("ERROR", error.to_status(), None)]
        finally:
            self.close()

    async def _initial_events(self) -> AsyncIterator[list[Event]]:
        chosen = [r for r in self._initial if self._selection.matches(r.obj)]
        self._initial = []
        for start in range(0, len(chosen), BATCH):
            records = chosen[start : start + BATCH]
            if self._as_stored:
                yield [("ADDED", record.obj, record) for record in records]
            else:
                objects = await self._shown([record.obj for record in records])
                yield [("ADDED", obj, None) for obj in objects]
        if self._marks_end:
            yield [self._bookmark({"annotations": {INITIAL_END: "true"}})]

    async def _translate(self, changes: list[Change]) -> list[Event]:
        if self._selection.is_everything:
            found: list[tuple[str, Record, Json | None]] = [
                (change.type, change.record, None) for change in changes
            ]
        else:
            found = [event for change in changes if (event := self._select(change)) is not None]
        if self._as_stored:
            return [
                (kind, record.obj, record) if obj is None else (kind, obj, None)
                for kind, record, obj in found
            ]
        objects = await self._shown(
            [record.obj if obj is None else obj for _, record, obj in found]
        )
        return [(event[0], obj, None) for event, obj in zip(found, objects, strict=True)]

    def _select(self, change: Change) -> tuple[str, Record, Json | None] | None:
        """What a change means to somebody who sees only matching objects."""
        matches = self._selection.matches
        before = change.previous is not None and matches(change.previous.obj)
        after = change.type != "DELETED" and matches(change.record.obj)
        if after:
            return ("MODIFIED" if before else "ADDED", change.record, None)
        if not before:
            return None
        if change.type == "DELETED":
            return ("DELETED", change.record, None)
        assert change.previous is not None
        old = change.previous.obj
        meta = {**old["metadata"], "resourceVersion": str(change.rev)}
        return ("DELETED", change.record, {**old, "metadata": meta})

    async def _shown(self, objects: list[Json]) -> list[Json]:
        return await shown(self._target.resource, self._target.version.name, objects)

    def _bookmark(self, extra: Json) -> Event:
        assert self._watch is not None
        kind = self._target.kind
        meta: Json = {"resourceVersion": str(self._watch.revision), **extra}
        obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": meta}
        return ("BOOKMARK", obj, None)

    # --- timers ------------------------------------------------------------------------------

    def _set_timers(self) -> None:
        config, options = self._services.config, self._options
        loop = asyncio.get_running_loop()
        span = options.timeout_s
        lasting = float(span) if span else config.min_watch_s * (1 + self._services.rng.random())
        self._timers.append(periodic_timer(loop, lasting, self._end))
        if options.bookmarks:
            if lasting > LAST_BOOKMARK_S:
                self._timers.append(
                    periodic_timer(loop, lasting - LAST_BOOKMARK_S, self._want_bookmark)
                )
            self._repeat(loop, config.bookmark_every_s, lasting - LAST_BOOKMARK_S)

    def _repeat(self, loop: asyncio.AbstractEventLoop, every_s: float, left_s: float) -> None:
        if left_s <= every_s or self._ended:
            return

        def ring() -> None:
            self._want_bookmark()
            self._repeat(loop, every_s, left_s - every_s)

        self._timers.append(periodic_timer(loop, every_s, ring))

    def _want_bookmark(self) -> None:
        self._bookmark_due = True
        if self._watch is not None:
            self._watch.interrupt()

    def _end(self) -> None:
        self._ended = True
        if self._watch is not None:
            self._watch.close()


class Lines:
    """A stream as newline-separated JSON, rendered in the form the client asked for."""

    def __init__(self, stream: Stream, renderer: Renderer) -> None:
        self._stream = stream
        self._renderer = renderer

    def close(self) -> None:
        self._stream.close()

    async def events(self) -> AsyncIterator[Json]:
        shape, first = self._renderer.form.shape, True
        async for batch in self._stream.batches():
            for kind, obj, _ in batch:
                if shape and kind != "ERROR":
                    obj = self._shaped(kind, obj, first)
                    first = False
                yield {"type": kind, "object": obj}

    async def lines(self) -> AsyncIterator[bytes]:
        shape, first = self._renderer.form.shape, True
        async for batch in self._stream.batches():
            parts: list[bytes] = []
            for kind, obj, record in batch:
                if shape and kind != "ERROR":
                    data = encode_json(self._shaped(kind, obj, first))
                    first = False
                else:
                    data = record.data if record is not None else encode_json(obj)
                parts += (b'{"type":"', kind.encode(), b'","object":', data, b"}\n")
            yield b"".join(parts)

    def _shaped(self, kind: str, obj: Json, first: bool) -> Json:
        if kind == "BOOKMARK" and self._renderer.form.shape == "Table":
            return self._renderer.table([], obj["metadata"], first)
        return self._renderer.event(obj, first)


def too_old(key: str, gone: Compacted) -> Expired:
    """Kubernetes has two wordings: of its watch cache, and of the store where it has no cache."""
    if key == "events":
        return Expired("The resourceVersion for the provided watch is too old.")
    return Expired(gone.message)
