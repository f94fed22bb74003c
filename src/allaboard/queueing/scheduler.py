"""The shell round the core: news in, decisions out, and never a decision of its own.

Informers feed the ledger; `run` wakes on news or at the next deadline, steps, and hands each
decision to the outbox. A write that is refused is told to the ledger, which then decides again on
what the server really holds.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import TypeVar, assert_never

from allaboard.api.errors import ApiError, NotFound
from allaboard.api.kueue import reasons
from allaboard.api.kueue.types.flavors import ResourceFlavor
from allaboard.api.kueue.types.queues import ClusterQueue, Cohort, LocalQueue
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json, Key
from allaboard.api.types.core import Namespace
from allaboard.api.types.model import Object, typed
from allaboard.core import cycle
from allaboard.core.decisions import (
    Admit,
    Deactivate,
    Decision,
    Evict,
    Park,
    Preempted,
    Reserve,
    Resume,
    Unreserve,
)
from allaboard.core.ledger import Ledger
from allaboard.core.values import LocalQueueKey, Policies
from allaboard.queueing import decided, messages, translate
from allaboard.queueing.conditions import find
from allaboard.queueing.outbox import Intent, Outbox
from allaboard.runtime.informer import Informer
from allaboard.runtime.manager import Manager

NO_POLICIES = Policies()
SLICE = 200  # decisions in one go, before others get a turn
log = logging.getLogger(__name__)
T = TypeVar("T", bound=Object)


class AdmissionScheduler:
    def __init__(self, manager: Manager, policies: Policies = NO_POLICIES) -> None:
        self.ledger = Ledger(policies)
        self._client, self._clock = manager.client, manager.clock
        self._events = manager.recorder
        self._outbox = Outbox()
        self._news = asyncio.Event()
        informers = manager.informers
        self._workloads: Informer[Json] = informers.of(Workload.KIND)
        self._workloads.on_change(self._workload_changed)
        informers.of(ResourceFlavor).on_change(self._flavor_changed)
        informers.of(ClusterQueue).on_change(self._cluster_queue_changed)
        informers.of(Cohort).on_change(self._cohort_changed)
        informers.of(LocalQueue).on_change(self._local_queue_changed)
        informers.of(Namespace).on_change(self._namespace_changed)
        manager.spawn(self._outbox.run, "admission outbox")
        manager.spawn(self.run, "admission scheduler")

    # News

    def _flavor_changed(self, old: ResourceFlavor | None, new: ResourceFlavor | None) -> None:
        if new is not None:
            self.ledger.put_flavor(translate.flavor(new))
        elif old is not None:
            self.ledger.drop_flavor(old.name)
        self._news.set()

    def _cluster_queue_changed(self, old: ClusterQueue | None, new: ClusterQueue | None) -> None:
        if new is None:
            if old is not None:
                self.ledger.drop_cluster_queue(old.name)
        elif old is None or old.spec != new.spec or _begins_to_leave(old, new):
            self.ledger.put_cluster_queue(translate.cluster_queue(new))
        else:
            return
        self._news.set()

    def _cohort_changed(self, old: Cohort | None, new: Cohort | None) -> None:
        if new is None:
            if old is not None:
                self.ledger.drop_cohort(old.name)
        elif old is None or old.spec != new.spec:
            self.ledger.put_cohort(translate.cohort(new))
        else:
            return
        self._news.set()

    def _local_queue_changed(self, old: LocalQueue | None, new: LocalQueue | None) -> None:
        if new is None:
            if old is not None:
                self.ledger.drop_local_queue(LocalQueueKey(old.namespace, old.name))
        elif old is None or old.spec != new.spec:
            self.ledger.put_local_queue(translate.local_queue(new))
        else:
            return
        self._news.set()

    def _namespace_changed(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is not None:
            labels: Mapping[str, str] = new.metadata.labels
            if old is None or old.metadata.labels != labels:
                self.ledger.put_namespace(new.name, labels)
                self._news.set()

    def _workload_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            if old is not None:
                uid = old["metadata"]["uid"]
                self.ledger.drop_workload(uid)
                self._outbox.forget(uid)
        else:
            self.ledger.put_workload(translate.workload(typed(Workload, new)))
        self._news.set()

    # The loop

    async def run(self) -> None:
        wake_at: float | None = None
        while True:
            await self._wait(wake_at)
            self._news.clear()
            decisions, wake_at = cycle.step(self.ledger, self._clock.now(), SLICE)
            for decision in decisions:
                self._carry_out(decision)
            if wake_at is not None and wake_at <= self._clock.now():
                self._news.set()
                await asyncio.sleep(0)  # others get a turn between two slices

    async def _wait(self, wake_at: float | None) -> None:
        if wake_at is None:
            await self._news.wait()
            return
        try:
            async with asyncio.timeout(max(0.0, wake_at - self._clock.now())):
                await self._news.wait()
        except TimeoutError:
            pass  # the deadline is the news

    def _carry_out(self, decision: Decision) -> None:
        workload = decision.workload
        uid, key = workload.uid, Key(workload.key.namespace, workload.key.name)

        async def send() -> None:
            obj = self._workloads.get(key)
            if obj is None or obj["metadata"]["uid"] != uid:
                return  # gone meanwhile; the ledger heard of it
            if isinstance(decision, Evict | Unreserve) and not _holds_quota(obj):
                obj = await self._client.find(Workload.KIND, key.name, key.namespace)
                if obj is None or obj["metadata"]["uid"] != uid:
                    return
                if not _holds_quota(obj):  # its reservation was overtaken before it was written
                    self.ledger.refuse(uid)
                    self._news.set()
                    return
            await self._write(decision, obj)

        def refused(error: ApiError) -> None:
            if not isinstance(error, NotFound):
                log.info("admission write refused", extra={"workload": str(key)})
            self.ledger.refuse(uid)
            self._news.set()

        self._outbox.put(uid, Intent(send, refused, low_priority=isinstance(decision, Park)))

    async def _write(self, decision: Decision, obj: Json) -> None:
        now = self._clock.now()
        match decision:
            case Reserve():
                queue = self.ledger.queues[decision.assignment.cluster_queue].config
                await self._patch(obj, decided.reservation_patch(obj, decision, queue, now))
                self._tell_admission(decision, obj)
            case Admit():
                await self._patch(obj, decided.admission_patch(obj, decision, now))
            case Evict():
                patch = decided.eviction_patch(obj, decision, self._paths(decision), now)
                await self._patch(obj, patch)
                self._tell_eviction(obj, patch)
            case Unreserve():
                await self._patch(obj, decided.release_patch(obj, now))
            case Deactivate():
                status, spec = decided.deactivation_patches(obj, decision, now)
                await self._patch(obj, status)
                await self._client.patch(
                    Workload.KIND, obj["metadata"]["name"], obj["metadata"]["namespace"], spec
                )
            case Resume():
                await self._patch(obj, decided.resumption_patch(obj, decision, now))
            case Park():
                patch_or_none = decided.pending_patch(obj, decision, now)
                if patch_or_none is not None:
                    await self._patch(obj, patch_or_none)
            case _:
                assert_never(decision)

    async def _patch(self, obj: Json, patch: Json) -> None:
        meta = obj["metadata"]
        await self._client.patch(
            Workload.KIND, meta["name"], meta["namespace"], patch, subresource="status"
        )

    # For people

    def _tell_admission(self, decision: Reserve, obj: Json) -> None:
        queue = decision.assignment.cluster_queue
        waited = max(0, round(self._clock.now() - decision.workload.queued_at))
        if decision.admitted:
            told = f"Admitted by ClusterQueue {queue}, wait time since queued was {waited}s"
            self._events.record(obj, "Normal", reasons.ADMITTED, told)
        else:
            told = f"{messages.reserved(queue)}, wait time since queued was {waited}s"
            self._events.record(obj, "Normal", reasons.QUOTA_RESERVED, told)

    def _tell_eviction(self, obj: Json, patch: Json) -> None:
        evicted = next(c for c in patch["status"]["conditions"] if c["type"] == reasons.EVICTED)
        reason = f"EvictedDueTo{evicted['reason']}"
        self._events.record(obj, "Normal", reason, evicted["message"])

    def _paths(self, decision: Evict) -> tuple[str, str]:
        """Where preemptor and preemptee stand in the cohort tree."""
        if not isinstance(decision.cause, Preempted):
            return "", ""
        preemptor = self.ledger.entries.get(decision.cause.by_uid)
        victim = self.ledger.entries.get(decision.workload.uid)
        return (
            self._path(preemptor.queue if preemptor else ""),
            self._path(victim.queue if victim else ""),
        )

    def _path(self, queue: str) -> str:
        if queue not in self.ledger.queues:
            return ""
        names = [node.name for node in self.ledger.forest.node(queue).path()]
        return "/" + "/".join(reversed(names))


def _begins_to_leave(old: Object, new: Object) -> bool:
    return old.metadata.deletion_timestamp != new.metadata.deletion_timestamp


def _holds_quota(obj: Json) -> bool:
    reserved = find((obj.get("status") or {}).get("conditions") or [], reasons.QUOTA_RESERVED)
    return reserved is not None and reserved.get("status") == "True"
