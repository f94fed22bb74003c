"""What does a simulated node say of itself when it joins? Pure, plus the loop that writes it.

A Node that nobody has described yet is registered the way a kubelet would: allocatable from
capacity, modest defaults where neither is given, Ready. One that already carries a Ready
condition is left alone, so that a script or a test can break it.
"""

from allaboard.api.errors import Conflict, NotFound
from allaboard.api.meta import Json, Key
from allaboard.api.times import format_time
from allaboard.api.types.model import find_condition
from allaboard.api.types.nodes import Node
from allaboard.client.client import Client
from allaboard.clock import Clock, Instant
from allaboard.runtime.controller import Controller, Done, Outcome
from allaboard.runtime.informer import Informer

DEFAULT_CAPACITY = {"cpu": "8", "memory": "32Gi", "pods": "110"}
HOSTNAME = "kubernetes.io/hostname"
KUBELET_VERSION = "v1.36.0-allaboard"


def registration(node: Node, now: Instant) -> Json | None:
    """The status patch a joining node needs; None if it has joined already."""
    status = node.status
    if find_condition(status.conditions, "Ready") is not None:
        return None
    capacity = dict(status.capacity or status.allocatable or DEFAULT_CAPACITY)
    capacity.setdefault("pods", DEFAULT_CAPACITY["pods"])
    allocatable = dict(status.allocatable or capacity)
    allocatable.setdefault("pods", capacity["pods"])
    at = format_time(now)
    conditions = [
        {"type": kind, "status": state, "reason": reason, "message": message,
         "lastHeartbeatTime": at, "lastTransitionTime": at}
        for kind, state, reason, message in (
            ("MemoryPressure", "False", "KubeletHasSufficientMemory", "memory is sufficient"),
            ("DiskPressure", "False", "KubeletHasNoDiskPressure", "disk is sufficient"),
            ("PIDPressure", "False", "KubeletHasSufficientPID", "PIDs are sufficient"),
            ("Ready", "True", "KubeletReady", "the simulated kubelet is ready"),
        )
    ]  # fmt: skip
    return {
        "metadata": {"uid": node.uid},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": conditions,
            "addresses": [{"type": "Hostname", "address": node.name}],
            "nodeInfo": {
                "kubeletVersion": KUBELET_VERSION,
                "containerRuntimeVersion": "simulated://1",
                "operatingSystem": "linux",
                "osImage": "simulated",
                "architecture": "amd64",
                "kernelVersion": "simulated",
                "machineID": node.uid,
                "systemUUID": node.uid,
                "bootID": node.uid,
                "kubeProxyVersion": "",
            },
        },
    }


def missing_labels(node: Node) -> dict[str, str]:
    """What a kubelet says of itself; selectors and topologies count on the host's name."""
    told = {HOSTNAME: node.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {key: value for key, value in told.items() if key not in node.metadata.labels}


def is_reachable(node: Node | None) -> bool:
    """Ready=Unknown means that nobody hears from the kubelet; its pods then stand still."""
    if node is None:
        return False
    ready = find_condition(node.status.conditions, "Ready")
    return ready is not None and ready.status != "Unknown"


def is_ready(node: Node | None) -> bool:
    ready = find_condition(node.status.conditions, "Ready") if node is not None else None
    return ready is not None and ready.status == "True"


class NodeRegistrar:
    """Registers every node that appears."""

    def __init__(self, client: Client, clock: Clock, nodes: Informer[Node]) -> None:
        self._client, self._clock, self._nodes = client, clock, nodes
        self.controller = Controller("node-registrar", self.reconcile, workers=4)
        nodes.on_change(self._changed)

    def _changed(self, old: Node | None, new: Node | None) -> None:
        if new is not None and find_condition(new.status.conditions, "Ready") is None:
            self.controller.enqueue(new.key)

    async def reconcile(self, key: Key) -> Outcome:
        node = self._nodes.get(key)
        patch = registration(node, self._clock.now()) if node is not None else None
        if node is not None and patch is not None:
            try:
                labels = missing_labels(node)
                if labels:
                    named = {"metadata": {"uid": node.uid, "labels": labels}}
                    await self._client.patch(Node.KIND, key.name, patch=named, kind="strategic")
                await self._client.patch(
                    Node.KIND, key.name, patch=patch, kind="strategic", subresource="status"
                )
            except (NotFound, Conflict):
                pass  # gone or replaced meanwhile; the informer will say so
        return Done()
