"""How do all other kinds look in a list?"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.kinds.columns.basic import (
    AGE,
    NAME,
    Cell,
    age,
    field_cell,
    human_duration,
    length_cell,
    name_cell,
    pairs,
    seconds_of,
    selector_text,
)
from allaboard.cluster.resource import Column


def _col(name: str, cell: Cell, description: str, priority: int = 0) -> Column:
    return Column(name, "string", cell, "", description, priority)


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
    _col("Containers", _containers("name"), "Names of the template's containers.", 1),
    _col("Images", _containers("image"), "Images of the template's containers.", 1),
    _col("Selector", _selector, "Which pods belong to it.", 1),
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
    _col("Status", _job_status, "What the job is doing."),
    _col("Completions", _completions, "How many pods succeeded, of how many wanted."),
    _col("Duration", _job_duration, "How long it has run."),
    AGE,
    *_WIDE,
)


def _node_status(node: Json, now: float) -> Any:
    del now
    words = []
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready":
            words.append("Ready" if condition.get("status") == "True" else "NotReady")
    if not words:
        words.append("Unknown")
    if (node.get("spec") or {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(node: Json, now: float) -> Any:
    del now
    prefix = "node-role.kubernetes.io/"
    roles = set()
    for key, value in (node["metadata"].get("labels") or {}).items():
        if key.startswith(prefix) and len(key) > len(prefix):
            roles.add(key.removeprefix(prefix))
        elif key == "kubernetes.io/role" and value:
            roles.add(value)
    return ",".join(sorted(roles)) or "<none>"


def _address(kind: str) -> Cell:
    def cell(node: Json, now: float) -> Any:
        del now
        for address in (node.get("status") or {}).get("addresses") or ():
            if address.get("type") == kind:
                return address.get("address") or "<none>"
        return "<none>"

    return cell


def _node_info(key: str) -> Cell:
    def cell(node: Json, now: float) -> Any:
        del now
        info = (node.get("status") or {}).get("nodeInfo") or {}
        text = info.get(key) or "<unknown>"
        if key == "kernelVersion" and info.get(key) and info.get("architecture"):
            return f"{text} ({info['architecture']})"
        return text

    return cell


NODE_COLUMNS = (
    NAME,
    _col("Status", _node_status, "Whether the node is ready and takes pods."),
    _col("Roles", _roles, "What the node is for."),
    AGE,
    _col("Version", field_cell("status", "nodeInfo", "kubeletVersion"), "The kubelet's version."),
    _col("Internal-IP", _address("InternalIP"), "The node's address inside.", 1),
    _col("External-IP", _address("ExternalIP"), "The node's address outside.", 1),
    _col("OS-Image", _node_info("osImage"), "The operating system.", 1),
    _col("Kernel-Version", _node_info("kernelVersion"), "The kernel.", 1),
    _col("Container-Runtime", _node_info("containerRuntimeVersion"), "The container runtime.", 1),
)


def _event_last(event: Json, now: float) -> Any:
    series = event.get("series") or {}
    stamp = (
        series.get("lastObservedTime") or event.get("lastTimestamp")
        or event.get("deprecatedLastTimestamp") or event.get("firstTimestamp")
        or event.get("deprecatedFirstTimestamp") or event.get("eventTime")
    )  # fmt: skip
    return age(stamp, now)


def _event_first(event: Json, now: float) -> Any:
    stamp = (
        event.get("firstTimestamp") or event.get("deprecatedFirstTimestamp")
        or event.get("eventTime")
    )  # fmt: skip
    return age(stamp, now)


def _about(event: Json) -> Json:
    about: Json = event.get("involvedObject") or event.get("regarding") or {}
    return about


def _event_object(event: Json, now: float) -> Any:
    del now
    about = _about(event)
    kind, name = str(about.get("kind") or "").lower(), about.get("name") or ""
    return f"{kind}/{name}" if name else kind


def _event_source(event: Json, now: float) -> Any:
    del now
    source = event.get("source") or event.get("deprecatedSource") or {}
    component = (
        source.get("component")
        or event.get("reportingComponent")
        or event.get("reportingController")
    )
    host = source.get("host") or event.get("reportingInstance")
    return ", ".join(str(part) for part in (component, host) if part)


def _event_count(event: Json, now: float) -> Any:
    del now
    series = event.get("series") or {}
    return series.get("count") or event.get("count") or event.get("deprecatedCount") or 1


EVENT_COLUMNS = (
    _col("Last Seen", _event_last, "When it last happened."),
    _col("Type", field_cell("type"), "Normal or Warning."),
    _col("Reason", field_cell("reason"), "Why, in one word."),
    _col("Object", _event_object, "What it is about."),
    _col("Subobject", lambda e, now: _about(e).get("fieldPath") or "", "Which part of it.", 1),
    _col("Source", _event_source, "Who reported it.", 1),
    _col(
        "Message",
        lambda e, now: str(e.get("message") or e.get("note") or "").strip(),
        "What happened.",
    ),
    _col("First Seen", _event_first, "When it first happened.", 1),
    _col("Count", _event_count, "How often it happened.", 1),
    Column("Name", "string", name_cell, "name", "The object's name.", 1),
)


def _service_external(service: Json, now: float) -> Any:
    del now
    spec = service.get("spec") or {}
    kind, ips = spec.get("type"), spec.get("externalIPs") or ()
    if kind == "ExternalName":
        return spec.get("externalName") or "<none>"
    if kind == "LoadBalancer":
        ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        found = [str(i.get("ip") or i.get("hostname")) for i in ingress]
        return ",".join([*found, *ips]) or "<pending>"
    return ",".join(ips) or "<none>"


def _service_ports(service: Json, now: float) -> Any:
    del now
    shown = []
    for port in (service.get("spec") or {}).get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        shown.append(f"{port.get('port')}{node}/{port.get('protocol')}")
    return ",".join(shown) or "<none>"


SERVICE_COLUMNS = (
    NAME,
    _col("Type", field_cell("spec", "type"), "How it is exposed."),
    _col(
        "Cluster-IP",
        lambda s, now: (s.get("spec") or {}).get("clusterIP") or "<none>",
        "Its address inside the cluster.",
    ),
    _col("External-IP", _service_external, "Its addresses outside."),
    _col("Port(s)", _service_ports, "The ports it serves."),
    AGE,
    _col(
        "Selector",
        lambda s, now: pairs((s.get("spec") or {}).get("selector")),
        "Which pods it leads to.",
        1,
    ),
)


def _quota(prefix: str) -> Cell:
    def cell(quota: Json, now: float) -> Any:
        del now
        status = quota.get("status") or {}
        hard, used = status.get("hard") or {}, status.get("used") or {}
        shown = []
        for name in sorted(hard):
            if name.startswith("limits") == (prefix == "limits"):
                shown.append(f"{name}: {used.get(name, '0')}/{hard[name]}")
        return ", ".join(shown)

    return cell


QUOTA_COLUMNS = (
    NAME,
    _col("Request", _quota("requests"), "What may be requested, and what is."),
    _col("Limit", _quota("limits"), "What limits may add up to, and do."),
    AGE,
)


def _ready_replicas(obj: Json, now: float) -> Any:
    del now
    ready = (obj.get("status") or {}).get("readyReplicas") or 0
    return f"{ready}/{(obj.get('spec') or {}).get('replicas') or 0}"


def _number(*path: str) -> Cell:
    return field_cell(*path, default=0)


DEPLOYMENT_COLUMNS = (
    NAME,
    _col("Ready", _ready_replicas, "Ready pods, of how many wanted."),
    _col("Up-to-date", _number("status", "updatedReplicas"), "Pods of the newest template."),
    _col("Available", _number("status", "availableReplicas"), "Pods ready for long enough."),
    AGE,
    *_WIDE,
)
REPLICASET_COLUMNS = (
    NAME,
    Column("Desired", "integer", _number("spec", "replicas"), "", "Pods wanted."),
    Column("Current", "integer", _number("status", "replicas"), "", "Pods that exist."),
    Column("Ready", "integer", _number("status", "readyReplicas"), "", "Pods that are ready."),
    AGE,
    *_WIDE,
)
STATEFULSET_COLUMNS = (
    NAME,
    _col("Ready", _ready_replicas, "Ready pods, of how many wanted."),
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
    *(Column(n, "integer", _number("status", key), "", text) for n, key, text in _DAEMON),
    _col(
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
    _col("Schedule", field_cell("spec", "schedule"), "When it runs."),
    _col(
        "Timezone", field_cell("spec", "timeZone", default="<none>"), "In which zone that is meant."
    ),
    _col(
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
    _col("Last Schedule", _cron_last, "When it last ran."),
    AGE,
)
NAMESPACE_COLUMNS = (NAME, _col("Status", field_cell("status", "phase"), "Its phase."), AGE)
CONFIGMAP_COLUMNS = (
    NAME,
    _col("Data", length_cell("data", "binaryData"), "How many keys it has."),
    AGE,
)
SECRET_COLUMNS = (
    NAME,
    _col("Type", field_cell("type"), "What it is for."),
    _col("Data", length_cell("data"), "How many keys it has."),
    AGE,
)
LEASE_COLUMNS = (NAME, _col("Holder", field_cell("spec", "holderIdentity"), "Who holds it."), AGE)
PRIORITY_COLUMNS = (
    NAME,
    Column("Value", "integer", _number("value"), "", "The priority itself."),
    Column(
        "Global-Default",
        "boolean",
        field_cell("globalDefault", default=False),
        "",
        "Whether pods without a class get it.",
    ),
    AGE,
    _col("PreemptionPolicy", field_cell("preemptionPolicy"), "Whether it may preempt others."),
)
WEBHOOK_COLUMNS = (
    NAME,
    Column("Webhooks", "integer", length_cell("webhooks"), "", "How many webhooks it has."),
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
    _col("Min Available", _share("minAvailable"), "Pods that must stay."),
    _col("Max Unavailable", _share("maxUnavailable"), "Pods that may go."),
    Column(
        "Allowed Disruptions",
        "integer",
        _number("status", "disruptionsAllowed"),
        "",
        "How many may go now.",
    ),
    AGE,
)
CREATED_AT = Column(
    "Created At",
    "date",
    field_cell("metadata", "creationTimestamp"),
    "",
    "When the object was created.",
)
CRD_COLUMNS = (NAME, CREATED_AT)
ROLE_COLUMNS = CRD_COLUMNS
BINDING_COLUMNS = (
    NAME,
    _col(
        "Role",
        lambda b, now: "{}/{}".format(
            (b.get("roleRef") or {}).get("kind", ""), (b.get("roleRef") or {}).get("name", "")
        ),
        "The role it grants.",
    ),
    AGE,
)
CLAIM_COLUMNS = (
    NAME,
    _col("Status", field_cell("status", "phase"), "Its phase."),
    _col("Volume", field_cell("spec", "volumeName"), "The volume it is bound to."),
    _col("Capacity", field_cell("status", "capacity", "storage"), "How much it has."),
    _col("StorageClass", field_cell("spec", "storageClassName"), "Where it comes from."),
    AGE,
)
VOLUME_COLUMNS = (
    NAME,
    _col("Capacity", field_cell("spec", "capacity", "storage"), "How much it holds."),
    _col(
        "Reclaim Policy",
        field_cell("spec", "persistentVolumeReclaimPolicy"),
        "What happens when it is released.",
    ),
    _col("Status", field_cell("status", "phase"), "Its phase."),
    _col("StorageClass", field_cell("spec", "storageClassName"), "Where it comes from."),
    AGE,
)
STORAGE_CLASS_COLUMNS = (
    NAME,
    _col("Provisioner", field_cell("provisioner"), "Who makes volumes of it."),
    _col("ReclaimPolicy", field_cell("reclaimPolicy"), "What happens to released volumes."),
    _col("VolumeBindingMode", field_cell("volumeBindingMode"), "When volumes are bound."),
    AGE,
)
RUNTIME_CLASS_COLUMNS = (NAME, _col("Handler", field_cell("handler"), "Which runtime."), AGE)
