"""Selectors: grammar, meaning, and the words of refusal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api.selectors import (
    EVERYTHING,
    NOTHING,
    FieldTerm,
    Selector,
    SelectorError,
    parse_field_selector,
    parse_label_selector,
    requirement,
    selector_of,
)

LONG = "v" * 64
LABELS = {"app": "web", "tier": "front", "size": "7", "empty": ""}


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("", True), ("app=web", True), ("app==web", True), ("app!=web", False), ("app", True),
        ("!app", False), ("!other", True), ("other", False), ("app in (web,db)", True),
        ("app notin (web)", False), ("other notin (x)", True), ("other!=x", True),
        ("size>6", True), ("size>7", False), ("size<8", True), ("app>1", False),
        ("other>1", False), (" app = web , tier in ( front , back ) ", True),
        ("app=web,tier=back", False), ("empty=", True), ("empty in ()", True), ("app in ()", False),
        ("app in (,web)", True), ("app in (web,)", True), ("empty in (,)", True),
        ("empty in (x,,y)", True), ("in=x", False), ("notin in (in)", False),
    ],
)  # fmt: skip
def test_label_selectors_choose(text: str, chosen: bool) -> None:
    assert parse_label_selector(text).matches(LABELS) is chosen


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("i in (1", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("i in (=", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("i in (1,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
        ("i notin", "unable to parse requirement: found '' expected: '('"),
        ("=1", "found '=', expected: !, identifier, or 'end of string'"),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("i=a b", "found 'b', expected: ',' or 'end of string'"),
        ("i=1,", "found '', expected: identifier after ','"),
        ("i=!", "unable to parse requirement: found '!', expected: identifier"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("i>x", "unable to parse requirement: values[0]: Invalid value: \"x\": "
                "for 'Gt', 'Lt' operators, the value must be an integer"),
        ("i=" + LONG, f'unable to parse requirement: values[0][i]: Invalid value: "{LONG}": '
                      "must be no more than 63 bytes"),
    ],
)  # fmt: skip
def test_label_selectors_refuse(text: str, complaint: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_label_selector(text)
    assert str(refused.value) == complaint


def test_a_bad_key_is_named() -> None:
    with pytest.raises(SelectorError, match='<nil>: Invalid value: "-bad": name part must consist'):
        parse_label_selector("-bad=1")


@pytest.mark.parametrize(
    ("obj", "chosen"),
    [
        (None, False), ({}, True), ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "db"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchLabels": {"app": "web"},
          "matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
    ],
)  # fmt: skip
def test_label_selector_objects_choose(obj: dict[str, object] | None, chosen: bool) -> None:
    assert selector_of(obj).matches(LABELS) is chosen


@pytest.mark.parametrize(
    "expression",
    [{"key": "a", "operator": "Near"}, {"key": "a", "operator": "In"}, {"operator": "Exists"},
     {"key": "a", "operator": "Exists", "values": ["x"]}],
)  # fmt: skip
def test_label_selector_objects_refuse(expression: dict[str, object]) -> None:
    with pytest.raises(SelectorError):
        selector_of({"matchExpressions": [expression]})


def test_nothing_and_everything_know_themselves() -> None:
    assert EVERYTHING.is_everything and not NOTHING.is_everything
    assert EVERYTHING.matches({}) and not NOTHING.matches({})


words = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
requirements = st.one_of(
    st.builds(requirement, words, st.just("exists")),
    st.builds(requirement, words, st.just("!")),
    st.builds(
        requirement, words, st.sampled_from(["=", "!="]), st.lists(words, min_size=1, max_size=1)
    ),
    st.builds(requirement, words, st.sampled_from(["in", "notin"]), st.lists(words, min_size=1)),
)


@given(st.lists(requirements, max_size=4), st.dictionaries(words, words))
def test_printed_and_parsed_it_chooses_the_same(parts: list, labels: dict[str, str]) -> None:
    selector = Selector(tuple(parts))
    assert parse_label_selector(str(selector)).matches(labels) is selector.matches(labels)


@given(st.text(alphabet="ab=!<>(), in", max_size=12))
def test_any_text_is_a_selector_or_a_told_error(text: str) -> None:
    try:
        parse_label_selector(text).matches(LABELS)
    except SelectorError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()), ("metadata.name=x", (FieldTerm("metadata.name", "=", "x"),)),
        ("a==1,b!=2", (FieldTerm("a", "=", "1"), FieldTerm("b", "!=", "2"))),
        (r"a=x\,y", (FieldTerm("a", "=", "x,y"),)), (r"a=x\=y", (FieldTerm("a", "=", "x=y"),)),
        ("a=", (FieldTerm("a", "=", ""),)), (",a=1,", (FieldTerm("a", "=", "1"),)),
    ],
)  # fmt: skip
def test_field_selectors(text: str, terms: tuple[FieldTerm, ...]) -> None:
    assert parse_field_selector(text).terms == terms


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("m in (a,b)", "invalid selector: 'm in (a,b)'; can't understand 'b)'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=x\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_field_selectors_refuse(text: str, complaint: str) -> None:
    with pytest.raises(SelectorError) as refused:
        parse_field_selector(text)
    assert str(refused.value) == complaint


def test_a_missing_field_is_the_empty_text() -> None:
    fields = {"spec.nodeName": "n1"}
    find = lambda name: fields.get(name, "")  # noqa: E731
    assert parse_field_selector("spec.nodeName=n1,status.x=").matches(find)
    assert not parse_field_selector("spec.nodeName!=n1").matches(find)
    assert parse_field_selector("spec.nodeName=n1").required("spec.nodeName") == "n1"
    assert parse_field_selector("spec.nodeName!=n1").required("spec.nodeName") is None
