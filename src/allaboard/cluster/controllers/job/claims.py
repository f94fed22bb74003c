"""Which pods does a Job adopt, and which does it let go? The selector and the UID decide."""

from collections.abc import Iterable

from allaboard.api.meta import Json
from allaboard.api.selectors import selector_of
from allaboard.cluster.controllers.job.facts import TRACKING, PodFacts
from allaboard.cluster.controllers.job.making import owner_reference

UID_LABEL = "batch.kubernetes.io/controller-uid"


def selects(job: Json, labels: Json) -> bool:
    selector = job["spec"].get("selector")
    if not selector:
        return False
    wanted = selector.get("matchLabels") or {}
    if not selector.get("matchExpressions"):
        return bool(wanted) and all(labels.get(k) == v for k, v in wanted.items())
    return selector_of(selector).matches(labels)


def strays(job: Json, owned: Iterable[PodFacts]) -> list[PodFacts]:
    """Pods that the Job controls but no longer selects."""
    return [pod for pod in owned if not selects(job, pod.obj["metadata"].get("labels") or {})]


def adoptable(job: Json, unowned: Iterable[PodFacts]) -> list[PodFacts]:
    """Live pods without a controller that the Job selects."""
    if job["metadata"].get("deletionTimestamp"):
        return []
    return [
        pod
        for pod in unowned
        if not pod.deleting and selects(job, pod.obj["metadata"].get("labels") or {})
    ]


def adoption(job: Json, pod: PodFacts) -> Json:
    """The merge patch that makes the pod the Job's."""
    meta = pod.obj["metadata"]
    finalizers = [f for f in meta.get("finalizers") or () if f != TRACKING]
    return _bound(
        pod,
        ownerReferences=[*(meta.get("ownerReferences") or ()), owner_reference(job)],
        finalizers=[*finalizers, TRACKING],
    )


def release(job: Json, pod: PodFacts) -> Json:
    """The merge patch that makes the pod nobody's."""
    meta, uid = pod.obj["metadata"], job["metadata"]["uid"]
    owners = [o for o in meta.get("ownerReferences") or () if o.get("uid") != uid]
    finalizers = [f for f in meta.get("finalizers") or () if f != TRACKING]
    return _bound(pod, ownerReferences=owners or None, finalizers=finalizers or None)


def _bound(pod: PodFacts, **metadata: object) -> Json:
    return {"metadata": {"resourceVersion": pod.obj["metadata"]["resourceVersion"], **metadata}}


def finalizer_removal(pod: PodFacts) -> list[Json]:
    """The JSON patch that ends the tracking of a pod; refused if somebody changed the list."""
    finalizers = pod.obj["metadata"].get("finalizers") or []
    left = [f for f in finalizers if f != TRACKING]
    path = "/metadata/finalizers"
    change = {"op": "replace", "path": path, "value": left} if left else {}
    return [
        {"op": "test", "path": "/metadata/uid", "value": pod.uid},
        {"op": "test", "path": path, "value": finalizers},
        change or {"op": "remove", "path": path},
    ]
