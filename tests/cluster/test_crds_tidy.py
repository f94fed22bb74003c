"""Pruning, dropping nulls and filling defaults, without touching what was given."""

import copy
from typing import Any

import pytest
from customs import fields, root

from allaboard.api.meta import Json
from allaboard.cluster.crds.tidy import plan_of, tidy

STRING = {"type": "string"}
PRESERVE = {"x-kubernetes-preserve-unknown-fields": True}
DEEP = {"type": "object", "default": {}, "properties": {"y": {"type": "integer", "default": 7}}}


@pytest.mark.parametrize(
    ("spec", "given", "expected", "dropped"),
    [
        pytest.param(fields(a=STRING), {"a": "1", "b": 2}, {"a": "1"}, ["spec.b"], id="unknown"),
        pytest.param(
            fields(a=STRING) | PRESERVE, {"a": "1", "b": {"c": 1}}, {"a": "1", "b": {"c": 1}}, [],
            id="unknown but preserved",
        ),
        pytest.param(
            fields(a={"type": "array", "items": fields(x=STRING)}),
            {"a": [{"x": "1"}, {"y": 2}]}, {"a": [{"x": "1"}, {}]}, ["spec.a[1].y"],
            id="unknown inside a list",
        ),
        pytest.param(fields(x=DEEP), {}, {"x": {"y": 7}}, [], id="a default with a default in it"),
        pytest.param(
            fields(a=STRING | {"default": "d"}), {"a": None}, {"a": "d"}, [],
            id="a null becomes the default",
        ),
        pytest.param(fields(a=STRING), {"a": None}, {}, [], id="a null is dropped"),
        pytest.param(
            fields(a=STRING | {"nullable": True, "default": "d"}), {"a": None}, {"a": None}, [],
            id="a null that is allowed stays",
        ),
        pytest.param(
            fields(a={"type": "integer"}), {"a": 4.0}, {"a": 4}, [], id="a whole float"
        ),
        pytest.param({"type": "object"}, {"a": 1}, {}, ["spec.a"], id="no fields, nothing kept"),
    ],
)  # fmt: skip
def test_tidy(spec: Json, given: Any, expected: Any, dropped: list[str]) -> None:
    obj = {"apiVersion": "g/v", "kind": "K", "metadata": {"name": "n"}, "spec": given}
    before, found = copy.deepcopy(obj), []
    result = tidy(plan_of(root(spec)), obj, found)
    assert result["spec"] == expected
    assert found == dropped
    assert obj == before, "what was given must not change"
    assert result["metadata"] is obj["metadata"]


def test_an_object_in_order_is_returned_as_it_is() -> None:
    obj = {"kind": "K", "metadata": {}, "spec": {"a": "1"}}
    assert tidy(plan_of(root(fields(a=STRING))), obj) is obj


def test_defaults_are_not_shared_between_objects() -> None:
    plan = plan_of(root(fields(x=DEEP)))
    first, second = tidy(plan, {"spec": {}}), tidy(plan, {"spec": {}})
    first["spec"]["x"]["y"] = 1
    assert second["spec"]["x"]["y"] == 7
