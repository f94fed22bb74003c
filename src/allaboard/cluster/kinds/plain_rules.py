"""Which rules can be read off a schema? Enumerations, ranges of ports, counts below zero.

For the kinds on which nobody in this process acts (volumes, ingresses, network policies, …): their
long tail of rules is not written out one by one, but a word or number that can mean nothing is
refused all the same. Pod templates are left to the rules of pods.
"""

from typing import Any

from allaboard.api import quantity
from allaboard.api.fields import FieldError, bad_value, not_supported
from allaboard.api.meta import Json
from allaboard.cluster.schema.node import Schema

_PORT = "must be between 1 and 65535, inclusive"
_COUNT = "must be greater than or equal to 0"
# (lowest, highest, what is said); 0 stands for "not set" where Go leaves it out
_RANGES: dict[str, tuple[int, int, str]] = {
    "port": (1, 65535, _PORT),
    "number": (0, 65535, _PORT),
    "endPort": (1, 65535, _PORT),
    "nodePort": (0, 65535, _PORT),
    "healthCheckNodePort": (0, 65535, _PORT),
    "timeoutSeconds": (1, 86400, "must be between 1 and 86400, inclusive"),
    "partition": (0, 2**31, _COUNT),
    "start": (0, 2**31, _COUNT),
    "minReadySeconds": (0, 2**31, _COUNT),
    "lun": (0, 255, "must be between 0 and 255, inclusive"),
}
_AMOUNTS = frozenset({"podFixed", "capacity"})
_ELSEWHERE = frozenset({"metadata", "status", "template", "apiVersion", "kind"})
MAX_REPORTED = 100


def plain_problems(schema: Schema, obj: Json, known: list[FieldError]) -> list[FieldError]:
    """What the schema alone says against `obj`, where `known` says nothing yet."""
    found: list[FieldError] = []
    _struct(schema, obj, "", found)
    told = {error.field for error in known}
    return [error for error in found if error.field not in told]


def _struct(schema: Schema, value: Json, path: str, out: list[FieldError]) -> None:
    for name, member in value.items():
        field = schema.properties.get(name)
        if field is not None and name not in _ELSEWHERE:
            _value(field, name, member, f"{path}.{name}" if path else name, out)


def _value(schema: Schema, name: str, value: Any, path: str, out: list[FieldError]) -> None:
    if len(out) >= MAX_REPORTED:
        return
    if isinstance(value, dict):
        if schema.values is not None:
            for key, member in value.items():
                if name in _AMOUNTS and quantity.parse(member) < quantity.from_units(0):
                    out.append(bad_value(f"{path}[{key}]", member, _COUNT))
                _value(schema.values, "", member, f"{path}[{key}]", out)
        else:
            _struct(schema, value, path, out)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _value(schema.items or schema, "", member, f"{path}[{index}]", out)
    elif isinstance(value, str):
        if schema.enum and value and value not in schema.enum:
            out.append(not_supported(path, value, [word for word in schema.enum if word]))
    elif schema.type == "integer" and name in _RANGES:
        lowest, highest, said = _RANGES[name]
        if not lowest <= value <= highest:
            out.append(bad_value(path, value, said))
