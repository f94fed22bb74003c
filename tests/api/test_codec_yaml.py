"""YAML as kubectl reads it: scalars, documents, aliases, errors with their place, and writing."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api.yaml_text import (
    BadYaml,
    read_documents,
    read_first,
    resolve,
    write_documents,
    write_yaml,
)

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("on", True), ("y", True), ("Off", False), ("n", False), ("TRUE", True),
        ("~", None), ("", None), ("null", None), ("nullish", "nullish"),
        ("12", 12), ("-7", -7), ("+7", 7), ("0x1F", 31), ("0o17", 15), ("017", 15), ("0b101", 5),
        ("1_000", 1000), ("018", 18.0), ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("-", "-"),
        ("2026-01-01", "2026-01-01"), ("1:30", "1:30"), ("190:20:30", "190:20:30"),
        ("0x", "0x"), ("1.2.3", "1.2.3"), ("v1", "v1"), ("=", "="), ("1e999", "1e999"),
        ("1" * 5_000, "1" * 5_000), ("0x" + "f" * 5_000, "0x" + "f" * 5_000),
    ],
)  # fmt: skip
def test_plain_scalars_mean_what_they_mean_to_kubectl(text: str, value: Any) -> None:
    found = resolve(text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        pytest.param('a: "yes"', {"a": "yes"}, id="quoted is text"),
        pytest.param("a: !!str 5", {"a": "5"}, id="a tag says it is text"),
        pytest.param(
            "1: x\ntrue: z\n2.0: w", {"1": "x", "true": "z", "2": "w"}, id="keys become text"
        ),
        pytest.param("a: &x {b: c}\nd: *x", {"a": {"b": "c"}, "d": {"b": "c"}}, id="an alias"),
        pytest.param(
            "a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3",
            {"a": {"b": 1, "c": 2}, "d": {"c": 3, "b": 1}},
            id="merged mappings give way to own keys",
        ),
        pytest.param("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}, id="a block of text"),
        pytest.param('{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}, id="JSON is YAML"),
        pytest.param("- a\n-\n  - b", ["a", ["b"]], id="lists"),
        pytest.param("# nothing", None, id="nothing"),
    ],
)
def test_documents_are_read(text: str, data: Any) -> None:
    assert read_first(text).data == data


def test_an_alias_is_a_copy() -> None:
    data = read_first("a: &x {b: c}\nd: *x").data
    data["a"]["b"] = "changed"
    assert data["d"] == {"b": "c"}


def test_documents_know_their_number_and_line_and_empty_ones_are_passed_over() -> None:
    found = read_documents("a: 1\n---\n---\n# only a comment\n---\nb: 2\n")
    assert [(d.data, d.number, d.line) for d in found] == [({"a": 1}, 1, 1), ({"b": 2}, 4, 5)]


def test_keys_given_twice_are_noted_and_the_last_one_counts() -> None:
    document = read_first("a: 1\nb: 2\na: 3\n")
    assert document.data == {"a": 3, "b": 2}
    assert document.repeated == ['line 3: key "a" already set in map']


@pytest.mark.parametrize(
    ("text", "message", "located"),
    [
        ("a: 1\nb: [x\n", "yaml: line 2: did not find expected ',' or ']'",
         "document 1, line 3: did not find expected ',' or ']'"),
        ("a: 1\n---\nb: 'x\n", "yaml: line 4: found unexpected end of stream",
         "document 2, line 4: found unexpected end of stream"),
        ("a: *b", "yaml: line 1: unknown anchor 'b' referenced",
         "document 1, line 1: unknown anchor 'b' referenced"),
        ("a: &a [*a]", "yaml: line 1: anchor 'a' value contains itself",
         "document 1, line 1: anchor 'a' value contains itself"),
        ("a: .nan", "yaml: line 1: .nan is not a number that JSON knows",
         "document 1, line 1: .nan is not a number that JSON knows"),
        ("{a: b}: c", "yaml: line 1: a list or mapping cannot be the key of a mapping",
         "document 1, line 1: a list or mapping cannot be the key of a mapping"),
        ("~: c", "yaml: line 1: a mapping has a key that is null, a list or a mapping",
         "document 1, line 1: a mapping has a key that is null, a list or a mapping"),
        ("a: !!int x", "yaml: line 1: cannot decode `x` as a !!int",
         "document 1, line 1: cannot decode `x` as a !!int"),
        ("\x01", "yaml: control characters are not allowed",
         "document 1: control characters are not allowed"),
        (BOMB, "yaml: document contains excessive aliasing",
         "document 1, line 6: document contains excessive aliasing"),
        ("[" * 5_000, "yaml: line 1: nested more than 256 levels deep",
         "document 1, line 1: nested more than 256 levels deep"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_placed(text: str, message: str, located: str) -> None:
    with pytest.raises(BadYaml) as caught:
        read_documents(text)
    assert (str(caught.value), caught.value.located()) == (message, located)


def test_a_long_text_cannot_be_copied_without_end() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{','.join(['*a'] * 1_000)}]"
    with pytest.raises(BadYaml, match="excessive aliasing"):
        read_first(text)


TEXTS = st.text(st.sampled_from("abyn01.:-#'\" \n\t~é")) | st.sampled_from(
    ["yes", "y", "1e3", "0x10", "010", "null", "", "2026-01-01", "1_000", ".inf", "<<", "|"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_what_is_written_is_read_back_by_kubectl_s_rules(value: Any) -> None:
    assert read_first(write_yaml({"value": value})).data == {"value": value}


def test_several_documents_are_written_apart() -> None:
    documents = [{"a": 1}, {"b": "yes"}]
    text = write_documents(documents)
    assert text == 'a: 1\n---\nb: "yes"\n'
    assert [d.data for d in read_documents(text)] == documents
