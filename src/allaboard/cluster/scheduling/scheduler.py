"""The loop around the scheduling decision: who waits, in which order, and what wakes them.

Pods wait in one heap by priority and age. A pod that fits nowhere is parked with all others of its
shape; news that could help (a node changed, a pod left) brings the parked back, and the first
refusal of a shape parks the rest of it again without asking. A decision is assumed in memory
before it is written, and forgotten if the write is refused. Decisions are made in memory one after
the other; writes go out behind them.
"""

import asyncio
import heapq
import logging
from collections.abc import Coroutine
from typing import Any

from allaboard.api.errors import ApiError, Conflict, NotFound
from allaboard.api.meta import Json, Key
from allaboard.api.times import format_time
from allaboard.api.types.model import find_condition
from allaboard.api.types.nodes import Node
from allaboard.api.types.pods import Pod
from allaboard.client.client import Client
from allaboard.cluster.scheduling.decide import Bind, ClusterState, Refused, decide
from allaboard.cluster.scheduling.preemption import Preempt, find_preemption, render_refusal
from allaboard.cluster.scheduling.views import PodView, node_view, pod_view
from allaboard.runtime.events import EventRecorder, EventType
from allaboard.runtime.manager import Manager

NAME = "default-scheduler"
RETRY_S = 1.0  # after a write that failed for a reason that may pass
DONE = ("Succeeded", "Failed")
log = logging.getLogger(__name__)


