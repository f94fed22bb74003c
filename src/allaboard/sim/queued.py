"""Queueing inside the embedded cluster: definitions, admission in process, controllers.

The same `install` calls that a controller on a real cluster makes; only what webhooks do there is
done here by a plugin of the API server, in the same place and order.
"""

from dataclasses import replace
from random import Random

from allaboard.api.errors import AlreadyExists
from allaboard.api.fields import FieldError, invalid
from allaboard.api.kueue.conversion import convert_all
from allaboard.api.kueue.crd.definitions import definitions
from allaboard.api.kueue.defaults import DEFAULTS
from allaboard.api.kueue.types.shared import GROUP
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.kueue.validation import validate
from allaboard.api.meta import Json, Kind
from allaboard.api.selectors import selector_of
from allaboard.api.types.batch import Job
from allaboard.client.client import Client
from allaboard.cluster.admission.chain import CREATE, DELETE, AdmissionAttributes, Plugin
from allaboard.cluster.embedded import EmbeddedCluster
from allaboard.cluster.resource import Resource
from allaboard.cluster.server.exchange import User
from allaboard.cluster.store.store import Store
from allaboard.cluster.transport import InProcessTransport
from allaboard.queueing.access import review_access
from allaboard.queueing.activation import Activation
from allaboard.queueing.config import Settings
from allaboard.queueing.jobs import admission as job_rules
from allaboard.queueing.jobs.batch_job import BatchJobs
from allaboard.queueing.jobs.install import install as install_jobs
from allaboard.queueing.jobs.naming import workload_name
from allaboard.queueing.jobs.settings import Settings as JobSettings
from allaboard.queueing.queue_controllers import QueueControllers
from allaboard.queueing.scheduler import AdmissionScheduler
from allaboard.queueing.strays import Strays
from allaboard.queueing.translate import policies
from allaboard.queueing.visibility import Visibility
from allaboard.runtime.manager import Manager

CONTROLLER = User("system:serviceaccount:allaboard-system:allaboard", ("system:masters",))
AGENT = "kueue"
CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition",
           "customresourcedefinitions", namespaced=False)  # fmt: skip
WORKLOADS, LOCAL_QUEUES = f"workloads.{GROUP}", f"localqueues.{GROUP}"
CLASSES = f"workloadpriorityclasses.{GROUP}"


class QueueingAdmission(Plugin):
    """What Kueue's webhooks do: defaults and rules for its own kinds, and for jobs that queue."""

    name = "Queueing"

    def __init__(self, store: Store, settings: JobSettings) -> None:
        self._store, self._settings = store, settings

    def handles(self, resource: Resource, subresource: str, operation: str) -> bool:
        if operation == DELETE:
            return False
        jobs = resource.key in ("jobs.batch", "pods") and not subresource
        return jobs or (resource.group == GROUP and subresource in ("", "status"))

    async def mutate(self, attributes: AdmissionAttributes) -> None:
        obj = attributes.object
        if obj is None or attributes.operation != CREATE:
            return
        if attributes.resource.group == GROUP:
            default = DEFAULTS.get(attributes.kind.kind)
            attributes.object = default(obj) if default is not None else obj
        elif attributes.resource.key == "jobs.batch":
            attributes.object = job_rules.default_job(obj, self._place(attributes, obj))
        else:
            attributes.object = job_rules.default_pod(obj, self._place(attributes, obj))

    async def validate(self, attributes: AdmissionAttributes) -> None:
        obj, old = attributes.object, attributes.old_object
        if obj is None:
            return
        errors = self._errors(attributes, obj, old)
        if errors:
            kind = attributes.kind
            raise invalid(kind.kind, kind.group, attributes.name, errors)

    def _errors(
        self, attributes: AdmissionAttributes, obj: Json, old: Json | None
    ) -> list[FieldError]:
        if attributes.resource.group == GROUP:
            return validate(obj, old)
        if attributes.user.get("username") == CONTROLLER.name:
            return []
        if attributes.resource.key == "jobs.batch":
            if old is None:
                return job_rules.check_new_job(obj)
            admitted = self._holds_quota(old)
            return job_rules.check_job_change(obj, old, is_admitted=admitted)
        if old is None:
            return job_rules.check_new_pod(obj)
        return job_rules.check_pod_change(obj, old)

    def _place(self, attributes: AdmissionAttributes, obj: Json) -> job_rules.Place:
        space = self._store.get("namespaces", "", attributes.namespace)
        labels = ((space.obj["metadata"].get("labels") or {}) if space else {}) or {}
        default_queue = self._store.get(LOCAL_QUEUES, attributes.namespace, "default")
        return job_rules.Place(
            is_managed=self._settings.namespace_selector.matches(labels),
            has_default_queue=default_queue is not None,
            has_default_class=self._store.get(CLASSES, "", "default") is not None,
            manage_without_queue_name=self._settings.manage_jobs_without_queue_name,
            is_child=self._is_child(obj, attributes.namespace),
        )

    def _is_child(self, obj: Json, namespace: str) -> bool:
        """Made by a Job that is there: its UID and its selector agree, a claim alone is nothing."""
        for owner in obj["metadata"].get("ownerReferences") or []:
            if owner.get("controller") and owner.get("kind") == "Job":
                job = self._store.get("jobs.batch", namespace, str(owner.get("name")))
                known = job is not None and job.obj["metadata"]["uid"] == owner.get("uid")
                return known and job is not None and BatchJobs().is_parent_of(job.obj, obj)
        return False

    def _holds_quota(self, job: Json) -> bool:
        meta = job["metadata"]
        name = workload_name(Job.KIND, meta["name"], meta["uid"])
        record = self._store.get(WORKLOADS, meta["namespace"], name)
        conditions = (record.obj.get("status") or {}).get("conditions") or [] if record else []
        return any(c["type"] == "QuotaReserved" and c["status"] == "True" for c in conditions)


async def install_queueing(cluster: EmbeddedCluster, settings: Settings, rng: Random) -> Manager:
    """Make Kueue's kinds known and start everything that acts on them."""
    jobs = JobSettings(
        frameworks=frozenset(settings.frameworks) & {"batch/job", "pod"},
        manage_jobs_without_queue_name=settings.manage_jobs_without_queue_name,
        pods_ready=settings.pods_ready is not None,
    )
    if settings.managed_namespaces is not None:
        chosen = selector_of(settings.managed_namespaces)
        jobs = replace(jobs, namespace_selector=chosen)
    await define_kinds(cluster)
    cluster.server.services.admission.insert(
        QueueingAdmission(cluster.store, jobs), before="MutatingAdmissionWebhook"
    )
    client = Client(InProcessTransport(cluster.server, AGENT, CONTROLLER), AGENT)
    manager = Manager(client, cluster.config.clock, rng, AGENT)
    scheduler = AdmissionScheduler(manager, policies(settings))
    QueueControllers(manager, scheduler.ledger)
    Activation(manager)
    Strays(manager, scheduler.ledger)
    install_jobs(manager, jobs)
    workloads = manager.informers.of(Workload.KIND)
    visibility = Visibility(scheduler.ledger, workloads.get, review_access(client))
    cluster.server.discovery.extend(visibility)
    await manager.start()
    return manager


async def define_kinds(cluster: EmbeddedCluster) -> None:
    client, served = cluster.client("allaboard"), cluster.server.definitions
    assert served is not None, "an embedded server serves custom resources"
    for definition in definitions():
        try:
            await client.create(definition, CRD)
        except AlreadyExists:
            pass  # from an earlier start on the same data
        served.register(definition["metadata"]["name"], convert_all)
