"""Workloads that no queue will ever consider: who tells them, and what?

A missing LocalQueue or ClusterQueue, or cohorts that form a circle, keep a workload out of every
line, so the core never speaks of it. The condition says which of them it is; when that is mended
the workload is considered like any other and the sentence goes with its next one.
"""

from allaboard.api.errors import Conflict, NotFound
from allaboard.api.kueue import reasons
from allaboard.api.kueue.types.queues import ClusterQueue, Cohort, LocalQueue
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json, Key
from allaboard.core.ledger import Ledger
from allaboard.core.values import LocalQueueKey
from allaboard.queueing.conditions import Say, changed, find, says
from allaboard.runtime.controller import Controller, Done, Outcome
from allaboard.runtime.manager import Manager


def stray_words(obj: Json, ledger: Ledger) -> str | None:
    """Why no queue considers this workload; None if one does, or if it does not want to run."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    finished = find(status.get("conditions") or [], reasons.FINISHED)
    if not spec.get("active", True) or status.get("admission") or finished is not None:
        return None
    name = str(spec.get("queueName") or "")
    local = ledger.local_queues.get(LocalQueueKey(obj["metadata"]["namespace"], name))
    if local is None:
        return f"LocalQueue {name} doesn't exist"
    if local.cluster_queue not in ledger.queues:
        return f"ClusterQueue {local.cluster_queue} doesn't exist"
    if ledger.forest.is_broken(local.cluster_queue):
        return f"ClusterQueue {local.cluster_queue} is inactive: its cohorts form a cycle"
    return None


class Strays:
    def __init__(self, manager: Manager, ledger: Ledger) -> None:
        """Made after the scheduler, so that the ledger hears of everything first."""
        self._client, self._clock, self._ledger = manager.client, manager.clock, ledger
        informers = manager.informers
        self._workloads = informers.of(Workload.KIND)
        self.controller = manager.add(Controller("strays", self.reconcile, workers=2))
        self._workloads.on_change(self._workload_changed)
        informers.of(LocalQueue).on_change(self._queues_changed)
        informers.of(ClusterQueue).on_change(self._queues_changed)
        informers.of(Cohort).on_change(self._queues_changed)

    def _workload_changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None and stray_words(new, self._ledger) is not None:
            self.controller.enqueue(_key(new))

    def _queues_changed(
        self,
        old: LocalQueue | ClusterQueue | Cohort | None,
        new: LocalQueue | ClusterQueue | Cohort | None,
    ) -> None:
        if old is not None and new is not None and old.spec == new.spec:
            return  # a status write is no news
        for obj in self._workloads.all():
            if stray_words(obj, self._ledger) is not None:
                self.controller.enqueue(_key(obj))

    async def reconcile(self, key: Key) -> Outcome:
        obj = self._workloads.get(key)
        words = stray_words(obj, self._ledger) if obj is not None else None
        if obj is None or words is None:
            return Done()
        conditions = (obj.get("status") or {}).get("conditions") or []
        say = Say(reasons.QUOTA_RESERVED, "False", reasons.MISCONFIGURED, words)
        if says(conditions, say):
            return Done()
        meta = obj["metadata"]
        told = changed(conditions, [say], self._clock.now(), int(meta.get("generation") or 0))
        identity = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        patch = {"metadata": identity, "status": {"conditions": told}}
        try:
            await self._client.patch(
                Workload.KIND, key.name, key.namespace, patch, subresource="status"
            )
        except (NotFound, Conflict):
            pass  # changed meanwhile; the informer will bring it again
        return Done()


def _key(obj: Json) -> Key:
    return Key(obj["metadata"]["namespace"], obj["metadata"]["name"])
