"""What does this server serve? Groups, versions, resources, its own version and health.

Legacy discovery only: a client that asks for the aggregated form and accepts plain JSON as well
gets the legacy documents, which is how kubectl finds out; one that accepts nothing else gets 406.
"""

import base64
import hashlib
from functools import lru_cache

from allaboard.api.meta import Json
from allaboard.cluster.kinds.registry import SUBRESOURCE_VERBS
from allaboard.cluster.resource import Resource
from allaboard.cluster.server.exchange import ApiRequest, ApiResponse, User, plain_text
from allaboard.cluster.server.extensions import Extension
from allaboard.cluster.server.metrics import Metrics
from allaboard.cluster.server.negotiate import choose
from allaboard.cluster.server.openapi import OpenApi
from allaboard.cluster.server.refusals import no_such_endpoint, verb_not_served
from allaboard.cluster.server.services import Services

# The Kubernetes release whose behaviour is reproduced.
VERSION: Json = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.4+allaboard",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
CUSTOM_VERBS = (
    "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
)  # fmt: skip
# Kubernetes stores these in an older version, which only this hash shows.
OLD_STORAGE = {"customresourcedefinitions.apiextensions.k8s.io": "v1beta1"}
HEALTH = ("healthz", "livez", "readyz")


class Discovery:
    def __init__(self, services: Services, metrics: Metrics) -> None:
        self._services = services
        self._metrics = metrics
        self._openapi = OpenApi(services.catalogue)
        self.extensions: dict[str, Extension] = {}  # by group

    def extend(self, extension: Extension) -> None:
        """Serve a group that is computed elsewhere; one of the same name is replaced."""
        self.extensions[extension.group] = extension

    async def answer(self, request: ApiRequest, parts: list[str] | None) -> ApiResponse:
        """The answer for a path that names no resource."""
        if parts is None:
            return not_a_page()
        if len(parts) > 3 and parts[0] == "apis" and parts[1] in self.extensions:
            user = (request.user or User("system:anonymous")).to_info()
            request.verb = "get"
            extension = self.extensions[parts[1]]
            return self._json(
                request, await extension.answer(request.method, parts[2:], request.query, user)
            )
        find = self._document(request, parts)
        if find is None:
            return not_a_page()
        if request.method not in ("GET", "HEAD"):
            raise verb_not_served()
        return find

    def _document(self, request: ApiRequest, parts: list[str]) -> ApiResponse | None:
        catalogue = self._services.catalogue
        match parts:
            case []:
                return self._json(request, {"paths": self._paths()})
            case [name] if name in HEALTH:
                return plain_text(200, "ok")
            case [name, "ping"] if name in HEALTH:
                return plain_text(200, "ok")
            case ["version"]:
                return self._json(request, VERSION)
            case ["metrics"]:
                return self._metrics.answer()
            case ["openapi", *rest]:
                return self._openapi.answer(request, rest)
            case ["api"]:
                return self._json(request, self._core_versions())
            case ["apis"]:
                groups = [self._group(g) for g in (*catalogue.groups(), *self.extensions) if g]
                return self._json(
                    request, {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
                )
            case ["apis", group] if self._versions_of(group):
                kind: Json = {"kind": "APIGroup", "apiVersion": "v1"}
                return self._json(request, {**kind, **self._group(group)})
            case ["api", version]:
                return self._resources(request, "", version)
            case ["apis", group, version]:
                return self._resources(request, group, version)
            case ["api" | "apis", group, _, _, *_] if catalogue.has_builtin(group):
                raise no_such_endpoint()
        return None

    def _json(self, request: ApiRequest, document: Json) -> ApiResponse:
        form = choose(request.headers.get("accept", ""), transforms=False)
        return ApiResponse(200, body=document, content_type=form.media)

    def _core_versions(self) -> Json:
        address = {"clientCIDR": "0.0.0.0/0", "serverAddress": self._services.config.advertise}
        return {
            "kind": "APIVersions",
            "versions": self._services.catalogue.versions_of(""),
            "serverAddressByClientCIDRs": [address],
        }

    def _versions_of(self, group: str) -> list[str]:
        if group in self.extensions:
            return list(self.extensions[group].versions)
        return self._services.catalogue.versions_of(group)

    def _group(self, group: str) -> Json:
        versions = [
            {"groupVersion": f"{group}/{version}", "version": version}
            for version in self._versions_of(group)
        ]
        return {"name": group, "versions": versions, "preferredVersion": versions[0]}

    def _resources(self, request: ApiRequest, group: str, version: str) -> ApiResponse | None:
        catalogue = self._services.catalogue
        served = catalogue.resources_in(group, version)
        lines: list[Json] = []
        if version in self._versions_of(group) and group in self.extensions:
            lines = self.extensions[group].resources(version)
        elif not served:
            if not self._versions_of(group):
                return None
            raise no_such_endpoint()
        for resource in served:
            lines += resource_lines(resource)
        if not any(resource.custom for resource in served):
            lines.sort(key=lambda line: str(line["name"]))
        head: Json = {"kind": "APIResourceList"}
        if group:
            head["apiVersion"] = "v1"
        api_version = f"{group}/{version}" if group else version
        return self._json(request, {**head, "groupVersion": api_version, "resources": lines})

    def _paths(self) -> list[str]:
        catalogue = self._services.catalogue
        paths = ["/api", "/api/v1", "/apis", "/metrics", "/openapi/v2", "/openapi/v3", "/version"]
        paths += [f"/{name}" for name in HEALTH] + [f"/{name}/ping" for name in HEALTH]
        for group in (*catalogue.groups(), *self.extensions):
            if group:
                paths.append(f"/apis/{group}")
                paths += [f"/apis/{group}/{v}" for v in self._versions_of(group)]
        return sorted(paths)


def not_a_page() -> ApiResponse:
    return plain_text(404, "404 page not found\n")


def resource_lines(resource: Resource) -> list[Json]:
    """A resource and its subresources, as legacy discovery lists them."""
    line: Json = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(CUSTOM_VERBS if resource.custom else resource.verbs),
    }
    if resource.short_names:
        line["shortNames"] = list(resource.short_names)
    if resource.categories:
        line["categories"] = list(resource.categories)
    if "get" in resource.verbs:
        group = "" if resource.stored_as else resource.group
        version = OLD_STORAGE.get(resource.key, resource.storage_version)
        line["storageVersionHash"] = version_hash(group, version, resource.kind)
    lines = [line]
    for name, kind in resource.subresources.items():
        sub: Json = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
        }
        if kind.group != resource.group:
            sub |= {"group": kind.group, "version": kind.version}
        sub |= {"kind": kind.kind, "verbs": list(SUBRESOURCE_VERBS.get(name, ("get",)))}
        lines.append(sub)
    return lines


@lru_cache(maxsize=1024)
def version_hash(group: str, version: str, kind: str) -> str:
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
