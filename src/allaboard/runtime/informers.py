"""Who follows which kind? One watch per kind and scope, whoever asks and in whatever view."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, TypeVar, overload

from allaboard.api.meta import Json, Key, Kind
from allaboard.api.types.model import Object
from allaboard.client.client import Client
from allaboard.clock import Clock
from allaboard.runtime.informer import Informer, Scope
from allaboard.runtime.reflector import Reflector

T = TypeVar("T", bound=Object)
Transform = Callable[[Json], Json]


class Informers:
    def __init__(self, client: Client, clock: Clock, rng: random.Random | None = None) -> None:
        self._client = client
        self._clock = clock
        self._rng = rng if rng is not None else random.Random(0)
        self._informers: dict[tuple[Any, ...], Informer[Any]] = {}
        self._by_kind: dict[Kind, list[Informer[Any]]] = {}
        self._reflectors: list[Reflector] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._started = False

    @overload
    def of(
        self,
        what: type[T],
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        transform: Transform | None = None,
    ) -> Informer[T]: ...
    @overload
    def of(
        self,
        what: Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        transform: Transform | None = None,
    ) -> Informer[Json]: ...
    def of(
        self,
        what: type[T] | Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        transform: Transform | None = None,
    ) -> Informer[T] | Informer[Json]:
        """The informer for these arguments, made at the first call and shared from then on."""
        kind = what if isinstance(what, Kind) else what.KIND
        view = None if isinstance(what, Kind) else what
        scope = Scope(kind, namespace, labels, fields)
        at = (scope, view, transform)
        informer = self._informers.get(at)
        if informer is None:
            informer = self._informers[at] = Informer(scope, view, transform)
            self._by_kind.setdefault(kind, []).append(informer)
            self._reflector(scope).informers.append(informer)
        return informer

    def _reflector(self, scope: Scope) -> Reflector:
        """The one that follows this scope; one that runs has listed and takes no more caches."""
        if not self._started:
            for reflector in self._reflectors:
                if reflector.scope == scope:
                    return reflector
        reflector = Reflector(scope, self._client, self._clock, self._rng)
        self._reflectors.append(reflector)
        if self._started:
            self._begin(reflector)
        return reflector

    def covering(self, kind: Kind, key: Key, obj: Json) -> list[Informer[Any]]:
        """The informers that should show this object."""
        followers = self._by_kind.get(kind, ())
        return [informer for informer in followers if informer.scope.covers(key, obj)]

    def reflectors(self) -> list[Reflector]:
        return list(self._reflectors)

    def start(self) -> None:
        if not self._started:
            self._started = True
            for reflector in self._reflectors:
                self._begin(reflector)

    async def wait_synced(self) -> None:
        """Wait until every informer asked for so far has its first list in."""
        for informer in list(self._informers.values()):
            await informer.wait_synced()

    @property
    def synced(self) -> bool:
        return all(informer.synced for informer in self._informers.values())

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._started = False

    def _begin(self, reflector: Reflector) -> None:
        scope = reflector.scope
        name = f"informer {scope.kind.resource} {scope.namespace}".rstrip()
        self._tasks.append(asyncio.create_task(reflector.run(), name=name))
