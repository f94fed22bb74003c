"""Laws of decoding, over every kind there is a schema for."""

import string
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allaboard.cluster.schema.builtin import kinds, schema_of
from allaboard.cluster.schema.clean import cleaner
from allaboard.cluster.schema.decode import DecodeError, decode
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.schema.strict import decode_slowly

KINDS = [
    (*api_version.rpartition("/")[::2], kind)
    for api_version, names in kinds().items()
    for kind in names
]
EVERY_KIND = pytest.mark.parametrize(
    ("group", "version", "kind"), KINDS, ids=[f"{kind} {group}" for group, _, kind in KINDS]
)
WORDS = st.text(string.ascii_lowercase, max_size=4)
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "int32": st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)]),
    "int64": st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]),
    "double": st.sampled_from([0, 1.5, -2]),
    "byte": st.sampled_from(["", "aGk=", "AAAA"]),
    "date-time": st.sampled_from(["2026-01-01T00:00:00Z", "2024-02-29T23:59:59.5+02:00"]),
    "micro-time": st.sampled_from(["2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.123456Z"]),
    "quantity": st.sampled_from(["0", "1", "1000m", "1.5Gi", "1n", "100M", "1e3"]),
    "int-or-string": st.sampled_from([0, 80, "http", "25%"]),
    "duration": st.just("1s"),
    "raw-extension": st.sampled_from([{}, {"any": ["thing"]}]),
    "fields-v1": st.sampled_from([{}, {"f:a": {}}]),
}


@cache
def instances(schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
    """Valid values, empty ones and nulls among them."""
    if schema.format:
        return SPECIAL[schema.format]
    if schema.preserve_unknown:
        return st.sampled_from([None, 1, "x", {"a": [True]}])
    if schema.type == "boolean":
        return st.booleans()
    if schema.type == "string":
        return WORDS
    if depth > 5:
        return st.just([] if schema.type == "array" else {})
    if schema.items is not None:
        return st.lists(instances(schema.items, depth + 1), max_size=2)
    if schema.values is not None:
        return st.dictionaries(WORDS, instances(schema.values, depth + 1), max_size=2)
    names = sorted(schema.properties)
    return (
        st.lists(st.sampled_from(names), max_size=4, unique=True).flatmap(
            lambda chosen: (
                st.fixed_dictionaries(
                    {n: st.none() | instances(schema.properties[n], depth + 1) for n in chosen}
                )
                if chosen
                else st.just({})
            )
        )
        if names
        else st.just({})
    )


@EVERY_KIND
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_fast_way_equals_the_slow_way(
    group: str, version: str, kind: str, data: st.DataObject
) -> None:
    """A valid object is read the same by both, without complaint; reading again changes nothing."""
    schema = schema_of(group, version, kind)
    value = data.draw(instances(schema))
    fast = cleaner(schema)(value)
    assert (fast, []) == decode_slowly(schema, value)
    assert cleaner(schema)(fast) == fast


def places(schema: Schema, seen: frozenset[str] = frozenset()) -> Iterator[tuple[Any, ...]]:
    """Every field: the way to it from the root. A list is entered at 0, a map at "key"."""
    if schema.items is not None:
        yield from ((0, *rest) for rest in places(schema.items, seen))
    elif schema.values is not None:
        yield from (("key", *rest) for rest in places(schema.values, seen))
    elif schema.definition not in seen:
        inside = seen | {schema.definition}
        for name, field in schema.properties.items():
            yield (name,)
            yield from ((name, *rest) for rest in places(field, inside))


def field_at(schema: Schema, way: tuple[Any, ...]) -> Schema:
    for step in way:
        inner = schema.items if step == 0 else schema.values or schema.properties[step]
        assert inner is not None
        schema = inner
    return schema


def planted(way: tuple[Any, ...], value: Any) -> Any:
    for step in reversed(way):
        value = [value] if step == 0 else {step: value}
    return value


def path(way: tuple[Any, ...]) -> str:
    return "".join("[0]" if step == 0 else f".{step}" for step in way).lstrip(".")


def wrong_value(schema: Schema) -> Any:
    if schema.format in ("quantity", "date-time", "micro-time", "byte"):
        return "?"
    if schema.format == "int-or-string":
        return 1.5
    return 7 if schema.type in ("string", "array", "object", "boolean") else "seven"


@EVERY_KIND
def test_a_wrong_value_anywhere_is_reported_with_its_path(
    group: str, version: str, kind: str
) -> None:
    schema = schema_of(group, version, kind)
    for way in places(schema):
        field = field_at(schema, way)
        if field.preserve_unknown or field.format == "duration":
            continue
        with pytest.raises(DecodeError) as caught:
            decode(schema, planted(way, wrong_value(field)))
        assert caught.value.field == path(way), way


@EVERY_KIND
def test_an_unknown_field_anywhere_is_reported_with_its_path_and_dropped(
    group: str, version: str, kind: str
) -> None:
    schema = schema_of(group, version, kind)
    for way in places(schema):
        inside = (*way[:-1], "noSuchField")
        decoded = decode(schema, planted(inside, {"a": 1}))
        assert decoded.complaints == [f'unknown field "{path(inside)}"']
        assert decoded.data == decode(schema, planted(way[:-1], {})).data


def test_there_are_thousands_of_places_where_something_can_be_wrong() -> None:
    """The two tests above would also pass over nothing."""
    assert sum(1 for k in KINDS for _ in places(schema_of(*k))) > 8_000
