"""Which objects does a selector choose?

Label selectors come as text (`a=b,c in (d,e),!f`) or as LabelSelector objects; field selectors as
text only. Both are parsed once into requirements and compiled into one predicate. Grammar, order of
checks and error sentences are those of apimachinery's labels and fields packages.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from allaboard.api.meta import Json
from allaboard.api.names import label_key_problems, label_value_problems

Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_SPACE: Final = " \t\r\n"
_SYMBOLS: Final = ("==", "!=", "=", "!", "(", ")", ",", ">", "<")
_OPERATORS: Final = {"=", "==", "!=", "in", "notin", ">", "<"}


class SelectorError(ValueError):
    """The selector cannot be understood; the message is the API server's."""


class Requirement(NamedTuple):
    key: str
    operator: str  # one of = == != in notin exists ! > <
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case _:
                return f"{self.key}{self.operator}{self.values[0]}"


@dataclass(frozen=True)
class Selector:
    """A conjunction of requirements; none of them means everything."""

    requirements: tuple[Requirement, ...] = ()
    matches: Predicate = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "matches", _compiled(self.requirements))

    def __str__(self) -> str:
        return ",".join(str(r) for r in self.requirements)

    @property
    def is_everything(self) -> bool:
        return not self.requirements


def _compiled(requirements: Sequence[Requirement]) -> Predicate:
    if not requirements:
        return lambda labels: True
    equal = [(r.key, r.values[0]) for r in requirements if r.operator in ("=", "==")]
    tests = [_test(r) for r in requirements if r.operator not in ("=", "==")]
    if not tests and len(equal) == 1:
        key, value = equal[0]
        return lambda labels: labels.get(key) == value

    def matches(labels: Labels) -> bool:
        for key, value in equal:
            if labels.get(key) != value:
                return False
        return all(test(labels) for test in tests)

    return matches


def _test(requirement: Requirement) -> Predicate:
    key, operator, values = requirement
    match operator:
        case "in":
            return lambda labels: labels.get(key) in values
        case "notin" | "!=":
            return lambda labels: labels.get(key) not in values
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
    limit = int(values[0])
    above = operator == ">"

    def compares(labels: Labels) -> bool:
        text = labels.get(key)
        if text is None or not _is_int64(text):
            return False
        return int(text) > limit if above else int(text) < limit

    return compares


EVERYTHING: Final = Selector()


class _Nothing(Selector):
    """What an absent LabelSelector chooses."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "matches", lambda labels: False)

    @property
    def is_everything(self) -> bool:
        return False


NOTHING: Final[Selector] = _Nothing()


def requirement(key: str, operator: str, values: Iterable[str] = ()) -> Requirement:
    """A checked requirement; values are kept sorted and unique, as the server keeps them."""
    values = tuple(sorted(set(values)))
    errors = [_invalid("key", key, "; ".join(e))] if (e := label_key_problems(key)) else []
    if operator in (">", "<"):
        errors += [
            _invalid(f"values[{i}]", v, "for 'Gt', 'Lt' operators, the value must be an integer")
            for i, v in enumerate(values)
            if not _is_int64(v)
        ]
    for i, value in enumerate(values):
        if faults := label_value_problems(value):
            errors.append(_invalid(f"values[{i}][{key}]", value, "; ".join(faults)))
    if errors:
        raise SelectorError(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return Requirement(key, operator, values)


def _is_int64(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None and -(2**63) <= int(text) < 2**63


def _invalid(path: str, value: str, detail: str) -> str:
    return f"{path}: Invalid value: {json.dumps(value, ensure_ascii=False)}: {detail}"


# Text


@lru_cache(maxsize=4_096)
def parse_label_selector(text: str) -> Selector:
    """SelectorError carries the server's sentence. Whitespace round tokens does not matter."""
    return Selector(tuple(_Parser(text).parse()))


def _tokens(text: str) -> list[str]:
    """Symbols, words, and '' for the end. Words run up to a symbol or whitespace."""
    tokens: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
            continue
        symbol = next((s for s in _SYMBOLS if text.startswith(s, at)), None)
        if symbol is not None:
            tokens.append(symbol)
            at += len(symbol)
            continue
        start = at
        while at < len(text) and text[at] not in "=!(),<>" and text[at] not in _SPACE:
            at += 1
        tokens.append(text[start:at])
    tokens.append("")
    return tokens


