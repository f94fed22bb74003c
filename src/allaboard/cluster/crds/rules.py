"""How does a custom resource live: what is filled in, kept apart, counted and refused?

One `VersionRules` per version, compiled once from its schema; `CustomStrategy` picks the one an
object was written in. Rules in CEL are stored and published but not evaluated yet.
"""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from allaboard.api.fields import FieldError, bad_value
from allaboard.api.meta import Json
from allaboard.cluster.crds.messages import UNCHECKED, blocks_rules, explain
from allaboard.cluster.crds.strictness import checker
from allaboard.cluster.crds.tidy import META_FIELDS, Plan, plan_of, prune, tidy
from allaboard.cluster.crds.uniqueness import Lists, duplicates, lists_of
from allaboard.cluster.kinds.metadata import (
    validate_labels,
    validate_metadata,
    validate_metadata_update,
)

_KEPT_BY_STATUS_WRITES = ("resourceVersion", "uid", "managedFields")


@dataclass(slots=True, eq=False)
class VersionRules:
    """What one version's schema demands. `has_status` is its status subresource."""

    schema: Json
    has_status: bool = False
    scale_path: str = ""  # specReplicasPath where `scale` is served
    clean: jsonschema_rs.Draft4Validator = field(init=False)
    plan: Plan = field(init=False)
    lists: Lists | None = field(init=False)
    has_rules: bool = field(init=False)
    embeds: bool = field(init=False)
    _last_clean: list[Any] = field(init=False, default_factory=list)  # names and values in turn

    def __post_init__(self) -> None:
        self.clean = checker(self.schema)
        self.plan = plan_of(self.schema)
        self.lists = lists_of(self.schema)
        self.has_rules = _mentions(self.schema, "x-kubernetes-validations")
        self.embeds = _mentions(self.schema, "x-kubernetes-embedded-resource")

    def is_clean(self, obj: Json) -> bool:
        """Whether `obj` needs no work and breaks no rule of the schema.

        One write asks several times. Objects are never changed in place, only replaced, so the
        same parts as last time have the same answer.
        """
        parts = [v for pair in obj.items() if pair[0] != "metadata" for v in pair]
        last = self._last_clean
        if len(parts) == len(last) and all(map(operator.is_, parts, last)):
            return True
        if not self.clean.is_valid(obj):
            return False
        self._last_clean = parts
        return True

    def tidied(self, obj: Json, dropped: list[str] | None = None) -> Json:
        """Pruned, without stray nulls, with defaults; the same object if that changes nothing."""
        if self.is_clean(obj):
            return obj
        return tidy(self.plan, obj, dropped)

    def pruned(self, obj: Json) -> Json:
        return obj if self.is_clean(obj) else prune(self.plan, obj)

    def errors(self, obj: Json, old: Json | None) -> list[FieldError]:
        """What the schema refuses; with `old`, only in what changed."""
        found: list[FieldError] = []
        if not self.is_clean(obj):
            body = {k: v for k, v in obj.items() if k not in META_FIELDS}
            schema = _without_meta(self.schema)
            if old is None:
                found += explain(schema, body)
            else:
                found += explain(schema, body, {k: v for k, v in old.items() if k in body})
        found += self._replicas(obj)
        if self.embeds:
            found += _embedded(self.schema, obj, "")
        if self.lists is not None:
            parts = obj
            if old is not None:
                parts = {k: v for k, v in obj.items() if old.get(k) != v}
            repeated = duplicates(self.lists, parts)
            if repeated and (old is None or not duplicates(self.lists, old)):
                found += repeated
        if self.has_rules and blocks_rules(found):
            found.append(UNCHECKED)
        return found

    def _replicas(self, obj: Json) -> list[FieldError]:
        if not self.scale_path:
            return []
        value: Any = obj
        for part in self.scale_path.lstrip(".").split("."):
            value = value.get(part) if isinstance(value, dict) else None
        field_path = self.scale_path
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
            if isinstance(value, int) and value > 2**31 - 1:
                detail = "should be less than or equal to 2147483647"
                return [bad_value(field_path, value, detail)]
            return []
        if isinstance(value, int) and not isinstance(value, bool):
            return [bad_value(field_path, value, "should be a non-negative integer")]
        return []


