# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What does a reader expect of a Pod: spec, status, templates?"""

from typing import ClassVar

from msgspec import field

from allaboard.api.meta import Json, Kind
from allaboard.api.types.model import (
    Condition,
    LabelSelector,
    Model,
    Object,
    ObjectMeta,
    Quantities,
)


class EnvVar(Model, frozen=True):
    name: str = ""
    value: str = ""
    value_from: Json | None = None


class ContainerPort(Model, frozen=True):
    container_port: int = 0
    name: str = ""
    protocol: str = ""
    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")


class ResourceRequirements(Model, frozen=True):
    requests: Quantities = {}
    limits: Quantities = {}
    claims: list[Json] = []


class VolumeMount(Model, frozen=True):
    name: str = ""
    mount_path: str = ""
    sub_path: str = ""
    read_only: bool = False


class Container(Model, frozen=True):
    name: str = ""
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    working_dir: str = ""
    env: list[EnvVar] = []
    ports: list[ContainerPort] = []
    resources: ResourceRequirements = ResourceRequirements()
    volume_mounts: list[VolumeMount] = []
    restart_policy: str = ""  # "Always" on an init container makes it a sidecar
    readiness_probe: Json | None = None
    startup_probe: Json | None = None
    liveness_probe: Json | None = None


class Toleration(Model, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class NodeSelectorRequirement(Model, frozen=True):
    key: str = ""
    operator: str = ""
    values: list[str] = []


class NodeSelectorTerm(Model, frozen=True):
    match_expressions: list[NodeSelectorRequirement] = []
    match_fields: list[NodeSelectorRequirement] = []


class NodeSelector(Model, frozen=True):
    node_selector_terms: list[NodeSelectorTerm] = []


class PreferredSchedulingTerm(Model, frozen=True):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Model, frozen=True):
    required: NodeSelector | None = field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[PreferredSchedulingTerm] = field(
        default=[], name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Model, frozen=True):
    label_selector: LabelSelector | None = None
    topology_key: str = ""
    namespaces: list[str] = []
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] = []
    mismatch_label_keys: list[str] = []


class WeightedPodAffinityTerm(Model, frozen=True):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Model, frozen=True):
    required: list[PodAffinityTerm] = field(
        default=[], name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[WeightedPodAffinityTerm] = field(
        default=[], name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Model, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Model, frozen=True):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = ""
    node_taints_policy: str = ""
    match_label_keys: list[str] = []


class SchedulingGate(Model, frozen=True):
    name: str = ""


class PodSpec(Model, frozen=True):
    containers: list[Container] = []
    init_containers: list[Container] = []
    volumes: list[Json] = []
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: list[Toleration] = []
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    scheduling_gates: list[SchedulingGate] = []
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    hostname: str = ""
    subdomain: str = ""
    host_network: bool = False
    service_account_name: str = ""
    overhead: Quantities = {}
    resources: ResourceRequirements | None = None
    readiness_gates: list[Json] = []


class ContainerStateRunning(Model, frozen=True):
    started_at: str | None = None


class ContainerStateTerminated(Model, frozen=True):
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    signal: int = 0
    started_at: str | None = None
    finished_at: str | None = None


class ContainerStateWaiting(Model, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerState(Model, frozen=True):
    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Model, frozen=True):
    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image: str = ""
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodCondition(Condition, frozen=True):
    pass


class PodStatus(Model, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: list[PodCondition] = []
    nominated_node_name: str = ""
    host_ip: str = field(default="", name="hostIP")
    pod_ip: str = field(default="", name="podIP")
    start_time: str | None = None
    init_container_statuses: list[ContainerStatus] = []
    container_statuses: list[ContainerStatus] = []
    qos_class: str = ""


class Pod(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("", "v1", "Pod", "pods")

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(Model, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
