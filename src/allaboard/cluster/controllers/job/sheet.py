"""What is known about a Job and its pods at the start of one decision, counted once."""

from collections.abc import Callable, Sequence

from allaboard.api.meta import Json
from allaboard.clock import Instant
from allaboard.cluster.controllers.job import indexes, policies
from allaboard.cluster.controllers.job.facts import (
    NO_INDEX,
    PodFacts,
    failure_count,
    finished_at,
    ignored_failure_count,
)
from allaboard.cluster.controllers.job.indexes import Indexes
from allaboard.cluster.controllers.job.plan import Ending


class Sheet:
    """The work sheet of one decision; `active`, `ready` and `terminating` follow the plan."""

    def __init__(self, job: Json, pods: Sequence[PodFacts], now: Instant) -> None:
        self.job = job
        self.spec: Json = job["spec"]
        self.now = now
        self.pods = pods
        self.ending: Ending | None = None
        status = job.get("status") or {}
        pending = status.get("uncountedTerminatedPods") or {}
        self.uncounted_succeeded = frozenset(pending.get("succeeded") or ())
        self.uncounted_failed = frozenset(pending.get("failed") or ())
        self.suspended = bool(self.spec.get("suspend"))
        self.indexed = self.spec.get("completionMode") == "Indexed"
        self.per_index = self.indexed and self.spec.get("backoffLimitPerIndex") is not None
        self.policy: Json | None = self.spec.get("podFailurePolicy")
        self.replace_only_ended = (
            self.policy is not None or self.spec.get("podReplacementPolicy") == "Failed"
        )
        self.active_pods = [pod for pod in pods if pod.active]
        self.active = len(self.active_pods)
        self.ready = sum(pod.ready for pod in self.active_pods)
        self.terminating = sum(pod.terminating for pod in pods)
        self.new_succeeded = self._new(self.uncounted_succeeded, lambda pod: pod.succeeded)
        self.new_failed = self._new(self.uncounted_failed, self.has_failed)
        self.failed: int = (
            status.get("failed", 0)
            + len(self.uncounted_failed)
            + sum(policies.judge_failure(self.policy, pod).counted for pod in self.new_failed)
        )
        self.succeeded: int = (
            status.get("succeeded", 0) + len(self.uncounted_succeeded) + len(self.new_succeeded)
        )
        self.old_succeeded_indexes: Indexes = indexes.EMPTY
        self.succeeded_indexes: Indexes = indexes.EMPTY
        self.failed_indexes: Indexes = indexes.EMPTY
        # Failed pods that keep their finalizer until a successor carries their failure count on.
        self.kept: dict[int, PodFacts] = {}
        if self.indexed:
            self._read_indexes(status)

    def _read_indexes(self, status: Json) -> None:
        completions = self.spec["completions"]
        self.old_succeeded_indexes = indexes.parse(
            status.get("completedIndexes") or "", completions
        )
        self.succeeded_indexes = indexes.with_members(
            self.old_succeeded_indexes,
            {pod.index for pod in self.pods if pod.succeeded and pod.tracked and self.counts(pod)},
        )
        self.succeeded = indexes.total(self.succeeded_indexes)
        if self.per_index:
            self.failed_indexes = indexes.with_members(
                indexes.parse(status.get("failedIndexes") or "", completions),
                {pod.index for pod in self.pods if self.counts(pod) and self._fails_index(pod)},
            )
            self._choose_kept()

    def counts(self, pod: PodFacts) -> bool:
        """Whether the pod's index is one the Job (still) has."""
        return not self.indexed or NO_INDEX < pod.index < self.spec["completions"]

    def has_failed(self, pod: PodFacts) -> bool:
        """A pod that is being deleted counts as failed, unless its real end is waited for."""
        if pod.phase == "Failed":
            return True
        return not self.replace_only_ended and pod.terminating

    def _new(self, known: frozenset[str], ended: Callable[[PodFacts], bool]) -> list[PodFacts]:
        return [
            pod
            for pod in self.pods
            if pod.tracked and pod.uid not in known and ended(pod) and self.counts(pod)
        ]

    def _fails_index(self, pod: PodFacts) -> bool:
        if not self.has_failed(pod):
            return False
        verdict = policies.judge_failure(self.policy, pod)
        if verdict.action == "FailIndex":
            return True
        limit: int = self.spec["backoffLimitPerIndex"]
        return verdict.counted and failure_count(pod) >= limit

    def _choose_kept(self) -> None:
        running = {pod.index for pod in self.active_pods}
        for pod in self.pods:
            if not (pod.tracked and self.has_failed(pod) and self.counts(pod)):
                continue
            if pod.index in running or self.is_decided(pod.index):
                continue
            other = self.kept.get(pod.index)
            if other is None or _age(other) <= _age(pod):
                self.kept[pod.index] = pod

    def is_decided(self, index: int) -> bool:
        """Whether the index has succeeded or failed for good."""
        return indexes.contains(self.succeeded_indexes, index) or indexes.contains(
            self.failed_indexes, index
        )


def _age(pod: PodFacts) -> tuple[int, Instant]:
    return failure_count(pod) + ignored_failure_count(pod), finished_at(pod)
