"""Does a string have the format its schema names? Only formats a custom resource may ask for.

Names that are not listed are not checked, as Kubernetes does. Where Python's own parsers accept
more than Go's, the pattern comes first. Patterns of authors run in a linear-time engine, since
they come from strangers.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any

import jsonschema_rs

_DATE_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_GO_DURATION = re.compile(r"[-+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+", re.ASCII)
_WORDY_DURATION = re.compile(
    r"(\s*\d+\s*(ns|nano|us|µs|micro|ms|milli|s|sec|m|min|h|hr|hour|d|day|w|wk|week)s?)+", re.ASCII
)
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.I)
_HOST = re.compile(
    r"(?=.{1,253}$)([a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?)"
    r"(\.[a-zA-Z0-9_]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?)*\.?"
)
_EMAIL = re.compile(r"[^\s@<>\"]+@[^\s@<>\"]+")
_MAC = re.compile(r"([0-9a-fA-F]{2}[:-]){5}([0-9a-fA-F]{2})")
_HEX_COLOUR = re.compile(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_URI = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*:[^\s]+|/[^\s]*)")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN = re.compile(
    r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
)
_DIGITS = re.compile(r"[0-9 -]+X?", re.I)


def _is_date_time(text: str) -> bool:
    if not _DATE_TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text[:19].upper())
    except ValueError:
        return False
    return True


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_byte(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _parses(parser: Callable[[str], Any]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            parser(text)
        except ValueError:
            return False
        return True

    return check


def _is_cidr(text: str) -> bool:
    return "/" in text and _parses(lambda t: ipaddress.ip_network(t, strict=False))(text)


def _is_duration(text: str) -> bool:
    return text == "0" or bool(_GO_DURATION.fullmatch(text) or _WORDY_DURATION.fullmatch(text))


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda text: pattern.fullmatch(text) is not None


CHECKS: dict[str, Callable[[str], bool]] = {
    "date-time": _is_date_time,
    "datetime": _is_date_time,
    "date": _is_date,
    "byte": _is_byte,
    "ipv4": _parses(ipaddress.IPv4Address),
    "ipv6": _parses(ipaddress.IPv6Address),
    "cidr": _is_cidr,
    "duration": _is_duration,
    "uuid": _matches(_UUID),
    "uuid3": _matches(_UUID),
    "uuid4": _matches(_UUID),
    "uuid5": _matches(_UUID),
    "hostname": _matches(_HOST),
    "email": _matches(_EMAIL),
    "mac": _matches(_MAC),
    "hexcolor": _matches(_HEX_COLOUR),
    "uri": _matches(_URI),
    "isbn": _matches(_DIGITS),
    "isbn10": _matches(_DIGITS),
    "isbn13": _matches(_DIGITS),
    "k8s-short-name": _matches(_LABEL),
    "k8s-long-name": _matches(_SUBDOMAIN),
}


@lru_cache(maxsize=4096)
def pattern_check(pattern: str) -> jsonschema_rs.Draft4Validator | None:
    """A validator that searches for `pattern`; None when it is no regular expression."""
    try:
        return jsonschema_rs.Draft4Validator(
            {"type": "string", "pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions()
        )
    except ValueError:
        return None


def matches(pattern: str, text: str) -> bool:
    check = pattern_check(pattern)
    return check is None or check.is_valid(text)
