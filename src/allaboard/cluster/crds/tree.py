"""The shape of a custom resource as the rest of the server reads it: a `Schema` tree.

Merging, ownership of fields, strict decoding and the published OpenAPI documents work on this
tree for built-in and custom kinds alike. What only judges values stays behind in `source`.
"""

from allaboard.api.meta import Json
from allaboard.cluster.schema.builtin import meta_schema
from allaboard.cluster.schema.node import Schema


def root_schema(schema: Json, group: str, version: str, kind: str) -> Schema:
    """The tree for the `openAPIV3Schema` of one version of a kind."""
    root = _node(schema)
    root.name = kind
    root.definition = ".".join([*reversed(group.split(".")), version, kind])
    _know_resource_fields(root)
    return root


def _know_resource_fields(node: Schema) -> None:
    node.properties["apiVersion"] = Schema(type="string")
    node.properties["kind"] = Schema(type="string")
    node.properties["metadata"] = meta_schema("ObjectMeta")


def _node(schema: Json) -> Schema:
    extra, items = schema.get("additionalProperties"), schema.get("items")
    node = Schema(
        type=schema.get("type") or "",
        format=schema.get("format") or "",
        description=schema.get("description") or "",
        properties={name: _node(sub) for name, sub in (schema.get("properties") or {}).items()},
        required=tuple(schema.get("required") or ()),
        values=_node(extra) if isinstance(extra, dict) else None,
        items=_node(items) if isinstance(items, dict) else None,
        nullable=bool(schema.get("nullable")),
        default=schema.get("default"),
        has_default="default" in schema,
        enum=tuple(schema.get("enum") or ()),
        list_type=schema.get("x-kubernetes-list-type") or "atomic",
        list_keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        map_type=schema.get("x-kubernetes-map-type") or "granular",
        preserve_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")) or extra is True,
        source=schema,
    )
    if schema.get("x-kubernetes-int-or-string"):
        node.type, node.format = "", "int-or-string"
    if schema.get("x-kubernetes-embedded-resource"):
        node.embedded = True
        _know_resource_fields(node)
    return node
