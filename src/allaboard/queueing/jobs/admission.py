"""What happens to a Job or Pod when somebody writes it: what is set for them, what is refused?

Pure rules over plain data, for a plugin inside the process and for webhooks alike. `default_…`
return the object as it shall be, the same one if nothing changes. `check_…` return what is wrong.
"Immutable" means adding, changing and removing alike. Membership is never taken from a label: a
child is known by its controller's UID (`is_child`, found out by whoever calls). Keys that say what
the controller did are the controller's: rules about them are left out for its own writes
(`by_controller`), and for nobody else's.
"""

from dataclasses import dataclass
from typing import Literal

from allaboard.api.fields import FieldError, bad_value, forbidden, required
from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.api.names import is_subdomain, label_value_problems, subdomain_problems
from allaboard.queueing.jobs.adapter import annotations_of, count_in, labels_of
from allaboard.queueing.jobs.pod import is_gated
from allaboard.queueing.jobs.shapes import role_of

_LABELS = "metadata.labels"
_ANNOTATIONS = "metadata.annotations"
_IMMUTABLE = "field is immutable"
_MAX_GROUP = 100_000
# Written by controllers when a job starts or stops; from anybody else they would be lies.
RESERVED_ANNOTATIONS = (names.STOPPING, names.ROLE_HASH)
RESERVED_LABELS = (names.MANAGED, names.JOB_UID)


@dataclass(frozen=True, slots=True)
class Place:
    """What is known about the namespace and the owner of a new object."""

    is_managed: bool = True  # the namespace selector matches
    has_default_queue: bool = False  # a LocalQueue `default` is there
    has_default_class: bool = False  # a WorkloadPriorityClass `default` is there
    manage_without_queue_name: bool = False
    is_child: bool = False  # its controller is queued and made it: proven by UID


def default_job(job: Json, place: Place) -> Json:
    """A new Job that names a queue, or gets the default one, is made to wait."""
    if place.is_child or not place.is_managed:
        return job
    job = _with_defaults(job, place)
    queued = names.QUEUE_NAME in labels_of(job) or place.manage_without_queue_name
    if not queued or job["spec"].get("suspend"):
        return job
    return {**job, "spec": {**job["spec"], "suspend": True}}


def default_pod(pod: Json, place: Place) -> Json:
    """A new Pod that names a queue is gated; a member of a group is also kept by a finalizer."""
    if place.is_child or not place.is_managed:
        return pod
    pod = _with_defaults(pod, place)
    if names.QUEUE_NAME not in labels_of(pod) and not place.manage_without_queue_name:
        return pod
    meta = dict(pod["metadata"])
    meta["labels"] = {**labels_of(pod), names.MANAGED: "true"}
    if labels_of(pod).get(names.POD_GROUP):
        finalizers = list(meta.get("finalizers") or ())
        if names.MANAGED not in finalizers:
            meta["finalizers"] = [*finalizers, names.MANAGED]
        meta["annotations"] = {**annotations_of(pod), names.ROLE_HASH: role_of(pod)}
    spec = dict(pod["spec"])
    if not is_gated(pod):
        gate = {"name": names.ADMISSION_GATE}
        spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), gate]
    return {**pod, "metadata": meta, "spec": spec}


def _with_defaults(obj: Json, place: Place) -> Json:
    labels = dict(labels_of(obj))
    if names.QUEUE_NAME not in labels and place.has_default_queue:
        labels[names.QUEUE_NAME] = names.DEFAULT_LOCAL_QUEUE
    queued = names.QUEUE_NAME in labels
    if queued and place.has_default_class and names.PRIORITY_CLASS not in labels:
        labels[names.PRIORITY_CLASS] = names.DEFAULT_PRIORITY_CLASS
    if labels == labels_of(obj):
        return obj
    return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


# Jobs


def check_new_job(job: Json) -> list[FieldError]:
    return _names(job) + _partial(job) + _reserved_keys(job, None)


