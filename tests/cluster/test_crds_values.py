"""What a schema says about values: in Kubernetes' words, and never more strictly than it means."""

from typing import Any

import pytest
from customs import fields, root
from hypothesis import given, settings
from hypothesis import strategies as st

from allaboard.api.meta import Json
from allaboard.cluster.crds.messages import explain
from allaboard.cluster.crds.rules import VersionRules
from allaboard.cluster.crds.tidy import plan_of, tidy


def errors(schema: Json, value: Any) -> list[str]:
    return [str(e) for e in explain(fields(x=schema), {"x": value})]


STRING, WHOLE = {"type": "string"}, {"type": "integer"}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        pytest.param(
            STRING, 5, ['x: Invalid value: "integer": x in body must be of type string: "integer"'],
            id="a number is no string",
        ),
        pytest.param(
            WHOLE, 2.5,
            ['x: Invalid value: "number": x in body must be of type integer: "number"',
             '<nil>: Invalid value: "": Checked value must be of type integer (default format)'
             " in x"],
            id="a fraction is no integer",
        ),
        pytest.param(WHOLE, 4.0, [], id="a whole float is an integer"),
        pytest.param(
            WHOLE | {"format": "int32"}, 2**31,
            ['<nil>: Invalid value: "": Checked value must be of type integer with format int32'
             " in x"],
            id="an int32 has 32 bits",
        ),
        pytest.param(
            STRING | {"maxLength": 2, "pattern": "^a"}, "bbb",
            ["x: Too long: may not be more than 2 bytes"],
            id="a long string is not matched too",
        ),
        pytest.param(
            STRING | {"pattern": "^a"}, "b",
            ["x: Invalid value: \"b\": x in body should match '^a'"],
            id="a pattern must be found",
        ),
        pytest.param(
            STRING | {"enum": ["a", "b"]}, "c",
            ['x: Unsupported value: "c": supported values: "a", "b"'],
            id="only listed values",
        ),
        pytest.param(
            {"type": "array", "items": STRING, "maxItems": 1}, ["a", "b"],
            ["x: Too many: 2: must have at most 1 items"],
            id="a list may be too long",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": WHOLE}, {"k": "v"},
            ['x.k: Invalid value: "string": x.k in body must be of type integer: "string"'],
            id="values of maps are judged",
        ),
        pytest.param(
            WHOLE | {"minimum": 1, "exclusiveMinimum": True}, 1,
            ["x: Invalid value: 1: x in body should be greater than 1"],
            id="an excluded bound",
        ),
        pytest.param(
            WHOLE | {"multipleOf": 2}, 3,
            ["x: Invalid value: 3: x in body should be a multiple of 2"],
            id="multiples",
        ),
        pytest.param(
            STRING | {"not": {"enum": ["a"]}}, "a",
            ['<nil>: Invalid value: "": "x" must not validate the schema (not)'],
            id="a negated schema",
        ),
        pytest.param(STRING | {"nullable": True}, None, [], id="null where it is allowed"),
        pytest.param(
            {"x-kubernetes-int-or-string": True}, True,
            ['x: Invalid value: "boolean": x in body must be of type integer,string: "boolean"'],
            id="neither integer nor string",
        ),
        pytest.param(
            STRING | {"format": "duration"}, "5 parsecs",
            ['x: Invalid value: "5 parsecs": x in body must be of type duration: "5 parsecs"'],
            id="a duration has a unit of time",
        ),
    ],
)  # fmt: skip
def test_broken_rules_are_named(schema: Json, value: Any, expected: list[str]) -> None:
    assert errors(schema, value) == expected


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("date-time", "2026-01-01T00:00:00Z", "2026-13-01T00:00:00Z"),
        ("date", "2026-01-31", "2026-02-31"),
        ("byte", "aGk=", "***"),
        ("ipv4", "10.0.0.1", "10.0.0"),
        ("ipv6", "::1", "1.2.3.4"),
        ("cidr", "10.0.0.0/8", "10.0.0.0"),
        ("duration", "1h5m", "1 fortnight"),
        ("uuid", "0f8fad5b-d9cb-469f-a165-70867728950e", "0f8f"),
        ("no-such-format", "anything", None),
    ],
)
def test_formats(form: str, good: str, bad: str | None) -> None:
    assert errors(STRING | {"format": form}, good) == []
    assert bad is None or errors(STRING | {"format": form}, bad)


