"""What does a schema do to an object before anybody judges it: prune, drop nulls, fill defaults?

Unknown fields go unless the schema preserves them; a null where null is not allowed goes, or
becomes the default; absent fields with a default get it, at every depth. Objects are shared with
the store, so a walk never changes what it is given: it returns the same object when there was
nothing to do, else a copy of the path to each change.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

from allaboard.api.meta import Json

META_FIELDS = ("apiVersion", "kind", "metadata")


@dataclass(slots=True, eq=False)
class Plan:
    """A schema reduced to what tidying needs."""

    fields: dict[str, "Plan"] = field(default_factory=dict)
    values: "Plan | None" = None  # of a map
    items: "Plan | None" = None
    keeps_unknown: bool = False
    nullable: bool = True
    integer: bool = False
    is_resource: bool = False  # apiVersion, kind and metadata are known and left alone
    filled: tuple[tuple[str, Any], ...] = ()  # fields with defaults, defaults of defaults included


def plan_of(schema: Json) -> Plan:
    """The plan for the `openAPIV3Schema` of one version."""
    plan = _plan(schema)
    plan.is_resource = True
    for name in META_FIELDS:
        plan.fields.pop(name, None)
    plan.filled = tuple((n, v) for n, v in plan.filled if n not in META_FIELDS)
    return plan


def _plan(schema: Json) -> Plan:
    extra = schema.get("additionalProperties")
    items = schema.get("items")
    plan = Plan(
        fields={name: _plan(sub) for name, sub in (schema.get("properties") or {}).items()},
        values=_plan(extra) if isinstance(extra, dict) else None,
        items=_plan(items) if isinstance(items, dict) else None,
        keeps_unknown=bool(schema.get("x-kubernetes-preserve-unknown-fields")) or extra is True,
        nullable=bool(schema.get("nullable")),
        integer=schema.get("type") == "integer" or bool(schema.get("x-kubernetes-int-or-string")),
        is_resource=bool(schema.get("x-kubernetes-embedded-resource")),
    )
    if not schema.get("type") and not schema.get("x-kubernetes-int-or-string"):
        plan.nullable = True  # a schema without a type says nothing about null
    filled = []
    for name, sub in (schema.get("properties") or {}).items():
        if "default" in sub:
            filled.append((name, _Walk(None).walk(plan.fields[name], sub["default"], "")))
    plan.filled = tuple(filled)
    return plan


def tidy(plan: Plan, obj: Json, dropped: list[str] | None = None) -> Json:
    """Prune, drop nulls and fill defaults; paths of unknown fields are added to `dropped`."""
    result = _Walk(dropped).walk(plan, obj, "")
    assert isinstance(result, dict)
    return result


def prune(plan: Plan, obj: Json) -> Json:
    """Only drop what the schema does not know: what a conversion ends with."""
    result = _Walk(None, fills=False).walk(plan, obj, "")
    assert isinstance(result, dict)
    return result


@dataclass(slots=True)
class _Walk:
    dropped: list[str] | None
    fills: bool = True

    def walk(self, plan: Plan, value: Any, path: str) -> Any:
        if isinstance(value, dict):
            return self._object(plan, value, path)
        if isinstance(value, list):
            if plan.items is None:
                return value
            return self._list(plan.items, value, path)
        if plan.integer and isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
            return int(value)
        return value

    def _object(self, plan: Plan, value: Json, path: str) -> Json:
        result = value
        fields, values = plan.fields, plan.values
        for name, member in value.items():
            if plan.is_resource and name in META_FIELDS and name not in fields:
                continue
            child = fields.get(name) or values
            if child is None:
                if plan.keeps_unknown:
                    continue
                if self.dropped is not None:
                    self.dropped.append(_join(path, name))
                result = _without(result, value, name)
            elif member is None and not child.nullable:
                if self.fills:
                    result = _without(result, value, name)
            else:
                changed = self.walk(child, member, self._below(path, name))
                if changed is not member:
                    result = dict(value) if result is value else result
                    result[name] = changed
        if self.fills:
            for name, default in plan.filled:
                if name not in result:
                    result = dict(value) if result is value else result
                    result[name] = copy.deepcopy(default)
        return result

    def _list(self, items: Plan, value: list[Any], path: str) -> list[Any]:
        result = value
        for index, member in enumerate(value):
            changed = self.walk(items, member, self._below(path, index))
            if changed is not member:
                result = list(value) if result is value else result
                result[index] = changed
        return result

    def _below(self, path: str, step: str | int) -> str:
        if self.dropped is None:  # nobody will read it
            return ""
        return f"{path}[{step}]" if isinstance(step, int) else _join(path, step)


def _without(result: Json, original: Json, name: str) -> Json:
    result = dict(original) if result is original else result
    del result[name]
    return result


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
