"""What every verb needs: the store, time, chance, the served resources, admission, settings.

Also the few things that only their combination can give: timestamps, UIDs, generated names, and
objects in the version somebody asked for.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any

from allaboard.api.meta import Json
from allaboard.clock import Clock
from allaboard.cluster.admission.chain import AdmissionChain
from allaboard.cluster.resource import Resource
from allaboard.cluster.server.catalogue import Catalogue
from allaboard.cluster.store.store import Store

# Kubernetes leaves out vowels and what looks like them, so that no words appear by chance.
NAME_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
MAX_GENERATED_PREFIX = 58
MiB = 1024 * 1024


@dataclass(slots=True)
class Config:
    """Limits and names an operator may set."""

    max_body_bytes: int = 3 * MiB
    max_patch_operations: int = 10_000
    request_timeout_s: float = 60.0
    min_watch_s: float = 1800.0  # a watch without timeoutSeconds ends after one to two of these
    bookmark_every_s: float = 60.0
    max_reads_in_flight: int = 400
    max_writes_in_flight: int = 200
    version_wait_s: float = 3.0  # how long a read waits for a resourceVersion of the future
    hosts: tuple[str, ...] = ()  # Host headers accepted besides the loopback ones
    advertise: str = "localhost"


@dataclass(slots=True, eq=False)
class Services:
    store: Store
    clock: Clock
    rng: Random
    catalogue: Catalogue
    admission: AdmissionChain
    config: Config
    openapi: Any = None
    _second: tuple[int, str] = field(default=(-1, ""))

    def timestamp(self) -> str:
        """Now, as Kubernetes writes times; formatted once a second."""
        second = int(self.clock.now())
        if second != self._second[0]:
            self._second = (second, rfc3339(second))
        return self._second[1]

    def new_uid(self) -> str:
        """A version 4 UUID from the injected generator, so that a seed fixes every UID."""
        bits = self.rng.getrandbits(128)
        bits = bits & ~(0xF << 76) | 4 << 76
        bits = bits & ~(3 << 62) | 2 << 62
        text = f"{bits:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def new_name(self, prefix: str) -> str:
        tail = "".join(self.rng.choices(NAME_LETTERS, k=5))
        return prefix[:MAX_GENERATED_PREFIX] + tail

    async def wait_durable(self, revision: int) -> None:
        """Nothing that could still be lost leaves the server."""
        if revision > self.store.durable_revision:
            await self.store.wait_durable(revision)


def rfc3339(instant: float) -> str:
    return datetime.fromtimestamp(int(instant), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_stored_form(resource: Resource, version: str) -> bool:
    """Whether stored objects can be shown as they are."""
    return resource.from_stored is None and version == resource.storage_version


async def shown(resource: Resource, version: str, objects: list[Json]) -> list[Json]:
    """Stored objects in the form a client of this resource and version expects."""
    if resource.from_stored is not None:
        objects = [resource.from_stored(obj) for obj in objects]
    api_version = f"{resource.group}/{version}" if resource.group else version
    # A custom resource may hold objects from before its storage version changed.
    if all(obj["apiVersion"] == api_version for obj in objects):
        return objects
    if resource.convert is not None:
        return await resource.convert(objects, version)
    return [{**obj, "apiVersion": api_version} for obj in objects]


async def to_stored(resource: Resource, version: str, obj: Json) -> Json:
    """An object as it goes into the store: the inverse of `shown`."""
    if resource.to_stored is not None:
        return resource.to_stored(obj)
    if version == resource.storage_version:
        return obj
    if resource.convert is not None:
        return (await resource.convert([obj], resource.storage_version))[0]
    version = resource.storage_version
    api_version = f"{resource.group}/{version}" if resource.group else version
    return {**obj, "apiVersion": api_version}
