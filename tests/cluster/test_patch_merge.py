"""A merge patch sets, nests and removes; lists are replaced."""

from typing import Any

import pytest
import yaml

from allaboard.api.errors import BadRequest
from allaboard.cluster.patching.merge_patch import apply_merge_patch


@pytest.mark.parametrize(
    ("doc", "patch", "expected"),
    [
        ("{a: b}", "{a: c}", "{a: c}"),
        ("{a: b}", "{b: c}", "{a: b, b: c}"),
        ("{a: b}", "{a: null}", "{}"),
        ("{a: b, b: c}", "{a: null}", "{b: c}"),
        ("{a: [b]}", "{a: c}", "{a: c}"),
        ("{a: c}", "{a: [b]}", "{a: [b]}"),
        ("{a: {b: c}}", "{a: {b: d, c: null}}", "{a: {b: d}}"),
        ("{a: [{b: c}]}", "{a: [1]}", "{a: [1]}"),
        ("{a: foo}", "{a: {b: null, c: 1}}", "{a: {c: 1}}"),
        ("{}", "{a: {bb: {ccc: null}}}", "{a: {bb: {}}}"),
        ("{e: null}", "{a: 1}", "{e: null, a: 1}"),
        ("{}", "{l: [{a: null, b: 1}]}", "{l: [{b: 1}]}"),
    ],
)
def test_merge(doc: str, patch: str, expected: str) -> None:
    load = yaml.safe_load
    assert apply_merge_patch(load(doc), load(patch)) == load(expected)


def test_what_is_not_touched_is_not_copied() -> None:
    doc = {"spec": {"a": [1]}, "status": {"x": {"deep": 1}, "phase": "Pending"}}
    out = apply_merge_patch(doc, {"status": {"phase": "Running"}})
    assert out["spec"] is doc["spec"] and out["status"]["x"] is doc["status"]["x"]


@pytest.mark.parametrize("patch", [None, [1], "x", 5, True])
def test_only_an_object_is_a_patch(patch: Any) -> None:
    with pytest.raises(BadRequest):
        apply_merge_patch({}, patch)


def test_bottomless_nesting_is_refused() -> None:
    patch: dict[str, Any] = {}
    for _ in range(100_000):
        patch = {"a": patch}
    try:
        with pytest.raises(BadRequest, match="nested too deeply"):
            apply_merge_patch({"a": {}}, patch)
    finally:
        while patch:  # freed step by step, so that the interpreter need not recurse either
            patch = patch.pop("a")
