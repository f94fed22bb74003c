"""When does a finished Job go? `ttlSecondsAfterFinished` after it finished, with its pods."""

from allaboard.api.errors import Conflict, NotFound
from allaboard.api.meta import Json, Key, key_of
from allaboard.api.times import parse_time
from allaboard.api.types import Job
from allaboard.clock import Instant
from allaboard.runtime.controller import DONE, Again, Controller, Outcome
from allaboard.runtime.manager import Manager


def due_at(job: Json) -> Instant | None:
    """When the Job is to be deleted; None if it has not finished or may stay."""
    ttl = job["spec"].get("ttlSecondsAfterFinished")
    if ttl is None or job["metadata"].get("deletionTimestamp"):
        return None
    for condition in (job.get("status") or {}).get("conditions") or ():
        ended = condition.get("type") in ("Complete", "Failed")
        if ended and condition.get("status") == "True" and condition.get("lastTransitionTime"):
            return parse_time(condition["lastTransitionTime"]) + float(ttl)
    return None


class FinishedJobs:
    def __init__(self, manager: Manager, workers: int = 5) -> None:
        self._client = manager.client
        self._clock = manager.clock
        self._jobs = manager.informers.of(Job.KIND)
        self.controller = manager.add(Controller("ttl-after-finished", self.reconcile, workers))
        self._jobs.on_change(self._changed)

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            assert old is not None
            self.controller.dismiss(key_of(old))
        elif due_at(new) is not None:
            self.controller.enqueue(key_of(new))

    async def reconcile(self, key: Key) -> Outcome:
        job = self._jobs.get(key)
        due = due_at(job) if job is not None else None
        if job is None or due is None:
            return DONE
        early = due - self._clock.now()
        if early > 0:
            return Again(early)
        meta = job["metadata"]
        try:
            # Bound to what we saw: a longer TTL set meanwhile must win.
            await self._client.delete(
                Job.KIND,
                key.name,
                key.namespace,
                uid=meta["uid"],
                resource_version=meta["resourceVersion"],
                propagation="Foreground",
            )
        except (NotFound, Conflict):
            return DONE  # the change that stood in the way wakes us again
        return DONE
