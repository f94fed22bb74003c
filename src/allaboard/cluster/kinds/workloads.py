"""Are Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers legal?"""

from typing import ClassVar

from allaboard.api.fields import FieldError, bad_value, forbidden, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.pods.defaults import default_pod_spec
from allaboard.cluster.kinds.pods.spec import validate_template
from allaboard.cluster.kinds.scheduling import validate_share
from allaboard.cluster.kinds.selectors import (
    matches,
    shown,
    shown_labels,
    validate_label_selector,
)
from allaboard.cluster.kinds.strategy import KindStrategy

_NOT_NEGATIVE = "must be greater than or equal to 0"
_COUNTS = ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")


class WorkloadStrategy(KindStrategy):
    """What all of them share: replicas, a selector, a template that matches it."""

    has_generation = True
    fixed_selector = True
    empty_status: ClassVar[Json] = {"replicas": 0}
    kind_word = "replicaset"

    def default_spec(self, obj: Json) -> None:
        spec = obj.setdefault("spec", {})
        template = spec.setdefault("template", {})
        template.setdefault("metadata", {})
        default_pod_spec(template.setdefault("spec", {}))
        self.default_workload(spec)
        status = obj.get("status")
        if status is not None and any(key not in status for key in self.empty_status):
            obj["status"] = {**self.empty_status, **status}

    def default_workload(self, spec: Json) -> None:
        spec.setdefault("replicas", 1)

    def reset_status(self, obj: Json) -> None:
        obj["status"] = dict(self.empty_status)

    def status_metadata(self, new: Json, old: Json) -> Json:
        meta = dict(new)
        if "labels" in old:
            meta["labels"] = old["labels"]
        else:
            meta.pop("labels", None)
        return meta

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj["spec"]
        replicas = spec.get("replicas")
        if replicas is not None and replicas < 0:
            out.append(bad_value("spec.replicas", replicas, _NOT_NEGATIVE))
        selector = spec.get("selector")
        if selector is None:
            out.append(required("spec.selector"))
        else:
            out += validate_label_selector(selector, "spec.selector")
            if not selector.get("matchLabels") and not selector.get("matchExpressions"):
                detail = f"empty selector is invalid for {self.kind_word}"
                out.append(bad_value("spec.selector", selector, detail))
        labels = spec["template"]["metadata"].get("labels")
        if selector is None or not matches(selector, labels or {}):
            detail = "`selector` does not match template `labels`"
            path = "spec.template.metadata.labels"
            out.append(bad_value(path, shown_labels(labels), detail))
        validate_template(spec["template"], "spec.template", out)
        restart = spec["template"]["spec"].get("restartPolicy")
        if restart != "Always":
            out.append(not_supported("spec.template.spec.restartPolicy", restart, ("Always",)))
        if spec["template"]["spec"].get("activeDeadlineSeconds") is not None:
            detail = f"activeDeadlineSeconds in {self.kind_word} is not Supported"
            out.append(forbidden("spec.template.spec.activeDeadlineSeconds", detail))
        self.validate_rollout(spec, out)
        for key in _COUNTS:
            value = spec.get(key)
            if value is not None and value < 0:
                out.append(bad_value(f"spec.{key}", value, _NOT_NEGATIVE))
        return out

    def validate_rollout(self, spec: Json, out: list[FieldError]) -> None:
        """How pods are replaced, where the kind has a say in it."""

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        if obj["spec"] is old["spec"] or obj["spec"] == old["spec"]:
            return []
        out = super().validate_change(obj, old, subresource)
        selector = obj["spec"].get("selector")
        if self.fixed_selector and selector != old["spec"].get("selector"):
            out.append(bad_value("spec.selector", shown(selector), "field is immutable"))
        return out


def _rolling(spec: Json, key: str, keys: tuple[str, ...], out: list[FieldError]) -> None:
    rolling = (spec.get(key) or {}).get("rollingUpdate") or {}
    for name in keys:
        if rolling.get(name) is not None:
            out += validate_share(rolling[name], f"spec.{key}.rollingUpdate.{name}")


