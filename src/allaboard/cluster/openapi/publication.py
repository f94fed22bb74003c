"""Which OpenAPI documents does a server publish, and what is in them?

`/openapi/v3` lists one document per group and version with a hash in its address, so that clients
fetch each of them once; `/openapi/v2` is one document for everything. Both are made from the
resources that are served, when first asked for, and made again when those change.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from allaboard.api.codec import write_json
from allaboard.api.meta import Json, Kind
from allaboard.cluster.openapi.definitions import DELETE_OPTIONS, STATUS, Definitions
from allaboard.cluster.openapi.operations import Operations, References
from allaboard.cluster.openapi.protobuf import encode_document
from allaboard.cluster.resource import Resource
from allaboard.cluster.schema.builtin import meta_schema, schema_of
from allaboard.cluster.schema.node import Schema

_SECURITY = {
    "BearerToken": {
        "type": "apiKey",
        "description": "A bearer token.",
        "name": "authorization",
        "in": "header",
    }
}
_INFO = {"title": "Kubernetes", "version": "v1.36.0"}


@dataclass(frozen=True, slots=True)
class Published:
    body: bytes
    hash: str


class Publication:
    """The documents for whatever `served` gives; asks it every time and compares."""

    def __init__(self, served: Callable[[], Iterable[Resource]]) -> None:
        self._served = served
        self._made: dict[str, tuple[tuple[Resource, ...], Published]] = {}

    def index(self) -> Json:
        """The answer to `/openapi/v3`."""
        paths = {}
        for path in sorted(self._by_path()):
            document = self.v3(path)
            assert document is not None, "the index and the documents are of one moment"
            url = f"/openapi/v3/{path}?hash={document.hash}"
            paths[path] = {"serverRelativeURL": url}
        return {"paths": paths}

    def v3(self, path: str) -> Published | None:
        """The document of `api/v1`, `apis/batch/v1` and so on; None if nothing is served there."""
        resources = self._by_path().get(path)
        if resources is None:
            return None
        return self._cached(path, resources, lambda: _document_v3(path, resources))

    def v2(self) -> Published:
        resources = tuple(self._served())
        return self._cached("", resources, lambda: _document_v2(resources))

    def v2_protobuf(self) -> Published:
        """The same as `v2`, for clients that read nothing else."""
        resources = tuple(self._served())
        return self._cached("protobuf", resources, lambda: encode_document(_document_v2(resources)))

    def _by_path(self) -> dict[str, tuple[Resource, ...]]:
        found: dict[str, tuple[Resource, ...]] = {}
        for resource in self._served():
            for version in resource.versions:
                path = _kind(resource, version).root.lstrip("/")
                found[path] = (*found.get(path, ()), resource)
        return found

    def _cached(
        self, path: str, resources: tuple[Resource, ...], make: Callable[[], Json | bytes]
    ) -> Published:
        known = self._made.get(path)
        if known is not None and known[0] == resources:  # resources are compared by identity
            return known[1]
        made = make()
        body = made if isinstance(made, bytes) else write_json(made)
        published = Published(body, hashlib.sha512(body).hexdigest().upper())
        self._made[path] = (resources, published)
        return published


def _kind(resource: Resource, version: str) -> Kind:
    return Kind(resource.group, version, resource.kind, resource.plural, resource.namespaced)


def _document_v3(path: str, resources: Sequence[Resource]) -> Json:
    definitions = Definitions(3)
    paths: dict[str, Json] = {}
    version = path.rpartition("/")[2]
    for resource in resources:
        paths.update(_paths(resource, version, definitions))
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(definitions.found.items())),
            "securitySchemes": _SECURITY,
        },
    }


def _document_v2(resources: Sequence[Resource]) -> Json:
    definitions = Definitions(2)
    paths: dict[str, Json] = {}
    for resource in resources:
        for version in resource.versions:
            paths.update(_paths(resource, version, definitions))
    every = sorted({(r.group, v) for r in resources for v in r.versions})
    shared = [{"group": g, "version": v, "kind": "DeleteOptions"} for g, v in every]
    definitions.found[DELETE_OPTIONS]["x-kubernetes-group-version-kind"] = shared
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.found.items())),
        "securityDefinitions": _SECURITY,
        "security": [{"BearerToken": []}],
    }


def _paths(resource: Resource, version: str, definitions: Definitions) -> dict[str, Json]:
    kind = _kind(resource, version)
    gvk = _gvk(kind)
    definitions.field(meta_schema("ObjectMeta"))
    definitions.field(meta_schema("ListMeta"))
    schema = resource.versions[version].schema
    if resource.custom:
        name = ".".join([*reversed(resource.group.split(".")), version, resource.kind])
        own = definitions.custom(schema.source or {}, name, gvk)
    else:
        name = schema.definition
        own = definitions.kind(schema, [gvk])
    listing = own
    if "list" in resource.verbs:
        list_name = f"{name.removesuffix(resource.kind)}{resource.list_kind}"
        listing = definitions.listing(name, list_name, {**gvk, "kind": resource.list_kind})
    subresources = {
        sub: definitions.kind(other, [_gvk(found)])
        for sub, found in resource.subresources.items()
        if found.kind != resource.kind and (other := _schema(found)) is not None
    }
    # Status and DeleteOptions are given the document's own group as well, as the server reads them.
    references = References(
        kind=own,
        listing=listing,
        status=definitions.kind(meta_schema("Status"), [_core("Status")]),
        delete_options=definitions.kind(
            meta_schema("DeleteOptions"), [{**gvk, "kind": "DeleteOptions"}]
        ),
        patch=definitions.patch(),
        subresources=subresources,
    )
    assert STATUS in definitions.found
    return Operations(resource, kind, references, definitions.version).paths()


def _gvk(kind: Kind) -> Json:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _core(kind: str) -> Json:
    return {"group": "", "version": "v1", "kind": kind}


def _schema(kind: Kind) -> Schema | None:
    """The schema of a subresource's kind; options of streams have none."""
    try:
        return schema_of(kind.group, kind.version, kind.kind)
    except KeyError:
        return None
