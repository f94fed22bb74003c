"""What is wrong with this JSON, in Go's words?

Only asked about text that could not be read. One pass, no recursion; the sentences are those of
encoding/json's scanner, which API clients know.
"""

import re
from math import inf

_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN = re.compile(r'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LITERALS = {"t": "true", "f": "false", "n": "null"}
MAX_DEPTH = 256  # ours; Go stops at 10,000
END = "unexpected end of JSON input"


class _Wrong(Exception):
    pass


def explain(raw: bytes) -> str:
    """The first thing wrong with `raw`. What Go would accept is blamed on its encoding."""
    scanner = _Scanner(raw.decode("utf-8", "replace"))
    try:
        scanner.document()
    except _Wrong as wrong:
        return str(wrong)
    if scanner.huge:
        return f"json: cannot unmarshal number {scanner.huge} into Go value of type float64"
    return "invalid UTF-8 or a lone surrogate in string literal"


def _quoted(character: str) -> str:
    if character == "'":
        return r"'\''"
    if character == '"':
        return "'\"'"
    escapes = {"\n": r"\n", "\r": r"\r", "\t": r"\t", "\\": r"\\"}
    shown = escapes.get(character) or (
        character if character.isprintable() else f"\\x{ord(character):02x}"
    )
    return f"'{shown}'"


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.huge = ""  # the first number beyond the range of doubles

    def document(self) -> None:
        stack: list[str] = []  # of open brackets
        self.value(stack)
        while stack:
            self.after(stack)
        self.space()
        if self.at < len(self.text):
            raise self.wrong("after top-level value")

    def wrong(self, where: str) -> _Wrong:
        if self.at >= len(self.text):
            return _Wrong(END)
        return _Wrong(f"invalid character {_quoted(self.text[self.at])} {where}")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def space(self) -> str:
        match = _SPACE.match(self.text, self.at)
        assert match, "the pattern matches the empty string"
        self.at = match.end()
        return self.peek()

    def value(self, stack: list[str]) -> None:
        """Read a scalar, or open a container down to its first scalar or its end."""
        while (first := self.space()) and first in "[{":
            if len(stack) >= MAX_DEPTH:
                raise self.wrong("exceeded max depth")
            stack.append(first)
            self.at += 1
            if self.space() == ("]" if first == "[" else "}"):
                self.at += 1
                stack.pop()
                return
            if first == "{":
                self.key()
        self.scalar(first)

    def after(self, stack: list[str]) -> None:
        """What follows a member: a comma and another one, or the end of the container."""
        inside_list = stack[-1] == "["
        found = self.space()
        if found == ("]" if inside_list else "}"):
            self.at += 1
            stack.pop()
            return
        if found != ",":
            raise self.wrong(
                "after array element" if inside_list else "after object key:value pair"
            )
        self.at += 1
        if not inside_list:
            self.space()
            self.key()
        self.value(stack)

    def key(self) -> None:
        if self.peek() != '"':
            raise self.wrong("looking for beginning of object key string")
        self.string()
        if self.space() != ":":
            raise self.wrong("after object key")
        self.at += 1

    def scalar(self, first: str) -> None:
        if first == '"':
            self.string()
        elif first in _LITERALS and first:
            self.literal(_LITERALS[first])
        elif first and first in "-0123456789":
            self.number()
        else:
            raise self.wrong("looking for beginning of value")

    def string(self) -> None:
        self.at += 1
        while True:
            match = _PLAIN.match(self.text, self.at)
            assert match, "the pattern matches the empty string"
            self.at = match.end()
            found = self.peek()
            if found == '"':
                self.at += 1
                return
            if found != "\\":
                raise self.wrong("in string literal")
            self.at += 1
            if self.peek() == "u":
                self.code_point()
            elif not self.peek() or self.peek() not in '"\\/bfnrt':
                raise self.wrong("in string escape code")
            else:
                self.at += 1

    def code_point(self) -> None:
        self.at += 1
        for _ in range(4):
            if not self.peek() or self.peek() not in "0123456789abcdefABCDEF":
                raise self.wrong(r"in \u hexadecimal character escape")
            self.at += 1

    def literal(self, word: str) -> None:
        for letter in word:
            if self.peek() != letter:
                raise self.wrong(f"in literal {word} (expecting '{letter}')")
            self.at += 1

    def number(self) -> None:
        match = _NUMBER.match(self.text, self.at)
        if match is None:  # a lone minus sign
            self.at += 1
            raise self.wrong("in numeric literal")
        self.at = match.end()
        if not self.huge and match.group() and float(match.group()) in (inf, -inf):
            self.huge = match.group()[:40]
        found = self.peek()
        if found == ".":
            self.at += 1
            raise self.wrong("after decimal point in numeric literal")
        if found and found in "eE":
            self.at += 1
            if self.peek() in ("+", "-"):
                self.at += 1
            raise self.wrong("in exponent of numeric literal")
