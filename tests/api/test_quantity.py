"""Quantities: the spelling that the server stores, and arithmetic without loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api import quantity
from allaboard.api.quantity import (
    FORMAT_MESSAGE,
    NUMERIC_MESSAGE,
    SUFFIX_MESSAGE,
    Notation,
    Quantity,
    QuantityError,
    canonical,
    canonical_milli,
    parse,
    total,
)


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("0", "0"), ("00", "0"), ("-0", "0"), (".", "0"), ("Ki", "0"), ("e3", "0"), ("0e5", "0"),
        ("1000", "1k"), ("1001", "1001"), ("1000m", "1"), ("1500m", "1500m"), ("0.5", "500m"),
        (".5", "500m"), ("1.10", "1100m"), ("1.100", "1.100"), ("+1", "+1"), ("01", "01"),
        ("1.", "1."), ("1e3", "1e3"), ("1E3", "1E3"), ("1e+3", "1e+3"), ("1.2e3", "1200"),
        ("1.2345e3", "1234500e-3"), ("1e19", "10e18"), ("1e1000", "10e999"), ("5e-10", "1e-9"),
        ("1n", "1n"), ("0.1n", "1n"), ("1000n", "1u"), ("1.0005", "1000500u"),
        ("1024Ki", "1Mi"), ("1.5Gi", "1536Mi"), ("0.1Gi", "107374182400m"), ("0.5Ki", "512"),
        ("0.0000001Ki", "102400n"), ("7Ei", "7Ei"), ("8Ei", "9223372036854775807"),
        ("100E", "100E"), ("1000000000000000000000", "1"), ("9" * 22, "9" * 22), (" 1 ", "1"),
        ("-1.5", "-1500m"), ("-1Ki", "-1Ki"), ("-100Ei", "-9223372036854775807"),
        (1, "1"), (1.5, "1500m"), (1e21, "1e+21"), (10**19, "10E"), (None, "0"),
    ],
)  # fmt: skip
def test_canonical_form(written: object, stored: str) -> None:
    assert canonical(written) == stored


@pytest.mark.parametrize(
    ("written", "stored"),
    [("1n", "1m"), ("1500u", "2m"), ("1.0000000001", "1001m"), ("1e-100", "1e-3"),
     ("1.100", "1.100"), ("-1500u", "-2m"), ("1.000000001Ki", "1024001m")],
)  # fmt: skip
def test_resource_lists_round_up_to_milli(written: str, stored: str) -> None:
    assert canonical_milli(written) == stored


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", FORMAT_MESSAGE), ("abc", FORMAT_MESSAGE), ("1Z", FORMAT_MESSAGE),
        ("1e3k", FORMAT_MESSAGE), ("1..5", FORMAT_MESSAGE), ("½", FORMAT_MESSAGE),
        ("１", FORMAT_MESSAGE), (True, FORMAT_MESSAGE), ({}, FORMAT_MESSAGE), ([], FORMAT_MESSAGE),
        ("--1", SUFFIX_MESSAGE), ("1K", SUFFIX_MESSAGE), ("1e", SUFFIX_MESSAGE),
        ("1mk", SUFFIX_MESSAGE), ("1-", SUFFIX_MESSAGE), ("1e999999999", SUFFIX_MESSAGE),
        ("1e-999999999999999999999", SUFFIX_MESSAGE), ("9" * 100_000, NUMERIC_MESSAGE),
    ],
)  # fmt: skip
def test_what_is_no_quantity_is_told_in_the_servers_words(written: object, message: str) -> None:
    with pytest.raises(QuantityError) as refused:
        parse(written)
    assert str(refused.value) == message


amounts = st.builds(
    Quantity, st.integers(-(10**30), 10**30), st.sampled_from([Notation.DECIMAL, Notation.EXPONENT])
)


@given(amounts)
def test_the_canonical_form_means_the_same_amount(amount: Quantity) -> None:
    """Written and read again nothing is lost, up to where the suffixes end."""
    if amount.notation is Notation.DECIMAL and amount.nano % 10**30 == 0 and amount:
        return  # beyond exa a decimal loses its power of ten
    assert parse(str(amount)) == amount


@given(st.integers(0, 2**63 - 1), st.sampled_from(["", "Ki", "Mi", "Gi"]))
def test_canonical_is_stable(number: int, suffix: str) -> None:
    once = canonical(f"{number}{suffix}")
    assert canonical(once) == once


@given(amounts, amounts)
def test_order_and_sum_agree_with_the_numbers(a: Quantity, b: Quantity) -> None:
    assert (a < b) == (a.nano < b.nano)
    assert (a + b) - b == a
    assert total([a, b]).nano == a.nano + b.nano
    assert a.value >= a.nano / 10**9 or a.nano < 0


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP ", max_size=12))
def test_any_text_is_a_quantity_or_a_told_error(text: str) -> None:
    try:
        value = parse(text)
    except QuantityError as error:
        assert str(error) in (FORMAT_MESSAGE, SUFFIX_MESSAGE, NUMERIC_MESSAGE)
    else:
        kept = parse(str(value))
        assert kept == value or value.nano % 10**30 == 0


def test_units_and_milli_round_away_from_zero() -> None:
    assert (quantity.units("1.5Gi"), quantity.units("100m")) == (1610612736, 1)
    assert (quantity.milli("1.5"), quantity.milli("1u"), quantity.milli("-1u")) == (1500, 1, -1)
    assert str(quantity.from_milli(1500)) == "1500m"
    assert str(quantity.from_units(1536 * 2**20, Notation.BINARY)) == "1536Mi"
    assert str(parse("1Gi") * 3) == "3Gi"
    assert str(parse("0") + parse("1Gi")) == "1Gi"
    assert repr(-parse("1Gi")) == "Quantity('-1Gi')"
