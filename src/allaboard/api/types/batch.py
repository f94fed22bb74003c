# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What does a reader expect of a Job?"""

from typing import ClassVar

from allaboard.api.meta import Kind
from allaboard.api.types.model import Condition, LabelSelector, Model, Object
from allaboard.api.types.pods import PodTemplateSpec


class OnExitCodes(Model, frozen=True):
    container_name: str | None = None
    operator: str = ""
    values: list[int] = []


class OnPodCondition(Model, frozen=True):
    type: str = ""
    status: str = "True"


class PodFailurePolicyRule(Model, frozen=True):
    action: str = ""
    on_exit_codes: OnExitCodes | None = None
    on_pod_conditions: list[OnPodCondition] = []


class PodFailurePolicy(Model, frozen=True):
    rules: list[PodFailurePolicyRule] = []


class SuccessPolicyRule(Model, frozen=True):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Model, frozen=True):
    rules: list[SuccessPolicyRule] = []


class JobSpec(Model, frozen=True):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = ""
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    suspend: bool = False
    manual_selector: bool = False
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    pod_failure_policy: PodFailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str = ""
    managed_by: str | None = None


class JobCondition(Condition, frozen=True):
    pass


class UncountedTerminatedPods(Model, frozen=True):
    succeeded: list[str] = []
    failed: list[str] = []


class JobStatus(Model, frozen=True):
    conditions: list[JobCondition] = []
    start_time: str | None = None
    completion_time: str | None = None
    active: int = 0
    ready: int | None = None
    terminating: int | None = None
    succeeded: int = 0
    failed: int = 0
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class Job(Object, frozen=True):
    KIND: ClassVar[Kind] = Kind("batch", "v1", "Job", "jobs")

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
