"""How does a controller tell people what it did?

`record` never waits: news go to a small buffer that one task writes out. The same news about the
same object within ten minutes is one Event whose count grows; the eleventh different message of
one reason is folded into a combined Event; an object that is told about too often (a burst of 25,
then one in five minutes) is not told about more. What cannot be written is dropped and counted:
an Event is never worth a failed reconcile. Limits as in client-go's recorder.
"""

import asyncio
import logging
import random
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from allaboard.api.errors import ApiError, NotFound
from allaboard.api.meta import Json, Kind
from allaboard.api.times import format_micro_time, format_time
from allaboard.api.types.core import Event
from allaboard.api.types.model import Object
from allaboard.client.client import Client
from allaboard.clock import Clock, Instant

EventType = Literal["Normal", "Warning"]
EVENTS_V1 = Kind("events.k8s.io", "v1", "Event", "events")

SAME_FOR_S = 600.0
SIMILAR_LIMIT = 10
BURST = 25
REFILL_S = 300.0
MEMORY = 4_096
LONGEST_MESSAGE = 1_024

log = logging.getLogger(__name__)
_Identity = tuple[str, ...]
V = TypeVar("V")


@dataclass(slots=True)
class _Story:
    """One Event object: written so far, and what is still to be written."""

    reference: Json
    type: str
    reason: str
    message: str
    first: Instant
    last: Instant
    action: str = ""
    count: int = 0
    name: str = ""  # '' until created
    namespace: str = ""


@dataclass(slots=True)
class _Budget:
    tokens: float = float(BURST)
    at: Instant = 0.0


