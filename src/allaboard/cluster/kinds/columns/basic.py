"""How do names, ages and label maps look in a Table cell?"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.resource import Column

Cell = Callable[[Json, float], Any]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def human_duration(seconds: float) -> str:
    """A duration as kubectl shows ages: two units while they matter, then one."""
    s = int(seconds)
    if seconds < -1:
        return "<invalid>"
    if s < 0:
        return "0s"
    if s < 2 * _MINUTE:
        return f"{s}s"
    minutes = s // _MINUTE
    if minutes < 10:
        return f"{minutes}m" + (f"{s % 60}s" if s % 60 else "")
    if minutes < 180:
        return f"{minutes}m"
    hours = s // _HOUR
    if hours < 8:
        return f"{hours}h" + (f"{minutes % 60}m" if minutes % 60 else "")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{hours // 24}d" + (f"{hours % 24}h" if hours % 24 else "")
    days = hours // 24
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return f"{days // 365}y" + (f"{days % 365}d" if days % 365 else "")
    return f"{days // 365}y"


def seconds_of(stamp: str) -> float | None:
    """Seconds since 1970 of an RFC 3339 time, None when it is not one."""
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None


def age(stamp: str | None, now: float) -> str:
    if not stamp:
        return "<unknown>"
    at = seconds_of(stamp)
    return "<unknown>" if at is None else human_duration(now - at)


def pairs(labels: Mapping[str, str] | None) -> str:
    """`a=b,c=d`, or <none>."""
    return ",".join(f"{k}={v}" for k, v in sorted((labels or {}).items())) or "<none>"


def selector_text(selector: Json | None) -> str:
    """A LabelSelector as text, as `kubectl get -o wide` shows it."""
    if selector is None:
        return "<none>"
    parts = [(k, f"{k}={v}") for k, v in (selector.get("matchLabels") or {}).items()]
    for term in selector.get("matchExpressions") or ():
        key, values = term.get("key", ""), ",".join(sorted(term.get("values") or ()))
        match term.get("operator"):
            case "In":
                parts.append((key, f"{key} in ({values})"))
            case "NotIn":
                parts.append((key, f"{key} notin ({values})"))
            case "Exists":
                parts.append((key, key))
            case _:
                parts.append((key, f"!{key}"))
    return ",".join(text for _, text in sorted(parts)) or "<none>"


def name_cell(obj: Json, now: float) -> Any:
    del now
    return obj["metadata"].get("name", "")


def age_cell(obj: Json, now: float) -> Any:
    return age(obj["metadata"].get("creationTimestamp"), now)


NAME = Column("Name", "string", name_cell, "name", "The object's name.")
AGE = Column("Age", "string", age_cell, "", "How long ago the object was created.")


def field_cell(*path: str, default: Any = "") -> Cell:
    """The value at a path, or `default`."""

    def cell(obj: Json, now: float) -> Any:
        del now
        value: Any = obj
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return default if value is None else value

    return cell


def length_cell(*keys: str) -> Cell:
    """How many entries the named maps or lists have together."""

    def cell(obj: Json, now: float) -> Any:
        del now
        return sum(len(obj.get(key) or ()) for key in keys)

    return cell


def number_cell(*path: str) -> Cell:
    """As `field_cell`; what is not there counts as none."""
    return field_cell(*path, default=0)


def text_column(name: str, cell: Cell, description: str, priority: int = 0) -> Column:
    return Column(name, "string", cell, "", description, priority)
