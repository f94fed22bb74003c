"""How much is "1.5Gi", exactly, and how does Kubernetes write it down?

A quantity is an integer of nano units plus the notation it was written in: decimal suffixes, binary
suffixes or an exponent. Parsing rounds away from zero to whole nanos; binary quantities are capped
at 2^63-1. The canonical form has no fraction and the largest suffix that needs none. A plain
number that already looks canonical keeps its spelling (`+1`, `1e03`), as the API server's parser
remembers it. Beyond exa the suffix table ends and a decimal loses its power of ten (10^21 is
written "1"): recorded behaviour, kept.

Same rules as apimachinery's resource.Quantity. Ours alone: more than 1,000 digits or an exponent
beyond ±3,000 is refused, so that no string costs more than its length.
"""

import re
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache, total_ordering
from typing import Any, Final

NANO: Final = 10**9
_MILLI: Final = 10**6  # nanos in a milli
_MAX_BINARY: Final = (2**63 - 1) * NANO
_MAX_DIGITS: Final = 1_000
_MAX_EXPONENT: Final = 3_000

FORMAT_MESSAGE: Final = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
SUFFIX_MESSAGE: Final = "unable to parse quantity's suffix"
NUMERIC_MESSAGE: Final = "unable to parse numeric part of quantity"

_SHAPE: Final = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_DECIMAL: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX: Final = {exponent // 10: suffix for suffix, exponent in _BINARY.items()}


class QuantityError(ValueError):
    """The text is no quantity; the message is the API server's."""


class Notation(Enum):
    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@total_ordering
class Quantity:
    """An exact amount. Equal means the same amount, whatever the notation."""

    __slots__ = ("nano", "notation", "text")

    def __init__(
        self, nano: int, notation: Notation = Notation.DECIMAL, text: str | None = None
    ) -> None:
        self.nano = nano
        self.notation = notation
        self.text = text  # the spelling as given, where it counts as canonical

    def __str__(self) -> str:
        if self.text is None:
            self.text = _canonical(self.nano, self.notation)
        return self.text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: "Quantity") -> bool:
        return self.nano < other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __bool__(self) -> bool:
        return self.nano != 0

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nano, self.notation)

    def __add__(self, other: "Quantity") -> "Quantity":
        notation = self.notation if self.nano else other.notation
        return Quantity(self.nano + other.nano, notation)

    def __sub__(self, other: "Quantity") -> "Quantity":
        notation = self.notation if self.nano else other.notation
        return Quantity(self.nano - other.nano, notation)

    def __mul__(self, factor: int) -> "Quantity":
        return Quantity(self.nano * factor, self.notation)

    @property
    def value(self) -> int:
        """Whole units, rounded away from zero."""
        return _divide_away(self.nano, NANO)

    @property
    def milli(self) -> int:
        """Thousandths, rounded away from zero."""
        return _divide_away(self.nano, _MILLI)

    def rounded_to_milli(self) -> "Quantity":
        """What a resource list stores: nothing finer than a milli, rounded away from zero."""
        if self.nano % _MILLI == 0:
            return self
        return Quantity(self.milli * _MILLI, self.notation)


ZERO: Final = Quantity(0, Notation.DECIMAL, "0")


def parse(value: Any) -> Quantity:
    """The quantity that a JSON value says; QuantityError if it says none. null says zero."""
    if isinstance(value, str):
        return _parse(value)
    if value is None:
        return ZERO
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _parse(repr(value))
    raise QuantityError(FORMAT_MESSAGE)


def from_units(units: int, notation: Notation = Notation.DECIMAL) -> Quantity:
    return Quantity(units * NANO, notation)


def from_milli(milli: int, notation: Notation = Notation.DECIMAL) -> Quantity:
    return Quantity(milli * _MILLI, notation)


def total(values: Iterable[Any]) -> Quantity:
    """The sum; its notation is that of the first part that is not zero."""
    result = ZERO
    for value in values:
        result = result + (value if isinstance(value, Quantity) else parse(value))
    return result


def canonical(value: Any) -> str:
    """The one spelling under which the server stores this quantity."""
    return str(parse(value))


@lru_cache(maxsize=65_536)
def canonical_milli(value: str | int | float | None) -> str:
    """As `canonical`, for the values of a resource list."""
    return str(parse(value).rounded_to_milli())


@lru_cache(maxsize=65_536)
def units(value: str | int | float | None) -> int:
    """Whole units: bytes of memory, pods, devices."""
    return parse(value).value


@lru_cache(maxsize=65_536)
def milli(value: str | int | float | None) -> int:
    """Thousandths: milli-CPUs."""
    return parse(value).milli


@lru_cache(maxsize=65_536)
def _parse(text: str) -> Quantity:
    text = text.strip()
    shape = _SHAPE.fullmatch(text)
    if not text or shape is None:
        raise QuantityError(FORMAT_MESSAGE)
    sign, whole, fraction, suffix = shape.groups("")
    exponent, notation = _interpret(suffix)
    whole = whole.lstrip("0") or "0"
    digits = whole + fraction
    if len(digits) > _MAX_DIGITS:
        raise QuantityError(NUMERIC_MESSAGE)
    amount = int(digits)
    if notation is Notation.BINARY:
        nano = min(_ceil_shift(amount << exponent, 9 - len(fraction)), _MAX_BINARY)
        if 0 < nano < NANO:
            notation = Notation.DECIMAL
        return Quantity(-nano if sign == "-" else nano, notation)
    scale = exponent - len(fraction)
    nano = _ceil_shift(amount, 9 + scale)
    # The server's parser keeps the spelling of a short number that has nothing to normalise.
    keeps_spelling = (
        len(digits) <= 18
        and scale >= -9
        and scale % 3 == 0
        and not digits.endswith("000")
        and digits[0] != "0"
    )
    return Quantity(-nano if sign == "-" else nano, notation, text if keeps_spelling else None)


def _interpret(suffix: str) -> tuple[int, Notation]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], Notation.DECIMAL
    if suffix in _BINARY:
        return _BINARY[suffix], Notation.BINARY
    tail = suffix[1:]
    if suffix[0] not in "eE" or not tail.lstrip("+-").isdigit() or len(tail) > 8:
        raise QuantityError(SUFFIX_MESSAGE)
    exponent = int(tail)
    if abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(SUFFIX_MESSAGE)
    return exponent, Notation.EXPONENT


def _ceil_shift(amount: int, places: int) -> int:
    """amount × 10^places, rounded up; amount is not negative."""
    return amount * int(10**places) if places >= 0 else -(-amount // int(10**-places))


def _divide_away(amount: int, divisor: int) -> int:
    return -(-amount // divisor) if amount >= 0 else amount // divisor


def _canonical(nano: int, notation: Notation) -> str:
    if nano == 0:
        return "0"
    if notation is Notation.BINARY and nano % NANO == 0 and abs(nano) >= 1024 * NANO:
        amount, power = _factor_out(nano // NANO, 1024)
        return f"{amount}{_BINARY_SUFFIX.get(power, '')}"
    amount, power = _factor_out(nano, 1000)
    exponent = 3 * power - 9
    if notation is Notation.EXPONENT:
        return f"{amount}e{exponent}" if exponent else str(amount)
    return f"{amount}{_DECIMAL_SUFFIX.get(exponent, '')}"


def _factor_out(amount: int, base: int) -> tuple[int, int]:
    power = 0
    while amount % base == 0:
        amount //= base
        power += 1
    return amount, power
