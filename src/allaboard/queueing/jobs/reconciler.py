"""Reads what a job's decision depends on, and carries the decision out.

Whose Workload is it? The one whose ownerReference has the job's UID; labels only ask. Every write
carries the version it was decided on, every deletion the UID, so that a decision about yesterday's
object changes nothing of today's.
"""

from collections.abc import Mapping

from allaboard.api.errors import Invalid, NotFound
from allaboard.api.kueue import names, reasons
from allaboard.api.kueue.types import Workload
from allaboard.api.meta import Json, Key
from allaboard.client.client import Client
from allaboard.clock import Clock
from allaboard.queueing.conditions import Say
from allaboard.queueing.jobs import workload_state as state
from allaboard.queueing.jobs.adapter import (
    Create,
    Delete,
    JobAdapter,
    JobKey,
    Patch,
    Subject,
    Write,
    controller_reference,
    is_deleting,
    labels_of,
    uid_of,
)
from allaboard.queueing.jobs.caches import OWNERS, Caches, owner_uids
from allaboard.queueing.jobs.families import MAX_NESTING, Families, TooDeep
from allaboard.queueing.jobs.plan import Facts, Note, Plan, awaited, decide, let_go
from allaboard.queueing.jobs.settings import Settings
from allaboard.runtime.controller import DONE, Outcome
from allaboard.runtime.events import EventRecorder

ORPHANS = "workload"  # the framework of keys that are Workloads whose job is gone


