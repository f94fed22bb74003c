"""How long must a Job wait before it replaces a failed pod? 10 s, doubling, at most 10 min."""

from collections.abc import Sequence
from dataclasses import dataclass

from allaboard.api.meta import Json
from allaboard.clock import Instant
from allaboard.cluster.controllers.job.facts import PodFacts, finished_at

FIRST_S = 10.0
MOST_S = 600.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Failures since the last success, and when the latest of them happened."""

    failures: int = 0
    last_failure: Instant = 0.0

    def after(self, succeeded: Sequence[PodFacts], failed: Sequence[PodFacts]) -> "Backoff":
        """The record once these newly ended pods are taken in."""
        if not succeeded and not failed:
            return self
        failures = sorted(finished_at(pod) for pod in failed)
        if not succeeded:
            return Backoff(self.failures + len(failures), failures[-1])
        last_success = max(finished_at(pod) for pod in succeeded)
        later = [at for at in failures if at > last_success]
        return Backoff(len(later), later[-1]) if later else Backoff()

    def remaining_s(self, now: Instant) -> float:
        return remaining_s(self.failures, self.last_failure, now)


def remaining_s(failures: int, last_failure: Instant, now: Instant) -> float:
    if failures == 0:
        return 0.0
    delay = min(MOST_S, FIRST_S * 2.0 ** min(failures - 1, 16))
    return max(0.0, last_failure + delay - now)


def recalled(job: Json, pods: Sequence[PodFacts]) -> Backoff:
    """The record as the ended pods tell it, for a controller that has only just started."""
    status = job.get("status") or {}
    pending = status.get("uncountedTerminatedPods") or {}
    if not status.get("failed") and not pending.get("failed"):
        return Backoff()
    named = {*(pending.get("succeeded") or ()), *(pending.get("failed") or ())}
    counted = [pod for pod in pods if not pod.tracked or pod.uid in named]
    failed = [pod for pod in counted if pod.phase == "Failed" or pod.terminating]
    return Backoff().after([pod for pod in counted if pod.succeeded], failed)
