"""Times and durations, as Go writes and reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allaboard.api.times import (
    TimeError,
    format_duration,
    format_duration_ns,
    format_micro_time,
    format_time,
    parse_duration,
    parse_duration_ns,
    parse_micro_time,
    parse_time,
)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-01T00:00:00Z", 1767225600.0),
        ("2026-01-01T00:00:00.5Z", 1767225600.5),
        ("2026-01-01T01:30:00+01:30", 1767225600.0),
        ("2025-12-31T23:00:00-01:00", 1767225600.0),
        ("1970-01-01T00:00:00Z", 0.0),
    ],
)
def test_times_are_read(text: str, instant: float) -> None:
    assert parse_time(text) == instant


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("yesterday", 'as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"'),
        ("2026-1-01T00:00:00Z", 'cannot parse "1-01T00:00:00Z" as "01"'),
        ("2026-01-01 00:00:00Z", 'cannot parse " 00:00:00Z" as "T"'),
        ("2026-01-01T00:00:00", 'cannot parse "" as "Z07:00"'),
        ("2026-13-01T00:00:00Z", "month out of range"),
        ("2026-02-30T00:00:00Z", "day out of range"),
        ("2026-01-01T25:00:00Z", "hour out of range"),
        ("2026-01-01T00:00:00Zx", 'extra text: "x"'),
        ("", 'cannot parse "" as "2006"'),
    ],
)
def test_what_is_no_time_is_told_in_gos_words(text: str, complaint: str) -> None:
    with pytest.raises(TimeError) as refused:
        parse_time(text)
    assert str(refused.value).startswith(f'parsing time "{text}"')
    assert str(refused.value).endswith(complaint)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("2026-01-01T00:00:00Z", 'cannot parse "Z" as ".000000"'),
        ("2026-01-01T00:00:00.123Z", 'cannot parse ".123Z" as ".000000"'),
        ("2026-01-01T00:00:00.123456789Z", 'cannot parse "789Z" as "Z07:00"'),
    ],
)
def test_micro_times_have_six_digits(text: str, complaint: str) -> None:
    with pytest.raises(TimeError, match=complaint.replace(".", r"\.")):
        parse_micro_time(text)


@given(st.integers(-(10**10), 10**11))
def test_seconds_survive_writing_and_reading(second: int) -> None:
    assert parse_time(format_time(second)) == second


@given(st.integers(0, 4 * 10**15))
def test_microseconds_survive_writing_and_reading(micros: int) -> None:
    text = format_micro_time(micros / 1_000_000)
    assert round(parse_micro_time(text) * 1_000_000) == micros


def test_a_time_names_the_second_that_has_begun() -> None:
    assert format_time(1767225600.999) == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "seconds", "printed"),
    [
        ("1h30m", 5400.0, "1h30m0s"), ("90s", 90.0, "1m30s"), ("1.5s", 1.5, "1.5s"),
        ("-2m", -120.0, "-2m0s"), ("300ms", 0.3, "300ms"), ("0", 0.0, "0s"), (".5s", 0.5, "500ms"),
        ("1h0.5s", 3600.5, "1h0m0.5s"), ("10us", 1e-05, "10µs"), ("+5s", 5.0, "5s"),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float, printed: str) -> None:
    assert parse_duration(text) == pytest.approx(seconds)
    assert format_duration(parse_duration(text)) == printed


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", 'invalid duration ""'), ("5", 'missing unit in duration "5"'),
        ("5d", 'unknown unit "d" in duration "5d"'), ("s", 'invalid duration "s"'),
        ("1h5", 'missing unit in duration "1h5"'), ("-", 'invalid duration "-"'),
        ("9999999h", 'invalid duration "9999999h"'), ("1 s", 'unknown unit " s" in duration "1 s"'),
    ],
)  # fmt: skip
def test_what_is_no_duration(text: str, complaint: str) -> None:
    with pytest.raises(TimeError) as refused:
        parse_duration(text)
    assert str(refused.value) == f"time: {complaint}"


def test_a_number_of_absurd_length_is_refused_quickly() -> None:
    with pytest.raises(TimeError):
        parse_duration("9" * 100_000 + "s")


@given(st.integers(-(2**62), 2**62))
def test_durations_survive_printing_and_reading(nanos: int) -> None:
    assert parse_duration_ns(format_duration_ns(nanos)) == nanos