@dataclass(slots=True)
class EventRecorder:
    client: Client
    clock: Clock
    rng: random.Random
    component: str
    instance: str = ""
    api: Literal["core", "events"] = "core"
    dropped: int = field(default=0, init=False)
    written: int = field(default=0, init=False)
    _stories: OrderedDict[_Identity, _Story] = field(default_factory=OrderedDict, init=False)
    _messages: OrderedDict[_Identity, dict[str, Instant]] = field(
        default_factory=OrderedDict, init=False
    )
    _budgets: OrderedDict[_Identity, _Budget] = field(default_factory=OrderedDict, init=False)
    _pending: dict[_Identity, _Story] = field(default_factory=dict, init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def record(
        self,
        regarding: Object | Json,
        type: EventType,  # noqa: A002  (Kubernetes' word)
        reason: str,
        message: str,
        action: str = "",
    ) -> None:
        """Tell about `regarding`; returns at once."""
        now = self.clock.now()
        message = (
            message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…"
        )
        reference = reference_to(regarding)
        about = (reference["kind"], reference.get("namespace", ""), reference["name"],
                 reference.get("uid", ""))  # fmt: skip
        if not self._may(about, now):
            self.dropped += 1
            return
        message, shared = self._combined((*about, type, reason), message, now)
        identity = (*about, type, reason, "" if shared else message)
        story = self._stories.get(identity)
        if story is None or now - story.last > SAME_FOR_S:
            story = _Story(reference, type, reason, message, now, now, action)
            _remember(self._stories, identity, story)
        story.message = message
        story.last = now
        story.count += 1
        if len(self._pending) >= MEMORY and identity not in self._pending:
            self.dropped += 1
            return
        self._pending[identity] = story
        self._news.set()

    def _may(self, about: _Identity, now: Instant) -> bool:
        budget = self._budgets.get(about)
        if budget is None:
            budget = _Budget(at=now)
            _remember(self._budgets, about, budget)
        budget.tokens = min(float(BURST), budget.tokens + (now - budget.at) / REFILL_S)
        budget.at = now
        if budget.tokens < 1.0:
            return False
        budget.tokens -= 1.0
        return True

    def _combined(self, kin: _Identity, message: str, now: Instant) -> tuple[str, bool]:
        """The message to write, and whether it stands for many."""
        messages = self._messages.get(kin)
        if messages is None:
            messages = {}
            _remember(self._messages, kin, messages)
        if message not in messages and len(messages) >= SIMILAR_LIMIT:
            fresh = {m: at for m, at in messages.items() if now - at <= SAME_FOR_S}
            messages.clear()
            messages.update(fresh)
            if len(messages) >= SIMILAR_LIMIT:
                return f"(combined from similar events): {message}", True
        messages[message] = now
        return message, False

    async def run(self) -> None:
        """Write out what was recorded, for ever; one write at a time."""
        while True:
            await self._news.wait()
            self._news.clear()
            await self._write_pending()

    async def flush(self) -> None:
        """Write out what is pending now; used at the end, when `run` no longer runs."""
        await self._write_pending()

    async def _write_pending(self) -> None:
        while self._pending:
            identity = next(iter(self._pending))
            story = self._pending.pop(identity)
            try:
                await self._write(story)
                self.written += 1
            except ApiError as error:
                self.dropped += 1
                log.debug("an event was not written", extra={"error": str(error)})

    async def _write(self, story: _Story) -> None:
        kind = EVENTS_V1 if self.api == "events" else Event.KIND
        if story.name:
            try:
                await self.client.patch(kind, story.name, story.namespace, self._more(story))
                return
            except NotFound:  # it expired meanwhile: tell it anew
                story.name = ""
        story.namespace = str(story.reference.get("namespace") or "default")
        name = f"{story.reference['name']}.{self.rng.getrandbits(64):016x}"
        body = self._first(story, name)
        await self.client.create(body, kind, story.namespace)
        story.name = name

    def _first(self, story: _Story, name: str) -> Json:
        head: Json = {"metadata": {"name": name, "namespace": story.namespace}}
        reported: Json = {
            "type": story.type,
            "reason": story.reason,
            "action": story.action,
            "reportingInstance": self.instance,
        }
        if self.api == "events":
            body = {
                "apiVersion": "events.k8s.io/v1",
                **head,
                "regarding": story.reference,
                "note": story.message,
                "eventTime": format_micro_time(story.first),
                "reportingController": self.component,
                **reported,
                "action": story.action or story.reason,
                "reportingInstance": self.instance or self.component,
            }
            return {"kind": "Event", **body, **self._series(story)}
        return {
            "apiVersion": "v1",
            "kind": "Event",
            **head,
            "involvedObject": story.reference,
            "message": story.message,
            "count": story.count,
            "firstTimestamp": format_time(story.first),
            "lastTimestamp": format_time(story.last),
            "source": {"component": self.component},
            "reportingComponent": self.component,
            **{k: v for k, v in reported.items() if v},
        }

    def _more(self, story: _Story) -> Json:
        if self.api == "events":
            return {"note": story.message, **self._series(story)}
        return {
            "message": story.message,
            "count": story.count,
            "lastTimestamp": format_time(story.last),
        }

    def _series(self, story: _Story) -> Json:
        if story.count < 2:
            return {}
        seen = format_micro_time(story.last)
        return {"series": {"count": story.count, "lastObservedTime": seen}}


def reference_to(regarding: Object | Json) -> Json:
    """An ObjectReference to a view or to plain data."""
    if isinstance(regarding, Object):
        meta, kind = regarding.metadata, regarding.KIND
        fields = {
            "apiVersion": kind.api_version, "kind": kind.kind, "namespace": meta.namespace,
            "name": meta.name, "uid": meta.uid, "resourceVersion": meta.resource_version,
        }  # fmt: skip
    else:
        data = regarding.get("metadata") or {}
        fields = {
            "apiVersion": regarding.get("apiVersion") or "", "kind": regarding.get("kind") or "",
            "namespace": data.get("namespace") or "", "name": data.get("name") or "",
            "uid": data.get("uid") or "", "resourceVersion": data.get("resourceVersion") or "",
        }  # fmt: skip
    result: Json = {k: v for k, v in fields.items() if v}
    result.setdefault("kind", "")
    result.setdefault("name", "")
    return result


def _remember(memory: OrderedDict[_Identity, V], identity: _Identity, value: V) -> None:
    """Keep the latest few thousand; the oldest goes first."""
    memory[identity] = value
    memory.move_to_end(identity)
    if len(memory) > MEMORY:
        memory.popitem(last=False)
