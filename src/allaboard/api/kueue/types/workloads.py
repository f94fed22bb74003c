# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What does a Workload ask for, and what has it been given?"""

from typing import Annotated, Any, ClassVar

from msgspec import field

from allaboard.api.kueue.crd.rules import (
    ATOMIC,
    FILLED,
    OPEN,
    REQUIRED,
    SUBDOMAIN,
    Amounts,
    Cel,
    Count,
    Int32,
    Int64,
    Labels,
    LevelLabel,
    ObjectName,
    PodSetName,
    Rule,
    Time,
    at_least,
    items,
    keyed,
    one_of,
    text,
)
from allaboard.api.kueue.types.fallback import FlavorAssignment
from allaboard.api.kueue.types.shared import (
    GROUP,
    STORED,
    Conditions,
    FlavorName,
    Tolerations,
)
from allaboard.api.meta import Kind
from allaboard.api.types.model import Model, Object
from allaboard.api.types.pods import PodTemplateSpec

MAX_POD_SETS = 18
MAX_DOMAINS = 100_000
_CheckName = Annotated[str, text(316, 1)]
_ClusterName = Annotated[str, text(256)]


class SliceConstraint(Model, frozen=True):
    """A layer of slices: so many pods within one domain."""

    topology: Annotated[LevelLabel, "Level each slice must stay within.", REQUIRED] = ""
    size: Annotated[Int32, "Pods of a slice.", REQUIRED, at_least(1)] = 0


class TopologyRequest(Model, frozen=True):
    """How close together the pods want to be."""

    required: Annotated[LevelLabel | None, "Level all pods must share a domain of."] = None
    preferred: Annotated[LevelLabel | None, "Level all pods would like to share."] = None
    unconstrained: Annotated[bool | None, "Anywhere, but counted against nodes."] = None
    pod_index_label: Annotated[LevelLabel | None, "Pod label that holds the rank."] = None
    sub_group_index_label: Annotated[
        LevelLabel | None, "Pod label that holds the replica's index."
    ] = None
    sub_group_count: Annotated[Int32 | None, "Replicas in this pod set.", at_least(0)] = None
    pod_set_group_name: Annotated[
        str | None, "Pod sets of one group share flavor and domain.", text(256)
    ] = None
    pod_set_slice_required_topology: Annotated[
        LevelLabel | None, "Level each slice must stay within."
    ] = None
    pod_set_slice_size: Annotated[Int32 | None, "Pods of a slice."] = None
    slice_constraints: Annotated[
        list[SliceConstraint], "Layers of slices, the widest first.", ATOMIC, items(0, 3)
    ] = field(default=[], name="podsetSliceRequiredTopologyConstraints")


# The template is Kubernetes' own type and is kept byte for byte; only what we read has a shape.
_CONTAINERS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
TEMPLATE = Rule(
    {
        "properties": {
            "metadata": {
                "type": "object",
                "properties": {
                    "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "x-kubernetes-preserve-unknown-fields": True,
            },
            "spec": {
                "type": "object",
                "required": ["containers"],
                "properties": {"containers": _CONTAINERS, "initContainers": _CONTAINERS},
                "x-kubernetes-preserve-unknown-fields": True,
            },
        },
        "required": ["spec"],
    },
    opaque=True,
)


class PodSet(Model, frozen=True):
    """Pods that are alike."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!has(self.minCount) || self.minCount <= self.count",
            "minCount should be positive and less or equal to count",
        ),
    )

    name: Annotated[PodSetName, "Its name in this workload.", FILLED] = "main"
    template: Annotated[
        PodTemplateSpec, "What its pods are made from.", REQUIRED, OPEN, TEMPLATE
    ] = PodTemplateSpec()
    count: Annotated[Count, "How many pods.", FILLED] = 1
    min_count: Annotated[
        Int32 | None, "With how many it may start, if not with all.", at_least(1)
    ] = None
    topology_request: Annotated[TopologyRequest | None, "How close together."] = None


class PriorityClassRef(Model, frozen=True):
    """Where the priority came from."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "self.group != 'scheduling.k8s.io' || self.kind == 'PriorityClass'",
            "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
        ),
        Cel(
            "self.group != 'kueue.x-k8s.io' || self.kind == 'WorkloadPriorityClass'",
            "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
        ),
    )

    group: Annotated[
        str, "Group of the class.", REQUIRED, one_of("kueue.x-k8s.io", "scheduling.k8s.io")
    ] = ""
    kind: Annotated[
        str, "Kind of the class.", REQUIRED, one_of("WorkloadPriorityClass", "PriorityClass")
    ] = ""
    name: Annotated[str, "Name of the class.", REQUIRED, text(253, 1, SUBDOMAIN)] = ""


