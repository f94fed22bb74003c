"""A JSON patch changes a document the way kube-apiserver does, or is refused as a whole."""

import copy
import time
from typing import Any

import pytest
import yaml

from allaboard.api.errors import ApiError, BadRequest, Invalid, TooLarge
from allaboard.cluster.patching.json_patch import REJECTED, apply_json_patch

DOC = "{a: {b: 1, 's/l~t': 2}, list: [x, y, z], n: null}"


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        pytest.param("{op: add, path: /c, value: 3}", {"c": 3}, id="adds a member"),
        pytest.param("{op: add, path: /a, value: 3}", {"a": 3}, id="add replaces"),
        pytest.param("{op: replace, path: /c, value: 3}", {"c": 3}, id="replace may add"),
        pytest.param("{op: add, path: /c}", {"c": None}, id="a missing value is null"),
        pytest.param(
            "{op: add, path: /list/-, value: w}", {"list": ["x", "y", "z", "w"]}, id="appends"
        ),
        pytest.param(
            "{op: add, path: /list/0, value: w}", {"list": ["w", "x", "y", "z"]}, id="inserts"
        ),
        pytest.param(
            "{op: add, path: /list/3, value: w}",
            {"list": ["x", "y", "z", "w"]},
            id="inserts behind the last",
        ),
        pytest.param(
            "{op: remove, path: /list/-1}", {"list": ["x", "y"]}, id="counts from the end"
        ),
        pytest.param(
            "{op: replace, path: /list/1, value: w}", {"list": ["x", "w", "z"]}, id="by index"
        ),
        pytest.param("{op: copy, from: /a/b, path: /c}", {"c": 1}, id="copies"),
        pytest.param("{op: copy, from: /q, path: /c}", {"c": None}, id="copies what is missing"),
        pytest.param("{op: test, path: /q}", {}, id="a missing member is null"),
        pytest.param("{op: test, path: /list, value: [x, y, z]}", {}, id="tests a list"),
        pytest.param("{op: add, path: z/c, value: 3}", {"c": 3}, id="ignores before the slash"),
    ],
)
def test_an_operation(ops: str, expected: dict[str, Any]) -> None:
    doc = yaml.safe_load(DOC)
    assert apply_json_patch(doc, [yaml.safe_load(ops)]) == {**doc, **expected}


def test_segments_are_unescaped_once() -> None:
    doc = yaml.safe_load(DOC)
    ops = [{"op": "remove", "path": "/a/s~1l~0t"}]
    assert apply_json_patch(doc, ops)["a"] == {"b": 1}
    doc = {"~1": 1}
    assert apply_json_patch(doc, [{"op": "remove", "path": "/~01"}]) == {}


def test_a_move_is_a_removal_and_an_addition() -> None:
    doc = yaml.safe_load(DOC)
    moved = apply_json_patch(doc, [{"op": "move", "from": "/a/b", "path": "/list/1"}])
    assert moved["list"] == ["x", 1, "y", "z"] and "b" not in moved["a"]


def test_the_whole_document_can_be_replaced() -> None:
    assert apply_json_patch({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}]) == {
        "b": 2
    }


@pytest.mark.parametrize(
    "op",
    [
        "{op: test, path: /a/b, value: 2}",
        "{op: test, path: /a/b, value: true}",
        "{op: test, path: /q, value: 1}",
        "{op: remove, path: /q}",
        "{op: move, from: /q, path: /c}",
        "{op: add, path: /q/r, value: 1}",
        "{op: add, path: /n/r, value: 1}",
        "{op: add, path: /a/b/c, value: 1}",
        "{op: add, path: /list/4, value: 1}",
        "{op: add, path: /list/x, value: 1}",
        "{op: add, path: /list/1_0, value: 1}",
        "{op: replace, path: /list/3, value: 1}",
        "{op: replace, path: /list/-, value: 1}",
        "{op: remove, path: /list/-4}",
        "{op: add, path: nothing, value: 1}",
        "{op: add, path: '', value: 1}",
        "{op: add, value: 1}",
        "{op: copy, path: /c}",
        "{op: explode, path: /c}",
        "{path: /c, value: 1}",
        "null",
    ],
)
def test_every_failure_is_the_same_answer_and_changes_nothing(op: str) -> None:
    doc = yaml.safe_load(DOC)
    before = copy.deepcopy(doc)
    first = {"op": "add", "path": "/a/z", "value": "w"}
    with pytest.raises(Invalid) as refused:
        apply_json_patch(doc, [first, yaml.safe_load(op)])
    assert refused.value.message == REJECTED
    assert doc == before


@pytest.mark.parametrize(
    ("ops", "said"),
    [
        ({"op": "add"}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([1], "cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([{"op": 5}], "cannot unmarshal number into Go struct field jsonPatchOp.op of type string"),
    ],
)
def test_what_is_no_patch_is_a_bad_request(ops: Any, said: str) -> None:
    with pytest.raises(BadRequest, match="error decoding patch: json: ") as refused:
        apply_json_patch({}, ops)
    assert refused.value.message.endswith(said)


def test_ten_thousand_operations_and_not_one_more() -> None:
    op = {"op": "test", "path": "/kind", "value": "Pod"}
    assert apply_json_patch({"kind": "Pod"}, [op] * 10_000) == {"kind": "Pod"}
    with pytest.raises(TooLarge, match="10000, got 10001"):
        apply_json_patch({"kind": "Pod"}, [op] * 10_001)


HOSTILE: dict[str, list[dict[str, Any]]] = {
    "doubles": [{"op": "copy", "from": "/a", "path": f"/a/{i}"} for i in range(10_000)],
    "copies a large value": [
        {"op": "copy", "from": "/text", "path": f"/c{i}"} for i in range(10_000)
    ],
    "shifts a large list": [{"op": "add", "path": "/list/0", "value": 0}] * 10_000,
    "copies and writes by turns": [
        op
        for i in range(5_000)
        for op in (
            {"op": "copy", "from": "/text", "path": "/c"},
            {"op": "add", "path": "/list/-", "value": 0},
        )
    ],
    "nests": [{"op": "add", "path": "/a" + "/b" * i, "value": {}} for i in range(1, 2_000)],
}


@pytest.mark.parametrize("ops", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_patch_is_answered_soon(ops: list[dict[str, Any]]) -> None:
    doc = {"a": {"x": "y" * 100}, "text": "x" * 1000, "list": [0] * 300_000}
    start = time.perf_counter()
    try:
        apply_json_patch(doc, ops)
    except ApiError as refused:
        assert refused.status_code in (400, 422)
    assert time.perf_counter() - start < 5
