"""Refusals show what was patched, in the order and the words of the real server."""

from typing import Any

import pytest

from allaboard.cluster.patching import go_text
from allaboard.cluster.patching.refusal import undecodable
from allaboard.cluster.patching.resets import reset_fields
from allaboard.cluster.schema.builtin import schema_of


def test_a_patched_document_is_shown_in_the_order_of_its_kind() -> None:
    patched = {
        "metadata": {"uid": "u", "name": "a"},
        "data": {"b": 1, "a": ""},
        "kind": "ConfigMap",
    }
    refused = undecodable(patched, schema_of("", "v1", "ConfigMap"), "bad number")
    assert refused.message == (
        ' "" is invalid: patch: Invalid value: "{\\"data\\":{\\"a\\":\\"\\",\\"b\\":1},'
        '\\"kind\\":\\"ConfigMap\\",\\"metadata\\":{\\"name\\":\\"a\\",'
        '\\"uid\\":\\"u\\"}}": bad number'
    )
    assert refused.details is not None and refused.details["causes"][0]["field"] == "patch"


def test_a_huge_document_is_cut() -> None:
    patched = {"data": {"a": "x" * 1_000_000}}
    assert len(undecodable(patched, schema_of("", "v1", "ConfigMap"), "bad").message) < 11_000


@pytest.mark.parametrize(
    ("value", "plain", "syntax"),
    [
        (None, "<nil>", "interface {}(nil)"),
        (True, "true", "true"),
        (1.5, "1.5", "1.5"),
        ({"b": [1], "a": "x"}, "map[a:x b:[1]]", None),
        ([{"a": 'q"'}], '[map[a:q"]]', '[]interface {}{map[string]interface {}{"a":"q\\""}}'),
    ],
)
def test_values_as_go_prints_them(value: Any, plain: str, syntax: str | None) -> None:
    assert go_text.plain(value) == plain
    assert syntax is None or go_text.syntax(value) == syntax


@pytest.mark.parametrize(
    ("resource", "door", "custom", "expected"),
    [
        ("jobs.batch", "", False, {"f:status": {}}),
        ("jobs.batch", "status", False, {"f:spec": {}}),
        ("deployments.apps", "status", False, {"f:spec": {}, "f:metadata": {"f:labels": {}}}),
        ("things.x", "status", True, {"f:spec": {}, "f:metadata": {}}),
        ("deployments.apps", "scale", False, {}),
    ],
)
def test_what_a_door_resets(resource: str, door: str, custom: bool, expected: Any) -> None:
    assert reset_fields(resource, door, True, custom) == expected
