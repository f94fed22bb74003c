"""How do Nodes, Events, Leases and what belongs to the whole cluster look in a list?"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.kinds.columns.basic import (
    AGE,
    NAME,
    Cell,
    age,
    field_cell,
    name_cell,
    number_cell,
    text_column,
)
from allaboard.cluster.resource import Column


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
    text_column("Status", _node_status, "Whether the node is ready and takes pods."),
    text_column("Roles", _roles, "What the node is for."),
    AGE,
    text_column(
        "Version", field_cell("status", "nodeInfo", "kubeletVersion"), "The kubelet's version."
    ),
    text_column("Internal-IP", _address("InternalIP"), "The node's address inside.", 1),
    text_column("External-IP", _address("ExternalIP"), "The node's address outside.", 1),
    text_column("OS-Image", _node_info("osImage"), "The operating system.", 1),
    text_column("Kernel-Version", _node_info("kernelVersion"), "The kernel.", 1),
    text_column(
        "Container-Runtime", _node_info("containerRuntimeVersion"), "The container runtime.", 1
    ),
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
    text_column("Last Seen", _event_last, "When it last happened."),
    text_column("Type", field_cell("type"), "Normal or Warning."),
    text_column("Reason", field_cell("reason"), "Why, in one word."),
    text_column("Object", _event_object, "What it is about."),
    text_column(
        "Subobject", lambda e, now: _about(e).get("fieldPath") or "", "Which part of it.", 1
    ),
    text_column("Source", _event_source, "Who reported it.", 1),
    text_column(
        "Message",
        lambda e, now: str(e.get("message") or e.get("note") or "").strip(),
        "What happened.",
    ),
    text_column("First Seen", _event_first, "When it first happened.", 1),
    text_column("Count", _event_count, "How often it happened.", 1),
    Column("Name", "string", name_cell, "name", "The object's name.", 1),
)


NAMESPACE_COLUMNS = (NAME, text_column("Status", field_cell("status", "phase"), "Its phase."), AGE)


LEASE_COLUMNS = (
    NAME,
    text_column("Holder", field_cell("spec", "holderIdentity"), "Who holds it."),
    AGE,
)
PRIORITY_COLUMNS = (
    NAME,
    Column("Value", "integer", number_cell("value"), "", "The priority itself."),
    Column(
        "Global-Default",
        "boolean",
        field_cell("globalDefault", default=False),
        "",
        "Whether pods without a class get it.",
    ),
    AGE,
    text_column(
        "PreemptionPolicy", field_cell("preemptionPolicy"), "Whether it may preempt others."
    ),
)


RUNTIME_CLASS_COLUMNS = (NAME, text_column("Handler", field_cell("handler"), "Which runtime."), AGE)
