"""The life of a Pod as rules: born Pending, mostly immutable, its status written by its node."""

from allaboard.api.fields import FieldError, forbidden
from allaboard.api.meta import Json
from allaboard.cluster.kinds.pods.defaults import default_pod, default_pod_spec
from allaboard.cluster.kinds.pods.spec import (
    validate_pod_only,
    validate_pod_spec,
    validate_template,
)
from allaboard.cluster.kinds.pods.status import default_status, first_status, validate_status
from allaboard.cluster.kinds.pods.update import (
    keep_for_resize,
    validate_ephemeral,
    validate_resize,
    validate_spec_update,
)
from allaboard.cluster.kinds.pods.warnings import pod_warnings
from allaboard.cluster.kinds.strategy import KindStrategy


class PodStrategy(KindStrategy):
    has_generation = True

    def default_spec(self, obj: Json) -> None:
        spec = obj.get("spec")
        if spec is None:
            spec = obj["spec"] = {}
        default_pod(spec)
        status = obj.get("status")
        if status:
            default_status(status)

    def reset_status(self, obj: Json) -> None:
        obj["status"] = first_status(obj)

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        spec = obj.get("spec") or {}
        if subresource in ("ephemeralcontainers", "resize"):
            obj["metadata"] = {**old["metadata"], **_bookkeeping(obj["metadata"])}
            if subresource == "resize":
                obj["spec"] = keep_for_resize(spec, old["spec"])
            else:
                kept = dict(old["spec"])
                kept["ephemeralContainers"] = spec.get("ephemeralContainers") or []
                obj["spec"] = kept
        super().prepare_update(obj, old, subresource)
        if subresource == "status":
            status = obj.get("status")
            if status is None:
                status = obj["status"] = {}
            if not status.get("qosClass") and old["status"].get("qosClass"):
                obj["status"] = {**status, "qosClass": old["status"]["qosClass"]}

    def status_metadata(self, new: Json, old: Json) -> Json:
        meta = super().status_metadata(new, old)
        if "ownerReferences" in old:
            meta["ownerReferences"] = old["ownerReferences"]
        else:
            meta.pop("ownerReferences", None)
        return meta

    def validate_create(self, obj: Json) -> list[FieldError]:
        out = super().validate_create(obj)
        if obj["spec"].get("ephemeralContainers"):
            out.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
        return out

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        validate_pod_spec(obj["spec"], "spec", out)
        validate_pod_only(obj["spec"], "spec", out)
        return out

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        spec, before = obj["spec"], old["spec"]
        if spec is before or spec == before:
            return []
        out = self.validate(obj)
        if subresource == "resize":
            return out + validate_resize(obj, old)
        if subresource == "ephemeralcontainers":
            return out + validate_ephemeral(spec, before)
        return out + validate_spec_update(spec, before)

    def validate_status(self, obj: Json, old: Json) -> list[FieldError]:
        return validate_status(obj, old)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        if old is not None and (obj["spec"] is old["spec"] or obj["spec"] == old["spec"]):
            return []
        return pod_warnings(obj)


class PodTemplateStrategy(KindStrategy):
    """PodTemplate: a template by itself."""

    has_generation = True
    spec_fields = ("template",)

    def default_spec(self, obj: Json) -> None:
        template = obj.setdefault("template", {})
        template.setdefault("metadata", {})
        default_pod_spec(template.setdefault("spec", {}))

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        validate_template(obj["template"], "template", out)
        return out


def _bookkeeping(meta: Json) -> Json:
    return {k: meta[k] for k in ("resourceVersion", "uid", "managedFields") if k in meta}
