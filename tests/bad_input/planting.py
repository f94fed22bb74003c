"""Where can a manifest be wrong, and what is wrong there? Every property × every defect.

`properties` walks a schema; `defects` says what to put at a property of a given shape; `planted`
puts it there, making the objects and lists on the way. All of it is data in a fixed order, so that
one number names one manifest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.schema.node import Schema

Path = tuple[str | int, ...]
KEY = "example.com/key"  # stands for a member of a map
MAX_NESTING = 12

REFUSE, JUDGE = "refuse", "judge"  # must be refused; may be refused, never break anything


@dataclass(frozen=True, slots=True)
class Defect:
    """`value` at the property itself; with `beside`, a doubled or unknown member next to it."""

    name: str
    value: Any
    verdict: str = JUDGE
    beside: str = ""
    doubled: bool = False


def properties(schema: Schema, path: Path = (), inside: tuple[str, ...] = ()) -> Iterator[Any]:
    """(path, schema) of every property, list member and map member, parents first.

    A struct that contains itself is walked once.
    """
    if schema.properties:
        name = schema.definition or schema.name or str(id(schema))
        if name in inside or len(path) > MAX_NESTING:
            return
        for key, child in schema.properties.items():
            yield (*path, key), child
            yield from properties(child, (*path, key), (*inside, name))
    elif schema.values is not None:
        yield (*path, KEY), schema.values
        yield from properties(schema.values, (*path, KEY), inside)
    elif schema.items is not None:
        yield (*path, 0), schema.items
        yield from properties(schema.items, (*path, 0), inside)


_TYPES: dict[str, Any] = {
    "string": "text", "number": 7, "fraction": 1.5, "bool": True, "list": ["x"], "object": {"x": 1},
}  # fmt: skip
_FITS: dict[str, tuple[str, ...]] = {
    "string": ("string",),
    "integer": ("number",),
    "number": ("number", "fraction"),
    "boolean": ("bool",),
    "array": ("list",),
    "object": ("object",),
    "": tuple(_TYPES),
}
_FORMAT_FITS: dict[str, tuple[str, ...]] = {
    "quantity": ("string", "number", "fraction"),
    "int-or-string": ("string", "number"),
    "raw-extension": tuple(_TYPES),
    "fields-v1": tuple(_TYPES),
    "duration": ("string", "number"),
}
_STRINGS: tuple[tuple[str, str], ...] = (
    ("empty", ""),
    ("254 characters", "a" * 254),
    ("64 characters", "b" * 64),
    ("upper case and spaces", "Bad Name!"),
    ("slashes", "../../etc/passwd"),
    ("NUL", "a\x00b"),
    ("line ends", "a\r\nX-Header: b"),
    ("right to left", "‮txt‏"),
    ("astral and combining", "𝔘é\u0301"),
    ("format codes", "%s%n{0}{{x}}${x}"),
    ("negative number", "-1"),
    ("huge number", "9" * 40),
    ("not base64", "!!!not base64"),
    ("not a time", "2026-13-45T99:99:99Z"),
    ("year zero", "0000-00-00T00:00:00Z"),
)
_INTEGERS: tuple[tuple[str, Any, int], ...] = (
    ("minus one", -1, 0),
    ("2^31", 2**31, 31),
    ("2^63", 2**63, 63),
    ("2^64", 2**64, 63),
    ("-2^63-1", -(2**63) - 1, 63),
    ("a billion", 10**9, 0),
    ("1e300", 1e300, 1),
    ("minus zero point", -0.5, 1),
)
_QUANTITIES: tuple[tuple[str, Any, str], ...] = (
    ("bare E", "1E", JUDGE),
    ("negative", "-1", JUDGE),
    ("tiny", "0.0001m", JUDGE),
    ("nothing", "", REFUSE),
    ("words", "much", REFUSE),
    ("exponent bomb", "1e999999999", JUDGE),
    ("long", "9" * 5000, JUDGE),
    ("spaces", " 1", JUDGE),
    ("two signs", "+-1", REFUSE),
    ("two suffixes", "1KiMi", REFUSE),
    ("infinity", "Inf", REFUSE),
    ("negative number", -5, JUDGE),
    ("big number", 10**30, JUDGE),
)


def defects(path: Path, schema: Schema) -> Iterator[Defect]:
    """Everything that can be wrong at a property of this shape."""
    yield from _wrong_types(schema)
    yield Defect("null", None)
    if isinstance(path[-1], str) and path[-1] != KEY:
        yield Defect("unknown field beside it", "x", REFUSE, beside="unknownNeighbour")
        yield Defect("doubled", None, REFUSE, doubled=True)
    yield Defect("deep nesting", DEEP, REFUSE)
    if schema.format == "quantity":
        for name, value, verdict in _QUANTITIES:
            yield Defect(f"quantity: {name}", value, verdict)
    elif schema.type == "integer":
        bits = 31 if schema.format == "int32" else 63
        for name, value, needed in _INTEGERS:
            fraction = isinstance(value, float)
            verdict = REFUSE if needed >= bits or fraction else JUDGE
            yield Defect(f"number: {name}", value, verdict)
    elif schema.type == "string" or schema.format == "int-or-string":
        for name, value in _STRINGS:
            yield Defect(f"text: {name}", value, _text_verdict(schema, name))
    if schema.type in ("array", "object"):
        yield from _containers(schema)


def _wrong_types(schema: Schema) -> Iterator[Defect]:
    fits = _FORMAT_FITS.get(schema.format) or _FITS[schema.type]
    for name, value in _TYPES.items():
        if name not in fits:
            yield Defect(f"type: {name}", value, REFUSE)


def _text_verdict(schema: Schema, name: str) -> str:
    if schema.enum and name != "empty":
        return JUDGE  # values of enumerations are checked by rules, and status is not stored
    if schema.format in ("date-time", "micro-time"):
        return JUDGE if name == "empty" else REFUSE
    if schema.format == "byte" and name in ("not base64", "slashes", "upper case and spaces"):
        return REFUSE
    return JUDGE


def _containers(schema: Schema) -> Iterator[Defect]:
    if schema.type == "array":
        yield Defect("empty list", [])
        yield Defect("list of nulls", [None, None])
        yield Defect("2,000 empty members", [_empty(schema.items)] * 2000)
    else:
        yield Defect("empty object", {})
    if schema.values is not None:
        member = _empty(schema.values)
        for name, key in (("empty", ""), ("long", "k" * 400), ("odd", "a b/c/d\x00‮")):
            yield Defect(f"{name} key", {key: member})
        yield Defect("5,000 keys", dict.fromkeys(MANY_KEYS, member))


def _empty(schema: Schema | None) -> Any:
    if schema is None or schema.preserve_unknown:
        return {}
    if schema.format == "quantity":
        return "1"
    return {"object": {}, "array": [], "integer": 0, "number": 0, "boolean": False}.get(
        schema.type, ""
    )


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"x": value}
    return value


DEEP = _deep(300)
MANY_KEYS = tuple(f"k{n}" for n in range(5000))
MARK = "\x00doubled"  # becomes a second member of the name it holds; see `judging.to_bytes`


def planted(body: Json, path: Path, defect: Defect) -> Json:
    """`body`, which is ours, with the defect at `path`; what is missing on the way is made."""
    here: Any = body
    for step, following in pairwise(path):
        here = _step(here, step, [] if isinstance(following, int) else {})
    last = path[-1]
    if isinstance(here, list):
        here[:] = here or [None]
        here[0] = defect.value
    elif defect.doubled:
        here.setdefault(last, "x")
        here[MARK] = last
    elif defect.beside:
        here[defect.beside] = defect.value
    else:
        here[last] = defect.value
    return body


def _step(here: Any, step: str | int, fresh: Any) -> Any:
    if isinstance(step, int):
        if not here:
            here.append(fresh)
        if not isinstance(here[0], type(fresh)):
            here[0] = fresh
        return here[0]
    if not isinstance(here.get(step), type(fresh)):
        here[step] = fresh
    return here[step]
