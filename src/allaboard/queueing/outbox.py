"""Writes that wait their turn: one in flight per object, the latest intent first, never blocking.

Who decides hands over a function that makes the patch from the object as it is when its turn
comes, so an intent that was overtaken simply finds nothing to do. Low-priority intents (a pending
condition) wait until nothing else does. The answer goes back as an event.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from allaboard.api.errors import ApiError

log = logging.getLogger(__name__)
Send = Callable[[], Awaitable[None]]
Refused = Callable[[ApiError], None]


@dataclass(frozen=True, slots=True)
class Intent:
    send: Send
    refused: Refused
    low_priority: bool = False


class Outbox:
    def __init__(self, workers: int = 16) -> None:
        self._workers = workers
        self._urgent: OrderedDict[str, Intent] = OrderedDict()
        self._idle: OrderedDict[str, Intent] = OrderedDict()
        self._in_flight: dict[str, None] = {}
        self._news = asyncio.Event()

    def put(self, uid: str, intent: Intent) -> None:
        """Replaces what was still waiting for this object; an urgent intent is never replaced by
        a low-priority one."""
        if intent.low_priority:
            if uid not in self._urgent:
                self._idle[uid] = intent
        else:
            self._idle.pop(uid, None)
            self._urgent[uid] = intent
        self._news.set()

    def forget(self, uid: str) -> None:
        self._urgent.pop(uid, None)
        self._idle.pop(uid, None)

    def has_urgent(self, uid: str) -> bool:
        """Whether a decision about this object is still on its way."""
        return uid in self._urgent or uid in self._in_flight

    async def run(self) -> None:
        tasks = [
            asyncio.create_task(self._work(), name=f"outbox {n}") for n in range(self._workers)
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def _work(self) -> None:
        while True:
            taken = self._take()
            if taken is None:
                self._news.clear()
                await self._news.wait()
                continue
            uid, intent = taken
            self._in_flight[uid] = None
            try:
                await intent.send()
            except ApiError as error:
                intent.refused(error)
            finally:
                del self._in_flight[uid]
                if uid in self._urgent or uid in self._idle:
                    self._news.set()

    def _take(self) -> tuple[str, Intent] | None:
        for waiting in (self._urgent, self._idle):
            for uid in waiting:
                if uid not in self._in_flight:
                    return uid, waiting.pop(uid)
        return None
