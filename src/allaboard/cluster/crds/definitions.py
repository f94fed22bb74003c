"""What does a CustomResourceDefinition serve?

`resource_of` turns one accepted definition into a `Resource`, compiled once: schema trees, rules,
columns, selectable fields, conversion. It is pure; `registry.py` decides when it is called.
"""

from collections.abc import Callable, Mapping
from typing import Any

from allaboard.api.meta import Json, Kind
from allaboard.cluster.crds.columns import columns_of
from allaboard.cluster.crds.conversion import Caller, Converter, WebhookConverter, change_version
from allaboard.cluster.crds.conversion import converter_of as _converter_of
from allaboard.cluster.crds.jsonpath import parse, select
from allaboard.cluster.crds.names import version_rank
from allaboard.cluster.crds.rules import CustomStrategy, VersionRules
from allaboard.cluster.crds.tree import root_schema
from allaboard.cluster.resource import Resource, Version

_SCALE = Kind("autoscaling", "v1", "Scale", "")


def resource_of(
    crd: Json, caller: Caller | None = None, registered: Converter | None = None
) -> Resource:
    """The resource of an accepted definition. `registered` converts in process."""
    spec = crd["spec"]
    names, group = spec["names"], spec["group"]
    rules = {f"{group}/{v['name']}": _rules(v) for v in spec["versions"]}
    served = sorted((v for v in spec["versions"] if v["served"]), key=_rank)
    versions = {v["name"]: _version(v, spec) for v in served}
    storage = next(v["name"] for v in spec["versions"] if v["storage"])
    namespaced = spec["scope"] == "Namespaced"
    converter = registered or _converter(spec, caller)
    return Resource(
        group=group,
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        kind=names["kind"],
        list_kind=names.get("listKind") or f"{names['kind']}List",
        namespaced=namespaced,
        versions=versions,
        storage_version=storage,
        strategy=CustomStrategy(names["kind"], namespaced, rules),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(spec, served),
        custom=True,
        selectable=_selectable(served),
        convert=_converter_of(converter, group, storage, rules) if len(rules) > 1 else None,
        scale_paths=_scale_paths(served),
    )


def _rank(version: Json) -> tuple[int, int, int, str]:
    return version_rank(version["name"])


def _schema(version: Json) -> Json:
    schema: Json = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return schema


def _rules(version: Json) -> VersionRules:
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale") or {}
    return VersionRules(
        schema=_schema(version),
        has_status=subresources.get("status") is not None,
        scale_path=scale.get("specReplicasPath") or "",
    )


def _version(version: Json, spec: Json) -> Version:
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    warning = ""
    if version.get("deprecated"):
        warning = version.get("deprecationWarning") or f"{group}/{name} {kind} is deprecated"
    return Version(
        name=name,
        schema=root_schema(_schema(version), group, name, kind),
        columns=columns_of(version),
        deprecation=warning,
    )


def _converter(spec: Json, caller: Caller | None) -> Converter:
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") == "Webhook" and caller is not None:
        return WebhookConverter(conversion, spec["names"]["kind"], caller)
    return change_version


def _subresources(spec: Json, served: list[Json]) -> Mapping[str, Kind]:
    """Subresources of any served version: a version without one shows it all the same."""
    found: dict[str, Kind] = {}
    names = spec["names"]
    for version in served:
        declared = version.get("subresources") or {}
        if declared.get("status") is not None:
            found["status"] = Kind(
                spec["group"],
                version["name"],
                names["kind"],
                names["plural"],
                spec["scope"] == "Namespaced",
            )
        if declared.get("scale"):
            found["scale"] = _SCALE
    return found


def _scale_paths(served: list[Json]) -> tuple[str, str, str] | None:
    for version in served:
        scale = (version.get("subresources") or {}).get("scale")
        if scale:
            return (
                scale["specReplicasPath"],
                scale["statusReplicasPath"],
                scale.get("labelSelectorPath") or "",
            )
    return None


def _selectable(served: list[Json]) -> dict[str, Callable[[Json], str]]:
    found: dict[str, Callable[[Json], str]] = {}
    for version in served:
        for entry in version.get("selectableFields") or ():
            path = entry["jsonPath"]
            found[path.lstrip(".")] = _reader(path)
    return found


def _reader(path: str) -> Callable[[Json], str]:
    steps = parse(path) or ()

    def read(obj: Json) -> str:
        values = select(steps, obj)
        return _text(values[0]) if values else ""

    return read


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
