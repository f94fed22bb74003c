"""Is a node fit for pods? Writes taints as conditions say, and notices nodes that fell silent.

A node that keeps a Lease in kube-node-lease is heard of by its renewals; after the grace period
without one it is Unknown. A node without a Lease is judged by its conditions alone, so simulated
nodes cost nothing while nothing happens to them.
"""

from allaboard.api.errors import Conflict, NotFound
from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.api.types import Lease, Node, Pod
from allaboard.clock import Instant
from allaboard.cluster.controllers.nodes.health import (
    ready_status,
    silent_conditions,
    wanted_taints,
)
from allaboard.cluster.controllers.nodes.residents import Residents
from allaboard.runtime.controller import DONE, Again, Controller, Outcome
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.manager import Manager

GRACE_S = 50.0
LEASES = "kube-node-lease"


class NodeLifecycle:
    def __init__(
        self,
        manager: Manager,
        residents: Residents,
        recorder: EventRecorder,
        grace_s: float = GRACE_S,
        workers: int = 8,
    ) -> None:
        self._client = manager.client
        self._clock = manager.clock
        self._residents = residents
        self._recorder = recorder
        self._grace_s = grace_s
        self._heard: dict[str, Instant] = {}  # nodes with a Lease: when it last changed
        self._doubtful: dict[str, None] = {}  # their pods must be told that they are not ready
        self._nodes = residents.nodes
        self.controller = manager.add(Controller("node-lifecycle", self.reconcile, workers))
        self._nodes.on_change(self._node_changed)
        manager.informers.of(Lease.KIND, LEASES).on_change(self._lease_changed)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            if old is not None:
                self._doubtful.pop(old["metadata"]["name"], None)
            return
        name = new["metadata"]["name"]
        if old is not None and ready_status(old) == "True" != ready_status(new):
            self._doubtful[name] = None
            self.controller.enqueue(name)
        elif wanted_taints(new, 0.0) != (new["spec"].get("taints") or []):
            self.controller.enqueue(name)

    def _lease_changed(self, old: Json | None, new: Json | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        if new is None:
            self._heard.pop(name, None)
            return
        if name not in self._heard:
            self.controller.enqueue_after(name, self._grace_s, periodic=True)
        self._heard[name] = self._clock.now()

    async def reconcile(self, name: str) -> Outcome:
        node = self._residents.node(name)
        if node is None:
            return DONE
        try:
            node = await self._notice_silence(node)
            await self._taint(node)
            if name in self._doubtful:
                del self._doubtful[name]
                await self._mark_pods(node)
        except (Conflict, NotFound):
            return Again(0.1)
        if name not in self._heard or self._silent_in(name) <= 0:
            return DONE
        return Again(self._silent_in(name), periodic=True)

    def _silent_in(self, name: str) -> float:
        return self._heard[name] + self._grace_s - self._clock.now()

    async def _notice_silence(self, node: Json) -> Json:
        name = node["metadata"]["name"]
        if name not in self._heard or self._silent_in(name) > 0:
            return node
        conditions = silent_conditions(node, self._clock.now())
        if not conditions:
            return node
        if ready_status(node) == "True":
            self._doubtful[name] = None
        return await self._client.patch(
            Node.KIND,
            name,
            patch={"status": {"conditions": conditions}},
            kind="strategic",
            subresource="status",
        )

    async def _taint(self, node: Json) -> None:
        taints = wanted_taints(node, self._clock.now())
        if taints == (node["spec"].get("taints") or []):
            return
        meta = node["metadata"]
        patch = {
            "metadata": {"resourceVersion": meta["resourceVersion"]},
            "spec": {"taints": taints or None},
        }
        await self._client.patch(Node.KIND, meta["name"], patch=patch)

    async def _mark_pods(self, node: Json) -> None:
        """Nobody knows how pods on such a node are: they no longer count as ready."""
        if ready_status(node) == "True":
            return
        name = node["metadata"]["name"]
        message = f"Node {name} status is now: NodeNotReady"
        self._recorder.record(node, "Normal", "NodeNotReady", message)
        now = format_time(self._clock.now())
        unready = {"type": "Ready", "status": "False", "lastTransitionTime": now}
        for pod in self._residents.on(name):
            if not _is_ready(pod):
                continue
            meta = pod["metadata"]
            try:
                await self._client.patch(
                    Pod.KIND,
                    meta["name"],
                    meta["namespace"],
                    {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [unready]}},
                    "strategic",
                    "status",
                )
            except (NotFound, Conflict):
                continue
            self._recorder.record(pod, "Warning", "NodeNotReady", "Node is not ready")


def _is_ready(pod: Json) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in (pod.get("status") or {}).get("conditions") or ()
    )
