"""How does Kubernetes write instants and durations?

`Time` is RFC 3339 in whole seconds, UTC; `MicroTime` has exactly six digits of fraction. Reading
is Go's: offsets allowed, any fraction for a Time, the exact layout for a MicroTime, and errors in
the words of Go's time package. Durations are Go's: `1h2m3.5s`.
"""

import re
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Final

from allaboard.clock import Instant

_LAYOUT: Final = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT: Final = "2006-01-02T15:04:05.000000Z07:00"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_ZONE: Final = re.compile(r"Z|[+-]\d\d:\d\d", re.ASCII)
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_UNIT_NS: Final = {
    "ns": 1, "us": 1_000, "µs": 1_000, "μs": 1_000, "ms": 10**6, "s": 10**9,
    "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_MAX_NS: Final = 2**63 - 1


class TimeError(ValueError):
    """The text is no time or duration; the message is Go's."""


@lru_cache(maxsize=4_096)
def _format_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def format_time(instant: Instant) -> str:
    """As `Time`: the second that has begun."""
    return _format_second(int(instant // 1))


def format_micro_time(instant: Instant) -> str:
    """As `MicroTime`, to the nearest microsecond."""
    second, micro = divmod(round(instant * 1_000_000), 1_000_000)
    return f"{_format_second(second)[:-1]}.{micro:06d}Z"


@lru_cache(maxsize=16_384)
def parse_time(text: str) -> Instant:
    """The instant that a `Time` or `MicroTime` says; TimeError in Go's words otherwise."""
    return _parse(text, _LAYOUT, micro=False)


@lru_cache(maxsize=16_384)
def parse_micro_time(text: str) -> Instant:
    """As `parse_time`, but strictly six digits of fraction, as the server demands of MicroTime."""
    return _parse(text, _MICRO_LAYOUT, micro=True)


# The fixed parts of a layout in reading order: (digits, what Go calls the element).
_PARTS: Final = (
    (4, "2006"), (0, "-"), (2, "01"), (0, "-"), (2, "02"), (0, "T"),
    (2, "15"), (0, ":"), (2, "04"), (0, ":"), (2, "05"),
)  # fmt: skip


def _parse(text: str, layout: str, micro: bool) -> Instant:
    numbers: list[int] = []
    rest = text
    for digits, element in _PARTS:
        width = digits or 1
        piece = rest[:width]
        fits = piece.isascii() and piece.isdigit() and len(piece) == width if digits else None
        if not (fits if digits else piece == element):
            raise _cannot(text, layout, rest, element)
        if digits:
            numbers.append(int(piece))
        rest = rest[width:]
    micros, rest = _fraction(text, layout, rest, micro)
    zone = _ZONE.match(rest)
    if zone is None:
        raise _cannot(text, layout, rest, "Z07:00")
    if zone.end() != len(rest):
        raise TimeError(f'parsing time "{text}": extra text: "{rest[zone.end() :]}"')
    try:
        moment = datetime(*numbers, tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError as error:
        raise TimeError(f'parsing time "{text}": {_out_of_range(numbers)} out of range') from error
    return (moment - _EPOCH).total_seconds() + micros / 1_000_000 - _offset_s(zone.group())


def _fraction(text: str, layout: str, rest: str, micro: bool) -> tuple[int, str]:
    found = re.match(r"[.,](\d+)", rest, re.ASCII)
    if micro:
        if found is None or len(found.group(1)) < 6:
            raise _cannot(text, layout, rest, ".000000")
        return int(found.group(1)[:6]), rest[7:]
    if found is None:
        return 0, rest
    return int(found.group(1)[:6].ljust(6, "0")), rest[found.end() :]


def _offset_s(zone: str) -> int:
    if zone == "Z":
        return 0
    seconds = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    return -seconds if zone[0] == "-" else seconds


def _out_of_range(numbers: list[int]) -> str:
    limits = (("month", numbers[1], 1, 12), ("day", numbers[2], 1, 28))
    for name, number, low, high in limits:
        if not low <= number <= high:
            return name
    for name, number, high in zip(
        ("hour", "minute", "second"), numbers[3:], (23, 59, 59), strict=True
    ):
        if number > high:
            return name
    return "day"


def _cannot(text: str, layout: str, rest: str, element: str) -> TimeError:
    return TimeError(f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{element}"')


@lru_cache(maxsize=4_096)
def parse_duration_ns(text: str) -> int:
    """Nanoseconds of a Go duration such as `1h30m`, `-1.5s`, `0`."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0
    if not body:
        raise TimeError(f'time: invalid duration "{text}"')
    total = Fraction(0)
    at = 0
    while at < len(body):
        part = _DURATION.match(body, at)
        if part is None or len(part.group(1)) > 64:  # nobody writes that; int() refuses 4,300
            raise TimeError(_duration_fault(text, body[at:]))
        total += Fraction(part.group(1).rstrip(".") or "0") * _UNIT_NS[part.group(2)]
        at = part.end()
    nanos = int(total)
    if nanos > _MAX_NS:
        raise TimeError(f'time: invalid duration "{text}"')
    return -nanos if text[0] == "-" else nanos


def _duration_fault(text: str, rest: str) -> str:
    number = re.match(r"\d*\.?\d*", rest, re.ASCII)
    length = number.end() if number is not None else 0
    if not any(c.isdigit() for c in rest[:length]):
        return f'time: invalid duration "{text}"'
    unit = re.match(r"[^\d.]*", rest[length:], re.ASCII)
    name = unit.group() if unit is not None else ""
    if not name:
        return f'time: missing unit in duration "{text}"'
    return f'time: unknown unit "{name}" in duration "{text}"'


def parse_duration(text: str) -> float:
    """Seconds of a Go duration."""
    return parse_duration_ns(text) / 10**9


def format_duration(seconds: float) -> str:
    """As Go prints a duration: `1h0m0s`, `1.5s`, `20ms`, `0s`."""
    return format_duration_ns(round(seconds * 10**9))


def format_duration_ns(nanos: int) -> str:
    if nanos == 0:
        return "0s"
    sign, nanos = ("-", -nanos) if nanos < 0 else ("", nanos)
    for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 10**6)):
        if nanos < min(size * 1_000, 10**9):
            return f"{sign}{_decimal(nanos, size)}{unit}"
    minutes, below_minute = divmod(nanos, _UNIT_NS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(below_minute, 10**9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else f"{sign}{text}"


def _decimal(amount: int, size: int) -> str:
    """amount/size without trailing zeros; size is a power of ten."""
    whole, rest = divmod(amount, size)
    if rest == 0:
        return str(whole)
    return f"{whole}.{str(rest).rjust(len(str(size)) - 1, '0').rstrip('0')}"
