"""What does this server serve, and how may it be called?

Resolves an object's apiVersion and kind, or a word a person typed (`po`, `job`, `jobs.batch`,
`workloads.v1beta2.kueue.x-k8s.io`), to an endpoint. Answers are kept; a miss asks the server once
more, because custom resources come and go.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from allaboard.api.errors import ApiError, NotFound, from_status
from allaboard.api.meta import Json, Kind
from allaboard.client.client import Client
from allaboard.client.transport import Request


@dataclass(frozen=True, slots=True)
class Served:
    """One endpoint with the names it answers to."""

    kind: Kind
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()

    def answers_to(self, word: str) -> bool:
        kind = self.kind
        names = (kind.plural, self.singular, kind.kind.lower(), *self.short_names)
        name, _, rest = word.partition(".")
        scopes = (kind.group, f"{kind.version}.{kind.group}".rstrip("."))
        return name in names and (not rest or rest in scopes)


@dataclass(slots=True)
class Discovery:
    client: Client
    _groups: dict[str, list[Served]] = field(default_factory=dict)  # by apiVersion

    async def find(self, api_version: str, kind: str) -> Served | None:
        """The endpoint for objects that say this of themselves; None if nobody serves them."""
        found = self._match(self._groups.get(api_version, ()), kind)
        if found is None:
            try:
                self._groups[api_version] = await self._read(api_version)
            except NotFound:
                return None
            found = self._match(self._groups[api_version], kind)
        return found

    async def resolve(self, word: str) -> Served | None:
        """The endpoint a person means; built-in groups win over custom ones."""
        word = word.lower()
        for served in await self.all():
            if "list" in served.verbs and served.answers_to(word):
                return served
        return None

    async def all(self) -> list[Served]:
        """Everything served, preferred versions first, in the server's order."""
        endpoints: list[Served] = []
        for api_version in await self._api_versions():
            try:
                self._groups[api_version] = await self._read(api_version)
            except ApiError:
                continue  # one broken group hides only itself
            endpoints += self._groups[api_version]
        return endpoints

    async def _api_versions(self) -> list[str]:
        groups = (await self._get("/apis")).get("groups") or []
        preferred = [g["preferredVersion"]["groupVersion"] for g in groups]
        every = [v["groupVersion"] for g in groups for v in g.get("versions") or []]
        return ["v1", *preferred, *(v for v in every if v not in preferred)]

    async def _read(self, api_version: str) -> list[Served]:
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        rows: list[Json] = (await self._get(path)).get("resources") or []
        return list(_served(api_version, rows))

    async def _get(self, path: str) -> Json:
        answer = await self.client.transport.request(Request("GET", path))
        if answer.status >= 400 or not isinstance(answer.body, dict):
            raise from_status(answer.body, answer.status)
        return answer.body

    @staticmethod
    def _match(endpoints: Iterable[Served], kind: str) -> Served | None:
        return next((served for served in endpoints if served.kind.kind == kind), None)


def _served(api_version: str, rows: list[Json]) -> Iterable[Served]:
    group, _, version = api_version.rpartition("/")
    for row in rows:
        name = str(row["name"])
        if "/" in name:
            continue
        subresources = tuple(
            str(other["name"]).partition("/")[2]
            for other in rows
            if str(other["name"]).startswith(f"{name}/")
        )
        yield Served(
            Kind(group, version, str(row["kind"]), name, bool(row.get("namespaced"))),
            singular=str(row.get("singularName") or ""),
            short_names=tuple(row.get("shortNames") or ()),
            categories=tuple(row.get("categories") or ()),
            verbs=tuple(row.get("verbs") or ()),
            subresources=subresources,
        )
