"""How does a Namespace live: born Active, emptied while Terminating, gone without finalizers?"""

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value
from allaboard.api.meta import Json
from allaboard.cluster.kinds.strategy import KindStrategy

_FINALIZER = "kubernetes"
_STANDARD = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_NAME_LABEL = "kubernetes.io/metadata.name"


def namespace_name_problems(name: str) -> list[str]:
    if "." in name:
        return ["must not contain dots"] if names.is_subdomain(name) else names.label_problems(name)
    return names.label_problems(name)


class NamespaceStrategy(KindStrategy):
    name_problems = staticmethod(namespace_name_problems)

    def default_spec(self, obj: Json) -> None:
        obj.setdefault("spec", {})
        self._label(obj)
        status = obj.get("status")
        if status is not None and not status.get("phase"):
            obj["status"] = {**status, "phase": "Active"}

    def _label(self, obj: Json) -> None:
        """Every namespace carries its name, so that selectors can name it."""
        meta = obj["metadata"]
        name = meta.get("name")
        if name and (meta.get("labels") or {}).get(_NAME_LABEL) != name:
            meta["labels"] = {**(meta.get("labels") or {}), _NAME_LABEL: name}

    def reset_status(self, obj: Json) -> None:
        obj["status"] = {"phase": "Active"}

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        self._label(obj)
        finalizers = list((obj.get("spec") or {}).get("finalizers") or ())
        if _FINALIZER not in finalizers:
            finalizers.append(_FINALIZER)
        obj["spec"] = {**(obj.get("spec") or {}), "finalizers": finalizers}

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        wanted = (obj.get("spec") or {}).get("finalizers")
        super().prepare_update(obj, old, subresource)
        spec = dict(old.get("spec") or {})
        if subresource == "finalize":
            spec["finalizers"] = wanted or []
            if not wanted:
                spec.pop("finalizers")
        obj["spec"] = spec

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        for name in (obj.get("spec") or {}).get("finalizers") or ():
            problems = names.qualified_name_problems(name)
            if not problems and "/" not in name and name not in _STANDARD:
                problems = ["name is neither a standard finalizer name nor is it fully qualified"]
            out += [bad_value("spec.finalizers", name, p) for p in problems]
        return out

    def validate_status(self, obj: Json, old: Json) -> list[FieldError]:
        phase = (obj.get("status") or {}).get("phase")
        if old["metadata"].get("deletionTimestamp"):
            if phase != "Terminating":
                detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
                return [bad_value("status.Phase", phase, detail)]
        elif phase != "Active":
            detail = "may only be 'Active' if `deletionTimestamp` is empty"
            return [bad_value("status.Phase", phase, detail)]
        return []
