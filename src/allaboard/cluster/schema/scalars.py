"""What do times and binary data look like once Go has read and rewritten them?

Each function takes what a JSON string held and gives the form in which it is stored, or raises
`ValueError` with Go's sentence. Results are remembered: the same instants come again and again.
"""

import binascii
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_MICRO_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
# (what Go's layout calls it, what may stand there)
_ELEMENTS = (
    ("2006", re.compile(r"(?P<year>\d{4})")),
    ("-", re.compile("-")),
    ("01", re.compile(r"(?P<month>\d{2})")),
    ("-", re.compile("-")),
    ("02", re.compile(r"(?P<day>\d{2})")),
    ("T", re.compile("T")),
    ("15", re.compile(r"(?P<hour>\d{1,2})")),
    (":", re.compile(":")),
    ("04", re.compile(r"(?P<minute>\d{2})")),
    (":", re.compile(":")),
)
_SECOND = ("05", re.compile(r"(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?"))
_WHOLE_SECOND = ("05", re.compile(r"(?P<second>\d{2})"))
_MICROS = (".000000", re.compile(r"[.,](?P<fraction>\d{6})"))
_ZONE = ("Z07:00", re.compile(r"Z|(?P<sign>[+-])(?P<zone_hour>\d{2}):(?P<zone_minute>\d{2})"))
_USUAL_TIME = re.compile(r"[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:[0-5]\dZ", re.ASCII)
_TIME = (*_ELEMENTS, _SECOND, _ZONE)
_MICRO_TIME = (*_ELEMENTS, _WHOLE_SECOND, _MICROS, _ZONE)
_LIMITS = (("month", 1, 12), ("day", 1, 31), ("hour", 0, 23), ("minute", 0, 59), ("second", 0, 59))


@lru_cache(maxsize=8192)
def normal_time(text: str) -> str:
    """A `Time`: whole seconds, UTC."""
    if _USUAL_TIME.fullmatch(text):
        try:
            datetime.fromisoformat(text)
            return text
        except ValueError:
            pass  # read closely, to say what is wrong
    return _read(text, _LAYOUT, _TIME).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


@lru_cache(maxsize=8192)
def normal_micro_time(text: str) -> str:
    """A `MicroTime`: exactly six digits of fraction, UTC."""
    return _read(text, _MICRO_LAYOUT, _MICRO_TIME).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _read(text: str, layout: str, elements: tuple[tuple[str, re.Pattern[str]], ...]) -> datetime:
    found: dict[str, str] = {}
    at = 0
    for name, pattern in elements:
        match = pattern.match(text, at)
        if match is None:
            raise ValueError(
                f'parsing time "{text}" as "{layout}": cannot parse "{text[at:]}" as "{name}"'
            )
        found.update({k: v for k, v in match.groupdict().items() if v is not None})
        at = match.end()
    for name, low, high in _LIMITS:
        if not low <= int(found[name]) <= high:
            raise ValueError(f'parsing time "{text}": {name} out of range')
    if at < len(text):
        raise ValueError(f'parsing time "{text}": extra text: "{text[at:]}"')
    try:
        moment = datetime(*(int(found[n]) for n in ("year", "month", "day", "hour", "minute")))  # type: ignore[arg-type]
        moment = moment.replace(second=int(found["second"]), tzinfo=UTC)
        moment = moment.replace(microsecond=int(found.get("fraction", "0")[:6].ljust(6, "0")))
        if "sign" in found:
            offset = timedelta(hours=int(found["zone_hour"]), minutes=int(found["zone_minute"]))
            moment += -offset if found["sign"] == "+" else offset
    except (ValueError, OverflowError) as error:
        raise ValueError(f'parsing time "{text}": day out of range') from error
    return moment


def normal_base64(text: str) -> str:
    """Standard base64 with padding; line breaks inside are dropped, as Go's decoder drops them."""
    if "\n" in text or "\r" in text:
        text = text.replace("\n", "").replace("\r", "")
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"illegal base64 data at input byte {_bad_byte(text)}") from error
    return binascii.b2a_base64(data, newline=False).decode("ascii")


_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_BASE64_LETTERS = re.compile(r"[A-Za-z0-9+/]*")


def _bad_byte(text: str) -> int:
    """Where Go's decoder gives up: at a foreign character, else at the end of whole groups."""
    letters = _BASE64_LETTERS.match(text)
    whole = _BASE64.match(text)
    assert letters and whole, "both patterns match the empty string"
    end = letters.end()
    if end < len(text) and text[end] != "=":
        return end
    return whole.end() if whole.end() < len(text) else len(text)
