"""Who asks the admission rules inside the process? A plugin for the server's chain.

It fits the chain by its shape alone, since the cluster and queueing do not know each other; whoever
composes them inserts it before the webhooks. It decides nothing: it finds out what the rules of
`admission.py` want to know, from the controller's caches.
"""

from collections.abc import Callable
from typing import Any, Protocol

from allaboard.api.fields import FieldError, invalid
from allaboard.api.kueue import names
from allaboard.api.meta import Json, Kind
from allaboard.queueing.jobs import admission
from allaboard.queueing.jobs.adapter import labels_of
from allaboard.queueing.jobs.families import Families
from allaboard.queueing.jobs.settings import BATCH_JOB, POD, Settings

_JOBS, _PODS = "jobs.batch", "pods"
_FRAMEWORKS = {_JOBS: BATCH_JOB, _PODS: POD}


class Served(Protocol):
    """The resource that is written."""

    @property
    def key(self) -> str: ...


class Attributes(Protocol):
    """A write as the chain shows it."""

    operation: str
    kind: Kind
    namespace: str
    name: str
    object: Json | None
    old_object: Json | None
    user: Json

    @property
    def resource(self) -> Any: ...


class JobAdmission:
    name = "KueueJobs"

    def __init__(
        self, families: Families, settings: Settings, is_controller: Callable[[Json], bool]
    ) -> None:
        """`is_controller` says of a user (as in authentication.k8s.io) whether it is ours."""
        self._families, self._settings, self._is_controller = families, settings, is_controller

    def handles(self, resource: Served, subresource: str, operation: str) -> bool:
        framework = _FRAMEWORKS.get(resource.key)
        wanted = framework in self._settings.frameworks and not subresource
        return wanted and operation in ("CREATE", "UPDATE")

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.operation != "CREATE" or attributes.object is None:
            return
        default = (
            admission.default_job if attributes.resource.key == _JOBS else admission.default_pod
        )
        place = self._place(attributes.object, attributes.namespace)
        attributes.object = default(attributes.object, place)

    async def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object, attributes.old_object
        if new is None:
            return
        errors = self._created(attributes, new) if old is None else self._changed(attributes, new)
        if errors:
            kind = attributes.kind
            raise invalid(kind.kind, kind.group, attributes.name, errors)

    async def close(self) -> None:
        return None

    def _place(self, obj: Json, namespace: str) -> admission.Place:
        families = self._families
        return admission.Place(
            is_managed=families.selects(namespace),
            has_default_queue=families.has_default_queue(namespace),
            has_default_class=families.has_default_class(),
            manage_without_queue_name=self._settings.manage_jobs_without_queue_name,
            is_child=families.may_be_child(obj, namespace),
        )

    def _created(self, attributes: Attributes, new: Json) -> list[FieldError]:
        if not self._concerns(new, attributes.namespace):
            return []
        if attributes.resource.key == _JOBS:
            return admission.check_new_job(new)
        return admission.check_new_pod(new)

    def _changed(self, attributes: Attributes, new: Json) -> list[FieldError]:
        old = attributes.old_object
        assert old is not None
        concerned = any(self._concerns(obj, attributes.namespace) for obj in (new, old))
        if not concerned or _only_leaves(new, old):
            return []
        ours = self._is_controller(attributes.user)
        if attributes.resource.key == _PODS:
            return admission.check_pod_change(new, old, by_controller=ours)
        held = self._families.holds_quota(old)
        return admission.check_job_change(new, old, is_admitted=held, by_controller=ours)

    def _concerns(self, obj: Json, namespace: str) -> bool:
        labels = labels_of(obj)
        queued = names.QUEUE_NAME in labels or names.MANAGED in labels
        wanted = queued or self._settings.manage_jobs_without_queue_name
        return wanted and self._families.selects(namespace)


def _only_leaves(new: Json, old: Json) -> bool:
    """Finalizers of what is being deleted are never held up: a namespace must be able to go."""
    if new["metadata"].get("deletionTimestamp") is None:
        return False
    return bool(new.get("spec") == old.get("spec") and labels_of(new) == labels_of(old))