class PreemptionGate(Model, frozen=True):
    """Somebody who must agree before this workload preempts."""

    name: Annotated[str, "Its name.", REQUIRED, text(316, 1)] = ""


class WorkloadSpec(Model, frozen=True):
    """What a workload asks for."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!has(self.priorityClassRef) || has(self.priority)",
            "priority should not be nil when priorityClassRef is set",
        ),
    )

    pod_sets: Annotated[
        list[PodSet], "Its pods, by kind.", REQUIRED, keyed("name"), items(1, MAX_POD_SETS)
    ] = []
    queue_name: Annotated[ObjectName, "LocalQueue it waits in."] = ""
    priority_class_ref: Annotated[PriorityClassRef | None, "Class its priority is from."] = None
    priority: Annotated[Int32 | None, "More is sooner; needed with a class."] = None
    active: Annotated[bool, "False takes it out of its queue, and evicts it.", FILLED] = True
    maximum_execution_time_seconds: Annotated[
        Int32 | None, "How long it may stay admitted, in all.", at_least(1)
    ] = None
    preemption_gates: Annotated[
        list[PreemptionGate], "Who must agree before it preempts.", keyed("name"), items(0, 8)
    ] = []


class IndividualValues(Model, frozen=True):
    """Values that differ: each is prefix, root and suffix put together."""

    prefix: Annotated[str | None, "Beginning of every value.", text(63)] = None
    suffix: Annotated[str | None, "End of every value.", text(63)] = None
    roots: Annotated[
        list[Annotated[str, text(63)]],
        "What is between, one for each domain.",
        REQUIRED,
        ATOMIC,
        items(1, MAX_DOMAINS),
    ] = []


class LevelValues(Model, frozen=True):
    """Values of one level, for all domains of a slice."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "has(self.universal) != has(self.individual)",
            "exactly one of universal and individual must be set",
        ),
    )

    universal: Annotated[str | None, "The one value of all domains.", text(63)] = None
    individual: Annotated[IndividualValues | None, "A value for each domain."] = None


