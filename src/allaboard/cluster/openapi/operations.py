"""What can be done with a resource, as OpenAPI operations?

Paths of collections, objects and subresources with their actions. kubectl reads from them which
kind an endpoint serves, which patches it takes and whether it knows `dryRun` and
`fieldValidation`; nothing else is said that it does not need.
"""

from dataclasses import dataclass

from allaboard.api.meta import Json, Kind
from allaboard.cluster.resource import Resource

_LISTING = (
    "allowWatchBookmarks:boolean", "continue", "fieldSelector", "labelSelector", "limit:integer",
    "resourceVersion", "resourceVersionMatch", "sendInitialEvents:boolean",
    "timeoutSeconds:integer", "watch:boolean",
)  # fmt: skip
_WRITING = ("dryRun", "fieldManager", "fieldValidation")
_PATCHING = (*_WRITING, "force:boolean")
_DELETING = (
    "dryRun", "gracePeriodSeconds:integer", "orphanDependents:boolean", "propagationPolicy",
)  # fmt: skip
_READ_TYPES = ("application/json", "application/yaml")
_PATCH_TYPES = (
    "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
)  # fmt: skip
_STRATEGIC = "application/strategic-merge-patch+json"
# verb: (HTTP method, x-kubernetes-action, first word of the operation's name)
_OBJECT_VERBS = {
    "get": ("get", "get", "read"),
    "update": ("put", "put", "replace"),
    "patch": ("patch", "patch", "patch"),
    "delete": ("delete", "delete", "delete"),
    "create": ("post", "post", "create"),
}
_COLLECTION_VERBS = {
    "list": ("get", "list", "list"),
    "create": ("post", "post", "create"),
    "deletecollection": ("delete", "deletecollection", "delete"),
}
_PARAMETERS = {
    "list": _LISTING, "create": _WRITING, "update": _WRITING, "patch": _PATCHING,
    "delete": _DELETING, "deletecollection": (*_DELETING, *_LISTING[1:9]), "get": (),
}  # fmt: skip
_CREATED = ("binding", "eviction", "token")
_STREAMED = ("attach", "exec", "portforward", "proxy")  # not described: no client reads it here


@dataclass(frozen=True, slots=True)
class References:
    """Where the operations of one resource point to."""

    kind: Json
    listing: Json
    status: Json
    delete_options: Json
    patch: Json
    subresources: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Operations:
    """Writes the paths of one resource in one version, for OpenAPI version 2 or 3."""

    resource: Resource
    kind: Kind
    refs: References
    version: int

    def paths(self) -> dict[str, Json]:
        root = self.kind.root
        plural = self.kind.plural
        inside = f"{root}/namespaces/{{namespace}}" if self.resource.namespaced else root
        found: dict[str, Json] = {}
        self._add(found, f"{inside}/{plural}", self._operations(_COLLECTION_VERBS, ""))
        if self.resource.namespaced and "list" in self.resource.verbs:
            found[f"{root}/{plural}"] = {
                "get": self._operation("list", _COLLECTION_VERBS["list"], "", everywhere=True)
            }
        verbs = {v: words for v, words in _OBJECT_VERBS.items() if v != "create"}
        self._add(found, f"{inside}/{plural}/{{name}}", self._operations(verbs, ""))
        for name in self.resource.subresources:
            if name not in _STREAMED:
                operations = self._operations(_subresource_verbs(name), name)
                self._add(found, f"{inside}/{plural}/{{name}}/{name}", operations)
        return found

    def _add(self, found: dict[str, Json], path: str, operations: Json) -> None:
        if not operations:
            return
        names = [n for n in ("name", "namespace") if f"{{{n}}}" in path]
        operations["parameters"] = [
            {**self._parameter(n), "in": "path", "required": True} for n in names
        ]
        found[path] = operations

    def _operations(self, verbs: dict[str, tuple[str, str, str]], sub: str) -> Json:
        return {
            words[0]: self._operation(verb, words, sub)
            for verb, words in verbs.items()
            if sub or verb in self.resource.verbs
        }

    def _operation(
        self, verb: str, words: tuple[str, str, str], sub: str, *, everywhere: bool = False
    ) -> Json:
        _, action, first = words
        kind = self.resource.subresources[sub] if sub else self.kind
        made: Json = {
            "tags": [_tag(self.kind)],
            "operationId": self._name(first, verb, sub, everywhere),
            "parameters": [self._parameter(p) for p in _PARAMETERS[verb]],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": kind.group, "version": kind.version, "kind": kind.kind,
            },
        }  # fmt: skip
        answer = self.refs.subresources.get(sub, self.refs.kind)
        if verb == "list":
            answer = self.refs.listing
        elif verb in ("delete", "deletecollection"):
            answer = self.refs.status
        self._request(made, verb, answer)
        self._answer(made, answer)
        return made

    def _name(self, first: str, verb: str, sub: str, everywhere: bool) -> str:
        scope = "Namespaced" if self.resource.namespaced and not everywhere else ""
        many = "Collection" if verb == "deletecollection" else ""
        tail = "ForAllNamespaces" if everywhere else sub.capitalize()
        return f"{first}{_camel(self.kind)}{many}{scope}{self.kind.kind}{tail}"

    def _parameter(self, declared: str) -> Json:
        name, _, kind = declared.partition(":")
        made: Json = {"name": name, "in": "query"}
        if self.version == 2:
            return {**made, "type": kind or "string", "uniqueItems": True}
        return {**made, "schema": {"type": kind or "string", "uniqueItems": True}}

    def _request(self, made: Json, verb: str, answer: Json) -> None:
        if verb in ("get", "list"):
            return
        bodies = {"patch": self.refs.patch}
        body = bodies.get(verb, answer)
        if verb in ("delete", "deletecollection"):
            body = self.refs.delete_options
        types: tuple[str, ...] = ("*/*",)
        if verb == "patch":
            types = _PATCH_TYPES if self.resource.custom else (*_PATCH_TYPES, _STRATEGIC)
        required = verb not in ("delete", "deletecollection")
        if self.version == 2:
            made["consumes"] = list(types)
            parameter = {"name": "body", "in": "body", "schema": body}
            made["parameters"].append({**parameter, **({"required": True} if required else {})})
        else:
            made["requestBody"] = {"content": {t: {"schema": body} for t in types}}
            if required:
                made["requestBody"]["required"] = True

    def _answer(self, made: Json, answer: Json) -> None:
        if self.version == 2:
            made["produces"] = list(_READ_TYPES)
            made["responses"] = {"200": {"description": "OK", "schema": answer}}
        else:
            content = {t: {"schema": answer} for t in _READ_TYPES}
            made["responses"] = {"200": {"description": "OK", "content": content}}


def _subresource_verbs(name: str) -> dict[str, tuple[str, str, str]]:
    if name in _CREATED:
        return {"create": _OBJECT_VERBS["create"]}
    if name == "log":
        return {"get": _OBJECT_VERBS["get"]}
    if name == "finalize":
        return {"update": _OBJECT_VERBS["update"]}
    return {verb: _OBJECT_VERBS[verb] for verb in ("get", "update", "patch")}


def _words(group: str) -> list[str]:
    return (group.removesuffix(".k8s.io") or "core").split(".")


def _tag(kind: Kind) -> str:
    return f"{'_'.join(_words(kind.group))}_{kind.version}"


def _camel(kind: Kind) -> str:
    return "".join(word.capitalize() for word in [*_words(kind.group), kind.version])