class JobReconciler:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        recorder: EventRecorder,
        caches: Caches,
        adapters: Mapping[str, JobAdapter],
        settings: Settings,
    ) -> None:
        self._client, self._clock, self._recorder = client, clock, recorder
        self._caches, self._adapters, self._settings = caches, adapters, settings
        self._families = Families(caches, adapters, settings)
        self._waiting: dict[str, dict[JobKey, None]] = {}
        self._waits_for: dict[JobKey, str] = {}

    async def reconcile(self, key: JobKey) -> Outcome:
        if key.framework == ORPHANS:
            return await self._orphan(Key(key.namespace, key.name))
        self._waiting.get(self._waits_for.pop(key, ""), {}).pop(key, None)
        members = self._caches.members(key)
        if not members:
            return DONE
        adapter = self._adapters[key.framework]
        subject = Subject(key.name, key.namespace, tuple(members))
        plan = self._unhindered(self._plan(adapter, subject))
        if plan.waits_for:
            self._waits_for[key] = plan.waits_for
            self._waiting.setdefault(plan.waits_for, {})[key] = None
        await self._carry_out(plan, subject)
        return DONE

    def pop_waiting(self, for_: str) -> list[JobKey]:
        """The jobs whose decision may change now that this object came or went."""
        return list(self._waiting.pop(for_, ()))

    def _plan(self, adapter: JobAdapter, subject: Subject) -> Plan:
        try:
            parent = self._families.queued_ancestor(subject.object)
        except TooDeep:
            message = f"Owners are nested more than {MAX_NESTING} deep"
            return Plan((), [Note("Warning", "JobNestingTooDeep", message)])
        if parent is not None:
            return self._child(adapter, subject, parent)
        workloads = self._workloads(subject)
        if not workloads and not self._families.is_managed(subject.object):
            return Plan([w for w in adapter.tidy(subject, None) if isinstance(w, Patch)])
        prebuilt = labels_of(subject.object).get(names.PREBUILT_WORKLOAD, "")
        if prebuilt and not workloads:
            return self._claim(adapter, subject, prebuilt)
        facts = Facts(
            adapter,
            subject,
            workloads,
            self._caches.context(subject.namespace),
            self._clock.now(),
            self._settings.pods_ready,
            prebuilt,
        )
        return decide(facts)

    def _workloads(self, subject: Subject) -> list[Json]:
        """Those that are its own: by a controller's UID, or as the Workload of this group."""
        found: dict[str, Json] = {}
        for obj in subject.objects:
            for workload in self._caches.workloads.by_index(OWNERS, uid_of(obj)):
                controller = controller_reference(workload)
                if controller is None:
                    mine = workload["metadata"]["name"] == subject.name
                else:
                    mine = controller.get("uid") == uid_of(obj)
                if mine:
                    found[uid_of(workload)] = workload
        return sorted(
            found.values(),
            key=lambda w: (w["metadata"].get("creationTimestamp") or "", w["metadata"]["name"]),
        )

    def _unhindered(self, plan: Plan) -> Plan:
        """Without a creation that cannot succeed: somebody else's Workload has the name."""
        for write in plan.writes:
            key = write.key
            if isinstance(write, Create) and self._caches.workloads.get(key) is not None:
                message = f"Workload {key} is there already and does not belong to this job"
                note = Note("Warning", "ErrWorkloadCompose", message)
                return Plan((), [note], awaited(Workload.KIND, key.name, key.namespace))
        return plan

    def _claim(self, adapter: JobAdapter, subject: Subject, name: str) -> Plan:
        """Take possession of a Workload that was made for this job beforehand."""
        workload = self._caches.workloads.get(Key(subject.namespace, name))
        missed = awaited(Workload.KIND, name, subject.namespace)
        if workload is None or is_deleting(workload):
            stopping = adapter.stop(subject, None) if adapter.is_running(subject) else []
            return Plan(stopping, (), missed)
        if controller_reference(workload) is not None:
            message = f"Workload {name!r} belongs to another job"
            return Plan((), [Note("Warning", "ErrWorkloadCompose", message)], missed)
        owners = [
            *(workload["metadata"].get("ownerReferences") or ()),
            *adapter.owner_references(subject),
        ]
        body = {"ownerReferences": owners, "labels": {names.JOB_UID: subject.uid}}
        return Plan([Patch(Workload.KIND, workload, {"metadata": body})])

    # Families

    def _child(self, adapter: JobAdapter, subject: Subject, parent: Json) -> Plan:
        """A child has no Workload of its own; it runs while its owner is admitted."""
        if adapter.finish(subject) is not None:
            return Plan()
        if self._families.is_admitted(parent):
            return Plan(adapter.let_go(subject))
        holding = adapter.hold(subject)
        told = Note("Normal", "Suspended", "Kueue managed child job suspended")
        return Plan(holding, [told] if holding else ())

    # Workloads whose job is gone

    async def _orphan(self, key: Key) -> Outcome:
        workload = self._caches.workloads.get(key)
        if workload is None or not self._is_orphan(workload):
            return DONE
        if is_deleting(workload):
            for write in let_go(workload):
                await self._write(write)
        elif not state.is_finished(workload):
            say = Say(reasons.FINISHED, "True", reasons.OWNER_NOT_FOUND, "The job is gone")
            conditions = state.with_conditions(workload, [say], self._clock.now())
            body = {"status": {"conditions": conditions}}
            await self._write(Patch(Workload.KIND, workload, body, "status"))
        return DONE

    def _is_orphan(self, workload: Json) -> bool:
        """Made for a job, and none of its owners is there."""
        uids = owner_uids(workload)
        label = labels_of(workload).get(names.JOB_UID, "")
        if not uids and not label:
            return is_deleting(workload)
        known = list(self._caches.objects.values())
        alive = [u for u in [*uids, label] if u and any(i.by_uid(u) is not None for i in known)]
        return not alive and (bool(label) or _of_known_kinds(workload, self._adapters))

    # Writing

    async def _carry_out(self, plan: Plan, subject: Subject) -> None:
        try:
            for write in plan.writes:
                await self._write(write)
        except Invalid as refusal:
            if plan.if_invalid is None:
                raise
            return await self._carry_out(plan.if_invalid(refusal.message), subject)
        for note in plan.notes:
            self._recorder.record(subject.object, note.type, note.reason, note.message)
        return None

    async def _write(self, write: Write) -> None:
        key = write.key
        try:
            match write:
                case Create(kind, body):
                    await self._client.create(body, kind, key.namespace)
                case Patch(kind, target, body, subresource):
                    version = target["metadata"]["resourceVersion"]
                    meta = {**(body.get("metadata") or {}), "resourceVersion": version}
                    patch = {**body, "metadata": meta}
                    await self._client.patch(
                        kind, key.name, key.namespace, patch, subresource=subresource
                    )
                case Delete(kind, target):
                    await self._client.delete(kind, key.name, key.namespace, uid=uid_of(target))
        except NotFound:
            if isinstance(write, Create):
                raise  # its namespace is gone, or its kind


def _of_known_kinds(workload: Json, adapters: Mapping[str, JobAdapter]) -> bool:
    known = [(a.kind.kind, a.kind.api_version) for a in adapters.values()]
    references = workload["metadata"].get("ownerReferences") or ()
    return bool(references) and all((r["kind"], r["apiVersion"]) in known for r in references)
