"""One schema for everything a server must know of a field: shape, merge rules, ownership rules.

Built-in kinds are written in our own notation and parsed into it, custom resources are parsed from
their `openAPIV3Schema`. Strict decoding, defaulting, pruning, strategic merge, server-side apply
and the published OpenAPI documents all read this one tree.
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Schema:
    """`type` is a JSON type, or '' for any value; `format` refines it.

    Formats with meaning here: int32, int64, double, byte (base64), date-time, micro-time,
    quantity, int-or-string, duration (Go's), raw-extension (any object), fields-v1.
    """

    type: str = ""
    format: str = ""
    name: str = ""  # Go type name for messages and OpenAPI references, e.g. PodSpec
    definition: str = ""  # OpenAPI definition, e.g. io.k8s.api.core.v1.PodSpec; '' = inline
    description: str = ""
    about: str = ""  # what the definition is, whatever a field says of its use of it
    properties: dict[str, "Schema"] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    values: "Schema | None" = None  # of a map (additionalProperties)
    items: "Schema | None" = None
    nullable: bool = False
    default: Any = None
    has_default: bool = False
    enum: tuple[Any, ...] = ()
    # structural merge type: how apply owns it
    list_type: str = "atomic"  # atomic | set | map
    list_keys: tuple[str, ...] = ()
    map_type: str = "granular"  # granular | atomic; for objects and maps
    # how strategic merge patch treats it
    patch_strategy: tuple[str, ...] = ()  # of merge, replace, retainKeys
    patch_merge_key: str = ""
    # how Go writes it back: what is left out when empty
    go: str = ""  # Go type as messages print it, e.g. []v1.Container
    pointer: bool = False  # tells absent from zero
    always: bool = False  # written even when empty (no omitempty)
    omit_zero: bool = False  # a struct that is left out when all of it is empty
    preserve_unknown: bool = False
    embedded: bool = False  # x-kubernetes-embedded-resource
    source: dict[str, Any] | None = None  # a custom resource's own schema, as it was given
