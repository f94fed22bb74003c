"""Which pods must leave a node because of its taints, and when?"""

from allaboard.api.errors import Conflict, NotFound
from allaboard.api.meta import Json, Key, key_of
from allaboard.api.types import Pod
from allaboard.cluster.controllers.nodes.health import (
    Since,
    disruption,
    evicting_taints,
    eviction_time,
    taints_since,
)
from allaboard.cluster.controllers.nodes.residents import Residents, has_ended, node_name
from allaboard.runtime.controller import DONE, Again, Controller, Outcome
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.manager import Manager


class TaintEviction:
    def __init__(
        self, manager: Manager, residents: Residents, recorder: EventRecorder, workers: int = 8
    ) -> None:
        self._client = manager.client
        self._clock = manager.clock
        self._residents = residents
        self._recorder = recorder
        self._tainted: dict[str, Since] = {}
        self.controller = manager.add(Controller("taint-eviction", self.reconcile, workers))
        residents.nodes.on_change(self._node_changed)
        residents.pods.on_change(self._pod_changed)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        before = self._tainted.pop(name, {})
        since = taints_since(evicting_taints(new), before, self._clock.now()) if new else {}
        if since:
            self._tainted[name] = since
        if since != before:  # pods that may stay after all are told so, too
            for pod in self._residents.on(name):
                self.controller.enqueue(key_of(pod))

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            assert old is not None
            self.controller.dismiss(key_of(old))
        elif self._tainted and node_name(new) in self._tainted:
            spec_changed = old is None or old["spec"] is not new["spec"]
            if spec_changed and (old is None or old["spec"] != new["spec"]):
                self.controller.enqueue(key_of(new))

    async def reconcile(self, key: Key) -> Outcome:
        pod = self._residents.pod(key)
        if pod is None or has_ended(pod) or pod["metadata"].get("deletionTimestamp"):
            return DONE
        node = self._residents.node(node_name(pod)) if node_name(pod) else None
        if node is None:
            return DONE
        now = self._clock.now()
        since = self._tainted.get(node_name(pod), {})
        due = eviction_time(pod, evicting_taints(node), since, now)
        if due is None:
            return DONE
        if due > now:
            return Again(due - now)
        try:
            await self._evict(pod)
        except (NotFound, Conflict):
            return DONE  # already gone, or replaced by a namesake
        return DONE

    async def _evict(self, pod: Json) -> None:
        meta = pod["metadata"]
        said = disruption(
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
            self._clock.now(),
        )
        await self._client.patch(
            Pod.KIND,
            meta["name"],
            meta["namespace"],
            {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [said]}},
            "strategic",
            "status",
        )
        message = f"Marking for deletion Pod {meta['namespace']}/{meta['name']}"
        self._recorder.record(pod, "Normal", "TaintManagerEviction", message)
        await self._client.delete(Pod.KIND, meta["name"], meta["namespace"], uid=meta["uid"])
