"""How is YAML read and written, so that everybody who uses kubectl is understood?

The reading is that of sigs.k8s.io/yaml (YAML 1.1 as Go has it): `yes`, `on` and `y` are booleans,
`0o17` and `017` octal, dates stay strings, there are no sexagesimals, keys become strings. Aliases
are copied out, and a document that grows by that beyond all measure is refused. Everything is
iterative, so that depth costs no stack.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from allaboard.api.codec import Malformed
from allaboard.api.json_syntax import MAX_DEPTH

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MAX_DIGITS = 308  # beyond a double's range Go leaves the text alone
MAX_COPIED_NODES = 100_000  # what aliases may add to a document
MAX_REPEATED = 100  # keys given twice that are told
_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9][0-9]*|0)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TRAILING_SPACE = re.compile(r"[ \t]$|\n\n\Z", re.MULTILINE)
_NOT_A_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class BadYaml(Malformed):
    """`document` and `line` count from one; 0 where a line is not known."""

    def __init__(self, problem: str, line: int, document: int = 1, go_line: int | None = None):
        self.problem, self.line, self.document = problem, line, document
        self.go_line = line if go_line is None else go_line
        super().__init__(self.sentence())

    def sentence(self) -> str:
        """As the API server says it: no document number, the parser's own idea of the line."""
        where = f"line {self.go_line}: " if self.go_line else ""
        return f"yaml: {where}{self.problem}"

    def located(self) -> str:
        """For people with a file in front of them."""
        where = f"document {self.document}" + (f", line {self.line}" if self.line else "")
        return f"{where}: {self.problem}"


@dataclass(slots=True)
class Document:
    data: Any
    number: int  # from one; empty documents count too
    line: int  # where it begins
    repeated: list[str] = field(default_factory=list)  # sentences about keys given twice


def read_documents(text: str | bytes) -> list[Document]:
    """Every document that is not empty. Raises BadYaml naming document and line."""
    return [d for d in _documents(text) if d.data is not None]


def read_first(text: str | bytes, max_values: int = 0) -> Document:
    """The first document, as the API server reads a request body; with a limit to its members."""
    return next(_documents(text, max_values), Document(None, 1, 1))


