"""When do the members of a gang make progress? Only while all of them are there. Pure.

A gang is the pods of one Job, or of one JobSet. Its progress is a clock of its own that runs while
as many members as expected run or have succeeded. A member's `run-for` is measured on that clock;
without `gang` every pod has its own time.
"""

from dataclasses import dataclass, field

JOBSET_UID = "jobset.sigs.k8s.io/jobset-uid"


@dataclass(slots=True)
class Gang:
    expected: int
    present: dict[str, None] = field(default_factory=dict)  # UIDs running or succeeded
    progress_s: float = 0.0
    complete_since: float | None = None
    latest_s: float = 0.0  # the last arrival: members that were there before us come in any order

    def arrive(self, uid: str, now: float) -> None:
        self.present[uid] = None
        self.latest_s = max(self.latest_s, now)
        self._settle(self.latest_s)

    def leave(self, uid: str, now: float) -> None:
        if uid in self.present:
            del self.present[uid]
            self._settle(now)

    def expect(self, count: int, now: float) -> None:
        if count != self.expected:
            self.expected = count
            self._settle(now)

    @property
    def is_complete(self) -> bool:
        return self.complete_since is not None

    def progress(self, now: float) -> float:
        running = now - self.complete_since if self.complete_since is not None else 0.0
        return self.progress_s + max(0.0, running)

    def reaches(self, target_s: float, now: float) -> float | None:
        """When progress will be `target_s` if nobody leaves; None while the gang rests."""
        left = target_s - self.progress(now)
        if left <= 1e-6:  # timers are kept to the microsecond
            return now
        return now + left if self.is_complete else None

    def _settle(self, now: float) -> None:
        complete = len(self.present) >= self.expected > 0
        if complete and self.complete_since is None:
            self.complete_since = now
        elif not complete and self.complete_since is not None:
            self.progress_s += now - self.complete_since
            self.complete_since = None