def test_what_did_not_change_is_not_judged_again() -> None:
    """A schema that became stricter does not lock objects written before."""
    schema = fields(a=STRING | {"maxLength": 1}, b=STRING)
    old = {"a": "long", "b": "x"}
    assert explain(schema, {"a": "long", "b": "y"}, old) == []
    assert explain(schema, {"a": "longer", "b": "x"}, old)


def test_members_of_keyed_lists_are_compared_by_key() -> None:
    item = {"type": "object", "properties": {"k": STRING, "v": STRING | {"maxLength": 1}}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    schema = fields(x={"type": "array", "items": item, **keyed})
    old = {"x": [{"k": "a", "v": "long"}]}
    moved = {"x": [{"k": "b", "v": "s"}, {"k": "a", "v": "long"}]}
    assert explain(schema, moved, old) == []
    assert explain(fields(x={"type": "array", "items": item}), moved, old)


def test_a_pattern_cannot_stop_the_server() -> None:
    """Patterns run in linear time: this one takes for ever in a backtracking engine."""
    assert errors(STRING | {"pattern": "^(a+)+$"}, "a" * 50_000 + "!")


@pytest.mark.parametrize(
    "odd",
    [{"enum": ["a", "a"]}, {"maxLength": -1}, {"pattern": "a{99}{99}{99}"}, {"format": "nope"}],
    ids=str,
)
def test_schemas_the_engine_does_not_take_still_judge(odd: Json) -> None:
    rules = VersionRules(root(fields(x=STRING | odd)))
    obj = {"apiVersion": "g/v", "kind": "K", "metadata": {}, "spec": {"x": 5}}
    assert rules.errors(obj, None)
    assert rules.tidied(obj)["spec"] == {"x": 5}


SCHEMAS = st.recursive(
    st.sampled_from([
        STRING, WHOLE, {"type": "boolean"}, {"type": "number"}, STRING | {"default": "d"},
        WHOLE | {"minimum": 2}, STRING | {"nullable": True}, STRING | {"enum": ["a", "b"]},
        {"x-kubernetes-int-or-string": True}, WHOLE | {"default": 3, "maximum": 5},
        {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        {"type": "string", "maxLength": 1}, {"type": "array", "items": STRING, "minItems": 1},
    ]),
    lambda sub: st.one_of(
        st.builds(lambda p, r: {"type": "object", "properties": p, "required": r},
                  st.dictionaries(st.sampled_from("abc"), sub, max_size=3),
                  st.lists(st.sampled_from("abc"), max_size=1)),
        st.builds(lambda s: {"type": "object", "additionalProperties": s}, sub),
        st.builds(lambda s: {"type": "array", "items": s}, sub),
    ),
    max_leaves=6,
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 8), st.sampled_from([1.0, 2.5]),
        st.sampled_from(["", "a", "d", "long"]),
    ),
    lambda sub: st.one_of(
        st.dictionaries(st.sampled_from("abcz"), sub, max_size=4), st.lists(sub, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(schema=SCHEMAS, value=VALUES)
def test_the_fast_answer_agrees_with_the_slow_walks(schema: Json, value: Any) -> None:
    """What counts as clean needs no tidying and breaks no rule; tidied and valid is clean."""
    rules = VersionRules(root(schema))
    obj = {"apiVersion": "g/v", "kind": "K", "metadata": {}, "spec": value}
    tidied = tidy(plan_of(rules.schema), obj)
    if rules.clean.is_valid(obj):
        assert tidied == obj and rules.errors(obj, None) == []
    if rules.errors(tidied, None) == []:
        assert rules.clean.is_valid(tidied)


@settings(max_examples=200, deadline=None)
@given(schema=SCHEMAS, value=VALUES)
def test_tidying_twice_changes_nothing_more(schema: Json, value: Any) -> None:
    plan = plan_of(root(schema))
    once = tidy(plan, {"spec": value})
    assert tidy(plan, once) == once