class Scheduler:
    def __init__(self, manager: Manager, client: Client, name: str = NAME) -> None:
        self._client, self._clock = client, manager.clock
        self.recorder = EventRecorder(client, manager.clock, manager.rng, name)
        self._name = name
        self._pods = manager.informers.of(Pod)
        self._nodes = manager.informers.of(Node)
        self._state = ClusterState()
        self._places: dict[str, str] = {}  # UID -> node on which the pod is counted
        self._orphans: dict[str, dict[str, PodView]] = {}  # node not seen yet -> its pods
        self._waiting: dict[str, PodView] = {}  # UID -> pod without a node
        self._heap: list[tuple[tuple[int, float, str, str, str], str]] = []
        self._parked: dict[bytes, dict[str, None]] = {}  # shape -> UIDs
        self._news = asyncio.Event()
        self._writes: set[asyncio.Task[None]] = set()
        self._pods.on_change(self._pod_changed)
        self._nodes.on_change(self._node_changed)

    # News

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None or new.status.phase in DONE:
            pod = new or old
            assert pod is not None
            self._drop_waiting(pod.uid)
            self._release(pod.uid)
        elif new.spec.node_name:
            self._drop_waiting(new.uid)
            if new.uid not in self._places:
                self._count(pod_view(new), new.spec.node_name)
            elif self._places[new.uid] != new.spec.node_name:
                self._release(new.uid)
                self._count(pod_view(new), new.spec.node_name)
        elif self._is_ours(new):
            self._wait(old, new)
        else:
            self._drop_waiting(new.uid)

    def _is_ours(self, pod: Pod) -> bool:
        named = (pod.spec.scheduler_name or NAME) == self._name
        gated = bool(pod.spec.scheduling_gates) or pod.metadata.deletion_timestamp is not None
        return named and not gated and pod.uid not in self._places

    def _wait(self, old: Pod | None, new: Pod) -> None:
        known = new.uid in self._waiting
        if known and old is not None and old.spec == new.spec and _same_labels(old, new):
            self._waiting[new.uid].nominated = new.status.nominated_node_name
            return
        view = pod_view(new)
        if known:
            self._unpark(self._waiting[new.uid])
        self._waiting[new.uid] = view
        self._push(view)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            assert old is not None
            gone = self._state.nodes.get(old.name)
            for uid in list(gone.pods) if gone else ():
                del self._places[uid]
            self._state.drop_node(old.name)
            return
        if old is not None and _looks_the_same(old, new):
            return  # a heartbeat
        self._state.put_node(node_view(new))
        for pod in self._orphans.pop(new.name, {}).values():
            self._state.add_pod(pod, new.name)
        self._revive()

    # Memory

    def _count(self, pod: PodView, node: str) -> None:
        self._places[pod.uid] = node
        if node in self._state.nodes:
            self._state.add_pod(pod, node)
        else:
            self._orphans.setdefault(node, {})[pod.uid] = pod
        if self._parked and pod.labels:
            self._revive_minding()

    def _release(self, uid: str) -> None:
        node = self._places.pop(uid, None)
        if node is None:
            return
        self._state.remove_pod(uid, node)
        self._orphans.get(node, {}).pop(uid, None)
        self._revive()

    def _push(self, pod: PodView) -> None:
        heapq.heappush(self._heap, (pod.order, pod.uid))
        self._news.set()

    def _park(self, pod: PodView) -> None:
        self._parked.setdefault(pod.shape, {})[pod.uid] = None

    def _unpark(self, pod: PodView) -> None:
        self._parked.get(pod.shape, {}).pop(pod.uid, None)

    def _drop_waiting(self, uid: str) -> None:
        pod = self._waiting.pop(uid, None)
        if pod is not None:
            self._unpark(pod)

    def _revive(self) -> None:
        """Something got better somewhere: everybody may try again, in order."""
        parked, self._parked = self._parked, {}
        for uids in parked.values():
            for uid in uids:
                self._push(self._waiting[uid])

    def _revive_minding(self) -> None:
        """A pod found its place: only those that want to be near others can gain by it."""
        for shape in [s for s, uids in self._parked.items() if self._minds(uids)]:
            for uid in self._parked.pop(shape):
                self._push(self._waiting[uid])

    def _minds(self, uids: dict[str, None]) -> bool:
        return any(self._waiting[uid].minds_others for uid in list(uids)[:1])

    # The loop

    async def run(self) -> None:
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                self.schedule_all()
        finally:
            for task in list(self._writes):
                task.cancel()

    def schedule_all(self) -> None:
        """Decide for everybody in the heap; hopeless shapes are refused once."""
        refused: dict[bytes, Refused] = {}
        while self._heap:
            _, uid = heapq.heappop(self._heap)
            pod = self._waiting.get(uid)
            if pod is None or uid in self._parked.get(pod.shape, {}):
                continue
            answer = refused.get(pod.shape) or decide(pod, self._state)
            if isinstance(answer, Bind):
                self._bind(pod, answer.node)
                continue
            preempt = self._find_preemption(pod, answer) if answer.resolvable else None
            refused[pod.shape] = answer
            self._park(pod)
            if preempt is not None:
                for victim in preempt.victims:  # nobody else of this pass counts on them
                    victim.terminating = True
                self._spawn(self._displace(pod, answer, preempt))
            else:
                self._tell_refusal(pod, render_refusal(pod, answer))

    def _find_preemption(self, pod: PodView, refused: Refused) -> Preempt | None:
        """Nobody is displaced while an earlier displacement for this pod is still under way."""
        node = self._state.nodes.get(pod.nominated) if pod.nominated else None
        if node is not None and any(p.terminating for p in node.pods.values()):
            return None
        return find_preemption(pod, refused, self._state)

    def _bind(self, pod: PodView, node: str) -> None:
        del self._waiting[pod.uid]
        self._count(pod, node)
        self._spawn(self._write_binding(pod, node))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    # Writes

    async def _write_binding(self, pod: PodView, node: str) -> None:
        binding: Json = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self._client.post(Pod, pod.name, pod.namespace, "binding", binding)
        except ApiError as error:
            await self._retract(pod, node, error)
            return
        words = f"Successfully assigned {pod.namespace}/{pod.name} to {node}"
        self._record(pod, "Normal", "Scheduled", words, "Binding")

    async def _retract(self, pod: PodView, node: str, error: ApiError) -> None:
        """The binding was refused: the assumption goes, the pod waits again if it still exists."""
        if self._places.get(pod.uid) == node:
            self._release(pod.uid)
        if isinstance(error, NotFound | Conflict):
            return  # deleted, or bound by another; the informer will say so
        log.warning("binding refused", extra={"pod": f"{pod.namespace}/{pod.name}", "node": node})
        await asyncio.sleep(RETRY_S)
        current = self._pods.get(Key(pod.namespace, pod.name))
        if current is not None and current.uid == pod.uid and self._is_ours(current):
            self._wait(None, current)

    async def _displace(self, pod: PodView, refused: Refused, preempt: Preempt) -> None:
        await self._write_refusal(pod, refused.headline, nominated=preempt.node)
        for victim in preempt.victims:
            await self._evict(pod, victim, preempt.node)

    async def _evict(self, pod: PodView, victim: PodView, node: str) -> None:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": f"{self._name}: preempting to accommodate a higher priority pod",
            "lastTransitionTime": format_time(self._clock.now()),
            "observedGeneration": victim.generation,
        }
        patch = self._condition_patch(victim, condition)
        try:
            await self._client.patch(
                Pod.KIND, victim.name, victim.namespace,
                patch=patch, kind="strategic", subresource="status",
            )  # fmt: skip
            await self._client.delete(Pod, victim.name, victim.namespace, uid=victim.uid)
        except (NotFound, Conflict):
            return  # it left by itself
        victim.terminating = True
        words = f"Preempted by pod {pod.uid} on node {node}"
        self._record(victim, "Normal", "Preempted", words, "Preempting")

    def _condition_patch(self, pod: PodView, condition: Json) -> Json:
        """One condition, set in its place or put last; a merge alone would put it first."""
        current = self._pods.get(Key(pod.namespace, pod.name))
        types = [c.type for c in current.status.conditions] if current else []
        if condition["type"] not in types:
            types.append(condition["type"])
        order = [{"type": name} for name in types]
        status = {"conditions": [condition], "$setElementOrder/conditions": order}
        return {"metadata": {"uid": pod.uid}, "status": status}

    def _tell_refusal(self, pod: PodView, message: str) -> None:
        """Write the refusal unless the pod says so already; repeating it helps nobody."""
        current = self._pods.get(Key(pod.namespace, pod.name))
        known = find_condition(current.status.conditions, "PodScheduled") if current else None
        if known is not None and known.reason == "Unschedulable" and known.message == message:
            return
        self._spawn(self._write_refusal(pod, message))

    async def _write_refusal(self, pod: PodView, message: str, nominated: str = "") -> None:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": message,
            "lastProbeTime": None,
            "lastTransitionTime": format_time(self._clock.now()),
            "observedGeneration": pod.generation,
        }
        patch = self._condition_patch(pod, condition)
        if nominated:
            patch["status"]["nominatedNodeName"] = nominated
        try:
            await self._client.patch(
                Pod.KIND, pod.name, pod.namespace,
                patch=patch, kind="strategic", subresource="status",
            )  # fmt: skip
        except (NotFound, Conflict):
            return
        self._record(pod, "Warning", "FailedScheduling", message, "Scheduling")

    def _record(
        self, pod: PodView, type_: EventType, reason: str, message: str, action: str
    ) -> None:
        regarding = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        }
        self.recorder.record(regarding, type_, reason, message, action)


def _same_labels(old: Pod, new: Pod) -> bool:
    return old.metadata.labels == new.metadata.labels


def _looks_the_same(old: Node, new: Node) -> bool:
    return (
        old.spec == new.spec
        and old.metadata.labels == new.metadata.labels
        and old.status.allocatable == new.status.allocatable
    )


def install(manager: Manager, client: Client, name: str = NAME) -> Scheduler:
    """Schedule pods beside the manager's controllers, writing as `client`."""
    scheduler = Scheduler(manager, client, name)
    manager.spawn(scheduler.recorder.run, "scheduler events")
    manager.spawn(scheduler.run, "scheduler")
    return scheduler
