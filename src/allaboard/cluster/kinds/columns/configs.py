"""How do configuration, services, access and storage look in a list?"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.cluster.kinds.columns.basic import (
    AGE,
    NAME,
    Cell,
    field_cell,
    length_cell,
    pairs,
    text_column,
)
from allaboard.cluster.resource import Column


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
    text_column("Type", field_cell("spec", "type"), "How it is exposed."),
    text_column(
        "Cluster-IP",
        lambda s, now: (s.get("spec") or {}).get("clusterIP") or "<none>",
        "Its address inside the cluster.",
    ),
    text_column("External-IP", _service_external, "Its addresses outside."),
    text_column("Port(s)", _service_ports, "The ports it serves."),
    AGE,
    text_column(
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
    text_column("Request", _quota("requests"), "What may be requested, and what is."),
    text_column("Limit", _quota("limits"), "What limits may add up to, and do."),
    AGE,
)


CONFIGMAP_COLUMNS = (
    NAME,
    text_column("Data", length_cell("data", "binaryData"), "How many keys it has."),
    AGE,
)
SECRET_COLUMNS = (
    NAME,
    text_column("Type", field_cell("type"), "What it is for."),
    text_column("Data", length_cell("data"), "How many keys it has."),
    AGE,
)


WEBHOOK_COLUMNS = (
    NAME,
    Column("Webhooks", "integer", length_cell("webhooks"), "", "How many webhooks it has."),
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
    text_column(
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
    text_column("Status", field_cell("status", "phase"), "Its phase."),
    text_column("Volume", field_cell("spec", "volumeName"), "The volume it is bound to."),
    text_column("Capacity", field_cell("status", "capacity", "storage"), "How much it has."),
    text_column("StorageClass", field_cell("spec", "storageClassName"), "Where it comes from."),
    AGE,
)
VOLUME_COLUMNS = (
    NAME,
    text_column("Capacity", field_cell("spec", "capacity", "storage"), "How much it holds."),
    text_column(
        "Reclaim Policy",
        field_cell("spec", "persistentVolumeReclaimPolicy"),
        "What happens when it is released.",
    ),
    text_column("Status", field_cell("status", "phase"), "Its phase."),
    text_column("StorageClass", field_cell("spec", "storageClassName"), "Where it comes from."),
    AGE,
)
STORAGE_CLASS_COLUMNS = (
    NAME,
    text_column("Provisioner", field_cell("provisioner"), "Who makes volumes of it."),
    text_column("ReclaimPolicy", field_cell("reclaimPolicy"), "What happens to released volumes."),
    text_column("VolumeBindingMode", field_cell("volumeBindingMode"), "When volumes are bound."),
    AGE,
)
