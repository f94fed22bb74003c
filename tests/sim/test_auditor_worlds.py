"""Random worlds under the auditor: no rule broken, nobody left behind, and silence in the end."""

import pytest
from random_world import RandomWorld

QUICK = (2, 5)


def check(seed: int, minutes: int) -> None:
    outcome = RandomWorld(seed, minutes).run()
    assert [str(v) for v in outcome.violations] == [], f"seed {seed}"
    assert outcome.unfinished == [], f"seed {seed}: these fit and never ended"
    assert outcome.quiet_writes == 0, f"seed {seed}: written though nothing changed"


@pytest.mark.parametrize("seed", QUICK)
def test_a_random_hour_breaks_no_rule(seed: int) -> None:
    check(seed, minutes=60)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200))
def test_two_hundred_random_minutes_break_no_rule(seed: int) -> None:
    check(seed, minutes=200)
