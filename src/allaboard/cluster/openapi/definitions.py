"""How does a schema look as an OpenAPI definition, in version 3 and in version 2?

Structs become definitions that refer to each other; kinds carry their group, version and kind.
Version 3 says more about quantities and wraps references that have siblings in `allOf`; version 2
has one string type for both and takes siblings as they are. What a custom resource declared is
published as it was given, in version 2 without what that version cannot say.
"""

from collections.abc import Iterable
from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.schema.node import Schema

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
OBJECT_META = f"{_META}.ObjectMeta"
LIST_META = f"{_META}.ListMeta"
STATUS, DELETE_OPTIONS, PATCH = f"{_META}.Status", f"{_META}.DeleteOptions", f"{_META}.Patch"
_SPECIAL: dict[str, tuple[Json, Json]] = {  # format: (version 3, version 2)
    "quantity": ({"oneOf": [{"type": "string"}, {"type": "number"}]}, {"type": "string"}),
    "int-or-string": (
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        {"type": "string", "format": "int-or-string"},
    ),
    "date-time": ({"type": "string", "format": "date-time"},) * 2,
    "micro-time": ({"type": "string", "format": "date-time"},) * 2,
    "duration": ({"type": "string"},) * 2,
    "raw-extension": ({"type": "object"},) * 2,
    "fields-v1": ({"type": "object"},) * 2,
}  # fmt: skip
_SPECIAL_TEXT = {
    "quantity": "An amount such as 500m, 2 or 1.5Gi.",
    "int-or-string": "A whole number, or a string such as 25% or a port's name.",
    "date-time": "A moment, RFC 3339 in whole seconds.",
    "micro-time": "A moment, RFC 3339 with microseconds.",
    "duration": "A span of time such as 1m30s.",
    "raw-extension": "Any object.",
    "fields-v1": "A set of field paths, in the notation of server-side apply.",
}
# What OpenAPI version 2, as Kubernetes publishes it, does not say about custom resources.
_NOT_IN_V2 = ("oneOf", "anyOf", "allOf", "not", "nullable", "default", "example", "externalDocs")


class Definitions:
    """Collects the definitions that something refers to, in one of the two versions."""

    def __init__(self, version: int) -> None:
        assert version in (2, 3)
        self.version = version
        self.root = "#/components/schemas/" if version == 3 else "#/definitions/"
        self.found: dict[str, Json] = {}

    def ref(self, name: str) -> Json:
        return {"$ref": f"{self.root}{name}"}

    def kind(self, schema: Schema, gvks: Iterable[Json]) -> Json:
        """A reference to the definition of a kind, which is added with what it refers to."""
        self._struct(schema)
        self.found[schema.definition]["x-kubernetes-group-version-kind"] = list(gvks)
        return self.ref(schema.definition)

    def listing(self, item: str, name: str, gvk: Json) -> Json:
        """A reference to the list of the kind whose definition is `item`."""
        metadata = self._with(self.ref(LIST_META), {"default": {}} if self.version == 3 else {})
        items = self._with(self.ref(item), {"default": {}} if self.version == 3 else {})
        self.found[name] = {
            "type": "object",
            "description": f"{gvk['kind'].removesuffix('List')} objects, in one answer.",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "items": {"type": "array", "items": items},
                "kind": {"type": "string"},
                "metadata": metadata,
            },
            "x-kubernetes-group-version-kind": [gvk],
        }
        return self.ref(name)

    def patch(self) -> Json:
        self.found.setdefault(PATCH, {"type": "object", "description": "A change to an object."})
        return self.ref(PATCH)

    def custom(self, source: Json, name: str, gvk: Json) -> Json:
        """A reference to what a CustomResourceDefinition declared."""
        made = _only_v2(source) if self.version == 2 else dict(source)
        made.setdefault("type", "object")
        declared = made.get("properties") or {}
        made["properties"] = {
            **declared,
            "apiVersion": declared.get("apiVersion") or {"type": "string"},
            "kind": declared.get("kind") or {"type": "string"},
            "metadata": self._with(
                self.ref(OBJECT_META), {"description": "Name, labels and the like."}
            ),
        }
        made["x-kubernetes-group-version-kind"] = [gvk]
        self.found[name] = made
        return self.ref(name)

    def _struct(self, schema: Schema) -> None:
        if schema.definition in self.found:
            return
        if schema.format in _SPECIAL:
            made = dict(_SPECIAL[schema.format][0 if self.version == 3 else 1])
            made["description"] = _SPECIAL_TEXT[schema.format]
            self.found[schema.definition] = made
            return
        if schema.preserve_unknown:
            self.found[schema.definition] = {"description": "Any JSON value."}
            return
        made = {"type": "object", "description": schema.about or schema.description}
        self.found[schema.definition] = made  # before its fields: it may contain itself
        if schema.required:
            made["required"] = list(schema.required)
        if schema.properties:
            made["properties"] = {n: self.field(f) for n, f in schema.properties.items()}
        if schema.map_type == "atomic":
            made["x-kubernetes-map-type"] = "atomic"

    def field(self, schema: Schema) -> Json:
        extra: Json = {}
        if schema.description:
            extra["description"] = schema.description
        if schema.has_default and (self.version == 3 or not schema.name):
            extra["default"] = schema.default
        if schema.definition:
            self._struct(schema)
            return self._with(self.ref(schema.definition), extra)
        made: Json = {**({"type": schema.type} if schema.type else {}), **extra}
        if schema.format:
            made["format"] = schema.format
        if schema.enum:
            made["enum"] = list(schema.enum)
        if schema.items is not None:
            made["items"] = self.field(schema.items)
        if schema.values is not None:
            made["additionalProperties"] = self.field(schema.values)
        made.update(_merge_rules(schema))
        return made

    def _with(self, reference: Json, extra: Json) -> Json:
        if not extra or self.version == 2:
            return {**reference, **extra}
        return {"allOf": [reference], **extra}


def _merge_rules(schema: Schema) -> Json:
    made: Json = {}
    if schema.type == "array":
        made["x-kubernetes-list-type"] = schema.list_type
        if schema.list_keys:
            made["x-kubernetes-list-map-keys"] = list(schema.list_keys)
    elif schema.map_type == "atomic" and schema.type == "object":
        made["x-kubernetes-map-type"] = "atomic"
    if schema.patch_strategy:
        made["x-kubernetes-patch-strategy"] = ",".join(schema.patch_strategy)
    if schema.patch_merge_key:
        made["x-kubernetes-patch-merge-key"] = schema.patch_merge_key
    return made


def _only_v2(source: Json) -> Json:
    """A custom resource's schema without what version 2 cannot say.

    Where values are free, or of several types, nothing is said: kubectl would refuse good objects.
    """
    made = {k: v for k, v in source.items() if k not in _NOT_IN_V2}
    if source.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    if source.get("x-kubernetes-preserve-unknown-fields"):
        for word in ("properties", "items", "additionalProperties"):
            made.pop(word, None)
        return made
    if source.get("nullable"):
        for word in ("type", "properties", "items", "additionalProperties"):
            made.pop(word, None)
        return made
    if isinstance(source.get("properties"), dict):
        made["properties"] = {n: _only_v2(f) for n, f in source["properties"].items()}
    for word in ("items", "additionalProperties"):
        inner: Any = source.get(word)
        if isinstance(inner, dict):
            made[word] = _only_v2(inner)
    return made
