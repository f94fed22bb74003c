"""When is a Job looked at, and by whom? The shell around `sync`.

A change of the spec is acted on at once; what pods do is gathered for a second, so that a gang
that starts or ends together costs one look and one status.
"""

from allaboard.api.meta import Json, Key, key_of
from allaboard.api.types import Job, Pod
from allaboard.cluster.controllers.job import claims
from allaboard.cluster.controllers.job.backoff import Backoff, recalled
from allaboard.cluster.controllers.job.carrying_out import Hands
from allaboard.cluster.controllers.job.facts import PodFacts
from allaboard.cluster.controllers.job.mirror import (
    PodMirror,
    controller_of,
    is_job,
    job_key,
)
from allaboard.cluster.controllers.job.plan import is_finished
from allaboard.cluster.controllers.job.sync import is_ours, sync
from allaboard.runtime.controller import DONE, Again, Controller, Outcome
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.manager import Manager

BATCH_S = 1.0


class JobController:
    def __init__(self, manager: Manager, recorder: EventRecorder, workers: int = 10) -> None:
        self._clock = manager.clock
        self._mirror = PodMirror()
        self._hands = Hands(manager.client, manager.clock, recorder)
        self._backoffs: dict[str, Backoff] = {}
        self._jobs = manager.informers.of(Job.KIND)
        self._jobs.add_index("adopting namespace", _adopting_namespace)
        pods = manager.informers.of(Pod.KIND)
        self.jobs = manager.add(Controller("job", self.reconcile, workers))
        self.leftovers = manager.add(Controller("job-leftovers", self.reconcile_leftover, workers))
        self._jobs.on_change(self._job_changed)
        pods.on_change(self._pod_changed)

    # What happens outside

    def _job_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            assert old is not None
            self._forget(old)
            return
        key = key_of(new)
        if is_finished(new):
            self._sweep(new)
        elif old is None or _generation(old) != _generation(new):
            self.jobs.enqueue(key)
        else:
            self.jobs.enqueue_after(key, BATCH_S)

    def _forget(self, job: Json) -> None:
        self._backoffs.pop(job["metadata"]["uid"], None)
        self.jobs.dismiss(key_of(job))
        self._sweep(job)

    def _sweep(self, job: Json) -> None:
        """Nobody counts the pods of a Job that is over: let them go."""
        if is_ours(job):
            for pod in self._mirror.owned_by(job["metadata"]["uid"]):
                if pod.tracked:
                    self._enqueue_leftover(pod.obj)

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            assert old is not None
            self._mirror.drop(old["metadata"]["uid"])
            self._wake_job_of(old)
            return
        facts = self._mirror.put(new)
        if old is not None and controller_of(old["metadata"]) != controller_of(new["metadata"]):
            self._wake_job_of(old)
        if controller_of(new["metadata"]) is None:
            self._unowned_changed(old, new, facts)
        elif self._wake_job_of(new) is None and facts.tracked and job_key(new):
            self._enqueue_leftover(new)

    def _wake_job_of(self, pod: Json) -> Json | None:
        """Have a look at the Job that controls this pod, soon; None if there is no such Job."""
        job = self._job_of(pod)
        if job is not None and not is_finished(job):
            self.jobs.enqueue_after(
                Key(job["metadata"]["namespace"], job["metadata"]["name"]), BATCH_S
            )
        return job

    def _job_of(self, pod: Json) -> Json | None:
        owner = controller_of(pod["metadata"])
        if owner is None or not is_job(owner):
            return None
        job = self._jobs.get(Key(pod["metadata"]["namespace"], owner["name"]))
        if job is None or job["metadata"]["uid"] != owner["uid"]:
            return None
        return job

    def _unowned_changed(self, old: Json | None, new: Json, facts: PodFacts) -> None:
        labels = new["metadata"].get("labels") or {}
        interested = [job for job in self._adopters(new) if claims.selects(job, labels)]
        for job in interested:
            self.jobs.enqueue_after(key_of(job), BATCH_S)
        if facts.tracked and not (interested and old is None):
            self._enqueue_leftover(new)

    def _adopters(self, pod: Json) -> list[Json]:
        """Jobs that might select this pod: those with a selector of their own, and its old one."""
        meta = pod["metadata"]
        jobs = list(self._jobs.by_index("adopting namespace", meta["namespace"]))
        old = self._jobs.by_uid((meta.get("labels") or {}).get(claims.UID_LABEL, ""))
        return [*jobs, old] if old is not None else jobs

    def _enqueue_leftover(self, pod: Json) -> None:
        self.leftovers.enqueue(pod["metadata"]["uid"])

    # What we do about it

    async def reconcile(self, key: Key) -> Outcome:
        job = self._jobs.get(key)
        if job is None or not is_ours(job) or is_finished(job):
            return DONE
        uid = job["metadata"]["uid"]
        pods = await self._claimed(job)
        backoff = self._backoffs.get(uid) or recalled(job, pods)
        plan = sync(job, pods, self._clock.now(), backoff)
        assert plan is not None
        await self._hands.carry_out(job, plan)
        if plan.ending is None and (plan.backoff.failures or uid in self._backoffs):
            self._backoffs[uid] = plan.backoff
        return DONE if plan.wake_after_s is None else Again(plan.wake_after_s)

    async def _claimed(self, job: Json) -> list[PodFacts]:
        """The Job's pods, after it has adopted what it selects and let go what it does not."""
        owned = self._mirror.owned_by(job["metadata"]["uid"])
        for pod in claims.strays(job, owned):
            await self._hands.patch_pod(pod, claims.release(job, pod))
            owned.remove(pod)
        for pod in claims.adoptable(job, self._mirror.unowned_in(job["metadata"]["namespace"])):
            owned += await self._hands.patch_pod(pod, claims.adoption(job, pod))
        return owned

    async def reconcile_leftover(self, uid: str) -> Outcome:
        """A pod that is tracked although no Job will count it loses the finalizer."""
        pod = self._mirror.get(uid)
        if pod is None or not pod.tracked:
            return DONE
        owner = controller_of(pod.obj["metadata"])
        if owner is not None and not is_job(owner):
            return DONE
        job = self._job_of(pod.obj)
        if job is None or (is_ours(job) and is_finished(job)):
            await self._hands.untrack(pod)
        return DONE


def _adopting_namespace(job: Json) -> list[str]:
    manual = job["spec"].get("manualSelector") and not is_finished(job)
    return [job["metadata"]["namespace"]] if manual else []


def _generation(job: Json) -> int:
    generation: int = job["metadata"].get("generation", 0)
    return generation
