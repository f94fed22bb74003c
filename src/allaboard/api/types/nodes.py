# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What does a reader expect of a Node?"""

from typing import ClassVar

from msgspec import field

from allaboard.api.meta import Json, Kind
from allaboard.api.types.model import Condition, Model, Object, Quantities


class Taint(Model, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class NodeSpec(Model, frozen=True):
    unschedulable: bool = False
    taints: list[Taint] = []
    pod_cidr: str = field(default="", name="podCIDR")
    provider_id: str = field(default="", name="providerID")


class NodeCondition(Condition, frozen=True):
    pass


class NodeStatus(Model, frozen=True):
    capacity: Quantities = {}
    allocatable: Quantities = {}
    conditions: list[NodeCondition] = []
    addresses: list[Json] = []
    node_info: Json = {}
    phase: str = ""


class Node(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "Node", "nodes", namespaced=False)

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
