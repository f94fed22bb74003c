"""Carries out what `judgement` says, fed by every change of the store.

Each write is bound to the state it was decided on: deletions by UID, patches by resourceVersion.
"""

from allaboard.api.errors import NotFound
from allaboard.api.meta import Json
from allaboard.cluster.controllers.feed import StoreFeed
from allaboard.cluster.controllers.gc.census import Census
from allaboard.cluster.controllers.gc.graph import Graph, Item, Reference
from allaboard.cluster.controllers.gc.judgement import Judgement, Owner, judge
from allaboard.cluster.store.records import Change, Record
from allaboard.runtime.controller import DONE, Controller, Outcome
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.manager import Manager

# The owner's own controller usually has something to tidy up on its dependents: let it go first.
SETTLING_S = 0.02


class GarbageCollector:
    def __init__(
        self, manager: Manager, feed: StoreFeed, recorder: EventRecorder, workers: int = 20
    ) -> None:
        self._store = feed.store
        self._client = manager.client
        self._recorder = recorder
        self._census = Census(feed.store)
        self._graph = Graph()
        self.controller = manager.add(Controller("garbage-collector", self.reconcile, workers))
        feed.follow(self)

    def changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self._gone(change.record)
        elif change.previous is None or not _same_ties(change.previous, change.record):
            self._seen(change.record)

    def begin(self) -> None:
        self._graph = Graph()
        for resource in self._store.resources():
            for record in self._store.list(resource, None)[:1]:
                self._census.kind_of(record)
        for resource in self._store.resources():
            for record in self._store.list(resource, None):
                self._seen(record)

    def _seen(self, record: Record) -> None:
        kind = self._census.kind_of(record)
        meta = record.obj["metadata"]
        uid = meta.get("uid", "")
        if not (
            meta.get("ownerReferences") or meta.get("deletionTimestamp") or uid in self._graph.items
        ):
            return
        item = Item(kind, record.obj)
        old = self._graph.put(item)
        if item.waits_for_dependents or item.orphans_dependents:
            self._enqueue(uid)
            if old is None or not old.waits_for_dependents:
                for dependent in self._graph.dependents(uid):
                    self._enqueue(dependent.uid)
        elif any(self._census.fate(item, owner) is not Owner.SOLID for owner in item.owners):
            self._enqueue(uid)
        if old is not None and old.owners != item.owners:
            self._wake_owners(old)

    def _gone(self, record: Record) -> None:
        uid = record.obj["metadata"].get("uid", "")
        old = self._graph.remove(uid)
        for dependent in self._graph.dependents(uid):
            self.controller.enqueue_after(dependent.uid, SETTLING_S)
        if old is not None:
            self._wake_owners(old)

    def _wake_owners(self, item: Item) -> None:
        for owner in item.owners:
            known = self._graph.items.get(owner.uid)
            if known is not None and known.waits_for_dependents:
                self._enqueue(owner.uid)

    def _enqueue(self, uid: str) -> None:
        self.controller.enqueue(uid)

    async def reconcile(self, uid: str) -> Outcome:
        item = self._graph.items.get(uid)
        if item is None:
            return DONE
        record = self._census.record_of(item)
        if record is None:
            return DONE  # its deletion is on the way to us
        item = Item(item.kind, record.obj)  # news may be ahead of what the graph has heard
        verdict = judge(item, self._graph, self._census.fate)
        for reference in verdict.foreign:
            self._warn(record.obj, item, reference)
        try:
            await self._carry_out(item, record, verdict)
        except NotFound:
            pass  # somebody was faster
        for dependent in verdict.look_at:
            self._enqueue(dependent.uid)
        return DONE

    async def _carry_out(self, item: Item, record: Record, verdict: Judgement) -> None:
        for dependent in verdict.orphan:
            await self._drop_owners(dependent, (item.uid,))
        if verdict.drop_finalizer:
            finalizers = [f for f in item.finalizers if f != verdict.drop_finalizer]
            await self._patch(item, record, {"finalizers": finalizers or None})
        if verdict.drop_owners:
            await self._drop_owners(item, verdict.drop_owners)
        if verdict.unblock:
            owners = record.obj["metadata"].get("ownerReferences") or []
            eased = [{**owner, "blockOwnerDeletion": False} for owner in owners]
            await self._patch(item, record, {"ownerReferences": eased})
        if verdict.delete == "Background":
            await self._client.delete(
                item.kind, item.name, item.namespace, uid=item.uid, propagation="Background"
            )
        elif verdict.delete:
            await self._client.delete(
                item.kind,
                item.name,
                item.namespace,
                uid=item.uid,
                propagation="Foreground" if verdict.delete == "Foreground" else "Orphan",
            )

    async def _drop_owners(self, item: Item, uids: tuple[str, ...]) -> None:
        record = self._census.record_of(item)
        if record is None:
            return
        owners = record.obj["metadata"].get("ownerReferences") or []
        left = [owner for owner in owners if owner.get("uid") not in uids]
        if len(left) == len(owners):
            return
        try:
            await self._patch(item, record, {"ownerReferences": left or None})
        except NotFound:
            return

    async def _patch(self, item: Item, record: Record, metadata: Json) -> None:
        bound = {"resourceVersion": str(record.rev), **metadata}
        await self._client.patch(item.kind, item.name, item.namespace, {"metadata": bound})

    def _warn(self, obj: Json, item: Item, owner: Reference) -> None:
        self._recorder.record(
            obj,
            "Warning",
            "OwnerRefInvalidNamespace",
            f"ownerRef [{owner.api_version}/{owner.kind}, namespace: {item.namespace}, "
            f"name: {owner.name}, uid: {owner.uid}] does not exist in namespace "
            f'"{item.namespace}"',
        )


def _same_ties(old: Record, new: Record) -> bool:
    """Whether a change, as most do, left alone what is looked at here."""
    before, after = old.obj["metadata"], new.obj["metadata"]
    return bool(
        before.get("ownerReferences") == after.get("ownerReferences")
        and before.get("finalizers") == after.get("finalizers")
        and before.get("deletionTimestamp") == after.get("deletionTimestamp")
    )
