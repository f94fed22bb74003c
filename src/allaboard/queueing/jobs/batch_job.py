"""How is a `batch/v1` Job queued?

It waits by `spec.suspend`. It is started by one patch that injects and resumes; it is stopped in
steps, because its template may only change while it is suspended and has no start time: suspend,
wait for its pods to be gone, clear the start time, restore the template. The annotation `stopping`
marks a stop that is under way, so that a restart goes on with it.
"""

from collections.abc import Sequence

from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.api.types.batch import Job
from allaboard.queueing.jobs.adapter import (
    Finish,
    JobKey,
    Patch,
    PodSetInfo,
    Subject,
    Write,
    annotations_of,
    count_in,
    labels_of,
    reference_to,
)
from allaboard.queueing.jobs.injection import injected, placement_patch
from allaboard.queueing.jobs.naming import workload_name
from allaboard.queueing.jobs.shapes import same_needs, topology_request

FRAMEWORK = "batch/job"
PARALLELISM = names.OWN_PREFIX + "parallelism"  # what it was before a partial start
_ENDS = {"Complete": True, "Failed": False}


class BatchJobs:
    framework = FRAMEWORK
    kind = Job.KIND

    def key_of(self, obj: Json) -> JobKey | None:
        meta = obj["metadata"]
        return JobKey(FRAMEWORK, meta["namespace"], meta["name"])

    def workload_name(self, subject: Subject) -> str:
        return workload_name(self.kind, subject.name, subject.uid)

    def owner_references(self, subject: Subject) -> list[Json]:
        return [reference_to(subject.object, self.kind, controller=True)]

    def pod_sets(self, subject: Subject) -> list[Json]:
        job = subject.object
        template = job["spec"]["template"]
        pod_set: Json = {
            "name": names.DEFAULT_POD_SET,
            "count": pods_at_once(job),
            "template": template,
        }
        least = min_parallelism(job)
        if least is not None and least < pod_set["count"]:
            pod_set["minCount"] = least
        request = topology_request(template, annotations_of(job), names.JOB_COMPLETION_INDEX)
        return [{**pod_set, "topologyRequest": request}] if request else [pod_set]

    def notes(self, subject: Subject) -> Json:
        """A partial start changes the parallelism, which may be more than the pods at once."""
        job = subject.object
        partial = min_parallelism(job) is not None
        return {PARALLELISM: str(job["spec"].get("parallelism", 1))} if partial else {}

    def incomplete(self, subject: Subject) -> str | None:
        return None

    def same_pod_sets(self, wanted: Sequence[Json], asked: Sequence[Json]) -> bool:
        return list(wanted) == list(asked)

    def matches(self, subject: Subject, workload: Json) -> bool:
        pod_sets = workload["spec"].get("podSets") or []
        if len(pod_sets) != 1 or pod_sets[0].get("name") != names.DEFAULT_POD_SET:
            return False
        job, asked = subject.object, pod_sets[0]
        counts = {asked.get("count"), *_admitted_counts(workload)}
        return pods_at_once(job) in counts and same_needs(
            job["spec"]["template"], asked["template"]
        )

    def is_suspended(self, subject: Subject) -> bool:
        return bool(subject.object["spec"].get("suspend"))

    def is_running(self, subject: Subject) -> bool:
        job = subject.object
        return not job["spec"].get("suspend") or names.STOPPING in annotations_of(job)

    def is_active(self, subject: Subject) -> bool:
        status = subject.object.get("status") or {}
        if (status.get("active") or 0) > 0 or (status.get("terminating") or 0) > 0:
            return True
        # Resumed, and the Job controller has not yet said that it knows of the suspension.
        return status.get("startTime") is not None and not _has(status, "Suspended")

    def finish(self, subject: Subject) -> Finish | None:
        for condition in (subject.object.get("status") or {}).get("conditions") or ():
            if condition.get("type") in _ENDS and condition.get("status") == "True":
                return Finish(_ENDS[condition["type"]], condition.get("message") or "")
        return None

    def is_ready(self, subject: Subject) -> bool:
        """KEP-349: ready, succeeded and not yet counted successes fill the places there are."""
        status = subject.object.get("status") or {}
        uncounted = (status.get("uncountedTerminatedPods") or {}).get("succeeded") or ()
        there = (status.get("ready") or 0) + (status.get("succeeded") or 0) + len(uncounted)
        return there >= pods_at_once(subject.object)

    def reclaimable(self, subject: Subject) -> list[Json]:
        job = subject.object
        parallelism, completions = job["spec"].get("parallelism", 1), job["spec"].get("completions")
        succeeded = (job.get("status") or {}).get("succeeded") or 0
        if parallelism <= 1 or succeeded == 0 or completions is None:
            return []
        spare = pods_at_once(job) - max(0, completions - succeeded)
        return [{"name": names.DEFAULT_POD_SET, "count": spare}] if spare > 0 else []

    def start(self, subject: Subject, infos: Sequence[PodSetInfo], workload: Json) -> list[Write]:
        job, pod_set = subject.object, workload["spec"]["podSets"][0]
        spec: Json = {"suspend": False} if job["spec"].get("suspend") else {}
        if pod_set.get("minCount") is not None:
            spec |= _scaled(job, infos[0].count)
        base = _restored(job, pod_set["template"])
        template = placement_patch(job["spec"]["template"], injected(base, infos[0]))
        if template:
            if (job.get("status") or {}).get("startTime") is not None:
                return [self._without_start_time(job)]
            spec["template"] = template
        body: Json = {"spec": spec} if spec else {}
        if names.STOPPING in annotations_of(job):
            body["metadata"] = {"annotations": {names.STOPPING: None}}
        return [Patch(self.kind, job, body)] if body else []

    def stop(self, subject: Subject, workload: Json | None) -> list[Write]:
        job = subject.object
        if not job["spec"].get("suspend"):
            mark = {"annotations": {names.STOPPING: "true"}} if workload is not None else {}
            return [Patch(self.kind, job, {"metadata": mark, "spec": {"suspend": True}})]
        if self.is_active(subject):
            return []
        spec = self._restoration(job, workload)
        if spec and (job.get("status") or {}).get("startTime") is not None:
            return [self._without_start_time(job)]
        body: Json = {"spec": spec} if spec else {}
        if names.STOPPING in annotations_of(job):
            body["metadata"] = {"annotations": {names.STOPPING: None}}
        return [Patch(self.kind, job, body)] if body else []

    def _restoration(self, job: Json, workload: Json | None) -> Json:
        if workload is None:
            return {}  # nobody remembers what the template was
        pod_set = workload["spec"]["podSets"][0]
        spec: Json = {}
        if pod_set.get("minCount") is not None:
            before = count_in(annotations_of(workload).get(PARALLELISM, ""))
            spec |= _scaled(job, pod_set["count"] if before is None else before)
        current = job["spec"]["template"]
        template = placement_patch(current, _restored(job, pod_set["template"]))
        return {**spec, "template": template} if template else spec

    def _without_start_time(self, job: Json) -> Patch:
        return Patch(self.kind, job, {"status": {"startTime": None}}, "status")

    def hold(self, subject: Subject) -> list[Write]:
        if subject.object["spec"].get("suspend"):
            return []
        mark = {"annotations": {names.STOPPING: "true"}}
        return [Patch(self.kind, subject.object, {"metadata": mark, "spec": {"suspend": True}})]

    def let_go(self, subject: Subject) -> list[Write]:
        if names.STOPPING not in annotations_of(subject.object):
            return []
        mark = {"annotations": {names.STOPPING: None}}
        return [Patch(self.kind, subject.object, {"metadata": mark, "spec": {"suspend": False}})]

    def tidy(self, subject: Subject, workload: Json | None) -> list[Write]:
        return []

    def missing(self, subject: Subject, workload: Json) -> tuple[str, str] | None:
        return None

    def is_parent_of(self, owner: Json, child: Json) -> bool:
        """A Job makes pods that its selector matches; the Job controller polices those."""
        wanted = ((owner["spec"].get("selector") or {}).get("matchLabels")) or {}
        labels = labels_of(child)
        return (
            child.get("kind", "Pod") == "Pod"
            and bool(wanted)
            and all(labels.get(key) == value for key, value in wanted.items())
        )


