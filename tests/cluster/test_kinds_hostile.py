"""Broken manifests of every kind are judged, never crash the judge, and do not hold it up."""

import copy
import json
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from allaboard.api.meta import Json
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.resource import Resource
from allaboard.cluster.schema.decode import DecodeError, decode
from allaboard.cluster.schema.node import Schema

# custom resource definitions have rules of their own, elsewhere
KINDS = [
    r for r in builtin_resources() if "get" in r.verbs and not r.plural.startswith("customres")
]
TRIES = 60
DEFECTS: list[Any] = [
    None, "", [], {}, [None], [[]], [{}], {"a": None}, -1, 0, 1.5, 2**31, 2**63, 2**200, True,
    "x" * 300, "🦄", "-1", "1e400", "a/b/c", ["a", "a"], [1, "a", {}], {"a": {"b": {}}}, {"": ""},
]  # fmt: skip
EXAMPLES = {
    "quantity": "1",
    "date-time": "2026-01-01T00:00:00Z",
    "micro-time": "2026-01-01T00:00:00.000000Z",
    "int-or-string": 1,
    "byte": "eA==",
}
BY_TYPE: Json = {"integer": 1, "number": 1.0, "boolean": True, "string": "a"}


def example(schema: Schema, above: tuple[int, ...] = ()) -> Any:
    """Something of this shape with every field present, None where it would contain itself."""
    if id(schema) in above:
        return None
    inside = (*above, id(schema))
    if schema.format in EXAMPLES:
        return EXAMPLES[schema.format]
    if schema.properties:
        parts = {k: example(s, inside) for k, s in schema.properties.items()}
        return {k: v for k, v in parts.items() if v is not None}
    if schema.values is not None:
        return {"a": example(schema.values, inside)}
    if schema.items is not None:
        return [example(schema.items, inside)]
    return BY_TYPE.get(schema.type, {"any": 1})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*path, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from places(part, (*path, i))


def judged(resource: Resource, data: Json) -> Json:
    """The whole life of a create, as far as it goes."""
    strategy = resource.strategy
    obj = decode(resource.versions["v1"].schema, data).data
    meta = obj["metadata"] = {**(obj.get("metadata") or {}), "uid": "u"}
    if resource.namespaced:
        meta["namespace"] = "ns"
    strategy.default(obj)
    strategy.prepare_create(obj)
    assert all(str(e) for e in strategy.validate_create(obj))
    strategy.warnings(obj, None)
    for column in resource.versions["v1"].columns:
        json.dumps(column.cell(obj, 0.0))
    return obj


@pytest.mark.parametrize("resource", KINDS, ids=lambda r: r.kind + "." + r.group)
def test_defects_anywhere_are_judged(resource: Resource) -> None:
    rng = random.Random(resource.key)
    good = example(resource.versions["v1"].schema)
    known = judged(resource, copy.deepcopy(good))
    everywhere = list(places(good))
    for _ in range(TRIES):
        bad = copy.deepcopy(good)
        *head, last = rng.choice(everywhere)
        target = bad
        for part in head:
            target = target[part]
        target[last] = rng.choice(DEFECTS)
        try:
            obj = judged(resource, bad)
        except DecodeError:
            continue
        for subresource in {"", "status"} & {"", *resource.subresources}:
            for new, old in ((obj, known), (known, obj)):
                fresh = {**new, "metadata": dict(new["metadata"])}
                resource.strategy.prepare_update(fresh, old, subresource)
                errors = resource.strategy.validate_update(fresh, old, subresource)
                assert all(str(e) for e in errors)


POD = next(r for r in KINDS if r.kind == "Pod")
JOB = next(r for r in KINDS if r.kind == "Job")


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": [{"name": "a", "image": "i"}] * 10_000},
        {"containers": [{"name": "a", "env": [{"name": f"E{i}"} for i in range(10_000)]}]},
        {"containers": [{"name": "a", "ports": [{"containerPort": 1}] * 10_000}]},
        {"containers": [], "volumes": [{"name": f"v{i}"} for i in range(10_000)]},
        {"containers": [], "tolerations": [{"key": "k"}] * 10_000},
        {"containers": [], "nodeSelector": {f"k{i}": "!" for i in range(100_000)}},
        {"containers": [], "hostname": "a-" * 1_000_000},
    ],
    ids=["containers", "env", "ports", "volumes", "tolerations", "selector", "hostname"],
)
def test_huge_pods_are_judged_in_bounded_time(spec: Json) -> None:
    began = time.process_time()
    judged(POD, {"metadata": {"name": "p"}, "spec": spec})
    assert time.process_time() - began < 8


@pytest.mark.parametrize("count", [10**5, 2**31 - 1])
def test_absurd_parallelism_costs_nothing(count: int) -> None:
    template = {"spec": {"containers": [{"name": "a", "image": "i"}], "restartPolicy": "Never"}}
    spec = {"template": template, "completionMode": "Indexed", "completions": count}
    rules = [{"succeededIndexes": ",".join(str(i) for i in range(12_000))}]
    began = time.process_time()
    judged(JOB, {"metadata": {"name": "j"}, "spec": {**spec, "successPolicy": {"rules": rules}}})
    assert time.process_time() - began < 2
