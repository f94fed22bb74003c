"""Are volumes, claims, storage classes, endpoints and network objects legal, as far as we use them?

Nothing here provisions storage or routes traffic; the objects are kept, defaulted and given a
status, so that manifests written for a full cluster apply.
"""

from allaboard.api.fields import FieldError, bad_value, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.amounts import canonical_amounts, validate_amount
from allaboard.cluster.kinds.selectors import validate_label_selector
from allaboard.cluster.kinds.strategy import KindStrategy


class ClaimStrategy(KindStrategy):
    """PersistentVolumeClaim."""

    def default_spec(self, obj: Json) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("volumeMode", "Filesystem")
        resources = spec.setdefault("resources", {})
        for amounts in resources.values():
            if isinstance(amounts, dict):
                canonical_amounts(amounts)
        status = obj.get("status")
        if status is not None:
            if not status.get("phase"):
                obj["status"] = {**status, "phase": "Pending"}
            if status.get("capacity"):
                canonical_amounts(status["capacity"])

    def reset_status(self, obj: Json) -> None:
        obj["status"] = {"phase": "Pending"}

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj["spec"]
        if not spec.get("accessModes"):
            out.append(required("spec.accessModes", "at least 1 access mode is required"))
        requests = (spec.get("resources") or {}).get("requests") or {}
        if "storage" not in requests:
            out.append(required("spec.resources[storage]"))
        else:
            validate_amount("storage", requests["storage"], "spec.resources[storage]", out)
            if requests["storage"] in ("0", 0):
                detail = "must be greater than zero"
                out.append(bad_value("spec.resources[storage]", requests["storage"], detail))
        if spec.get("selector") is not None:
            out += validate_label_selector(spec["selector"], "spec.selector")
        return out


class VolumeStrategy(KindStrategy):
    """PersistentVolume."""

    def default_spec(self, obj: Json) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
        spec.setdefault("volumeMode", "Filesystem")
        if spec.get("capacity"):
            canonical_amounts(spec["capacity"])

    def reset_status(self, obj: Json) -> None:
        obj["status"] = {"phase": "Pending"}

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        spec = obj["spec"]
        if not spec.get("accessModes"):
            out.append(required("spec.accessModes"))
        if not spec.get("capacity"):
            out.append(required("spec.capacity"))
        for name, value in (spec.get("capacity") or {}).items():
            validate_amount(name, value, f"spec.capacity[{name}]", out)
        return out


class StorageClassStrategy(KindStrategy):
    spec_fields = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")

    def default_spec(self, obj: Json) -> None:
        obj.setdefault("reclaimPolicy", "Delete")
        obj.setdefault("volumeBindingMode", "Immediate")

    def validate(self, obj: Json) -> list[FieldError]:
        return [] if obj.get("provisioner") else [required("provisioner")]

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out = super().validate_change(obj, old, subresource)
        for key in ("provisioner", "reclaimPolicy", "volumeBindingMode"):
            if obj.get(key) != old.get(key):
                out.append(bad_value(key, obj.get(key), "field is immutable"))
        return out


class NetworkPolicyStrategy(KindStrategy):
    has_generation = True

    def default_spec(self, obj: Json) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("podSelector", {})
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
        for direction in ("ingress", "egress"):
            for rule in spec.get(direction) or ():
                for port in rule.get("ports") or ():
                    port.setdefault("protocol", "TCP")

    def validate(self, obj: Json) -> list[FieldError]:
        return validate_label_selector(obj["spec"].get("podSelector") or {}, "spec.podSelector")


class IngressStrategy(KindStrategy):
    has_generation = True

    def default_spec(self, obj: Json) -> None:
        obj.setdefault("spec", {})

    def reset_status(self, obj: Json) -> None:
        obj["status"] = {"loadBalancer": {}}

    def validate(self, obj: Json) -> list[FieldError]:
        spec = obj["spec"]
        if not spec.get("rules") and not spec.get("defaultBackend"):
            return [bad_value("spec", spec, "either `defaultBackend` or `rules` must be specified")]
        return []


class SliceStrategy(KindStrategy):
    """EndpointSlice."""

    has_generation = True
    spec_fields = ("addressType", "endpoints", "ports")

    def default_spec(self, obj: Json) -> None:
        obj.setdefault("endpoints", None)
        obj.setdefault("ports", None)
        for port in obj.get("ports") or ():
            port.setdefault("name", "")
            port.setdefault("protocol", "TCP")

    def validate(self, obj: Json) -> list[FieldError]:
        return [] if obj.get("addressType") else [required("addressType")]


class EndpointsStrategy(KindStrategy):
    allow_create_on_update = True
    spec_fields = ("subsets",)

    def default_spec(self, obj: Json) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                port.setdefault("protocol", "TCP")
