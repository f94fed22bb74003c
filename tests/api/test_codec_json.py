"""JSON: what is wrong with a text, in words clients know; keys given twice; numbers as they are."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api.codec import (
    Doubled,
    Malformed,
    is_deeper_than,
    may_repeat_keys,
    read_json,
    write_json,
    write_sorted_json,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('ab":{}\\\u20ac')),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end of JSON input"),
        ('{"a":1', "unexpected end of JSON input"),
        ("tru", "unexpected end of JSON input"),
        ('{"a":1} x', "invalid character 'x' after top-level value"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ('{"a":-Infinity}', "invalid character 'I' in numeric literal"),
        ("nul!", "invalid character '!' in literal null (expecting 'l')"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1ex", "invalid character 'x' in exponent of numeric literal"),
        ('"\\x"', "invalid character 'x' in string escape code"),
        ('"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"),
        ('"a\nb"', "invalid character '\\n' in string literal"),
        ("[" * 100_000, "invalid character '[' exceeded max depth"),
        ('{"a":' * 300 + "1" + "}" * 300, "invalid character '{' exceeded max depth"),
        ("[1e999]", "json: cannot unmarshal number 1e999 into Go value of type float64"),
        ('"\\ud800"', "invalid UTF-8 or a lone surrogate in string literal"),
    ],
)
def test_what_is_not_json_is_explained(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        read_json(text.encode())
    assert str(caught.value) == message


def test_bytes_that_are_not_utf_8_are_refused() -> None:
    with pytest.raises(Malformed):
        read_json(b'{"a":"\xff"}')


def test_whole_numbers_are_exact_however_long() -> None:
    assert read_json(b"123456789012345678901234567890") == 123456789012345678901234567890


@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    assert read_json(write_json(value)) == value
    assert read_json(write_json(value), doubles=True) == value


@given(st.dictionaries(st.text(max_size=3), st.integers(), min_size=2))
def test_sorted_writing_does_not_depend_on_the_order_of_members(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))
    assert write_sorted_json(value) == write_sorted_json(backwards)


def test_keys_given_twice_are_kept_apart_when_asked_for() -> None:
    data = read_json(b'{"a":{"b":1,"b":2},"c":3}', doubles=True)
    assert isinstance(data["a"], Doubled)
    assert (data["a"], data["a"].pairs) == ({"b": 2}, [("b", 1), ("b", 2)])
    assert not isinstance(data, Doubled)
    assert read_json(b'{"b":1,"b":2}') == {"b": 2}


@given(VALUES, st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :")]), st.booleans())
def test_a_key_given_twice_is_never_overlooked(value: Any, marks: Any, ascii_only: bool) -> None:
    """However the text is spaced and escaped, two equal keys are suspected."""
    text = json.dumps({"x": value, "y": 0}, separators=marks, ensure_ascii=ascii_only)
    doubled = text.replace('"y"', '"x"').encode()
    assert may_repeat_keys(doubled, read_json(doubled))


def test_a_quote_spelled_as_a_code_point_hides_nothing() -> None:
    raw = b'{"a":"\\u0022:","a":1,"b":"\\u0022:"}'
    assert isinstance(read_json(raw, doubles=True), Doubled)


@pytest.mark.parametrize(("data", "depth"), [([], 1), ({"a": []}, 2), ([[[]], {}], 3)])
def test_depth_counts_containers(data: Any, depth: int) -> None:
    assert not is_deeper_than(data, depth)
    assert is_deeper_than(data, depth - 1)
