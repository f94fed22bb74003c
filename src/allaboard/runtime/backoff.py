"""How long to wait after the n-th failure in a row?

Waits double from `first_s` to `longest_s`; jitter spreads them upwards by a share of themselves, so
that many who failed together do not come back together. Chance comes from the generator handed in.
"""

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    first_s: float
    longest_s: float
    rng: random.Random
    jitter: float = 1.0
    failures: int = field(default=0, init=False)

    def next_s(self) -> float:
        wait_s = doubled(self.first_s, self.longest_s, self.failures)
        self.failures += 1
        return wait_s * (1.0 + self.jitter * self.rng.random())

    def reset(self) -> None:
        self.failures = 0


def doubled(first_s: float, longest_s: float, failures: int) -> float:
    """first, 2·first, 4·first … longest, without overflow for any count."""
    return longest_s if failures > 60 else min(longest_s, first_s * float(1 << failures))
