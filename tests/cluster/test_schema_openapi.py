"""The published OpenAPI documents: complete, consistent, and made again only when needed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from allaboard.api.meta import Kind
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.openapi.publication import Publication
from allaboard.cluster.resource import Resource, Version
from allaboard.cluster.schema.node import Schema

SOURCE = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "default": 3},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}]},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        }
    },
}


def widget(source: dict[str, Any] = SOURCE) -> Resource:
    pods = next(r for r in builtin_resources() if r.plural == "pods")
    return replace(
        pods, group="toys.example.com", plural="widgets", singular="widget", kind="Widget",
        list_kind="WidgetList", versions={"v1": Version("v1", Schema(source=source))}, custom=True,
        subresources={"status": Kind("toys.example.com", "v1", "Widget", "widgets")},
    )  # fmt: skip


def document(publication: Publication, path: str) -> dict[str, Any]:
    published = publication.v3(path)
    assert published is not None
    found: dict[str, Any] = json.loads(published.body)
    return found


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(v) for v in value.values()))
    return set().union(*(references(v) for v in value)) if isinstance(value, list) else set()


def test_every_reference_of_every_document_leads_somewhere() -> None:
    publication = Publication(lambda: [*builtin_resources(), widget()])
    for path in publication.index()["paths"]:
        found = document(publication, path)
        known = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
        assert references(found) <= known, path
    everything = json.loads(publication.v2().body)
    assert references(everything) <= {f"#/definitions/{name}" for name in everything["definitions"]}


def test_the_index_names_each_document_with_its_hash() -> None:
    publication = Publication(builtin_resources)
    paths = publication.index()["paths"]
    assert {"api/v1", "apis/batch/v1", "apis/apiextensions.k8s.io/v1"} <= set(paths)
    published = publication.v3("apis/batch/v1")
    assert published is not None
    url = f"/openapi/v3/apis/batch/v1?hash={published.hash}"
    assert paths["apis/batch/v1"] == {"serverRelativeURL": url}
    assert publication.v3("apis/nothing/v1") is None


def test_a_document_is_made_again_only_when_its_resources_change() -> None:
    served = [*builtin_resources(), widget()]
    publication = Publication(lambda: served)
    before = publication.v3("api/v1"), publication.v3("apis/toys.example.com/v1")
    assert publication.v3("api/v1") is before[0]
    served[-1] = widget({"type": "object"})
    assert publication.v3("api/v1") is before[0]
    changed = publication.v3("apis/toys.example.com/v1")
    assert before[1] and changed and changed.hash != before[1].hash


@pytest.mark.parametrize(
    ("path", "method", "action", "kind"),
    [
        ("/api/v1/namespaces/{namespace}/pods", "post", "post", "Pod"),
        ("/api/v1/pods", "get", "list", "Pod"),
        ("/api/v1/namespaces/{namespace}/pods/{name}", "patch", "patch", "Pod"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/status", "put", "put", "Pod"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "post", "Eviction"),
        ("/api/v1/namespaces/{namespace}/pods", "delete", "deletecollection", "Pod"),
        ("/api/v1/nodes/{name}", "delete", "delete", "Node"),
    ],
)
def test_operations_say_what_they_do_with_which_kind(
    path: str, method: str, action: str, kind: str
) -> None:
    operation = document(Publication(builtin_resources), "api/v1")["paths"][path][method]
    assert operation["x-kubernetes-action"] == action
    assert operation["x-kubernetes-group-version-kind"]["kind"] == kind


def test_kubectl_finds_field_validation_dry_run_and_the_patches_it_may_send() -> None:
    publication = Publication(lambda: [*builtin_resources(), widget()])
    for path, plural, strategic in (
        ("api/v1", "pods", True),
        ("apis/toys.example.com/v1", "widgets", False),
    ):
        paths = document(publication, path)["paths"]
        patch = paths[f"/{path}/namespaces/{{namespace}}/{plural}/{{name}}"]["patch"]
        assert {"dryRun", "fieldValidation"} <= {p["name"] for p in patch["parameters"]}
        types = patch["requestBody"]["content"]
        assert ("application/strategic-merge-patch+json" in types) == strategic
        assert "application/merge-patch+json" in types


def test_a_custom_kind_is_published_as_declared_with_metadata_added() -> None:
    publication = Publication(lambda: [widget()])
    found = document(publication, "apis/toys.example.com/v1")["components"]["schemas"]
    made = found["com.example.toys.v1.Widget"]
    assert made["properties"]["spec"] == SOURCE["properties"]["spec"]  # type: ignore[index]
    gvk = {"group": "toys.example.com", "version": "v1", "kind": "Widget"}
    assert made["x-kubernetes-group-version-kind"] == [gvk]
    assert "com.example.toys.v1.WidgetList" in found


def test_version_2_leaves_out_what_it_cannot_say() -> None:
    definitions = json.loads(Publication(lambda: [widget()]).v2().body)["definitions"]
    spec = definitions["com.example.toys.v1.Widget"]["properties"]["spec"]["properties"]
    assert spec["size"] == {"type": "integer"}
    assert "anyOf" not in spec["port"] and "type" not in spec["port"]
