"""How is a cache kept equal to the server, whatever happens to the connection?

One endless loop per scope, for all the caches that follow it: list, watch on from the list's
version, and when the stream ends watch on from the last version seen. A forgotten version (410, as
an answer or as an ERROR event), a version the server has not reached, news that are no news, or the
same failure several times in a row: list again. Failures wait 0.8 s to 30 s, doubling, spread by
chance; a quiet spell forgets them. Source of the numbers: client-go's reflector.
"""

import asyncio
import logging
import random
from typing import Any

from allaboard.api.errors import ApiError, Expired, InternalError, Timeout, from_status
from allaboard.client.client import Client
from allaboard.client.options import Selection
from allaboard.clock import Clock, rest
from allaboard.runtime.backoff import Backoff
from allaboard.runtime.informer import Informer, Scope

FIRST_S = 0.8
LONGEST_S = 30.0
QUIET_S = 120.0  # without a failure for this long, the next one counts as the first
SHORT_S = 1.0  # a watch that ends sooner than this without news is a failure too
HOPEFUL = 8  # failures in a row before trying on is habit, which a simulation need not wait for
PATIENCE = 3  # failures at one version before the version itself is distrusted

log = logging.getLogger(__name__)


class Reflector:
    def __init__(self, scope: Scope, client: Client, clock: Clock, rng: random.Random) -> None:
        self.scope = scope
        self.informers: list[Informer[Any]] = []
        self.resource_version = 0
        self.events = 0
        self.client = client
        self.clock = clock
        self.backoff = Backoff(FIRST_S, LONGEST_S, rng)
        self.lists = 0
        self.failures = 0
        self._must_list = True
        self._failed_at = 0.0

    async def run(self) -> None:
        while True:
            wait_s = await self._turn()
            if self.backoff.failures > HOPEFUL:
                await rest(wait_s)
            elif wait_s > 0:
                await asyncio.sleep(wait_s)

    async def _turn(self) -> float:
        """One list if needed and one watch; returns how long to wait before the next."""
        started = self.clock.monotonic()
        before = self.events
        try:
            if not self._must_list:
                await self._check_past()
            if self._must_list:
                await self._list()
            await self._watch()
        except ApiError as error:
            return self._failed(error)
        lasted_s = self.clock.monotonic() - started
        if self.events == before and lasted_s < SHORT_S:
            return self._failed(None)
        self.backoff.reset()
        return 0.0

    def _failed(self, error: ApiError | None) -> float:
        """Note a failure; decides whether to list again and how long to wait."""
        now = self.clock.monotonic()
        if now - self._failed_at > QUIET_S:
            self.backoff.reset()
        self._failed_at = now
        self.failures += 1
        distrusted = isinstance(error, Expired | InternalError | Timeout)
        if distrusted or self.backoff.failures + 1 >= PATIENCE:
            self._must_list = True
        if isinstance(error, Expired) and self.backoff.failures == 0:
            # Plainly too far behind: the list is the cure, and it may begin at once.
            self.backoff.failures = 1
            return 0.0
        wait_s = self.backoff.next_s()
        if error is not None:
            log.warning(
                "following the server failed",
                extra={"kind": self.scope.kind.resource, "error": str(error), "wait_s": wait_s},
            )
            wait_s = max(wait_s, error.retry_after_s or 0.0)
        return wait_s

    async def _check_past(self) -> None:
        """See that the server has not gone back behind us while we were away.

        One that was restored or begun anew would let us wait, without a word, for a version that
        it reaches some other day.
        """
        version = await self.client.newest_version(self.scope.kind, self.scope.namespace)
        if not version.isdigit() or int(version) < self.resource_version:
            self._must_list = True

    async def _list(self) -> None:
        scope = self.scope
        self.lists += 1
        listing = await self.client.list(scope.kind, scope.namespace, scope.labels, scope.fields)
        try:
            version = int(listing.resource_version)
            for informer in self.informers:
                informer.replace(listing.items, version)
        except (KeyError, TypeError, ValueError) as error:
            raise InternalError(f"not a list of {scope.kind.resource}: {error!r}") from error
        self.resource_version = version
        self._must_list = False

    async def _watch(self) -> None:
        scope = self.scope
        selection = Selection(scope.labels, scope.fields, bookmarks=True)
        version = str(self.resource_version)
        async with self.client.stream(scope.kind, scope.namespace, version, selection) as lines:
            async for line in lines:
                type_, obj = line.get("type"), line.get("object")
                if type_ == "ERROR":
                    raise from_status(obj)
                if not isinstance(type_, str) or not isinstance(obj, dict):
                    raise InternalError("the watch sent something that is no event")
                self.events += type_ != "BOOKMARK"
                for informer in self.informers:
                    seen = informer.apply(type_, obj)
                    if seen > self.resource_version:
                        self.resource_version = seen