class PodCounts(Model, frozen=True):
    """Pods in each domain of a slice."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "has(self.universal) != has(self.individual)",
            "exactly one of universal and individual must be set",
        ),
    )

    universal: Annotated[Int32 | None, "The same number in each.", at_least(1)] = None
    individual: Annotated[
        list[Annotated[int, Rule({"format": "int32", "minimum": 1})]] | None,
        "A number for each.",
        ATOMIC,
        items(1, MAX_DOMAINS),
    ] = None


class AssignmentSlice(Model, frozen=True):
    """Some domains, written by columns."""

    domain_count: Annotated[Int32, "How many domains.", REQUIRED, at_least(1)] = 0
    values_per_level: Annotated[
        list[LevelValues], "Values, one entry for each level.", REQUIRED, ATOMIC, items(1, 16)
    ] = []
    pod_counts: Annotated[PodCounts, "Pods in each domain.", REQUIRED] = PodCounts()


class TopologyAssignment(Model, frozen=True):
    """How many pods go to which domain."""

    levels: Annotated[
        list[LevelLabel], "Node labels that name a domain.", REQUIRED, ATOMIC, items(1, 16)
    ] = []
    slices: Annotated[
        list[AssignmentSlice], "The domains, in order.", REQUIRED, ATOMIC, items(0, 1000)
    ] = []


class PodSetAssignment(Model, frozen=True):
    """What one pod set was given."""

    name: Annotated[PodSetName, "The pod set.", FILLED] = "main"
    flavors: Annotated[dict[str, FlavorName], "Flavor of each resource."] = {}
    resource_usage: Annotated[Amounts, "What all its pods need together."] = {}
    count: Annotated[Count | None, "Pods admitted."] = None
    topology_assignment: Annotated[TopologyAssignment | None, "Where they go."] = None
    delayed_topology_request: Annotated[
        str | None, "Whether the place is decided later.", one_of("Pending", "Ready")
    ] = None


class Admission(Model, frozen=True):
    """What a workload was given."""

    cluster_queue: Annotated[ObjectName, "ClusterQueue whose quota it is.", REQUIRED] = ""
    pod_set_assignments: Annotated[
        list[PodSetAssignment],
        "By pod set.",
        REQUIRED,
        keyed("name"),
        items(0, MAX_POD_SETS),
    ] = []


class PreemptionHold(Admission, frozen=True):
    """What a preemptor freed and keeps until it is admitted or gives up."""

    since: Annotated[Time | None, "When the preemption began."] = None


class RequeueState(Model, frozen=True):
    """When an evicted workload comes back."""

    count: Annotated[Count | None, "How often it was requeued since it was activated."] = None
    requeue_at: Annotated[Time | None, "Not before."] = None


class ReclaimablePod(Model, frozen=True):
    """Pods of a pod set that need no quota any more."""

    name: Annotated[PodSetName, "The pod set.", REQUIRED] = ""
    count: Annotated[Count, "How many.", REQUIRED] = 0


class PodSetUpdate(Model, frozen=True):
    """What a check wants added to the pods of a pod set."""

    name: Annotated[PodSetName, "The pod set.", REQUIRED] = ""
    labels: Annotated[Labels, "Labels to add."] = {}
    annotations: Annotated[Labels, "Annotations to add."] = {}
    node_selector: Annotated[Labels, "Node selectors to add."] = {}
    tolerations: Annotated[Tolerations, "Tolerations to add."] = []


class AdmissionCheckState(Model, frozen=True):
    """What one check says about this workload."""

    name: Annotated[_CheckName, "The AdmissionCheck.", REQUIRED] = ""
    state: Annotated[
        str, "What it says.", REQUIRED, one_of("Pending", "Ready", "Retry", "Rejected")
    ] = "Pending"
    last_transition_time: Annotated[Time | None, "Since when.", REQUIRED] = None
    message: Annotated[str, "Why, for people; may be empty.", REQUIRED, text(32768)] = ""
    requeue_after_seconds: Annotated[
        Int32 | None, "How long to wait before the next try.", at_least(0)
    ] = None
    retry_count: Annotated[Count | None, "How often it was tried again."] = None
    pod_set_updates: Annotated[
        list[PodSetUpdate], "What it wants added to pods.", ATOMIC, items(0, MAX_POD_SETS)
    ] = []


class PodSetRequest(Model, frozen=True):
    """What a pod set asked for when it was last considered."""

    name: Annotated[PodSetName, "The pod set.", REQUIRED] = ""
    resources: Annotated[Amounts, "What all its pods need together."] = {}


class EvictionCount(Model, frozen=True):
    """How often it was evicted for one reason."""

    reason: Annotated[str, "The reason.", REQUIRED, text(316)] = ""
    underlying_cause: Annotated[str, "The finer cause; may be empty.", REQUIRED, text(316)] = ""
    count: Annotated[Count, "How often.", REQUIRED] = 0


class SchedulingStats(Model, frozen=True):
    """What happened to it over its life."""

    evictions: Annotated[
        list[EvictionCount], "By reason.", keyed("reason", "underlyingCause"), items(0, 256)
    ] = []


class UnhealthyNode(Model, frozen=True):
    """A node that failed under it."""

    name: Annotated[str, "The node.", REQUIRED, text(253, 1)] = ""


class PreemptionGateState(Model, frozen=True):
    """What the owner of a preemption gate decided."""

    name: Annotated[str, "The gate.", REQUIRED, text(316, 1)] = ""
    position: Annotated[str, "Whether it may preempt.", REQUIRED, one_of("Open", "Closed")] = ""


class WorkloadStatus(Model, frozen=True):
    """What a workload has been given and what became of it."""

    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            "!has(self.clusterName) || !has(self.nominatedClusterNames)"
            " || size(self.nominatedClusterNames) == 0",
            "clusterName and nominatedClusterNames are mutually exclusive",
        ),
    )

    conditions: Conditions = []
    admission: Annotated[Admission | None, "What it was given, while quota is reserved."] = None
    requeue_state: Annotated[RequeueState | None, "When it comes back."] = None
    reclaimable_pods: Annotated[
        list[ReclaimablePod], "Pods not needed again.", keyed("name"), items(0, MAX_POD_SETS)
    ] = []
    admission_checks: Annotated[
        list[AdmissionCheckState], "What the checks say.", keyed("name"), items(0, 8)
    ] = []
    resource_requests: Annotated[
        list[PodSetRequest],
        "What it asked for when last considered.",
        keyed("name"),
        items(0, MAX_POD_SETS),
    ] = []
    accumulated_past_execution_time_seconds: Annotated[
        Count | None, "Time admitted before the last eviction."
    ] = None
    accumulated_not_ready_seconds: Annotated[
        Int64 | None, "Time admitted with pods not ready, in all.", at_least(0)
    ] = None
    first_admission_time: Annotated[
        Time | None, "When it was first admitted since it was activated."
    ] = None
    scheduling_stats: Annotated[SchedulingStats | None, "Counters."] = None
    nominated_cluster_names: Annotated[
        list[_ClusterName], "Clusters it may be sent to.", ATOMIC, items(0, 20)
    ] = []
    cluster_name: Annotated[_ClusterName | None, "Cluster it was sent to."] = None
    unhealthy_nodes: Annotated[
        list[UnhealthyNode], "Nodes that failed under it.", keyed("name"), items(0, 8)
    ] = []
    preemption_gates: Annotated[
        list[PreemptionGateState], "What the gates' owners decided.", keyed("name"), items(0, 8)
    ] = []
    preemption_hold: Annotated[
        PreemptionHold | None, "What it freed by preemption and still keeps."
    ] = None
    flavor_assignment_history: Annotated[
        list[FlavorAssignment],
        "Flavors tried in this round and how it ended.",
        keyed("resourceFlavor"),
        items(0, 256),
    ] = []
    flavor_fallback_rounds: Annotated[Count | None, "Rounds in which every flavor failed."] = None


_RESERVED = (
    "has({0}.status) && has({0}.status.conditions) && {0}.status.conditions.exists(c,"
    " c.type == 'QuotaReserved' && c.status == 'True')"
)
_ADMITTED = _RESERVED.replace("QuotaReserved", "Admitted")
_WAS_RESERVED, _IS_RESERVED = _RESERVED.format("oldSelf"), _RESERVED.format("self")
_BOTH_REFS = "has(oldSelf.spec.priorityClassRef) && has(self.spec.priorityClassRef)"


class Workload(Object, frozen=True):
    """Pods that are admitted together or not at all."""

    KIND: ClassVar[Kind] = Kind(GROUP, STORED, "Workload", "workloads")
    CEL: ClassVar[tuple[Cel, ...]] = (
        Cel(
            f"!({_IS_RESERVED} && has(self.status.admission))"
            " || size(self.spec.podSets) == size(self.status.admission.podSetAssignments)",
            "podSetAssignments must have the same number of podSets as the spec",
        ),
        Cel(
            f"!({_WAS_RESERVED})"
            " || has(oldSelf.spec.priorityClassRef) == has(self.spec.priorityClassRef)",
            "priorityClassRef is immutable while workload quota reserved",
        ),
        Cel(
            f"!({_WAS_RESERVED} && {_BOTH_REFS})"
            " || oldSelf.spec.priorityClassRef.group == self.spec.priorityClassRef.group",
            "priorityClassRef.group is immutable while workload quota reserved",
        ),
        Cel(
            f"!({_WAS_RESERVED} && {_BOTH_REFS})"
            " || oldSelf.spec.priorityClassRef.kind == self.spec.priorityClassRef.kind",
            "priorityClassRef.kind is immutable while workload quota reserved",
        ),
        Cel(
            f"!({_WAS_RESERVED} && {_BOTH_REFS}"
            " && self.spec.priorityClassRef.group == 'scheduling.k8s.io')"
            " || oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name",
            "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload"
            " quota reserved",
        ),
        Cel(
            f"!({_WAS_RESERVED} && {_IS_RESERVED})"
            " || has(oldSelf.spec.queueName) == has(self.spec.queueName)"
            " && (!has(self.spec.queueName) || oldSelf.spec.queueName == self.spec.queueName)",
            "queueName is immutable while workload quota reserved",
        ),
        Cel(
            f"!({_ADMITTED.format('oldSelf')} && {_ADMITTED.format('self')})"
            " || has(oldSelf.spec.maximumExecutionTimeSeconds)"
            " == has(self.spec.maximumExecutionTimeSeconds)"
            " && (!has(self.spec.maximumExecutionTimeSeconds)"
            " || oldSelf.spec.maximumExecutionTimeSeconds"
            " == self.spec.maximumExecutionTimeSeconds)",
            "maximumExecutionTimeSeconds is immutable while admitted",
        ),
        Cel(
            "!has(oldSelf.status) || !has(oldSelf.status.clusterName) || !has(self.status)"
            " || !has(self.status.clusterName)"
            " || oldSelf.status.clusterName == self.status.clusterName",
            "clusterName is immutable once set",
        ),
    )

    spec: Annotated[WorkloadSpec, "What it asks for.", REQUIRED] = WorkloadSpec()
    status: Annotated[WorkloadStatus, "What became of it."] = WorkloadStatus()
