# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What does a ResourceFlavor say about nodes, and a Topology about where they stand?"""

from typing import Annotated, ClassVar

from allaboard.api.kueue.crd.rules import (
    ATOMIC,
    ATOMIC_MAP,
    LABEL_KEY,
    REQUIRED,
    Cel,
    Labels,
    ObjectName,
    at_most,
    cel,
    items,
    text,
)
from allaboard.api.kueue.types.shared import GROUP, STORED, TAINT_RULES, NodeTaint, Tolerations
from allaboard.api.meta import Kind
from allaboard.api.types.model import Model, Object


class ResourceFlavorSpec(Model, frozen=True):
    """Which nodes a flavor means."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!has(self.topologyName) || self.topologyName == ''"
            " || has(self.nodeLabels) && size(self.nodeLabels) >= 1",
            "at least one nodeLabel is required when topology is set",
        ),
    )

    node_labels: Annotated[
        Labels, "Labels of its nodes, put on pods as node selector.", ATOMIC_MAP, at_most(8)
    ] = {}
    node_taints: Annotated[
        list[NodeTaint],
        "Taints of its nodes, which pods must tolerate.",
        ATOMIC,
        items(0, 8),
        TAINT_RULES,
    ] = []
    tolerations: Annotated[Tolerations, "Tolerations that its pods are given."] = []
    topology_name: Annotated[
        ObjectName | None, "Topology of its nodes; cannot be changed once set."
    ] = None


class ResourceFlavor(Object, frozen=True):
    """A kind of node that quota is given in."""

    KIND: ClassVar[Kind] = Kind(
        GROUP, STORED, "ResourceFlavor", "resourceflavors", namespaced=False
    )
    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!has(oldSelf.spec) || !has(oldSelf.spec.topologyName)"
            " || has(self.spec) && has(self.spec.topologyName)"
            " && self.spec.topologyName == oldSelf.spec.topologyName",
            "topologyName is immutable once set",
        ),
    )

    spec: Annotated[ResourceFlavorSpec, "Which nodes it means."] = ResourceFlavorSpec()


class TopologyLevel(Model, frozen=True):
    """One level of a topology."""

    node_label: Annotated[
        str, "Node label whose values are the domains.", REQUIRED, text(316, 1, LABEL_KEY)
    ] = ""


class TopologySpec(Model, frozen=True):
    """The levels, from the widest to the narrowest."""

    levels: Annotated[
        list[TopologyLevel],
        "Levels, the widest first.",
        REQUIRED,
        ATOMIC,
        items(1, 16),
        cel(
            Cel("self.all(i, self.filter(j, j == i).size() == 1)", "must be unique"),
            Cel(
                "self.all(i, i.nodeLabel != 'kubernetes.io/hostname')"
                " || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'",
                "the kubernetes.io/hostname label can only be used at the lowest level of topology",
            ),
            Cel(
                "self == oldSelf || self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'"
                " && oldSelf[size(oldSelf) - 1].nodeLabel == 'kubernetes.io/hostname'",
                "levels can only be changed while kubernetes.io/hostname is the lowest level",
            ),
        ),
    ] = []


class Topology(Object, frozen=True):
    """How nodes are arranged in blocks, racks and the like."""

    KIND: ClassVar[Kind] = Kind(GROUP, STORED, "Topology", "topologies", namespaced=False)

    spec: Annotated[TopologySpec, "Its levels.", REQUIRED] = TopologySpec()
