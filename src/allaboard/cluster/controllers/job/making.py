"""How does a new pod of a Job look: name, index, labels, environment, owner?"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.controllers.job import indexes, policies
from allaboard.cluster.controllers.job.backoff import remaining_s
from allaboard.cluster.controllers.job.facts import (
    FAILURES,
    IGNORED_FAILURES,
    INDEX,
    TRACKING,
    PodFacts,
    failure_count,
    finished_at,
    ignored_failure_count,
)
from allaboard.cluster.controllers.job.sheet import Sheet

_LONGEST_PREFIX = 58  # a name has 63 characters, five of them drawn by the server
_ENV = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}},
}


def make_pods(sheet: Sheet, count: int) -> tuple[list[Json], float]:
    """Up to `count` new pods, and the seconds until more may be made if none may be now."""
    if not sheet.indexed:
        return [_pod(sheet, f"{sheet.job['metadata']['name']}-") for _ in range(count)], 0.0
    chosen = _free_indexes(sheet, count)
    waits = {index: _wait_s(sheet.kept.get(index), sheet.now) for index in chosen}
    free = [index for index in chosen if waits[index] == 0]
    pods = [_indexed_pod(sheet, index) for index in free]
    return pods, min(waits.values(), default=0.0) if not free else 0.0


def _free_indexes(sheet: Sheet, count: int) -> list[int]:
    taken = {pod.index for pod in sheet.active_pods}
    if sheet.replace_only_ended:
        taken.update(pod.index for pod in sheet.pods if pod.terminating)
    decided = indexes.union(sheet.succeeded_indexes, sheet.failed_indexes)
    busy = indexes.with_members(decided, taken - {-1})
    return indexes.first_missing(busy, count, sheet.spec["completions"])


def _wait_s(failed: PodFacts | None, now: float) -> float:
    if failed is None:
        return 0.0
    failures = failure_count(failed) + ignored_failure_count(failed) + 1
    return remaining_s(failures, finished_at(failed), now)


def _pod(sheet: Sheet, prefix: str) -> Json:
    job, template = sheet.job["metadata"], sheet.spec["template"]
    labels = (template.get("metadata") or {}).get("labels") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    finalizers = (template.get("metadata") or {}).get("finalizers") or []
    metadata: Json = {
        "generateName": prefix,
        "namespace": job["namespace"],
        "labels": dict(labels),
        "annotations": dict(annotations),
        "ownerReferences": [owner_reference(sheet.job)],
        "finalizers": [*(name for name in finalizers if name != TRACKING), TRACKING],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": dict(template.get("spec") or {}),
    }


def _indexed_pod(sheet: Sheet, index: int) -> Json:
    name = sheet.job["metadata"]["name"]
    tail = f"-{index}-"
    pod = _pod(sheet, name[: _LONGEST_PREFIX - len(tail)] + tail)
    metadata, spec = pod["metadata"], pod["spec"]
    metadata["labels"][INDEX] = str(index)
    metadata["annotations"][INDEX] = str(index)
    if sheet.per_index:
        metadata["annotations"].update(_failure_counts(sheet, sheet.kept.get(index)))
    spec["hostname"] = f"{name}-{index}"
    for field in ("initContainers", "containers"):
        if spec.get(field):
            spec[field] = [_with_index(container) for container in spec[field]]
    return pod


def _failure_counts(sheet: Sheet, predecessor: PodFacts | None) -> Json:
    if predecessor is None:
        return {FAILURES: "0"}
    counted = policies.judge_failure(sheet.policy, predecessor).counted
    ignored = ignored_failure_count(predecessor) + (not counted)
    counts = {FAILURES: str(failure_count(predecessor) + counted)}
    return {**counts, IGNORED_FAILURES: str(ignored)} if ignored else counts


def _with_index(container: Json) -> Json:
    env: list[Any] = container.get("env") or []
    if any(variable.get("name") == _ENV["name"] for variable in env):
        return container
    return {**container, "env": [*env, _ENV]}


def owner_reference(job: Json) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job["metadata"]["name"],
        "uid": job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
