"""The Configuration file, in both versions, as one internal shape. Pure.

`config.kueue.x-k8s.io/v1beta1` means what the KEPs say, `v1beta2` what Kueue does now (DESIGN §1);
they differ in defaults and in what switches a feature on. Loading converts either into `Settings`.
Whatever is wrong is refused at start-up, naming the field, what was found and what is allowed.
Sections that other parts of the system read are accepted and kept as they are.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from allaboard.api.meta import Json
from allaboard.api.times import parse_duration

GROUP = "config.kueue.x-k8s.io"
VERSIONS = ("v1beta1", "v1beta2")
Scope = Literal["Cluster", "Cohort", "ClusterQueue", "Flavor"]
FRAMEWORKS = ("batch/job", "pod", "jobset.x-k8s.io/jobset")


class ConfigError(ValueError):
    """The file cannot be used; the text says where and what is allowed."""


@dataclass(frozen=True, slots=True)
class Requeuing:
    by_eviction: bool = True  # timestamp: Eviction
    limit_count: int | None = None
    base_s: float = 60.0
    max_s: float = 3600.0
    limit_timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class PodsReady:
    timeout_s: float
    block_admission: bool
    block_scope: Scope = "Cluster"
    recovery_timeout_s: float | None = None
    requeuing: Requeuing = Requeuing()
    not_ready_budget_s: float | None = None
    workload_timeouts: tuple[float, float] | None = None  # bounds for annotations
    deactivate_unrecoverable: bool = False


@dataclass(frozen=True, slots=True)
class FairSharing:
    strategies: tuple[str, ...] = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")


@dataclass(frozen=True, slots=True)
class AdmissionFairSharing:
    half_life_s: float
    sampling_s: float = 300.0
    weights: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    frameworks: tuple[str, ...] = FRAMEWORKS
    manage_jobs_without_queue_name: bool = False
    managed_namespaces: Json | None = None  # a label selector; None: all but the system's
    pods_ready: PodsReady | None = None
    fair_sharing: FairSharing | None = None
    admission_fair_sharing: AdmissionFairSharing | None = None
    qps: float | None = None
    burst: int | None = None
    others: Json = field(default_factory=dict)


def load(document: Any) -> Settings:
    """Settings from a parsed Configuration document."""
    if not isinstance(document, dict):
        raise ConfigError("a Configuration must be an object with apiVersion and kind")
    group, _, version = str(document.get("apiVersion", "")).partition("/")
    if group != GROUP or version not in VERSIONS or document.get("kind") != "Configuration":
        allowed = " or ".join(f"{GROUP}/{v}" for v in VERSIONS)
        raise ConfigError(
            f"apiVersion and kind: found {document.get('apiVersion')!r} and "
            f"{document.get('kind')!r}; must be {allowed}, and Configuration"
        )
    return _settings(_Section(document, ""), version)


class _Section:
    """An object of the file with its path, for readings that name what is wrong."""

    def __init__(self, data: Any, path: str) -> None:
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: found {data!r}; must be an object")
        self.data: Json = data
        self._path = path

    def path(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def section(self, name: str) -> "_Section | None":
        value = self.data.get(name)
        return None if value is None else _Section(value, self.path(name))

    def wrong(self, name: str, allowed: str) -> ConfigError:
        return ConfigError(f"{self.path(name)}: found {self.data.get(name)!r}; must be {allowed}")

    def flag(self, name: str, default: bool) -> bool:
        value = self.data.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def duration(self, name: str, least_s: float = 0.0) -> float | None:
        value = self.data.get(name)
        if value is None:
            return None
        try:
            seconds = parse_duration(value) if isinstance(value, str) else None
        except ValueError:
            seconds = None
        if seconds is None or seconds < least_s:
            raise self.wrong(name, f"a duration of at least {least_s:g}s, such as 5m or 90s")
        return seconds

    def count(self, name: str, least: int, most: int = 2**31 - 1) -> int | None:
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self.wrong(name, f"a whole number from {least} to {most}")
        return value

    def number(self, name: str, least: float = 0.0) -> float | None:
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
            raise self.wrong(name, f"a number of at least {least:g}")
        return float(value)

    def choice(self, name: str, allowed: tuple[str, ...], default: str) -> str:
        value = self.data.get(name)
        if value is None:
            return default
        if value not in allowed:
            raise self.wrong(name, f"one of {', '.join(allowed)}")
        return str(value)

    def only(self, *known: str) -> None:
        for name in self.data:
            if name not in known:
                raise ConfigError(
                    f"{self.path(str(name))}: unknown; known here are {', '.join(sorted(known))}"
                )


def _settings(root: _Section, version: str) -> Settings:
    connection = root.section("clientConnection")
    integrations = root.section("integrations")
    mine = ("apiVersion", "kind", "integrations", "manageJobsWithoutQueueName", "fairSharing",
            "managedJobsNamespaceSelector", "waitForPodsReady", "admissionFairSharing",
            "clientConnection")  # fmt: skip
    return Settings(
        frameworks=_frameworks(integrations) if integrations else FRAMEWORKS,
        manage_jobs_without_queue_name=root.flag("manageJobsWithoutQueueName", False),
        managed_namespaces=root.data.get("managedJobsNamespaceSelector"),
        pods_ready=_pods_ready(root.section("waitForPodsReady"), version),
        fair_sharing=_fair_sharing(root.section("fairSharing"), version),
        admission_fair_sharing=_admission_fair_sharing(root.section("admissionFairSharing")),
        qps=connection.number("qps") if connection else None,
        burst=connection.count("burst", 1) if connection else None,
        others={k: v for k, v in root.data.items() if k not in mine},
    )


def _frameworks(section: _Section) -> tuple[str, ...]:
    listed = section.data.get("frameworks")
    if listed is None:
        return FRAMEWORKS
    if not isinstance(listed, list) or not all(isinstance(f, str) for f in listed):
        raise section.wrong("frameworks", "a list of names such as batch/job")
    unknown = [f for f in listed if f not in FRAMEWORKS]
    if unknown:
        raise ConfigError(
            f"{section.path('frameworks')}: {', '.join(unknown)}: not integrated; "
            f"there are {', '.join(FRAMEWORKS)}"
        )
    return tuple(listed)


def _pods_ready(section: _Section | None, version: str) -> PodsReady | None:
    """Off without the section in both versions; v1beta1 also needs `enable: true`."""
    if section is None:
        return None
    additions = ("blockAdmissionScope", "notReadyBudget", "workloadTimeouts", "onUnrecoverable")
    known = ("timeout", "blockAdmission", "recoveryTimeout", "requeuingStrategy", *additions)
    old = version == "v1beta1"
    section.only(*known, *(("enable",) if old else ()))
    if old and not section.flag("enable", False):
        return None
    timeout_s = section.duration("timeout", least_s=1.0) or (300.0 if old else 1800.0)
    recovery_s = section.duration("recoveryTimeout")
    if recovery_s is None and not old:
        recovery_s = timeout_s
    scope: Any = section.choice(
        "blockAdmissionScope", ("Cluster", "Cohort", "ClusterQueue", "Flavor"), "Cluster"
    )
    outcome = section.choice("onUnrecoverable", ("Report", "Deactivate"), "Report")
    return PodsReady(
        timeout_s=timeout_s,
        block_admission=section.flag("blockAdmission", old),
        block_scope=scope,
        recovery_timeout_s=recovery_s or None,  # 0s switches it off
        requeuing=_requeuing(section.section("requeuingStrategy")),
        not_ready_budget_s=section.duration("notReadyBudget", least_s=1.0),
        workload_timeouts=_bounds(section.section("workloadTimeouts")),
        deactivate_unrecoverable=outcome == "Deactivate",
    )


def _requeuing(section: _Section | None) -> Requeuing:
    if section is None:
        return Requeuing()
    section.only("timestamp", "backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds",
                 "backoffLimitTimeout")  # fmt: skip
    base = section.count("backoffBaseSeconds", 0)
    most = section.count("backoffMaxSeconds", 0)
    limit = section.count("backoffLimitTimeout", 1)
    return Requeuing(
        by_eviction=section.choice("timestamp", ("Eviction", "Creation"), "Eviction") == "Eviction",
        limit_count=section.count("backoffLimitCount", 0),
        base_s=60.0 if base is None else float(base),
        max_s=3600.0 if most is None else float(most),
        limit_timeout_s=None if limit is None else float(limit),
    )


def _bounds(section: _Section | None) -> tuple[float, float] | None:
    if section is None:
        return None
    section.only("min", "max")
    low, high = section.duration("min", 1.0), section.duration("max", 1.0)
    if low is None or high is None or low > high:
        raise ConfigError(
            f"{section.path('min')}, max: both are required, and min must not exceed max"
        )
    return low, high


def _fair_sharing(section: _Section | None, version: str) -> FairSharing | None:
    if section is None:
        return None
    section.only("preemptionStrategies", *(("enable",) if version == "v1beta1" else ()))
    if version == "v1beta1" and not section.flag("enable", False):
        return None
    final, initial = "LessThanOrEqualToFinalShare", "LessThanInitialShare"
    allowed = [[final], [initial], [final, initial]]
    listed = section.data.get("preemptionStrategies") or [final, initial]
    if listed not in allowed:
        raise section.wrong("preemptionStrategies", f"one of {allowed}")
    return FairSharing(tuple(listed))


def _admission_fair_sharing(section: _Section | None) -> AdmissionFairSharing | None:
    if section is None:
        return None
    section.only("usageHalfLifeTime", "usageSamplingInterval", "resourceWeights")
    half_life = section.duration("usageHalfLifeTime")
    if half_life is None:
        raise section.wrong("usageHalfLifeTime", "a duration such as 10m")
    weights = section.section("resourceWeights")
    found = {name: weights.number(name) or 0.0 for name in weights.data} if weights else {}
    sampling = section.duration("usageSamplingInterval", least_s=1.0)
    return AdmissionFairSharing(half_life, sampling or 300.0, found)
