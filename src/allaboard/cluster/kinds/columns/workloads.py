"""How do Jobs, Deployments and their like look in a list?"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.kinds.columns.basic import (
    AGE,
    NAME,
    Cell,
    age,
    field_cell,
    human_duration,
    number_cell,
    pairs,
    seconds_of,
    selector_text,
    text_column,
)
from allaboard.cluster.resource import Column


def _template(obj: Json) -> Json:
    template: Json = (obj.get("spec") or {}).get("template") or {}
    return template


def _containers(key: str) -> Cell:
    def cell(obj: Json, now: float) -> Any:
        del now
        spec = _template(obj).get("spec") or {}
        return ",".join(str(c.get(key) or "") for c in spec.get("containers") or ())

    return cell


def _selector(obj: Json, now: float) -> Any:
    del now
    return selector_text((obj.get("spec") or {}).get("selector"))


_WIDE = (
    text_column("Containers", _containers("name"), "Names of the template's containers.", 1),
    text_column("Images", _containers("image"), "Images of the template's containers.", 1),
    text_column("Selector", _selector, "Which pods belong to it.", 1),
)


def _job_status(job: Json, now: float) -> Any:
    del now
    true = {
        c.get("type")
        for c in (job.get("status") or {}).get("conditions") or ()
        if c.get("status") == "True"
    }
    for kind in ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet", "Suspended"):
        if kind in true:
            return kind
    return "Terminating" if job["metadata"].get("deletionTimestamp") else "Running"


def _completions(job: Json, now: float) -> Any:
    del now
    spec, status = job.get("spec") or {}, job.get("status") or {}
    done = status.get("succeeded") or 0
    wanted, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    if wanted is not None:
        return f"{done}/{wanted}"
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(job: Json, now: float) -> Any:
    status = job.get("status") or {}
    began = seconds_of(status.get("startTime") or "")
    if began is None:
        return ""
    ended = seconds_of(status.get("completionTime") or "")
    if ended is None:
        for condition in status.get("conditions") or ():
            if condition.get("type") == "Failed" and condition.get("status") == "True":
                ended = seconds_of(condition.get("lastTransitionTime") or "")
    return human_duration((now if ended is None else ended) - began)


JOB_COLUMNS = (
    NAME,
    text_column("Status", _job_status, "What the job is doing."),
    text_column("Completions", _completions, "How many pods succeeded, of how many wanted."),
    text_column("Duration", _job_duration, "How long it has run."),
    AGE,
    *_WIDE,
)


def _ready_replicas(obj: Json, now: float) -> Any:
    del now
    ready = (obj.get("status") or {}).get("readyReplicas") or 0
    return f"{ready}/{(obj.get('spec') or {}).get('replicas') or 0}"


DEPLOYMENT_COLUMNS = (
    NAME,
    text_column("Ready", _ready_replicas, "Ready pods, of how many wanted."),
    text_column(
        "Up-to-date", number_cell("status", "updatedReplicas"), "Pods of the newest template."
    ),
    text_column(
        "Available", number_cell("status", "availableReplicas"), "Pods ready for long enough."
    ),
    AGE,
    *_WIDE,
)
REPLICASET_COLUMNS = (
    NAME,
    Column("Desired", "integer", number_cell("spec", "replicas"), "", "Pods wanted."),
    Column("Current", "integer", number_cell("status", "replicas"), "", "Pods that exist."),
    Column("Ready", "integer", number_cell("status", "readyReplicas"), "", "Pods that are ready."),
    AGE,
    *_WIDE,
)
STATEFULSET_COLUMNS = (
    NAME,
    text_column("Ready", _ready_replicas, "Ready pods, of how many wanted."),
    AGE,
    *_WIDE[:2],
)
_DAEMON = (
    ("Desired", "desiredNumberScheduled", "Nodes that should run a pod."),
    ("Current", "currentNumberScheduled", "Nodes that run one."),
    ("Ready", "numberReady", "Nodes whose pod is ready."),
    ("Up-to-date", "updatedNumberScheduled", "Nodes whose pod is of the newest template."),
    ("Available", "numberAvailable", "Nodes whose pod has been ready for long enough."),
)
DAEMONSET_COLUMNS = (
    NAME,
    *(Column(n, "integer", number_cell("status", key), "", text) for n, key, text in _DAEMON),
    text_column(
        "Node Selector",
        lambda d, now: pairs((_template(d).get("spec") or {}).get("nodeSelector")),
        "Which nodes it runs on.",
    ),
    AGE,
    *_WIDE,
)


def _cron_last(cron: Json, now: float) -> Any:
    stamp = (cron.get("status") or {}).get("lastScheduleTime")
    return age(stamp, now) if stamp else "<none>"


CRONJOB_COLUMNS = (
    NAME,
    text_column("Schedule", field_cell("spec", "schedule"), "When it runs."),
    text_column(
        "Timezone", field_cell("spec", "timeZone", default="<none>"), "In which zone that is meant."
    ),
    text_column(
        "Suspend",
        lambda c, now: str(bool((c.get("spec") or {}).get("suspend"))),
        "Whether it is paused.",
    ),
    Column(
        "Active",
        "integer",
        lambda c, now: len((c.get("status") or {}).get("active") or ()),
        "",
        "Jobs that run now.",
    ),
    text_column("Last Schedule", _cron_last, "When it last ran."),
    AGE,
)


def _share(key: str) -> Cell:
    def cell(obj: Json, now: float) -> Any:
        del now
        value = (obj.get("spec") or {}).get(key)
        return "N/A" if value is None else str(value)

    return cell


BUDGET_COLUMNS = (
    NAME,
    text_column("Min Available", _share("minAvailable"), "Pods that must stay."),
    text_column("Max Unavailable", _share("maxUnavailable"), "Pods that may go."),
    Column(
        "Allowed Disruptions",
        "integer",
        number_cell("status", "disruptionsAllowed"),
        "",
        "How many may go now.",
    ),
    AGE,
)
