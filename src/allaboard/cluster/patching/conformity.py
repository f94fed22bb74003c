"""Does an applied configuration fit the schema it is applied by?

Apply refuses what it cannot attribute: undeclared fields, values of another type, list members that
share a key or have none. Other patches leave these to decoding and validation.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from allaboard.cluster.patching import go_text
from allaboard.cluster.patching.fieldset import render_element
from allaboard.cluster.patching.shape import KeyMissing, Shape

MAX_ERRORS = 100


def check_conformity(shape: Shape, config: Any) -> list[str]:
    """One sentence per misfit, at most a hundred; the order is that of the configuration."""
    return list(islice(_misfits(shape, config, ""), MAX_ERRORS))


def render_misfits(misfits: list[str]) -> str:
    if len(misfits) == 1:
        return misfits[0]
    return "\n".join(["errors:", *(f"  {m}" for m in misfits)])


def _misfits(shape: Shape, value: Any, path: str) -> Iterator[str]:
    schema = shape.schema
    if value is None or schema is None or shape.kind == "any":
        return
    match schema.type:
        case "object":
            if isinstance(value, dict):
                yield from _map_misfits(shape, value, path)
            else:
                yield f"{path}: expected map, got {_shown(value)}"
        case "array":
            if not isinstance(value, list):
                yield f"{path}: expected list, got {_shown(value)}"
            elif shape.kind != "leaf":
                yield from _list_misfits(shape, value, path)
        case _:
            problem = _scalar_misfit(schema.type, schema.format, value)
            if problem:
                yield f"{path}: {problem}"


def _map_misfits(shape: Shape, value: dict[str, Any], path: str) -> Iterator[str]:
    is_open = shape.is_open()
    for name, child in value.items():
        if not is_open and name not in shape.declared:
            yield f"{path}.{name}: field not declared in schema"
        else:
            yield from _misfits(shape.field(name)[1], child, f"{path}.{name}")


def _list_misfits(shape: Shape, members: list[Any], path: str) -> Iterator[str]:
    seen: set[str] = set()
    for place, member in enumerate(members):
        try:
            element = shape.element(member)
        except KeyMissing as error:
            yield f"{path}: element {place}: {error}"
            continue
        if element in seen:
            yield f"{path}: duplicate entries for key {render_element(element)}"
        seen.add(element)
        if shape.items is not None:
            yield from _misfits(shape.items, member, path + render_element(element))


def _scalar_misfit(kind: str, form: str, value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if form in ("int-or-string", "quantity") or kind == "":
        return f"expected any scalar, got {_shown(value)}" if isinstance(value, dict | list) else ""
    if kind in ("integer", "number") and not is_number:
        return f"expected numeric (int or float), got {go_text.go_type(value)}"
    if kind == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{go_text.syntax(value)}}}"
    if kind == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got {_shown(value)}"
    return ""


def _shown(value: Any) -> str:
    return f"&{{{go_text.plain(value)}}}"
