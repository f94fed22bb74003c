"""Which kinds are built in, and do all of them live by the same few rules?"""

import pytest

from allaboard.api.meta import Json
from allaboard.cluster.kinds.registry import SUBRESOURCE_VERBS, builtin_resources
from allaboard.cluster.resource import Resource

RESOURCES = builtin_resources()
STORED = [r for r in RESOURCES if "get" in r.verbs]
WITH_STATUS = [r for r in STORED if "status" in r.subresources]


def named(key: str) -> Resource:
    return next(r for r in RESOURCES if r.key == key)


def newborn(resource: Resource, **fields: object) -> Json:
    """An object of this kind as the server hands it over: named, and with a UID."""
    meta: Json = {"name": "x", "uid": "u-1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    if resource.namespaced:
        meta["namespace"] = "ns"
    version = f"{resource.group}/v1" if resource.group else "v1"
    return {"apiVersion": version, "kind": resource.kind, "metadata": meta, **fields}


def test_no_two_kinds_answer_to_the_same_word() -> None:
    words = [(r.group, w) for r in RESOURCES for w in (r.plural, r.singular, *r.short_names)]
    # the plural of Endpoints is its singular
    assert sorted({w for w in words if words.count(w) > 1}) == [("", "endpoints")]


@pytest.mark.parametrize(
    "key, short, categories, subresources",
    [
        ("pods", ("po",), ("all",), {"status", "binding", "eviction", "log", "resize"}),
        ("jobs.batch", (), ("all",), {"status"}),
        ("namespaces", ("ns",), (), {"status", "finalize"}),
        ("deployments.apps", ("deploy",), ("all",), {"status", "scale"}),
        ("leases.coordination.k8s.io", (), (), set()),
        ("customresourcedefinitions.apiextensions.k8s.io", ("crd", "crds"),
         ("api-extensions",), {"status"}),
    ],
)  # fmt: skip
def test_names_as_kubectl_knows_them(
    key: str, short: tuple[str, ...], categories: tuple[str, ...], subresources: set[str]
) -> None:
    resource = named(key)
    assert (resource.short_names, resource.categories) == (short, categories)
    assert subresources <= set(resource.subresources)


def test_every_subresource_has_verbs() -> None:
    assert {s for r in RESOURCES for s in r.subresources} <= SUBRESOURCE_VERBS.keys()


def test_reviews_are_asked_not_kept() -> None:
    asked = {r.plural for r in RESOURCES if r.verbs == ("create",)}
    assert {"tokenreviews", "subjectaccessreviews", "bindings"} <= asked


def test_namespaces_cannot_be_deleted_as_a_collection() -> None:
    assert "deletecollection" not in named("namespaces").verbs


@pytest.mark.parametrize("resource", STORED, ids=lambda r: r.kind + "." + r.group)
def test_defaults_are_idempotent_and_rules_total(resource: Resource) -> None:
    """An almost empty object is defaulted once and for all, and judged without a crash."""
    strategy = resource.strategy
    once = newborn(resource)
    strategy.default(once)
    strategy.prepare_create(once)
    twice = {**once}
    strategy.default(twice)
    assert twice == once
    errors = strategy.validate_create(once)
    assert all(e.field and e.text for e in errors)
    assert strategy.warnings(once, None) == []
    for column in resource.versions["v1"].columns:
        column.cell(once, 1_800_000_000.0)


@pytest.mark.parametrize("resource", WITH_STATUS, ids=lambda r: r.kind + "." + r.group)
def test_a_status_write_leaves_the_rest_alone(resource: Resource) -> None:
    strategy = resource.strategy
    old = newborn(resource)
    strategy.default(old)
    strategy.prepare_create(old)
    new = {**old, "metadata": dict(old["metadata"]), "spec": {"foo": 1}, "status": {"bar": 2}}
    strategy.prepare_update(new, old, "status")
    assert new.get("spec") == old.get("spec")
    assert new["metadata"].get("generation") == old["metadata"].get("generation")
    assert new["status"]["bar"] == 2


def test_both_event_groups_show_the_same_objects() -> None:
    old, new = named("events"), next(r for r in RESOURCES if r.group == "events.k8s.io")
    assert new.key == old.key
    event = newborn(old, involvedObject={"name": "p"}, message="hi", count=2)
    old.strategy.default(event)
    assert new.from_stored is not None and new.to_stored is not None
    shown = new.from_stored(event)
    assert (shown["note"], shown["regarding"], shown["deprecatedCount"]) == ("hi", {"name": "p"}, 2)
    assert new.to_stored(shown) == event
    assert old.selectable["involvedObject.name"](event) == "p"
    assert new.selectable["regarding.name"](event) == "p"


@pytest.mark.parametrize(
    "key, obj, field, text",
    [
        ("pods", {"spec": {"nodeName": "n1"}}, "spec.nodeName", "n1"),
        ("pods", {"spec": {}}, "spec.hostNetwork", "false"),
        ("nodes", {"spec": {"unschedulable": True}}, "spec.unschedulable", "true"),
        ("jobs.batch", {}, "status.successful", "0"),
        ("jobs.batch", {"status": {"succeeded": 3}}, "status.successful", "3"),
        ("secrets", {"type": "Opaque"}, "type", "Opaque"),
    ],
)
def test_fields_that_selectors_may_name(key: str, obj: Json, field: str, text: str) -> None:
    assert named(key).selectable[field](obj) == text
