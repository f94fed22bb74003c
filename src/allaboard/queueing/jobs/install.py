"""Which informers call the job reconciler, and for which job?"""

from collections.abc import Callable

from allaboard.api.kueue import names
from allaboard.api.kueue.types import ResourceFlavor, Workload, WorkloadPriorityClass
from allaboard.api.meta import Json, Kind
from allaboard.queueing.jobs.adapter import JobAdapter, JobKey, controller_reference
from allaboard.queueing.jobs.batch_job import BatchJobs
from allaboard.queueing.jobs.caches import OWNERS, Caches
from allaboard.queueing.jobs.plan import awaited
from allaboard.queueing.jobs.pod import Pods
from allaboard.queueing.jobs.pod_group import FRAMEWORK as POD_GROUP
from allaboard.queueing.jobs.pod_group import PodGroups
from allaboard.queueing.jobs.reconciler import ORPHANS, JobReconciler
from allaboard.queueing.jobs.settings import BATCH_JOB, POD, Settings
from allaboard.runtime.controller import Controller
from allaboard.runtime.manager import Manager


def adapters_for(settings: Settings) -> dict[str, JobAdapter]:
    """By framework; groups of pods belong to the framework `pod`."""
    found: dict[str, JobAdapter] = {}
    if BATCH_JOB in settings.frameworks:
        found[BATCH_JOB] = BatchJobs()
    if POD in settings.frameworks:
        found[POD] = Pods()
        found[POD_GROUP] = PodGroups()
    return found


def install(manager: Manager, settings: Settings) -> Controller:
    adapters = adapters_for(settings)
    caches = Caches(manager.informers, adapters)
    reconciler = JobReconciler(
        manager.client, manager.clock, manager.recorder, caches, adapters, settings
    )
    controller = Controller("jobs", reconciler.reconcile, settings.workers)
    for name, adapter in adapters.items():
        caches.objects[name].on_change(_on_object(controller, adapter, caches))
    caches.workloads.on_change(_on_workload(controller, adapters))
    for kind in (Workload.KIND, WorkloadPriorityClass.KIND, ResourceFlavor.KIND):
        manager.informers.of(kind).on_change(_on_awaited(controller, reconciler, kind))
    caches.limit_ranges.on_change(_on_limit_range(controller, adapters, caches))
    return manager.add(controller)


Handler = Callable[[Json | None, Json | None], None]


def _on_object(controller: Controller, adapter: JobAdapter, caches: Caches) -> Handler:
    def changed(old: Json | None, new: Json | None) -> None:
        obj = new if new is not None else old
        assert obj is not None
        key = adapter.key_of(obj)
        if key is None:
            return
        controller.enqueue(key)
        if new is None:
            # Its Workload may outlive it: the garbage collector was told to leave it, or is slow.
            for workload in caches.workloads.by_index(OWNERS, obj["metadata"]["uid"]):
                meta = workload["metadata"]
                controller.enqueue(JobKey(ORPHANS, meta["namespace"], meta["name"]))

    return changed


def _on_workload(controller: Controller, adapters: dict[str, JobAdapter]) -> Handler:
    by_kind = {(a.kind.api_version, a.kind.kind): n for n, a in adapters.items() if n != POD_GROUP}

    def changed(old: Json | None, new: Json | None) -> None:
        workload = new if new is not None else old
        assert workload is not None
        meta = workload["metadata"]
        if names.IS_GROUP_WORKLOAD in (meta.get("annotations") or {}):
            controller.enqueue(JobKey(POD_GROUP, meta["namespace"], meta["name"]))
        else:
            owner = controller_reference(workload) or {}
            name = by_kind.get((owner.get("apiVersion", ""), owner.get("kind", "")))
            if name is not None:
                controller.enqueue(JobKey(name, meta["namespace"], owner["name"]))
        if new is not None and (meta.get("deletionTimestamp") or not meta.get("ownerReferences")):
            controller.enqueue(JobKey(ORPHANS, meta["namespace"], meta["name"]))

    return changed


def _on_awaited(controller: Controller, reconciler: JobReconciler, kind: Kind) -> Handler:
    def changed(old: Json | None, new: Json | None) -> None:
        obj = new if new is not None else old
        assert obj is not None
        meta = obj["metadata"]
        for key in reconciler.pop_waiting(awaited(kind, meta["name"], meta.get("namespace") or "")):
            controller.enqueue(key)

    return changed


def _on_limit_range(
    controller: Controller, adapters: dict[str, JobAdapter], caches: Caches
) -> Handler:
    """What pods are given by default is part of what pending Workloads ask for."""

    def changed(old: Json | None, new: Json | None) -> None:
        obj = new if new is not None else old
        assert obj is not None
        for name, adapter in adapters.items():
            for job in caches.objects[name].all():
                key = adapter.key_of(job)
                if key is not None and key.namespace == obj["metadata"]["namespace"]:
                    controller.enqueue(key)

    return changed