class CustomStrategy:
    """The life of a custom resource, after apiextensions' own strategies."""

    allow_create_on_update = False
    allow_unconditional_update = False

    def __init__(self, kind: str, namespaced: bool, versions: Mapping[str, VersionRules]) -> None:
        self._kind = kind
        self._namespaced = namespaced
        self._versions = dict(versions)  # by apiVersion

    def rules(self, obj: Json) -> VersionRules:
        return self._versions[obj["apiVersion"]]

    def default(self, obj: Json) -> None:
        changed = self.rules(obj).tidied(obj)
        if changed is not obj:
            obj.clear()
            obj.update(changed)

    def decode(self, obj: Json) -> tuple[Json, list[str]]:
        """Prune what a client sent: the object to go on with and the paths that were unknown."""
        dropped: list[str] = []
        return self.rules(obj).tidied(obj, dropped), sorted(dropped)

    def read_stored(self, obj: Json) -> Json:
        """A stored object with the defaults of today's schema; the same one if none is missing."""
        rules = self._versions.get(obj.get("apiVersion", ""))
        return obj if rules is None else rules.tidied(obj)

    def prepare_create(self, obj: Json) -> None:
        if self.rules(obj).has_status:
            obj.pop("status", None)
        obj["metadata"] = {**obj["metadata"], "generation": 1}

    def prepare_update(self, obj: Json, old: Json, subresource: str) -> None:
        if subresource == "status":
            self._keep_all_but_status(obj, old)
        elif self.rules(obj).has_status:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        generation = old["metadata"].get("generation") or 0
        if subresource != "status" and _differs(obj, old):
            generation += 1
        if obj["metadata"].get("generation") != generation:
            obj["metadata"] = {**obj["metadata"], "generation": generation}

    def validate_create(self, obj: Json) -> list[FieldError]:
        if wrong := self._kind_errors(obj):
            return wrong
        found = validate_metadata(obj["metadata"], self._namespaced)
        return found + self.rules(obj).errors(obj, None)

    def validate_update(self, obj: Json, old: Json, subresource: str) -> list[FieldError]:
        if wrong := self._kind_errors(obj):
            return wrong
        found = validate_metadata_update(obj["metadata"], old["metadata"])
        return found + self.rules(obj).errors(obj, old)

    def warnings(self, obj: Json, old: Json | None) -> list[str]:
        return []

    def _kind_errors(self, obj: Json) -> list[FieldError]:
        if obj.get("kind") == self._kind:
            return []
        return [bad_value("kind", obj.get("kind", ""), f"must be {self._kind}")]

    @staticmethod
    def _keep_all_but_status(obj: Json, old: Json) -> None:
        sent = obj["metadata"]
        status = {"status": obj["status"]} if "status" in obj else {}
        meta = {k: v for k, v in old["metadata"].items() if k not in _KEPT_BY_STATUS_WRITES}
        meta |= {k: sent[k] for k in _KEPT_BY_STATUS_WRITES if k in sent}
        kept = {k: v for k, v in old.items() if k not in ("status", "metadata")}
        obj.clear()
        obj.update({**kept, "metadata": meta, **status})


def _differs(obj: Json, old: Json) -> bool:
    """Whether anything but metadata (and the version it is written in) changed."""
    ignored = ("metadata", "apiVersion", "kind")
    if any(obj[k] != old.get(k) for k in obj if k not in ignored):
        return True
    return any(k not in obj for k in old if k not in ignored)


def _without_meta(schema: Json) -> Json:
    properties = {k: v for k, v in (schema.get("properties") or {}).items() if k not in META_FIELDS}
    needed = [n for n in schema.get("required") or () if n not in META_FIELDS]
    return {**schema, "properties": properties, "required": needed}


def _mentions(schema: Any, word: str) -> bool:
    if isinstance(schema, dict):
        return word in schema or any(_mentions(v, word) for v in schema.values())
    if isinstance(schema, list):
        return any(_mentions(v, word) for v in schema)
    return False


def _embedded(schema: Json, value: Any, path: str) -> list[FieldError]:
    """Problems in the metadata of objects inside the object."""
    found: list[FieldError] = []
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, member in enumerate(value):
            found += _embedded(schema["items"], member, f"{path}[{index}]")
    if not isinstance(value, dict):
        return found
    if schema.get("x-kubernetes-embedded-resource"):
        found += _embedded_metadata(value.get("metadata"), f"{path}.metadata")
    properties, extra = schema.get("properties") or {}, schema.get("additionalProperties")
    for name, member in value.items():
        sub = properties.get(name) or extra
        if isinstance(sub, dict) and (path or name not in META_FIELDS):
            found += _embedded(sub, member, f"{path}.{name}" if path else name)
    return found


def _embedded_metadata(meta: Any, path: str) -> list[FieldError]:
    if meta is None:
        return []
    if not isinstance(meta, dict):
        return [bad_value(path, meta, "must be an object")]
    labels = meta.get("labels")
    if labels is not None and not (
        isinstance(labels, dict) and all(isinstance(v, str) for v in labels.values())
    ):
        return [bad_value(f"{path}.labels", labels, "must be a map of strings")]
    return validate_labels(labels, f"{path}.labels")
