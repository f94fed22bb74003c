"""Has the cache caught up with what we ourselves wrote?

Every change made by any client while a key is reconciled is remembered with that key. Before the
key is reconciled again, each informer that covers a changed object must show the change: at least
its resourceVersion, or for a deletion the object leaving. An informer that is slow to do so is
overtaken by one live GET, so a broken watch delays a reconcile by seconds, never for ever. This is
KEP-5647's rule, for written objects of every kind.
"""

import asyncio
from typing import Any, NamedTuple

from allaboard.api.errors import NotFound
from allaboard.api.meta import Json, Key, Kind
from allaboard.client.client import Client, Written, hears_of_writes
from allaboard.runtime.informer import Informer
from allaboard.runtime.informers import Informers

PATIENCE_S = 2.0


class Mark(NamedTuple):
    """What a cache must show of one object: this version, or for a deletion its leaving."""

    resource_version: int
    leaving_uid: str  # '' for an ordinary write
    object: Json


class Writes(dict[tuple[Kind, Key], Mark]):
    """What one reconcile changed."""

    def note(self, written: Written) -> None:
        at = (written.kind, written.key)
        body = written.object
        metadata = body.get("metadata") or {}
        version = _version(metadata.get("resourceVersion"))
        uid = ""
        if written.verb == "delete":
            earlier = self.get(at)
            uid = metadata.get("uid") or (body.get("details") or {}).get("uid") or "?"
            version = earlier.resource_version if earlier is not None else 0
        self[at] = Mark(version, uid, body)


def remember_in(writes: Writes | None) -> None:
    """From now on this task's writes, and those of tasks it starts, are noted there."""
    hears_of_writes.set(None if writes is None else writes.note)


async def wait_caught_up(writes: Writes, informers: Informers, client: Client) -> None:
    for (kind, key), mark in writes.items():
        for informer in informers.covering(kind, key, mark.object):
            if not _shows(informer, key, mark):
                await _wait_shown(informer, key, mark, client)


def all_shown(writes: Writes, informers: Informers) -> bool:
    return all(
        _shows(informer, key, mark)
        for (kind, key), mark in writes.items()
        for informer in informers.covering(kind, key, mark.object)
    )


def _shows(informer: Informer[Any], key: Key, mark: Mark) -> bool:
    if not informer.has_seen(key, mark.resource_version):
        return False
    return not mark.leaving_uid or informer.is_leaving(key, mark.leaving_uid)


async def _wait_shown(informer: Informer[Any], key: Key, mark: Mark, client: Client) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            while not _shows(informer, key, mark):
                await informer.wait_change_of(key, mark.resource_version)
    except TimeoutError:
        await overtake(informer, key, client)


async def overtake(informer: Informer[Any], key: Key, client: Client) -> None:
    """Ask the server itself and put the answer into the cache, ahead of the watch."""
    try:
        live: Json | None = await client.get(informer.kind, key.name, key.namespace)
    except NotFound:
        live = None
    informer.absorb(key, live)


def _version(text: Any) -> int:
    return int(text) if isinstance(text, str) and text.isdigit() else 0
