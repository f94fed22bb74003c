"""Keeps the queues' statuses true, and lets go of queues and flavors that nobody uses any more.

Statuses are coalesced: a change marks its queues, and each is written at most once a second and
only if it says something new. A ClusterQueue goes when nobody holds quota in it, a ResourceFlavor
when no ClusterQueue names it.
"""

from allaboard.api.errors import Conflict, NotFound
from allaboard.api.kueue import names
from allaboard.api.kueue.types.flavors import ResourceFlavor
from allaboard.api.kueue.types.queues import ClusterQueue, LocalQueue
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json, Key, Kind
from allaboard.api.types.model import typed
from allaboard.core.ledger import Ledger
from allaboard.queueing.queue_status import cluster_queue_status, local_queue_status
from allaboard.runtime.controller import Controller, Done, Outcome
from allaboard.runtime.manager import Manager

COALESCE_S = 1.0


class QueueControllers:
    def __init__(self, manager: Manager, ledger: Ledger) -> None:
        self._client, self._clock, self._ledger = manager.client, manager.clock, ledger
        informers = manager.informers
        self._cluster_queues = informers.of(ClusterQueue.KIND)
        self._local_queues = informers.of(LocalQueue.KIND)
        self._flavors = informers.of(ResourceFlavor.KIND)
        workloads = informers.of(Workload.KIND)
        self.cluster = manager.add(Controller("cluster-queues", self._reconcile_cluster_queue, 4))
        self.local = manager.add(Controller("local-queues", self._reconcile_local_queue, 4))
        self.flavors = manager.add(Controller("flavors", self._reconcile_flavor))
        self._cluster_queues.on_change(self._cluster_queue_changed)
        self._local_queues.on_change(self._local_queue_changed)
        self._flavors.on_change(self._flavor_changed)
        workloads.on_change(self._workload_changed)

    # News

    def _cluster_queue_changed(self, old: Json | None, new: Json | None) -> None:
        changed = new or old
        assert changed is not None
        if new is None or old is None or old.get("spec") != new.get("spec") or _is_going(new):
            self.cluster.enqueue(_key(changed))
            for local in self._local_queues.all():
                if (local.get("spec") or {}).get("clusterQueue") == changed["metadata"]["name"]:
                    self.local.enqueue(_key(local))
            for flavor in self._flavors.all():
                if _is_going(flavor):
                    self.flavors.enqueue(_key(flavor))

    def _local_queue_changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.local.enqueue(_key(new))

    def _flavor_changed(self, old: Json | None, new: Json | None) -> None:
        for queue in self._cluster_queues.all():
            self.cluster.enqueue(_key(queue))
        if new is not None and _is_going(new):
            self.flavors.enqueue(_key(new))

    def _workload_changed(self, old: Json | None, new: Json | None) -> None:
        for obj in (old, new):
            if obj is None:
                continue
            queue = (obj.get("spec") or {}).get("queueName") or ""
            key = Key(obj["metadata"]["namespace"], queue)
            local = self._local_queues.get(key)
            if local is None:
                continue
            self.local.enqueue_after(key, COALESCE_S)
            cluster = Key("", str((local.get("spec") or {}).get("clusterQueue") or ""))
            self.cluster.enqueue_after(cluster, COALESCE_S)

    # Writes

    async def _reconcile_cluster_queue(self, key: Key) -> Outcome:
        obj = self._cluster_queues.get(key)
        if obj is None or key.name not in self._ledger.queues:
            return Done()
        if _is_going(obj) and not self._ledger.queues[key.name].reserved:
            return await self._let_go(ClusterQueue.KIND, obj)
        view = typed(ClusterQueue, obj)
        wanted = cluster_queue_status(obj, view, self._ledger, self._clock.now())
        return await self._write_status(ClusterQueue.KIND, obj, wanted)

    async def _reconcile_local_queue(self, key: Key) -> Outcome:
        obj = self._local_queues.get(key)
        if obj is None:
            return Done()
        view = typed(LocalQueue, obj)
        wanted = local_queue_status(obj, view, self._ledger, self._clock.now())
        return await self._write_status(LocalQueue.KIND, obj, wanted)

    async def _reconcile_flavor(self, key: Key) -> Outcome:
        obj = self._flavors.get(key)
        if obj is None or not _is_going(obj):
            return Done()
        users = [q for q in self._cluster_queues.all() if key.name in _flavors_of(q)]
        return Done() if users else await self._let_go(ResourceFlavor.KIND, obj)

    async def _write_status(self, kind: Kind, obj: Json, wanted: Json) -> Outcome:
        if wanted == (obj.get("status") or {}):
            return Done()
        meta = obj["metadata"]
        patch = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "status": wanted}
        try:
            await self._client.patch(
                kind, meta["name"], meta.get("namespace") or "", patch, subresource="status"
            )
        except NotFound:
            pass  # gone meanwhile
        return Done()

    async def _let_go(self, kind: Kind, obj: Json) -> Outcome:
        meta = obj["metadata"]
        left = [f for f in meta.get("finalizers") or [] if f != names.RESOURCE_IN_USE]
        if left == (meta.get("finalizers") or []):
            return Done()
        version = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        try:
            await self._client.patch(
                kind, meta["name"], patch={"metadata": {**version, "finalizers": left}}
            )
        except (NotFound, Conflict):
            pass  # the informer will bring what it is now
        return Done()


def _key(obj: Json) -> Key:
    return Key(obj["metadata"].get("namespace") or "", obj["metadata"]["name"])


def _is_going(obj: Json) -> bool:
    return obj["metadata"].get("deletionTimestamp") is not None


def _flavors_of(queue: Json) -> list[str]:
    groups = (queue.get("spec") or {}).get("resourceGroups") or []
    return [str(f["name"]) for group in groups for f in group.get("flavors") or []]