def resolve(text: str) -> Any:
    """What a plain scalar means."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    bare = text.replace("_", "")
    if len(bare) > _MAX_DIGITS:
        return text
    if _INTEGER.fullmatch(bare):
        return _integer(bare)
    if _FLOAT.fullmatch(bare):
        number = float(bare)
        return number if number - number == 0 else text  # beyond a double: leave it alone
    return text


def _integer(text: str) -> int:
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").lower()
    if len(digits) > 1 and digits[0] == "0":
        base = {"x": 16, "b": 2}.get(digits[1], 8)
        return sign * int(digits.removeprefix("0").lstrip("xbo") or "0", base)
    return sign * int(digits)


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


@dataclass(slots=True)
class _Frame:
    """An open list or mapping. Nodes are weighed: a long text counts as several."""

    out: Any
    anchor: str | None
    nodes_before: int
    key: str | None = None
    merging: bool = False
    merged: list[dict[str, Any]] = field(default_factory=list)


class _Builder:
    """Builds one document from parser events."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = 0
        self.copied = 0

    def error(self, problem: str, event: Any) -> BadYaml:
        return BadYaml(problem, _line(event), self.document.number)

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            weight = 1 + len(event.value) // 16  # long texts must not be copied often either
            self.nodes += weight
            self.add(_scalar(event, self), event, (event.anchor, weight))
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self.open({} if kind is yaml.MappingStartEvent else [], event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self.close(event)
        elif kind is yaml.AliasEvent:
            self.add(self.alias(event), event, (None, 0))

    def open(self, out: Any, event: Any) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise self.error(f"nested more than {MAX_DEPTH} levels deep", event)
        if self.stack and self._wants_key():
            raise self.error("a list or mapping cannot be the key of a mapping", event)
        self.nodes += 1
        self.stack.append(_Frame(out, event.anchor, self.nodes - 1))

    def close(self, event: Any) -> None:
        frame = self.stack.pop()
        value = frame.out
        for source in frame.merged:
            for key, inherited in source.items():
                value.setdefault(key, inherited)
        self.add(value, event, (frame.anchor, self.nodes - frame.nodes_before))

    def alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            inside = any(frame.anchor == event.anchor for frame in self.stack)
            problem = "value contains itself" if inside else "referenced"
            raise self.error(
                f"{'' if inside else 'unknown '}anchor '{event.anchor}' {problem}", event
            )
        value, nodes = self.anchors[event.anchor]
        self.nodes += nodes
        self.copied += nodes
        if self.copied > MAX_COPIED_NODES:
            raise BadYaml(
                "document contains excessive aliasing",
                _line(event),
                self.document.number,
                go_line=0,
            )
        return msgspec.to_builtins(value)

    def _wants_key(self) -> bool:
        frame = self.stack[-1]
        return isinstance(frame.out, dict) and frame.key is None and not frame.merging

    def add(self, value: Any, event: Any, anchored: tuple[str | None, int]) -> None:
        if anchored[0]:
            self.anchors[anchored[0]] = (value, anchored[1])
        if not self.stack:
            self.document.data = value
            return
        frame = self.stack[-1]
        if isinstance(frame.out, list):
            frame.out.append(value)
        elif frame.merging:
            frame.merging = False
            frame.merged.extend(self._merge_sources(value, event))
        elif frame.key is None:
            self._key(frame, value, event)
        else:
            if frame.key in frame.out and len(self.document.repeated) < MAX_REPEATED:
                sentence = f'line {_line(event)}: key "{frame.key}" already set in map'
                self.document.repeated.append(sentence)
            frame.out[frame.key] = value
            frame.key = None

    def _key(self, frame: _Frame, value: Any, event: Any) -> None:
        if value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            frame.merging = True
        elif isinstance(value, str):
            frame.key = value
        elif isinstance(value, bool):
            frame.key = "true" if value else "false"
        elif isinstance(value, int | float):
            frame.key = str(int(value) if value == value // 1 else value)
        else:
            raise self.error("a mapping has a key that is null, a list or a mapping", event)

    def _merge_sources(self, value: Any, event: Any) -> list[dict[str, Any]]:
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self.error("map merge requires map or sequence of maps as the value", event)
        return sources


def _scalar(event: Any, builder: _Builder) -> Any:
    tag = event.tag
    if tag is None or tag == "!":
        if not event.implicit[0] or tag == "!":
            return event.value
        value = resolve(event.value)
        if value is event.value and _NOT_A_NUMBER.fullmatch(value):
            raise builder.error(f"{value} is not a number that JSON knows", event)
        return value
    if tag in (f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool", f"{_TAG}null"):
        value = resolve(event.value)
        wanted = {"int": int, "float": (int, float), "bool": bool, "null": type(None)}
        if not isinstance(value, wanted[tag.removeprefix(_TAG)]):  # type: ignore[arg-type]
            short = tag.replace(_TAG, "!!")
            raise builder.error(f"cannot decode `{event.value}` as a {short}", event)
        return value
    return event.value


def _documents(text: str | bytes, max_values: int = 0) -> Iterator[Document]:
    number = 0
    # Each member of a list is one event, each of a mapping two; a container's end is one more.
    left = 3 * max_values
    builder: _Builder | None = None
    events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
    try:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                number += 1
                builder = _Builder(Document(None, number, _line(event)))
            elif isinstance(event, yaml.DocumentEndEvent) and builder is not None:
                yield builder.document
                builder = None
            elif builder is not None:
                builder.take(event)
                left -= 1
                if not left:
                    raise BadYaml(f"more than {max_values} values in one document", 0, number)
    except yaml.MarkedYAMLError as error:
        # An error between documents belongs to the one that was about to begin.
        raise _marked(error, number if builder is not None else number + 1) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = getattr(error, "reason", "") or str(error)
        raise BadYaml(str(reason), 0, max(number, 1)) from error


def _marked(error: yaml.MarkedYAMLError, document: int) -> BadYaml:
    line: int = getattr(error.problem_mark or error.context_mark, "line", 0)
    # Go prints the parser's zero-based line, and adds one only to the scanner's.
    go_line = line + 1 if line and isinstance(error, yaml.scanner.ScannerError) else line
    return BadYaml(error.problem or str(error.context), line + 1, document, go_line)


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Writes what `resolve` reads back as the same value."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_string(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text and text[0] not in " \t\n" and not _TRAILING_SPACE.search(text):
        style = "|"
    elif not isinstance(resolve(text), str) or _NOT_A_NUMBER.fullmatch(text):
        style = '"'
    return dumper.represent_scalar(f"{_TAG}str", text, style=style)


_Dumper.add_representer(str, _write_string)


def write_yaml(data: Any) -> str:
    """One document, members in the order they have, no aliases, no line folding."""
    text: str = yaml.dump(
        data, Dumper=_Dumper, default_flow_style=False, sort_keys=False, allow_unicode=True,
        width=2**20,
    )  # fmt: skip
    return text


def write_documents(documents: Iterable[Any]) -> str:
    return "---\n".join(write_yaml(data) for data in documents)