def check_job_change(
    job: Json, old: Json, *, is_admitted: bool = False, by_controller: bool = False
) -> list[FieldError]:
    """`is_admitted`: its Workload holds quota, whatever the Job itself says of `suspend`."""
    if by_controller or _only_leaves(job, old):
        return []
    errors = _names(job) + _partial(job)
    held = is_admitted or not (job["spec"].get("suspend") and old["spec"].get("suspend"))
    if held:
        errors += _fixed(job, old, names.QUEUE_NAME, names.PREBUILT_WORKLOAD)
        errors += _class_change(job, old)
    if is_admitted:
        errors += _fixed(job, old, names.MAX_EXEC_TIME_SECONDS)
    if not old["spec"].get("suspend") and not job["spec"].get("suspend"):
        errors += _partial_change(job, old)
    return errors + _reserved_keys(job, old)


def _names(obj: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    labels = labels_of(obj)
    for key in (names.QUEUE_NAME, names.PREBUILT_WORKLOAD, names.PRIORITY_CLASS):
        if key in labels and (not labels[key] or not is_subdomain(labels[key])):
            problems = subdomain_problems(labels[key])
            detail = problems[0] if problems else "must not be empty"
            errors.append(bad_value(f"{_LABELS}[{key}]", labels[key], detail))
    limit = labels.get(names.MAX_EXEC_TIME_SECONDS)
    if limit is not None and not count_in(limit):
        detail = "must be a number of seconds greater than 0"
        errors.append(bad_value(f"{_LABELS}[{names.MAX_EXEC_TIME_SECONDS}]", limit, detail))
    return errors


def _partial(job: Json) -> list[FieldError]:
    notes, spec = annotations_of(job), job["spec"]
    errors: list[FieldError] = []
    least, parallelism = notes.get(names.JOB_MIN_PARALLELISM), spec.get("parallelism", 1)
    if least is not None:
        at = f"{_ANNOTATIONS}[{names.JOB_MIN_PARALLELISM}]"
        count = count_in(least)
        if count is None:
            errors.append(bad_value(at, least, "must be a number"))
        elif not 0 < count < parallelism and spec.get("suspend"):
            errors.append(bad_value(at, count, f"should be between 0 and {parallelism - 1}"))
    follows = notes.get(names.JOB_COMPLETIONS_EQUAL_PARALLELISM)
    if follows is not None:
        at = f"{_ANNOTATIONS}[{names.JOB_COMPLETIONS_EQUAL_PARALLELISM}]"
        if follows not in ("true", "false"):
            errors.append(bad_value(at, follows, 'must be "true" or "false"'))
        elif follows == "true" and spec.get("completionMode") != "Indexed":
            detail = "completionMode should be Indexed, whose completions may change"
            errors.append(bad_value("spec.completionMode", spec.get("completionMode"), detail))
    return errors


def _partial_change(job: Json, old: Json) -> list[FieldError]:
    """What a partial start has set is not the user's to change while it runs."""
    errors: list[FieldError] = []
    for key in (names.JOB_MIN_PARALLELISM, names.JOB_COMPLETIONS_EQUAL_PARALLELISM):
        if annotations_of(job).get(key) != annotations_of(old).get(key):
            at = f"{_ANNOTATIONS}[{key}]"
            errors.append(bad_value(at, annotations_of(job).get(key), _IMMUTABLE))
    partial = names.JOB_MIN_PARALLELISM in annotations_of(old)
    if partial and job["spec"].get("parallelism") != old["spec"].get("parallelism"):
        detail = "cannot change when partial admission is enabled and the job is not suspended"
        errors.append(forbidden("spec.parallelism", detail))
    return errors


def _fixed(obj: Json, old: Json, *keys: str) -> list[FieldError]:
    """Labels that may be neither added nor changed nor removed."""
    new, was = labels_of(obj), labels_of(old)
    return [
        bad_value(f"{_LABELS}[{key}]", new.get(key), f"{_IMMUTABLE}; it was {was.get(key)!r}")
        for key in keys
        if new.get(key) != was.get(key)
    ]


def _class_change(obj: Json, old: Json) -> list[FieldError]:
    """One WorkloadPriorityClass may be exchanged for another, not added or removed."""
    new, was = labels_of(obj).get(names.PRIORITY_CLASS), labels_of(old).get(names.PRIORITY_CLASS)
    if bool(new) == bool(was):
        return []
    detail = f"can be neither added nor removed while quota is reserved; it was {was!r}"
    return [bad_value(f"{_LABELS}[{names.PRIORITY_CLASS}]", new, detail)]


# Pods


def check_new_pod(pod: Json) -> list[FieldError]:
    return _names(pod) + _group(pod)


def check_pod_change(pod: Json, old: Json, *, by_controller: bool = False) -> list[FieldError]:
    """A member stays one, and a managed pod stays managed; a gate falls by our hand alone."""
    if by_controller or _only_leaves(pod, old):
        return []
    if labels_of(old).get(names.MANAGED) != "true":
        # Nobody else's pod becomes ours afterwards: it would escape the gate.
        return _fixed(pod, old, names.MANAGED, names.POD_GROUP)
    errors = _fixed(pod, old, names.MANAGED, names.POD_GROUP, names.PREBUILT_WORKLOAD)
    if not (is_gated(pod) and is_gated(old)):
        errors += _fixed(pod, old, names.QUEUE_NAME) + _class_change(pod, old)
    if is_gated(old) and not is_gated(pod):
        detail = f"{names.ADMISSION_GATE} is removed by the queueing controller alone"
        errors.append(forbidden("spec.schedulingGates", detail))
    for key in (names.POD_GROUP_TOTAL_COUNT, names.ROLE_HASH):
        if annotations_of(pod).get(key) != annotations_of(old).get(key):
            at = f"{_ANNOTATIONS}[{key}]"
            errors.append(bad_value(at, annotations_of(pod).get(key), _IMMUTABLE))
    return errors + _names(pod) + _group(pod)


def _group(pod: Json) -> list[FieldError]:
    name, notes = labels_of(pod).get(names.POD_GROUP), annotations_of(pod)
    count = notes.get(names.POD_GROUP_TOTAL_COUNT)
    at_count = f"{_ANNOTATIONS}[{names.POD_GROUP_TOTAL_COUNT}]"
    at_name = f"{_LABELS}[{names.POD_GROUP}]"
    errors: list[FieldError] = []
    if name is not None:
        problems = label_value_problems(name) or subdomain_problems(name)
        if problems:
            errors.append(bad_value(at_name, name, problems[0]))
        if count is None:
            errors.append(required(at_count, f"both {names.POD_GROUP} and it must be set, or none"))
    elif count is not None:
        errors.append(required(at_name, f"both {names.POD_GROUP_TOTAL_COUNT} and it must be set"))
    if count is not None and not 0 < (count_in(count) or 0) <= _MAX_GROUP:
        detail = f"must be a number between 1 and {_MAX_GROUP}"
        errors.append(bad_value(at_count, count, detail))
    retriable = notes.get(names.POD_GROUP_RETRIABLE)
    if retriable not in (None, "true", "false"):
        at = f"{_ANNOTATIONS}[{names.POD_GROUP_RETRIABLE}]"
        errors.append(bad_value(at, retriable, 'must be "true" or "false"'))
    return errors


def _only_leaves(obj: Json, old: Json) -> bool:
    """Whether nothing changes that a rule is about, such as when a finalizer is removed.

    Whoever removes finalizers must not be held up by what was wrong before, or a namespace could
    not go.
    """
    same = labels_of(obj) == labels_of(old) and annotations_of(obj) == annotations_of(old)
    return bool(same and obj.get("spec") == old.get("spec"))


# Reserved keys


def _reserved_keys(obj: Json, old: Json | None) -> list[FieldError]:
    """Keys that only the controller writes; nobody else adds, changes or removes them."""
    errors: list[FieldError] = []
    places: tuple[tuple[str, tuple[str, ...], Literal["labels", "annotations"]], ...] = (
        (_LABELS, RESERVED_LABELS, "labels"),
        (_ANNOTATIONS, RESERVED_ANNOTATIONS, "annotations"),
    )
    for at, keys, part in places:
        new = obj["metadata"].get(part) or {}
        was = (old["metadata"].get(part) or {}) if old is not None else {}
        for key in keys:
            if new.get(key) != was.get(key):
                errors.append(forbidden(f"{at}[{key}]", "is set by the queueing controller alone"))
    return errors
