"""Reads what a job's decision depends on, and carries the decision out.

Whose Workload is it? The one whose ownerReference has the job's UID; labels only ask. Whose child
is it? One whose controller reference leads, UID by UID, to an object that is queued and whose kind
would itself make such a child. Every write carries the version it was decided on, every deletion
the UID, so that a decision about yesterday's object changes nothing of today's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from allaboard.api.errors import NotFound
from allaboard.api.kueue import names, reasons
from allaboard.api.kueue.types import ResourceFlavor, Workload, WorkloadPriorityClass
from allaboard.api.meta import Json, Key, Kind
from allaboard.api.types.cluster import PriorityClass
from allaboard.api.types.core import LimitRange, Namespace
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
from allaboard.queueing.jobs.plan import Facts, Note, Plan, decide, let_go
from allaboard.queueing.jobs.settings import Settings
from allaboard.queueing.jobs.shapes import Surroundings
from allaboard.queueing.jobs.workload_for import Context, queue_name
from allaboard.runtime.controller import DONE, Again, Outcome
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.informer import Informer
from allaboard.runtime.informers import Informers

RUNTIME_CLASS = Kind("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", namespaced=False)
ORPHANS = "workload"  # the framework of keys that are Workloads whose job is gone
MAX_NESTING = 10
OWNERS, ADDRESSES, NAMESPACE = "owner uids", "jobs", "namespace"


class ByName(Mapping[str, Json]):
    """An informer of a cluster-scoped kind, read as a mapping."""

    def __init__(self, informer: Informer[Json]) -> None:
        self._informer = informer

    def __getitem__(self, name: str) -> Json:
        found = self._informer.get(Key("", name))
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter([obj["metadata"]["name"] for obj in self._informer.all()])

    def __len__(self) -> int:
        return len(self._informer)


class Caches:
    """What the reconciler reads."""

    def __init__(self, informers: Informers, adapters: Mapping[str, JobAdapter]) -> None:
        self.objects = {name: informers.of(a.kind) for name, a in adapters.items()}
        self.workloads = informers.of(Workload.KIND)
        self.namespaces = informers.of(Namespace.KIND)
        self.flavors = ByName(informers.of(ResourceFlavor.KIND))
        self.workload_classes = ByName(informers.of(WorkloadPriorityClass.KIND))
        self.pod_classes = ByName(informers.of(PriorityClass.KIND))
        self.runtime_classes = ByName(informers.of(RUNTIME_CLASS))
        self.limit_ranges = informers.of(LimitRange.KIND)
        _index(self.workloads, OWNERS, _owner_uids)
        _index(self.limit_ranges, NAMESPACE, lambda obj: [obj["metadata"]["namespace"]])
        for name, adapter in adapters.items():
            _index(self.objects[name], f"{ADDRESSES} {name}", _address_of(adapter))

    def members(self, key: JobKey) -> list[Json]:
        index = f"{ADDRESSES} {key.framework}"
        return self.objects[key.framework].by_index(index, f"{key.namespace}/{key.name}")

    def context(self, namespace: str) -> Context:
        around = Surroundings(
            self.limit_ranges.by_index(NAMESPACE, namespace), self.runtime_classes
        )
        return Context(self.flavors, self.workload_classes, self.pod_classes, around)


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

    async def reconcile(self, key: JobKey) -> Outcome:
        if key.framework == ORPHANS:
            return await self._orphan(Key(key.namespace, key.name))
        members = self._caches.members(key)
        if not members:
            return DONE
        adapter = self._adapters[key.framework]
        subject = Subject(key.name, key.namespace, tuple(members))
        plan = self._plan(adapter, subject)
        return await self._carry_out(plan, subject)

    def _plan(self, adapter: JobAdapter, subject: Subject) -> Plan:
        parent, too_deep = self._parent(subject.object)
        if too_deep:
            message = f"Owners are nested more than {MAX_NESTING} deep"
            return Plan((), [Note("Warning", "JobNestingTooDeep", message)])
        if parent is not None:
            return self._child(adapter, subject, parent)
        workloads = self._workloads(subject)
        if not workloads and not self._is_managed(subject):
            return Plan(adapter.tidy(subject, None))
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

    def _is_managed(self, subject: Subject) -> bool:
        if not queue_name(subject) and not self._settings.manage_jobs_without_queue_name:
            return False
        namespace = self._caches.namespaces.get(Key("", subject.namespace))
        labels = labels_of(namespace) if namespace is not None else {}
        return self._settings.namespace_selector.matches(dict(labels))

    def _workloads(self, subject: Subject) -> list[Json]:
        found: dict[str, Json] = {}
        for obj in subject.objects:
            for workload in self._caches.workloads.by_index(OWNERS, uid_of(obj)):
                found[uid_of(workload)] = workload
        return sorted(
            found.values(),
            key=lambda w: (w["metadata"].get("creationTimestamp") or "", w["metadata"]["name"]),
        )

    def _claim(self, adapter: JobAdapter, subject: Subject, name: str) -> Plan:
        """Take possession of a Workload that was made for this job beforehand."""
        workload = self._caches.workloads.get(Key(subject.namespace, name))
        if workload is None or is_deleting(workload):
            stopping = adapter.stop(subject, None) if adapter.is_running(subject) else []
            return Plan(stopping)
        if controller_reference(workload) is not None:
            message = f"Workload {name!r} belongs to another job"
            return Plan((), [Note("Warning", "ErrWorkloadCompose", message)])
        owners = [
            *(workload["metadata"].get("ownerReferences") or ()),
            *adapter.owner_references(subject),
        ]
        body = {"ownerReferences": owners, "labels": {names.JOB_UID: subject.uid}}
        return Plan([Patch(Workload.KIND, workload, {"metadata": body})])

    # Families

    def _parent(self, obj: Json) -> tuple[Json | None, bool]:
        """The queued object at the top of the chain of owners, and whether it is too long."""
        top: Json | None = None
        for _ in range(MAX_NESTING):
            owner = self._owner(obj)
            if owner is None:
                return top, False
            obj = owner[1]
            subject = Subject(obj["metadata"]["name"], obj["metadata"]["namespace"], (obj,))
            if self._is_managed(subject):
                top = obj
        return None, self._owner(obj) is not None

    def _owner(self, child: Json) -> tuple[JobAdapter, Json] | None:
        reference = controller_reference(child)
        if reference is None:
            return None
        for name, adapter in self._adapters.items():
            kind = adapter.kind
            if (kind.kind, kind.api_version) != (reference["kind"], reference["apiVersion"]):
                continue
            owner = self._caches.objects[name].by_uid(reference.get("uid") or "")
            if (
                owner is not None
                and owner["metadata"]["namespace"] == child["metadata"]["namespace"]
                and adapter.is_parent_of(owner, child)
            ):
                return adapter, owner
        return None

    def _child(self, adapter: JobAdapter, subject: Subject, parent: Json) -> Plan:
        """A child has no Workload of its own; it runs while its owner is admitted."""
        if adapter.finish(subject) is not None:
            return Plan()
        workloads = self._caches.workloads.by_index(OWNERS, uid_of(parent))
        if any(state.is_admitted(w) and not state.is_evicted(w) for w in workloads):
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
        uids = _owner_uids(workload)
        label = labels_of(workload).get(names.JOB_UID, "")
        if not uids and not label:
            return is_deleting(workload)
        known = list(self._caches.objects.values())
        alive = [u for u in [*uids, label] if u and any(i.by_uid(u) is not None for i in known)]
        return not alive and (bool(label) or _of_known_kinds(workload, self._adapters))

    # Writing

    async def _carry_out(self, plan: Plan, subject: Subject) -> Outcome:
        for write in plan.writes:
            await self._write(write)
        for note in plan.notes:
            self._recorder.record(subject.object, note.type, note.reason, note.message)
        return DONE if plan.again_s is None else Again(plan.again_s)

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


def _index(informer: Informer[Json], name: str, values_of: Any) -> None:
    if not informer.has_index(name):
        informer.add_index(name, values_of)


def _owner_uids(obj: Json) -> list[str]:
    return [r["uid"] for r in obj["metadata"].get("ownerReferences") or () if r.get("uid")]


def _of_known_kinds(workload: Json, adapters: Mapping[str, JobAdapter]) -> bool:
    known = [(a.kind.kind, a.kind.api_version) for a in adapters.values()]
    references = workload["metadata"].get("ownerReferences") or ()
    return bool(references) and all((r["kind"], r["apiVersion"]) in known for r in references)


def _address_of(adapter: JobAdapter) -> Any:
    def addresses(obj: Json) -> list[str]:
        key = adapter.key_of(obj)
        return [] if key is None else [f"{key.namespace}/{key.name}"]

    return addresses
