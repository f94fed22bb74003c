"""How are the schemas of built-in kinds written down, and how are they read?

Files in `notation/` hold one package each (a large one may be spread over several files):

    package batch io.k8s.api.batch.v1 batch/v1       short name, OpenAPI prefix, group/version
    type CompletionMode string ["Indexed", "NonIndexed"]
    kind Job -- One line for `kubectl explain`.      a struct with apiVersion and kind
      metadata  meta.ObjectMeta
      spec      JobSpec !+ map(name) merge(name) -- What it means.

A field is a name, a type and marks. Types: a scalar (`string bool int32 int64 float bytes time
microtime quantity intorstring duration raw fields any`), a declared name, `[]T` a list, `{}T` a map
with string keys; a trailing `*` is a pointer. Marks: `!` required; `+` written even when empty;
`0` left out when zero; `=JSON` default; `map(keys)`, `set`, `atomic` how apply owns a list;
`whole`, `granular` a map owned as one or by key; `merge(key)`, `merge`, `replace`, `retainKeys` for
strategic merge.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from allaboard.cluster.schema.node import Schema

_META = "io.k8s.apimachinery.pkg.apis.meta.v1"
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"

# (type, format, OpenAPI definition, Go type)
_SCALARS: dict[str, tuple[str, str, str, str]] = {
    "string": ("string", "", "", "string"),
    "bool": ("boolean", "", "", "bool"),
    "int32": ("integer", "int32", "", "int32"),
    "int64": ("integer", "int64", "", "int64"),
    "float": ("number", "double", "", "float64"),
    "bytes": ("string", "byte", "", "[]uint8"),
    "time": ("string", "date-time", f"{_META}.Time", "v1.Time"),
    "microtime": ("string", "micro-time", f"{_META}.MicroTime", "v1.MicroTime"),
    "quantity": (
        "string", "quantity", "io.k8s.apimachinery.pkg.api.resource.Quantity", "resource.Quantity",
    ),
    "intorstring": (
        "", "int-or-string", "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        "intstr.IntOrString",
    ),
    "duration": ("string", "duration", f"{_META}.Duration", "v1.Duration"),
    "raw": (
        "object", "raw-extension", "io.k8s.apimachinery.pkg.runtime.RawExtension",
        "runtime.RawExtension",
    ),
    "fields": ("object", "fields-v1", f"{_META}.FieldsV1", "v1.FieldsV1"),
    "any": ("", "", "", "interface {}"),
    "JSON": ("", "", f"{_EXTENSIONS}.JSON", "v1.JSON"),
    "JSONSchemaPropsOrArray": (
        "", "", f"{_EXTENSIONS}.JSONSchemaPropsOrArray", "v1.JSONSchemaPropsOrArray",
    ),
    "JSONSchemaPropsOrBool": (
        "", "", f"{_EXTENSIONS}.JSONSchemaPropsOrBool", "v1.JSONSchemaPropsOrBool",
    ),
    "JSONSchemaPropsOrStringArray": (
        "", "", f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray", "v1.JSONSchemaPropsOrStringArray",
    ),
}  # fmt: skip
_FREE = {"raw", "fields", "any", "JSON"} | {n for n in _SCALARS if n.startswith("JSONSchema")}
# Go names its package after the last element of the path, which is a version for all but these.
_GO_NAMES = {"meta.UID": "types.UID", "meta.PatchType": "types.PatchType"}
_MARKS = re.compile(r"[!+0]+$")
_HEADER = re.compile(r"(?P<kind>kind )?(?P<name>\w+)(?P<atomic> atomic)?(?: -- (?P<text>.*))?$")
_TYPE_META = (
    "  kind string -- What the object is: a name such as Pod.",
    "  apiVersion string -- In which version the object is written, with its group.",
)


@dataclass(slots=True)
class Struct:
    """A declared struct before its fields are read."""

    package: "Package"
    name: str
    is_kind: bool
    map_type: str
    description: str
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Package:
    short: str
    prefix: str
    api_version: str  # '-' when it is shared by all groups
    structs: dict[str, Struct] = field(default_factory=dict)
    types: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)


def read(text: str, packages: dict[str, Package]) -> None:
    """Add what one file declares to `packages`."""
    package: Package | None = None
    struct: Struct | None = None
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("package "):
            _, short, prefix, api_version = line.split()
            package = packages.setdefault(short, Package(short, prefix, api_version))
            continue
        assert package is not None, "a notation file begins with its package"
        if line.startswith("type "):
            _, name, base, *rest = line.split(" ", 3)
            package.types[name] = (base, tuple(json.loads(rest[0])) if rest else ())
        elif line.startswith(" "):
            assert struct is not None, f"a field before any struct: {line}"
            struct.lines.append(line)
        else:
            struct = _header(line, package)
            package.structs[struct.name] = struct


def _header(line: str, package: Package) -> Struct:
    match = _HEADER.match(line)
    assert match, f"not a struct header: {line}"
    struct = Struct(
        package,
        match["name"],
        bool(match["kind"]),
        "atomic" if match["atomic"] else "granular",
        match["text"] or "",
    )
    if struct.is_kind:
        struct.lines.extend(_TYPE_META)
    return struct


class Library:
    """Every declared struct; schemas are made when first asked for and shared afterwards."""

    def __init__(self, texts: Iterator[str]) -> None:
        self.packages: dict[str, Package] = {}
        for text in texts:
            read(text, self.packages)
        self._made: dict[str, Schema] = {}

    @classmethod
    def shipped(cls) -> "Library":
        """The notation files of this package."""
        folder = resources.files("allaboard.cluster.schema") / "notation"
        files = sorted((f for f in folder.iterdir() if f.name.endswith(".txt")), key=_file_name)
        return cls(f.read_text(encoding="utf-8") for f in files)

    def struct(self, package: str, name: str) -> Schema:
        """The schema of a struct. Its `properties` dict is shared by every use of it."""
        key = f"{package}.{name}"
        made = self._made.get(key)
        if made is not None:
            return made
        declared = self.packages[package].structs[name]
        schema = Schema(
            type="object",
            name=name,
            definition=f"{declared.package.prefix}.{name}",
            description=declared.description,
            about=declared.description,
            map_type=declared.map_type,
            go=f"v1.{name}",
        )
        lines = [_split(line) for line in declared.lines]
        schema.required = tuple(n for n, _, marks, _ in lines if "!" in "".join(marks[:1]))
        self._made[key] = schema  # before its fields: a JSONSchemaProps contains itself
        for field_name, expression, marks, text in lines:
            made = self._field(declared.package, expression, marks)
            made.description = text or made.description
            schema.properties[field_name] = made
        return schema

    def _field(self, package: Package, expression: str, marks: list[str]) -> Schema:
        pointer = expression.endswith("*")
        shared = self._type(package, expression.rstrip("*"))
        schema = replace(shared, pointer=pointer)
        for mark in marks:
            if _MARKS.match(mark):
                schema.always = "+" in mark
                schema.omit_zero = "0" in mark
            else:
                _apply_mark(schema, mark)
        if not schema.has_default and not pointer:
            _published_default(schema)
        return schema

    def _type(self, package: Package, expression: str) -> Schema:
        if expression.startswith(("[]", "{}")):
            inner = self._type(package, expression[2:])
            inner = replace(inner, description="", always=True)
            _published_default(inner)
            if expression.startswith("[]"):
                return Schema(type="array", items=inner, go=f"[]{inner.go}")
            return Schema(type="object", values=inner, go=f"map[string]{inner.go}")
        if expression in _SCALARS:
            kind, form, definition, go = _SCALARS[expression]
            free = expression in _FREE
            map_type = "atomic" if free else "granular"
            return Schema(
                type=kind, format=form, definition=definition, go=go,
                preserve_unknown=free, map_type=map_type,
            )  # fmt: skip
        home, _, name = expression.rpartition(".")
        owner = self.packages[home] if home else package
        if name in owner.types:
            base, enum = owner.types[name]
            go = _GO_NAMES.get(f"{owner.short}.{name}", f"v1.{name}")
            return replace(self._type(owner, base), go=go, enum=enum)
        return self.struct(owner.short, name)


def _split(line: str) -> tuple[str, str, list[str], str]:
    body, _, text = line.strip().partition(" -- ")
    name, expression, *marks = body.split()
    return name, expression, marks, text


def _file_name(entry: Any) -> str:
    return str(entry.name)


def _apply_mark(schema: Schema, mark: str) -> None:
    word, _, inner = mark.rstrip(")").partition("(")
    if mark.startswith("="):
        schema.default, schema.has_default = json.loads(mark[1:]), True
    elif word == "map":
        schema.list_type, schema.list_keys = "map", tuple(inner.split(","))
    elif word in ("set", "atomic"):
        schema.list_type = word
    elif word == "granular":
        schema.map_type = word
    elif word == "whole":
        schema.map_type = "atomic"
    else:
        assert word in ("merge", "replace", "retainKeys"), f"an unknown mark: {mark}"
        schema.patch_strategy = (*schema.patch_strategy, word)
        if inner:
            schema.patch_merge_key = inner


_ZEROES: dict[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0}


def _published_default(schema: Schema) -> None:
    """Go's zero value, which OpenAPI publishes for what is always written, and for structs."""
    if schema.name:
        schema.default, schema.has_default = {}, True
    elif schema.always and not schema.definition and schema.format != "byte":
        schema.has_default = schema.type in _ZEROES
        schema.default = _ZEROES.get(schema.type)
