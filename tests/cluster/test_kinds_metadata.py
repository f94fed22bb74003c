"""Names, labels, annotations, owners, finalizers: the rules every object obeys."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api import names
from allaboard.api.meta import Json
from allaboard.cluster.kinds.metadata import validate_metadata, validate_metadata_update

GOOD: Json = {"name": "a", "namespace": "ns"}


def fields(meta: Json) -> list[str]:
    return [e.field for e in validate_metadata({**GOOD, **meta}, True)]


@pytest.mark.parametrize(
    "meta, where",
    [
        ({"name": "a.b-c.d0"}, []),
        ({"name": ""}, ["metadata.name"]),
        ({"name": "A"}, ["metadata.name"]),
        ({"name": "-a"}, ["metadata.name"]),
        ({"name": "a..b"}, ["metadata.name"]),
        ({"name": "a" * 253}, []),
        ({"name": "a" * 254}, ["metadata.name"]),
        ({"generateName": "a-"}, []),
        ({"generateName": "A_"}, ["metadata.generateName"]),
        ({"namespace": "a.b"}, ["metadata.namespace"]),
        ({"labels": {"app.kubernetes.io/name": "x_y.z", "a": ""}}, []),
        ({"labels": {"a b": "x"}}, ["metadata.labels"]),
        ({"labels": {"a..b/c": "x"}}, ["metadata.labels"]),
        ({"labels": {"a": "x" * 64}}, ["metadata.labels"]),
        ({"labels": {"a": "-x"}}, ["metadata.labels"]),
        ({"annotations": {"Example.com/Key": "anything at all"}}, []),
        ({"annotations": {"a/b/c": ""}}, ["metadata.annotations"]),
        ({"annotations": {"a": "x" * 262_144}}, ["metadata.annotations"]),
        ({"finalizers": ["example.com/f", "orphan"]}, []),
        ({"finalizers": ["f"]}, ["metadata.finalizers[0]"]),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, ["metadata.finalizers"]),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}, []),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]},
         ["metadata.ownerReferences.uid"]),
        ({"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "p", "uid": "u"}]},
         ["metadata.ownerReferences"]),
    ],
)  # fmt: skip
def test_metadata(meta: Json, where: list[str]) -> None:
    assert fields(meta) == where


def test_only_one_owner_controls() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    errors = validate_metadata({**GOOD, "ownerReferences": [owner, {**owner, "uid": "v"}]}, True)
    assert [e.field for e in errors] == ["metadata.ownerReferences"]
    assert 'Found "true" in references for Pod/p and Pod/p' in errors[0].text


def test_cluster_scoped_objects_have_no_namespace() -> None:
    assert [e.field for e in validate_metadata(GOOD, False)] == ["metadata.namespace"]


@pytest.mark.parametrize(
    "change, where",
    [
        ({}, []),
        ({"labels": {"a": "b"}}, []),
        ({"labels": {"a": "b c"}}, ["metadata.labels"]),
        ({"uid": "other"}, ["metadata.uid"]),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, ["metadata.deletionTimestamp"]),
    ],
)
def test_what_an_update_may_change(change: Json, where: list[str]) -> None:
    errors = validate_metadata_update({**GOOD, **change}, GOOD)
    assert [e.field for e in errors] == where


def test_a_dying_object_takes_no_new_finalizers() -> None:
    old = {**GOOD, "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]}
    assert not validate_metadata_update({**old, "finalizers": []}, old)
    errors = validate_metadata_update({**old, "finalizers": ["a/b", "c/d"]}, old)
    assert '[]string{"c/d"}' in errors[0].text


def test_a_million_labels_are_refused_in_bounded_time() -> None:
    began = time.process_time()
    errors = validate_metadata({**GOOD, "labels": {f"k {i}": "v" for i in range(10**6)}}, True)
    assert 0 < len(errors) < 1000
    validate_metadata({**GOOD, "labels": {"a" * 10**6 + "!": "-" * 10**6}}, True)
    assert time.process_time() - began < 5


@given(st.text(max_size=40))
def test_the_short_way_through_keys_agrees_with_the_long_one(key: str) -> None:
    if names.is_clean_key(key):
        assert not names.label_key_problems(key)


@given(st.from_regex(r"[a-z0-9./-]{1,40}", fullmatch=True))
def test_the_short_way_agrees_on_plausible_keys_too(key: str) -> None:
    if names.is_clean_key(key):
        assert not names.label_key_problems(key)
