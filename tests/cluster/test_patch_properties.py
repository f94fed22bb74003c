"""Laws of patches and of ownership, for any document."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from ownership_model import KIND, differences, owners_after_update, paths_of

from allaboard.api.errors import ApiError
from allaboard.api.meta import Json
from allaboard.cluster.patching import fieldset
from allaboard.cluster.patching.fieldset import FieldSet, from_paths
from allaboard.cluster.patching.json_patch import apply_json_patch
from allaboard.cluster.patching.managed import Manager, track_update
from allaboard.cluster.patching.merge_patch import apply_merge_patch
from allaboard.cluster.patching.strategic import apply_strategic_patch
from allaboard.cluster.schema.node import Schema

names = st.sampled_from(["a", "b", "c", "d"])
scalars = st.one_of(st.booleans(), st.integers(-3, 3), st.sampled_from(["", "x", "y"]))
values = st.recursive(
    scalars, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(names, v)), max_leaves=6
)
docs = st.dictionaries(names, values)
patches = st.dictionaries(
    names, st.recursive(st.none() | scalars, lambda v: st.dictionaries(names, v), max_leaves=6)
)
maps = st.recursive(scalars, lambda v: st.dictionaries(names, v), max_leaves=8).filter(
    lambda v: isinstance(v, dict)
)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return value


@given(docs, patches)
def test_merging_twice_is_merging_once(doc: Json, patch: Json) -> None:
    once = apply_merge_patch(doc, patch)
    assert apply_merge_patch(once, patch) == once


@given(patches)
def test_merging_into_nothing_gives_the_patch_without_nulls(patch: Json) -> None:
    assert apply_merge_patch({}, patch) == without_nulls(patch)


@given(docs)
def test_an_empty_merge_patch_changes_nothing(doc: Json) -> None:
    assert apply_merge_patch(doc, {}) == doc


@given(maps, patches)
def test_without_directives_and_lists_strategic_merge_is_merge(doc: Json, patch: Json) -> None:
    assert apply_strategic_patch(doc, patch, Schema(type="object")) == apply_merge_patch(doc, patch)


@given(docs, patches)
def test_patches_do_not_change_what_they_are_given(doc: Json, patch: Json) -> None:
    before = copy.deepcopy((doc, patch))
    apply_merge_patch(doc, patch)
    apply_strategic_patch(doc, patch, Schema(type="object"))
    assert (doc, patch) == before


pointers = st.lists(st.sampled_from(["a", "b", "c", "0", "1", "-", "-1"]), max_size=3).map(
    lambda parts: "".join(f"/{p}" for p in parts)
)
operations = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
            "path": pointers,
            "from": pointers,
        },
        optional={"value": values},
    ),
    max_size=5,
)


@given(docs, operations)
def test_a_json_patch_changes_no_input_and_fails_only_as_it_should(doc: Json, ops: Any) -> None:
    before = copy.deepcopy((doc, ops))
    try:
        apply_json_patch(doc, ops)
    except ApiError as refused:
        assert refused.status_code == 422
    assert (doc, ops) == before


@given(docs, names, values)
def test_adding_and_removing_restores(doc: Json, name: str, value: Any) -> None:
    doc.pop(name, None)
    added = apply_json_patch(doc, [{"op": "add", "path": f"/{name}", "value": value}])
    assert added == {**doc, name: value}
    assert apply_json_patch(added, [{"op": "remove", "path": f"/{name}"}]) == doc


@given(docs, operations, operations)
def test_one_patch_of_two_parts_is_two_patches(doc: Json, first: Any, second: Any) -> None:
    def run(start: Any, ops: Any) -> Any:
        try:
            return apply_json_patch(start, ops)
        except ApiError:
            return None

    halfway = run(doc, first)
    assert run(doc, first + second) == (None if halfway is None else run(halfway, second))


elements = st.sampled_from(["f:a", "f:b", 'k:{"n":"x"}', 'v:"y"'])
path_sets = st.sets(st.lists(elements, min_size=1, max_size=3).map(tuple), max_size=6)


def as_fields(paths: set[tuple[str, ...]]) -> FieldSet:
    """A set built path by path, slowly."""
    root: FieldSet = {}
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    return fieldset.canonical(root)


def below(paths: set[tuple[str, ...]], tops: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    return {p for p in paths if any(p[: len(t)] == t for t in tops)}


@given(path_sets, path_sets)
def test_field_sets_are_sets(a: set[tuple[str, ...]], b: set[tuple[str, ...]]) -> None:
    x, y = as_fields(a), as_fields(b)
    before = copy.deepcopy((x, y))
    assert paths_of(x) == a
    assert fieldset.union(x, y) == as_fields(a | b)
    assert fieldset.difference(x, y) == as_fields(a - b)
    assert fieldset.intersection(x, y) == as_fields(a & b)
    assert fieldset.without_trees(x, y) == as_fields(a - below(a, b))
    assert len(list(fieldset.iterate_paths(x))) == len(a)
    assert (x, y) == before


@given(path_sets, path_sets)
def test_what_changes_nothing_returns_the_very_same_set(a: Any, b: Any) -> None:
    x, y = as_fields(a | b), as_fields(a)
    assert fieldset.union(x, y) is x
    assert fieldset.difference(x, as_fields(b - a - b)) is x


texts = st.sampled_from(["1", "2", ""])
keys = st.sampled_from(["k", "l", "m"])
parts = st.lists(
    st.fixed_dictionaries(
        {"name": keys},
        optional={
            "port": st.integers(79, 81),
            "value": texts,
            "tags": st.lists(texts, unique=True, max_size=2),
        },
    ),
    max_size=3,
    unique_by=lambda p: (p["name"], p.get("port", 80)),
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "text": texts,
        "plain": st.lists(texts, max_size=2),
        "set": st.lists(texts, unique=True, max_size=3),
        "parts": parts,
        "map": st.dictionaries(keys, texts),
        "whole": st.dictionaries(keys, texts),
        "free": st.dictionaries(keys, texts | st.lists(texts, max_size=2)),
        "inner": st.fixed_dictionaries({}, optional={"a": texts, "b": texts}),
    },
)
objects = st.builds(
    lambda spec, status, labels, version: {
        "apiVersion": "x/v1",
        "kind": "Thing",
        "metadata": {"name": "t", "resourceVersion": version, "labels": labels},
        "spec": spec,
        "status": status,
    },
    specs,
    specs,
    st.dictionaries(keys, texts, max_size=2),
    texts,
)
doors = st.sampled_from([("", "status"), ("status", "spec")])


@settings(max_examples=200)
@given(st.lists(st.tuples(objects, st.sampled_from("pqr"), doors), min_size=1, max_size=5))
def test_owners_equal_a_naive_recomputation(writes: list[Any]) -> None:
    """However objects follow each other, every field belongs to who changed it last."""
    live: Json | None = None
    model: dict[str, set[tuple[str, ...]]] = {}
    for new, name, (subresource, reset) in writes:
        who = Manager(name, "Update", "x/v1", subresource, from_paths(((reset,),)))
        entries = track_update(live, new, KIND, who, 0.0)
        if live is None or model:
            changed, removed = differences(live, new, reset)
            model = owners_after_update(model, f"{name}/{subresource}", changed, removed)
        found = {
            f"{e['manager']}/{e.get('subresource', '')}": paths_of(e["fieldsV1"]) for e in entries
        }
        assert found == model
        live = {**new, "metadata": {**new["metadata"], "uid": "u", "managedFields": entries}}
