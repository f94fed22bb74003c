"""How does a CustomResourceDefinition itself live: defaults, what is kept, what is refused?

Its status is written by `registry.py` alone, apart from `storedVersions`, where every version that
was ever the storage version is remembered here.
"""

from allaboard.api.fields import FieldError
from allaboard.api.meta import Json
from allaboard.cluster.crds.acceptance import check_change, check_definition, name_problems
from allaboard.cluster.kinds.metadata import validate_metadata, validate_metadata_update
from allaboard.cluster.kinds.strategy import KindStrategy


class DefinitionStrategy(KindStrategy):
    allow_unconditional_update = False
    has_generation = True

    def __init__(self) -> None:
        super().__init__(namespaced=False, has_status=True)

    def default_spec(self, obj: Json) -> None:
        spec = dict(obj.get("spec") or {})
        names = dict(spec.get("names") or {})
        kind = names.get("kind") or ""
        if kind and not names.get("singular"):
            names["singular"] = kind.lower()
        if kind and not names.get("listKind"):
            names["listKind"] = f"{kind}List"
        spec["names"] = names
        conversion = dict(spec.get("conversion") or {"strategy": "None"})
        hook = conversion.get("webhook") or {}
        service = (hook.get("clientConfig") or {}).get("service")
        if service and "port" not in service:
            client = {**hook["clientConfig"], "service": {**service, "port": 443}}
            conversion["webhook"] = {**hook, "clientConfig": client}
        spec["conversion"] = conversion
        if spec != obj.get("spec"):
            obj["spec"] = spec

    def reset_status(self, obj: Json) -> None:
        stored = [v.get("name") for v in _versions(obj) if v.get("storage")]
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored[:1] or None,
        }

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        super().prepare_update(obj, old, subresource)
        status = obj.get("status") or {}
        stored = list(status.get("storedVersions") or ())
        for version in _versions(obj):
            if version.get("storage") and version.get("name") not in stored:
                obj["status"] = {**status, "storedVersions": [*stored, version["name"]]}
                break

    def validate_create(self, obj: Json) -> list[FieldError]:
        problems = lambda name: name_problems(obj, name)  # noqa: E731  one rule, bound to `obj`
        errors = validate_metadata(obj["metadata"], False, problems)
        return errors + check_definition(obj)

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        errors = validate_metadata_update(obj["metadata"], old["metadata"])
        if subresource == "status" or (
            obj.get("spec") == old.get("spec") and obj.get("status") == old.get("status")
        ):
            return errors
        return errors + check_definition(obj) + check_change(obj, old)


def _versions(obj: Json) -> list[Json]:
    found: list[Json] = (obj.get("spec") or {}).get("versions") or []
    return found
