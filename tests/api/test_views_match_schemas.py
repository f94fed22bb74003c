"""A typed view never invents a field: everything it reads exists in the kind's schema."""

import types as python_types
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from allaboard.api import types
from allaboard.api.types.model import Model, Object
from allaboard.cluster.schema.builtin import schema_of
from allaboard.cluster.schema.node import Schema

VIEWS = [
    view
    for view in (getattr(types, name) for name in types.__all__)
    if isinstance(view, type) and issubclass(view, Object) and view is not Object
]


def models_in(annotation: Any) -> Iterator[tuple[type[Model], str]]:
    """The models an annotation mentions, and whether they are list items, map values or plain."""
    origin = typing.get_origin(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation, "plain"
    elif origin in (typing.Union, python_types.UnionType):
        for part in typing.get_args(annotation):
            yield from models_in(part)
    elif origin is list:
        yield from ((model, "items") for model, _ in models_in(typing.get_args(annotation)[0]))
    elif origin is dict:
        yield from ((model, "values") for model, _ in models_in(typing.get_args(annotation)[1]))


def invented(model: type[Model], schema: Schema, path: str) -> Iterator[str]:
    hints = typing.get_type_hints(model)
    for field in msgspec.structs.fields(model):
        inner = schema.properties.get(field.encode_name)
        where = f"{path}.{field.encode_name}"
        if inner is None:
            yield where
            continue
        for part, how in models_in(hints[field.name]):
            below = {"plain": inner, "items": inner.items, "values": inner.values}[how]
            if below is None:
                yield f"{where} ({how})"
            elif below.properties:
                yield from invented(part, below, where)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.KIND.kind)
def test_a_view_reads_only_fields_that_exist(view: type[Object]) -> None:
    schema = schema_of(view.KIND.group, view.KIND.version, view.KIND.kind)
    # One Condition view serves all kinds, so it knows members that only some of them have.
    shared = ("observedGeneration", "lastProbeTime", "lastHeartbeatTime")
    found = [f for f in invented(view, schema, view.KIND.kind) if not f.endswith(shared)]
    assert found == []