def pods_at_once(job: Json) -> int:
    parallelism: int = job["spec"].get("parallelism", 1)
    completions: int | None = job["spec"].get("completions")
    return parallelism if completions is None else min(parallelism, completions)


def min_parallelism(job: Json) -> int | None:
    return count_in(annotations_of(job).get(names.JOB_MIN_PARALLELISM, "")) or None


def _scaled(job: Json, count: int) -> Json:
    """What makes it run so many pods at once."""
    spec = job["spec"]
    change: Json = {} if spec.get("parallelism", 1) == count else {"parallelism": count}
    follows = annotations_of(job).get(names.JOB_COMPLETIONS_EQUAL_PARALLELISM) == "true"
    if follows and spec.get("completions") != count:
        change["completions"] = count
    return change


def _restored(job: Json, original: Json) -> Json:
    """The job's template, placed as the original.

    An original without the labels that the job's selector needs was not made from this job (it was
    reserved beforehand), and says nothing about its template.
    """
    current = job["spec"]["template"]
    needed = (job["spec"].get("selector") or {}).get("matchLabels") or {}
    if any(key not in ((original.get("metadata") or {}).get("labels") or {}) for key in needed):
        return dict(current)
    meta, spec = dict(current.get("metadata") or {}), dict(current.get("spec") or {})
    for part, source, fields in (
        (meta, original.get("metadata") or {}, ("labels", "annotations")),
        (spec, original.get("spec") or {}, ("nodeSelector", "tolerations", "schedulingGates")),
    ):
        for key in fields:
            if key in source:
                part[key] = source[key]
            else:
                part.pop(key, None)
    return {**current, "metadata": meta, "spec": spec}


def _admitted_counts(workload: Json) -> list[int]:
    admission = (workload.get("status") or {}).get("admission") or {}
    return [a["count"] for a in admission.get("podSetAssignments") or () if a.get("count")]


def _has(status: Json, type_: str) -> bool:
    return any(
        c.get("type") == type_ and c.get("status") == "True" for c in status.get("conditions") or ()
    )