def _is_word(token: str) -> bool:
    return bool(token) and token not in _SYMBOLS


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0

    def peek(self) -> str:
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def parse(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            token = self.peek()
            if not token:
                break
            if not _is_word(token) and token != "!":
                raise SelectorError(f"found '{token}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from None
            after = self.take()
            if not after:
                break
            if after != ",":
                raise SelectorError(f"found '{after}', expected: ',' or 'end of string'")
            following = self.peek()
            if not _is_word(following) and following != "!":
                raise SelectorError(f"found '{following}', expected: identifier after ','")
        return sorted(found, key=lambda r: r.key)

    def requirement(self) -> Requirement:
        token = self.take()
        absent = token == "!"
        if absent:
            token = self.take()
        if not _is_word(token):
            raise SelectorError(f"found '{token}', expected: identifier")
        if faults := label_key_problems(token):
            raise SelectorError(_invalid("<nil>", token, "; ".join(faults)))
        if absent:
            return requirement(token, "!")
        if self.peek() in ("", ","):
            return requirement(token, "exists")
        operator = self.take()
        if operator not in _OPERATORS:
            raise SelectorError(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        values = self.set_of_values() if operator in ("in", "notin") else self.exact_value()
        return requirement(token, operator, values)

    def exact_value(self) -> list[str]:
        if self.peek() in ("", ","):
            return [""]
        token = self.take()
        if not _is_word(token):
            raise SelectorError(f"found '{token}', expected: identifier")
        return [token]

    def set_of_values(self) -> list[str]:
        token = self.take()
        if token != "(":
            raise SelectorError(f"found '{token}' expected: '('")
        first = self.peek()
        if first == ")":
            self.take()
            return [""]
        if not _is_word(first) and first != ",":
            raise SelectorError(f"found '{first}', expected: ',', ')' or identifier")
        values: list[str] = []
        while True:
            token = self.take()
            if _is_word(token):
                values.append(token)
                following = self.peek()
                if following not in (",", ")"):
                    raise SelectorError(f"found '{following}', expected: ',' or ')'")
                if following == ",":
                    continue
            elif token == ",":
                # An empty place before, between or after commas is the empty value.
                if not values or self.peek() in (",", ")"):
                    values.append("")
                if self.peek() == ",":
                    self.take()
            else:
                raise SelectorError(f"found '{token}', expected: ',', or identifier")
            if self.peek() == ")":
                self.take()
                return values


# LabelSelector objects

_OBJECT_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def selector_of(obj: Any) -> Selector:
    """The selector that a LabelSelector says. Absent chooses nothing, empty chooses everything.

    Takes plain data; unusable operators raise SelectorError.
    """
    if obj is None:
        return NOTHING
    found = [requirement(k, "=", [v]) for k, v in (obj.get("matchLabels") or {}).items()]
    for expression in obj.get("matchExpressions") or []:
        found.append(_from_expression(expression))
    return Selector(tuple(sorted(found, key=lambda r: r.key)))


def _from_expression(expression: Json) -> Requirement:
    said = str(expression.get("operator") or "")
    operator = _OBJECT_OPERATORS.get(said)
    values = expression.get("values") or []
    if operator is None:
        raise SelectorError(f'"{said}" is not a valid label selector operator')
    if operator in ("in", "notin") and not values:
        raise SelectorError(
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"
        )
    if operator in ("exists", "!") and values:
        shown = json.dumps(values, separators=(",", ":"))
        raise SelectorError(
            f"values: Invalid value: {shown}: values set must be empty for exists and "
            "does not exist"
        )
    return requirement(str(expression.get("key") or ""), operator, values)


# Field selectors


class FieldTerm(NamedTuple):
    field: str
    operator: str  # = or !=
    value: str


@dataclass(frozen=True, slots=True)
class FieldSelector:
    terms: tuple[FieldTerm, ...] = ()

    def matches(self, value_of: Callable[[str], str]) -> bool:
        """`value_of` gives a field's text, '' where it is absent."""
        return all((value_of(t.field) == t.value) == (t.operator == "=") for t in self.terms)

    def required(self, field: str) -> str | None:
        """The value that this field must have, if the selector says one."""
        return next((t.value for t in self.terms if t[:2] == (field, "=")), None)


@lru_cache(maxsize=4_096)
def parse_field_selector(text: str) -> FieldSelector:
    terms = (_term(text, part) for part in sorted(_split(text)) if part)
    return FieldSelector(tuple(terms))


def _split(text: str) -> list[str]:
    """At commas that no backslash protects."""
    return [m.group() for m in re.finditer(r"(?:[^\\,]|\\.|\\$)+", text, re.DOTALL)]


def _term(text: str, part: str) -> FieldTerm:
    at = 0
    while at < len(part):
        for operator in ("!=", "==", "="):
            if part.startswith(operator, at):
                name, value = part[:at], _unescaped(part[at + len(operator) :])
                return FieldTerm(name, "!=" if operator == "!=" else "=", value)
        at += 2 if part[at] == "\\" else 1
    raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")


def _unescaped(value: str) -> str:
    if not any(c in value for c in "\\,="):
        return value
    result: list[str] = []
    characters = iter(value)
    for c in characters:
        if c == "\\":
            escaped = next(characters, "")
            if not escaped or escaped not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{escaped}")
            result.append(escaped)
        elif c in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(c)}")
        else:
            result.append(c)
    return "".join(result)
