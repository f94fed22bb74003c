"""What does Go write for a field that was not given?

Strings, numbers, booleans, lists and maps marked omitempty vanish when empty; pointers vanish when
absent. Structs cannot vanish (`resources: {}`), times among them are written as null, and a nil
list or map that is not omitempty is null as well.
"""

from collections.abc import Callable
from typing import Any, Final

from allaboard.cluster.schema.node import Schema


class _Drop:
    """The mark of a field that is left out."""

    def __repr__(self) -> str:
        return "DROP"


DROP: Final = _Drop()

_ZEROES: dict[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0}
_SPECIAL: dict[str, Any] = {
    "date-time": None, "micro-time": None, "byte": None, "raw-extension": None, "fields-v1": None,
    "quantity": "0", "int-or-string": 0, "duration": "0s",
}  # fmt: skip
# Go structs to encoding/json, although JSON sees a scalar: omitempty has no effect on them.
_STRUCT_FORMATS = frozenset(_SPECIAL) - {"byte"}


def is_struct(schema: Schema) -> bool:
    return schema.type == "object" and schema.values is None and not schema.format


def vanishes_when_empty(schema: Schema) -> bool:
    """Whether "", 0, false, [] and {} are left out."""
    if schema.pointer or schema.always or schema.format in _STRUCT_FORMATS:
        return False
    return not is_struct(schema) and schema.go != "v1.JSON"


def absent_value(schema: Schema) -> Any:
    """What is written for an absent field, or `DROP`. A struct's is made anew by `zero_struct`."""
    if schema.pointer:
        return None if schema.always else DROP
    if schema.omit_zero or vanishes_when_empty(schema):
        return DROP
    return zero_of(schema)


def zero_of(schema: Schema) -> Any:
    if schema.format in _SPECIAL:
        return _SPECIAL[schema.format]
    if is_struct(schema):
        return zero_struct(schema)
    return _ZEROES.get(schema.type)  # lists, maps and free values: nil


def zero_struct(schema: Schema) -> dict[str, Any]:
    found = ((name, absent_value(field)) for name, field in schema.properties.items())
    return {name: value for name, value in found if value is not DROP}


Fill = tuple[str, Any, Callable[[], Any] | None]


def fills(schema: Schema) -> tuple[Fill, ...]:
    """What has to be added to a struct that lacks it: name, constant, or a maker of a fresh one."""
    made: list[Fill] = []
    for name, field in schema.properties.items():
        value = absent_value(field)
        if isinstance(value, dict):
            made.append((name, None, _maker(field)))
        elif value is not DROP:
            made.append((name, value, None))
    return tuple(made)


def _maker(schema: Schema) -> Callable[[], Any]:
    template = zero_struct(schema)
    if not template:
        return dict
    if any(isinstance(value, dict) for value in template.values()):
        return lambda: _copied(template)
    return template.copy


def _copied(template: dict[str, Any]) -> dict[str, Any]:
    """A fresh one; whatever else is in a zero value cannot be changed."""
    return {k: _copied(v) if isinstance(v, dict) else v for k, v in template.items()}
