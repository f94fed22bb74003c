"""The notation of built-in kinds: what a line means, and that the shipped files hold together."""

from allaboard.cluster.schema.builtin import kinds, meta_schema, schema_of
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.schema.notation import Library

SMALL = """\
package toys io.example.toys.v1 toys.example/v1
type Colour string ["Blue", "Red"]
type Prices {}quantity

kind Toy -- Something to play with.
  spec ToySpec -- What it should be.

ToySpec atomic
  colour  Colour !+
  parts   []Part map(name) merge(name) retainKeys
  weight  int64*
  size    int32 =3
  prices  Prices whole
  made    time

Part
  name  string !+
"""


def toy() -> Schema:
    return Library(iter([SMALL])).struct("toys", "ToySpec")


def test_a_kind_knows_its_version_and_its_own_name() -> None:
    kind = Library(iter([SMALL])).struct("toys", "Toy")
    assert list(kind.properties) == ["kind", "apiVersion", "spec"]
    assert (kind.definition, kind.description) == (
        "io.example.toys.v1.Toy",
        "Something to play with.",
    )
    assert kind.properties["spec"].description == "What it should be."


def test_marks_say_what_is_required_and_what_is_always_written() -> None:
    colour = toy().properties["colour"]
    assert toy().required == ("colour",)
    assert (colour.always, colour.enum, colour.go) == (True, ("Blue", "Red"), "v1.Colour")
    assert not toy().properties["size"].always


def test_marks_say_how_lists_and_maps_are_merged() -> None:
    parts, prices = toy().properties["parts"], toy().properties["prices"]
    assert (parts.list_type, parts.list_keys) == ("map", ("name",))
    assert (parts.patch_strategy, parts.patch_merge_key) == (("merge", "retainKeys"), "name")
    assert (toy().map_type, prices.map_type) == ("atomic", "atomic")


def test_defaults_are_those_given_or_go_s_zero_for_what_is_always_written() -> None:
    fields = toy().properties
    assert [(n, f.default) for n, f in fields.items() if f.has_default] == [
        ("colour", ""),
        ("size", 3),
    ]
    assert not fields["weight"].has_default and fields["weight"].pointer


def test_types_are_printed_as_go_prints_them() -> None:
    assert {n: f.go for n, f in toy().properties.items()} == {
        "colour": "v1.Colour", "parts": "[]v1.Part", "weight": "int64", "size": "int32",
        "prices": "v1.Prices", "made": "v1.Time",
    }  # fmt: skip


def test_every_kind_of_the_shipped_files_can_be_read() -> None:
    for api_version, names in kinds().items():
        group, _, version = api_version.rpartition("/")
        for name in names:
            schema = schema_of(group, version, name)
            assert schema.description, f"{api_version} {name} is not described"
            assert set(schema.required) <= set(schema.properties)


def test_what_all_groups_share_is_found_in_each() -> None:
    assert schema_of("batch", "v1", "DeleteOptions") is meta_schema("DeleteOptions")


def test_keys_of_lists_are_fields_of_their_members() -> None:
    def check(schema: Schema, seen: set[str]) -> None:
        if schema.items is not None:
            assert set(schema.list_keys) <= set(schema.items.properties) or not schema.list_keys
            check(schema.items, seen)
        if schema.values is not None:
            check(schema.values, seen)
        if schema.definition not in seen:
            seen.add(schema.definition)
            for field in list(schema.properties.values()):
                check(field, seen)

    for api_version, names in kinds().items():
        for name in names:
            check(schema_of(*api_version.rpartition("/")[::2], name), {""})
