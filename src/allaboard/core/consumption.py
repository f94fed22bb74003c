"""How much did each LocalQueue consume lately? Admission fair sharing inside a ClusterQueue.

The shell samples what a LocalQueue consumed; older consumption counts half as much after each
half-life. What was admitted since the last sample weighs in at once as a penalty, so that a burst
does not slip in between two samples. The load of a LocalQueue is the weighted sum over resources,
divided by its weight: the lightest goes first.

    load = Σ over resources: weight(r) · (consumed(r) · 0.5^(age / half-life) + penalty(r)) ÷ weight
    penalty = (1 − 0.5^(sampling / half-life)) · requested

Everything derives from samples and reservation times, so a restart loses nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum, inf

from allaboard.core.values import Instant, LocalQueueKey, Policies


@dataclass(slots=True)
class _Account:
    consumed: Mapping[str, float] = field(default_factory=dict)  # by resource
    sampled_at: Instant = -inf
    penalties: dict[str, tuple[Instant, Mapping[str, int]]] = field(default_factory=dict)  # by UID


class Consumption:
    def __init__(self, policies: Policies) -> None:
        self._policies = policies
        self._accounts: dict[LocalQueueKey, _Account] = {}
        self._weights: dict[LocalQueueKey, int] = {}
        self.now: Instant = 0.0  # of the step under way

    def put_weight(self, key: LocalQueueKey, weight_milli: int) -> None:
        self._weights[key] = weight_milli

    def forget(self, key: LocalQueueKey) -> None:
        self._weights.pop(key, None)
        self._accounts.pop(key, None)

    def sample(self, key: LocalQueueKey, consumed: Mapping[str, float], at: Instant) -> None:
        """What the LocalQueue had consumed by `at`, decayed until then; settles penalties."""
        account = self._accounts.setdefault(key, _Account())
        account.consumed, account.sampled_at = consumed, at
        settled = [uid for uid, (since, _) in account.penalties.items() if since <= at]
        for uid in settled:
            del account.penalties[uid]

    def charge(
        self, key: LocalQueueKey, uid: str, requested: Mapping[str, int], at: Instant
    ) -> None:
        account = self._accounts.setdefault(key, _Account())
        if at > account.sampled_at:
            account.penalties[uid] = (at, requested)

    def refund(self, key: LocalQueueKey, uid: str) -> None:
        account = self._accounts.get(key)
        if account is not None:
            account.penalties.pop(uid, None)

    def load(self, key: LocalQueueKey) -> float:
        account = self._accounts.get(key)
        if account is None:
            return 0.0
        half_life = self._policies.usage_half_life_s
        weights = self._policies.resource_weights
        kept = 0.5 ** (max(0.0, self.now - account.sampled_at) / half_life) if half_life else 0.0
        due = 1 - 0.5 ** (self._policies.usage_sampling_s / half_life) if half_life else 1.0
        parts = [weights.get(r, 1.0) * kept * amount for r, amount in account.consumed.items()]
        for _, requested in account.penalties.values():
            parts += [weights.get(r, 1.0) * due * amount for r, amount in requested.items()]
        total = fsum(parts)  # the same in whatever order they were told
        weight = self._weights.get(key, 1000)
        if not weight:
            return inf if total else 0.0
        return total * 1000 / weight
