"""What does a simple JSON path select? The subset that definitions may use.

Steps: `.name`, `['name']`, `[0]`, `[-1]`, `[*]` and `[?(@.a.b=="x")]` with ==, !=, <, <=, >, >=.
A path is parsed once; reading never fails, what is not there selects nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_SIMPLE = re.compile(r"\.[^\s\[\]?@*()]*")
_STEP = re.compile(
    r"""\.(?P<name>(?:\\.|[^.\[\]\\])+)"""
    r"""|\[\s*'(?P<quoted>[^']*)'\s*\]"""
    r"""|\[\s*"(?P<doubled>[^"]*)"\s*\]"""
    r"""|\[\s*(?P<index>-?\d+)\s*\]"""
    r"""|(?P<all>\[\*\]|\.\*)"""
    r"""|\[\?\(\s*@\.(?P<left>[^\s=!<>)\]]+)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*"""
    r"""(?P<right>"[^"]*"|'[^']*'|[^\s)\]]+)\s*)?\)\]"""
)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Index:
    index: int


@dataclass(frozen=True, slots=True)
class Every:
    pass


@dataclass(frozen=True, slots=True)
class Where:
    path: tuple[str, ...]
    operator: str  # '' asks only whether the path is there
    value: Any


Step = Name | Index | Every | Where


def is_field_path(text: str) -> bool:
    """Whether this is a chain of names only, as selectable fields and scale paths must be."""
    return bool(text) and _SIMPLE.fullmatch(text) is not None and parse(text) is not None


@lru_cache(maxsize=2048)
def parse(text: str) -> tuple[Step, ...] | None:
    """The steps of a path; None when it is not one of ours."""
    steps: list[Step] = []
    at = 0
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            return None
        at = found.end()
        steps.append(_step(found))
    return tuple(steps)


def _step(found: "re.Match[str]") -> Step:
    parts = found.groupdict()
    if parts["name"] is not None:
        return Name(re.sub(r"\\(.)", r"\1", parts["name"]))
    if parts["quoted"] is not None:
        return Name(parts["quoted"])
    if parts["doubled"] is not None:
        return Name(parts["doubled"])
    if parts["index"] is not None:
        return Index(int(parts["index"]))
    if parts["all"] is not None:
        return Every()
    right = parts["right"]
    value: Any = right
    if right is not None:
        if right[0] in "\"'":
            value = right[1:-1]
        elif right in ("true", "false"):
            value = right == "true"
        else:
            try:
                value = float(right) if "." in right else int(right)
            except ValueError:
                value = right
    return Where(tuple(parts["left"].split(".")), parts["operator"] or "", value)


def select(steps: tuple[Step, ...], value: Any) -> list[Any]:
    """Everything the path selects, in order."""
    values = [value]
    for step in steps:
        following: list[Any] = []
        for current in values:
            following += _apply(step, current)
        values = following
        if not values:
            break
    return values


def _apply(step: Step, value: Any) -> list[Any]:
    match step:
        case Name(name):
            return [value[name]] if isinstance(value, dict) and name in value else []
        case Index(index):
            fits = isinstance(value, list) and -len(value) <= index < len(value)
            return [value[index]] if fits else []
        case Every():
            if isinstance(value, dict):
                return list(value.values())
            return list(value) if isinstance(value, list) else []
        case Where():
            members = value if isinstance(value, list) else []
            return [m for m in members if _meets(step, m)]


def _meets(step: Where, member: Any) -> bool:
    for name in step.path:
        if not isinstance(member, dict) or name not in member:
            return False
        member = member[name]
    if not step.operator:
        return True
    try:
        return _COMPARE[step.operator](member, step.value)
    except TypeError:
        return False
