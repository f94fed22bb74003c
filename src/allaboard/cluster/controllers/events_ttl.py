"""When is an Event forgotten? An hour after it was last written.

In a Kubernetes the database forgets them by itself, below the API: no finalizer, no admission, no
request. So it is here, which also keeps a day of simulation free of a hundred thousand requests.
"""

from collections import deque
from typing import NamedTuple

from allaboard.api.times import parse_time
from allaboard.clock import Clock, Instant, rest
from allaboard.cluster.controllers.feed import StoreFeed
from allaboard.cluster.store.records import Change, Record

RESOURCE = "events"
TTL_S = 3600.0
SWEEP_S = 60.0


class _Mortal(NamedTuple):
    until: Instant
    namespace: str
    name: str
    rev: int


class EventExpiry:
    def __init__(self, feed: StoreFeed, clock: Clock, ttl_s: float = TTL_S) -> None:
        self._store = feed.store
        self._clock = clock
        self._ttl_s = ttl_s
        self._queue: deque[_Mortal] = deque()  # soonest first: all of them live equally long
        feed.follow(self)

    def begin(self) -> None:
        known = [self._mortal(record) for record in self._store.list(RESOURCE, None)]
        self._queue = deque(sorted(known))

    def changed(self, change: Change) -> None:
        record = change.record
        if record.resource == RESOURCE and change.type != "DELETED":
            until = change.time + self._ttl_s
            self._queue.append(_Mortal(until, record.namespace, record.name, record.rev))

    async def run(self) -> None:
        while True:
            await rest(SWEEP_S)
            self.sweep()

    def sweep(self) -> None:
        now = self._clock.now()
        while self._queue and self._queue[0].until <= now:
            mortal = self._queue.popleft()
            record = self._store.get(RESOURCE, mortal.namespace, mortal.name)
            if record is not None and record.rev == mortal.rev:  # a later write lives on
                self._store.commit(RESOURCE, mortal.namespace, mortal.name, None, record.rev)

    def _mortal(self, record: Record) -> _Mortal:
        obj = record.obj
        times = [obj.get("lastTimestamp"), (obj.get("metadata") or {}).get("creationTimestamp")]
        last = max((parse_time(time) for time in times if time), default=self._clock.now())
        return _Mortal(last + self._ttl_s, record.namespace, record.name, record.rev)
