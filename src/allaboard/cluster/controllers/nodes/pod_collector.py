"""What becomes of pods that no kubelet will ever end? They are failed and removed by force.

Pods bound to a node that does not exist (it may still be coming, so it gets a while), pods deleted
before they had a node, and, if a limit is set, the oldest of too many ended pods.
"""

from allaboard.api.errors import Conflict, NotFound
from allaboard.api.meta import Json, Key, key_of
from allaboard.api.types import Pod
from allaboard.cluster.controllers.nodes.health import disruption
from allaboard.cluster.controllers.nodes.residents import Residents, has_ended, node_name
from allaboard.runtime.controller import DONE, Controller, Outcome
from allaboard.runtime.manager import Manager

QUARANTINE_S = 40.0


class PodCollector:
    def __init__(
        self, manager: Manager, residents: Residents, most_ended: int = 0, workers: int = 8
    ) -> None:
        self._client = manager.client
        self._clock = manager.clock
        self._residents = residents
        self._most_ended = most_ended
        self._ended: dict[Key, None] = {}  # oldest end first; kept only with a limit
        self.controller = manager.add(Controller("pod-collector", self.reconcile, workers))
        residents.nodes.on_change(self._node_changed)
        residents.pods.on_change(self._pod_changed)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None and old is not None:
            for pod in self._residents.on(old["metadata"]["name"]):
                self.controller.enqueue_after(key_of(pod), QUARANTINE_S)

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            if self._ended and old is not None:
                self._ended.pop(key_of(old), None)
            return
        node = node_name(new)
        if not node:
            if new["metadata"].get("deletionTimestamp"):
                self.controller.enqueue(key_of(new))
        elif (old is None or not node_name(old)) and self._residents.node(node) is None:
            self.controller.enqueue_after(key_of(new), QUARANTINE_S)
        if self._most_ended and has_ended(new):
            self._ended.setdefault(key_of(new))
            while len(self._ended) > self._most_ended:
                oldest = next(iter(self._ended))
                del self._ended[oldest]
                self.controller.enqueue(oldest)

    async def reconcile(self, key: Key) -> Outcome:
        pod = self._residents.pod(key)
        if pod is None:
            return DONE
        try:
            if has_ended(pod):
                await self._collect_ended(key, pod)
            elif not node_name(pod):
                if pod["metadata"].get("deletionGracePeriodSeconds"):
                    await self._remove(pod)
            elif self._residents.node(node_name(pod)) is None:
                await self._fail(pod)
                await self._remove(pod)
        except (NotFound, Conflict):
            return DONE
        return DONE

    async def _collect_ended(self, key: Key, pod: Json) -> None:
        orphaned = bool(node_name(pod)) and self._residents.node(node_name(pod)) is None
        too_many = bool(self._most_ended) and key not in self._ended
        if orphaned or too_many:
            await self._remove(pod)

    async def _fail(self, pod: Json) -> None:
        meta = pod["metadata"]
        said = disruption("DeletionByPodGC", "PodGC: node no longer exists", self._clock.now())
        await self._client.patch(
            Pod.KIND,
            meta["name"],
            meta["namespace"],
            {
                "metadata": {"uid": meta["uid"]},
                "status": {"phase": "Failed", "conditions": [said]},
            },
            "strategic",
            "status",
        )

    async def _remove(self, pod: Json) -> None:
        meta = pod["metadata"]
        await self._client.delete(
            Pod.KIND, meta["name"], meta["namespace"], uid=meta["uid"], grace_s=0
        )
