"""Are roles, bindings and service accounts legal?"""

from allaboard.api import names
from allaboard.api.fields import FieldError, bad_value, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.kinds.strategy import KindStrategy

_GROUP = "rbac.authorization.k8s.io"


class RoleStrategy(KindStrategy):
    """Role and ClusterRole."""

    allow_create_on_update = True
    spec_fields = ("rules", "aggregationRule")
    name_problems = staticmethod(names.path_segment_problems)

    def default_spec(self, obj: Json) -> None:
        obj.setdefault("rules", None)

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        for i, rule in enumerate(obj.get("rules") or ()):
            path = f"rules[{i}]"
            if not rule.get("verbs"):
                out.append(required(f"{path}.verbs", "verbs must contain at least one value"))
            if rule.get("nonResourceURLs"):
                if self.namespaced:
                    detail = "namespaced rules cannot apply to non-resource URLs"
                    out.append(
                        bad_value(f"{path}.nonResourceURLs", rule["nonResourceURLs"], detail)
                    )
                continue
            if not rule.get("apiGroups"):
                detail = "resource rules must supply at least one api group"
                out.append(required(f"{path}.apiGroups", detail))
            if not rule.get("resources"):
                detail = "resource rules must supply at least one resource"
                out.append(required(f"{path}.resources", detail))
        return out


class BindingStrategy(KindStrategy):
    """RoleBinding and ClusterRoleBinding."""

    allow_create_on_update = True
    spec_fields = ("subjects", "roleRef")
    name_problems = staticmethod(names.path_segment_problems)

    def default_spec(self, obj: Json) -> None:
        role = obj.setdefault("roleRef", {})
        if not role.get("apiGroup"):
            role["apiGroup"] = _GROUP
        for subject in obj.get("subjects") or ():
            if subject.get("kind") in ("User", "Group") and not subject.get("apiGroup"):
                subject["apiGroup"] = _GROUP

    def validate(self, obj: Json) -> list[FieldError]:
        out: list[FieldError] = []
        role = obj.get("roleRef") or {}
        if role.get("apiGroup") != _GROUP:
            out.append(not_supported("roleRef.apiGroup", role.get("apiGroup"), (_GROUP,)))
        allowed = ("Role", "ClusterRole") if self.namespaced else ("ClusterRole",)
        if role.get("kind") not in allowed:
            out.append(not_supported("roleRef.kind", role.get("kind") or "", allowed))
        if not role.get("name"):
            out.append(required("roleRef.name"))
        for i, subject in enumerate(obj.get("subjects") or ()):
            self._subject(subject, f"subjects[{i}]", out)
        return out

    def _subject(self, subject: Json, path: str, out: list[FieldError]) -> None:
        if not subject.get("name"):
            out.append(required(f"{path}.name"))
        kind = subject.get("kind") or ""
        if kind not in ("ServiceAccount", "User", "Group"):
            out.append(not_supported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
        if kind == "ServiceAccount" and not self.namespaced and not subject.get("namespace"):
            out.append(required(f"{path}.namespace"))

    def validate_change(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        out = super().validate_change(obj, old, subresource)
        if obj.get("roleRef") != old.get("roleRef"):
            out.append(bad_value("roleRef", obj.get("roleRef"), "cannot change roleRef"))
        return out


class ServiceAccountStrategy(KindStrategy):
    spec_fields = ("secrets", "imagePullSecrets", "automountServiceAccountToken")
