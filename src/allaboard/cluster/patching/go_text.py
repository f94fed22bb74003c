"""How does Go print a decoded JSON value? Error messages of the real server contain such text.

`plain` is the verb %v, `syntax` is %#v. Long values are cut: a message is for people.
"""

from typing import Any

MAX_LENGTH = 10_000


def plain(value: Any) -> str:
    return _cut(_plain(value))


def syntax(value: Any) -> str:
    return _cut(_syntax(value))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else text[:MAX_LENGTH] + "..."


def _plain(value: Any) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{_plain(value[k])}" for k in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(_plain, value)) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _syntax(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, dict):
        members = ", ".join(f"{_quote(k)}:{_syntax(value[k])}" for k in sorted(value))
        return "map[string]interface {}{" + members + "}"
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(_syntax, value)) + "}"
    return "interface {}(nil)" if value is None else _plain(value)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def go_type(value: Any) -> str:
    """The verb %T."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    if isinstance(value, str):
        return "string"
    if value is None:
        return "<nil>"
    return "map[string]interface {}" if isinstance(value, dict) else "[]interface {}"


def go_kind(value: Any) -> str:
    """The kind of a value, as reflection calls it."""
    if isinstance(value, dict):
        return "map"
    return "slice" if isinstance(value, list) else go_type(value)