class DeploymentStrategy(WorkloadStrategy):
    empty_status: ClassVar[Json] = {}
    kind_word = "deployment"

    def default_workload(self, spec: Json) -> None:
        spec.setdefault("replicas", 1)
        rollout = spec.setdefault("strategy", {})
        kind = rollout.setdefault("type", "RollingUpdate")
        if kind == "RollingUpdate":
            rolling = rollout.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def validate_rollout(self, spec: Json, out: list[FieldError]) -> None:
        rollout = spec.get("strategy") or {}
        kind = rollout.get("type")
        if kind == "Recreate":
            if rollout.get("rollingUpdate") is not None:
                detail = "may not be specified when strategy `type` is 'Recreate'"
                out.append(forbidden("spec.strategy.rollingUpdate", detail))
        elif kind == "RollingUpdate":
            _rolling(spec, "strategy", ("maxUnavailable", "maxSurge"), out)
            rolling = rollout.get("rollingUpdate") or {}
            if all(rolling.get(k) in (0, "0%") for k in ("maxUnavailable", "maxSurge")):
                detail = "may not be 0 when `maxSurge` is 0"
                value = rolling.get("maxUnavailable")
                path = "spec.strategy.rollingUpdate.maxUnavailable"
                out.append(bad_value(path, value, detail))
        else:
            allowed = ("Recreate", "RollingUpdate")
            out.append(not_supported("spec.strategy", kind, allowed))


class StatefulSetStrategy(WorkloadStrategy):
    empty_status: ClassVar[Json] = {"replicas": 0, "availableReplicas": 0}
    kind_word = "statefulset"

    def default_workload(self, spec: Json) -> None:
        spec.setdefault("replicas", 1)
        spec.setdefault("podManagementPolicy", "OrderedReady")
        rollout = spec.setdefault("updateStrategy", {})
        if rollout.setdefault("type", "RollingUpdate") == "RollingUpdate":
            rollout.setdefault("rollingUpdate", {}).setdefault("partition", 0)
        spec.setdefault("revisionHistoryLimit", 10)
        retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        retention.setdefault("whenDeleted", "Retain")
        retention.setdefault("whenScaled", "Retain")

    def validate_rollout(self, spec: Json, out: list[FieldError]) -> None:
        policy = spec.get("podManagementPolicy")
        if policy not in ("OrderedReady", "Parallel"):
            detail = "must be 'OrderedReady' or 'Parallel'"
            out.append(bad_value("spec.podManagementPolicy", policy, detail))

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out = super().validate_change(obj, old, subresource)
        for key in ("serviceName", "podManagementPolicy", "volumeClaimTemplates"):
            if obj["spec"].get(key) != old["spec"].get(key):
                detail = (
                    "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
                    "'template', 'updateStrategy', 'revisionHistoryLimit', "
                    "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
                )
                out.append(forbidden("spec", detail))
                break
        return out


class DaemonSetStrategy(WorkloadStrategy):
    empty_status: ClassVar[Json] = {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }
    kind_word = "daemonset"

    def default_workload(self, spec: Json) -> None:
        rollout = spec.setdefault("updateStrategy", {})
        if rollout.setdefault("type", "RollingUpdate") == "RollingUpdate":
            rolling = rollout.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)

    def validate_rollout(self, spec: Json, out: list[FieldError]) -> None:
        _rolling(spec, "updateStrategy", ("maxUnavailable", "maxSurge"), out)


class ReplicaSetStrategy(WorkloadStrategy):
    pass


class ReplicationControllerStrategy(WorkloadStrategy):
    """The one whose selector is a plain map, and may change."""

    fixed_selector = False
    kind_word = "replication controller"

    def default_workload(self, spec: Json) -> None:
        spec.setdefault("replicas", 1)
        labels = spec["template"]["metadata"].get("labels")
        if labels and not spec.get("selector"):
            spec["selector"] = dict(labels)

    def validate(self, obj: Json) -> list[FieldError]:
        selector = obj["spec"].get("selector")
        wrapped = {"matchLabels": selector} if selector else None
        return super().validate({**obj, "spec": {**obj["spec"], "selector": wrapped}})


class RevisionStrategy(KindStrategy):
    """ControllerRevision: written once."""

    spec_fields = ("data", "revision")

    def validate(self, obj: Json) -> list[FieldError]:
        revision = obj.get("revision") or 0
        return [bad_value("revision", revision, _NOT_NEGATIVE)] if revision < 0 else []

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out = super().validate_change(obj, old, subresource)
        if obj.get("data") != old.get("data"):
            out.append(bad_value("data", obj.get("data"), "field is immutable"))
        return out
