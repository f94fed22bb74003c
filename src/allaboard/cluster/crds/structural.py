"""May this schema be the schema of a custom resource?

Two sets of rules, in the order Kubernetes reports them: what no schema may contain (references,
unknown types, bad patterns, list types that do not fit), then what makes it structural (every
field has a type, nothing hides in combinations) and last whether its defaults obey it.
"""

import re
from typing import Any

from allaboard.api.fields import FieldError, bad_value, forbidden, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.crds.formats import pattern_check
from allaboard.cluster.crds.messages import NOWHERE, explain
from allaboard.cluster.crds.shapes import check_shapes
from allaboard.cluster.crds.tidy import plan_of, tidy
from allaboard.cluster.kinds.expressions import syntax_problem

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_SCALARS = ("boolean", "integer", "number", "string")
_UNSUPPORTED = ("id", "patternProperties", "definitions", "dependencies", "additionalItems")
_MAX_DEPTH = 100  # deeper schemas only serve to exhaust a stack
_COMBINATIONS = ("allOf", "anyOf", "oneOf")
_REPETITION = re.compile(r"(?<!\\)(?:^|\(|\|)([*+?])")
# said once, above; inside combinations they would only make the same question harder
_ONLY_OUTSIDE = (
    "description", "type", "default", "title", "nullable", "additionalProperties",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string", "x-kubernetes-list-type", "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type", "x-kubernetes-validations",
)  # fmt: skip


def check_schema(schema: Json, path: str) -> list[FieldError]:
    """Every reason against `schema`, the `openAPIV3Schema` of a version."""
    if _depth(schema) > _MAX_DEPTH:
        return [forbidden(path, f"must not be nested deeper than {_MAX_DEPTH} levels")]
    if misshapen := check_shapes(schema, path):
        return misshapen
    found: list[FieldError] = []
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    found += _contents(schema, path)
    if not any(e.text.endswith("is not supported") for e in found):
        found += _structure(schema, path, "at the root")
    if not found:
        found += _defaults(schema, path)
    return found


def _depth(value: Any) -> int:
    """Nesting of objects, counted without recursion."""
    level, deepest = [value], 0
    while level and deepest <= _MAX_DEPTH:
        deepest += 1
        following: list[Any] = []
        for member in level:
            if isinstance(member, dict):
                following += member.values()
            elif isinstance(member, list):
                following += member
        level = [v for v in following if isinstance(v, dict | list)]
    # properties and the schema below them are two levels of JSON for one of schema
    return deepest // 2 if level == [] else _MAX_DEPTH + 1


# --- what no schema may contain --------------------------------------------------------------


def _contents(schema: Json, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        found.append(forbidden(f"{path}.uniqueItems", detail))
    extra, properties = schema.get("additionalProperties"), schema.get("properties") or {}
    if extra is not None and extra is not False and properties:
        detail = "additionalProperties and properties are mutual exclusive"
        found.append(forbidden(f"{path}.additionalProperties", detail))
    if extra is False:
        detail = "additionalProperties cannot be set to false"
        found.append(forbidden(f"{path}.additionalProperties", detail))
    if isinstance(extra, dict):
        found += _contents(extra, f"{path}.additionalProperties")
    for name in sorted(properties):
        found += _contents(properties[name], f"{path}.properties[{name}]")
    for word in _COMBINATIONS:
        for index, sub in enumerate(schema.get(word) or ()):
            found += _contents(sub, f"{path}.{word}[{index}]")
    for word in ("not", "items"):
        if isinstance(schema.get(word), dict):
            found += _contents(schema[word], f"{path}.{word}")
    if isinstance(schema.get("items"), list):
        detail = "items must be a schema object and not an array"
        found.append(forbidden(f"{path}.items", detail))
    found += _words(schema, path)
    found += _list_rules(schema, path)
    found += _map_rules(schema, path)
    for index, rule in enumerate(schema.get("x-kubernetes-validations") or ()):
        place = f"{path}.x-kubernetes-validations[{index}].rule"
        if not (rule.get("rule") or "").strip():
            found.append(required(place, "rule is not specified"))
        elif problem := syntax_problem(rule["rule"]):
            found.append(bad_value(place, _rule_as_go(rule), problem))
    return found


def _rule_as_go(rule: Json) -> Json:
    """A rule as Kubernetes prints it in an error: its internal struct as JSON."""
    return {
        "Rule": rule["rule"],
        "Message": rule.get("message") or "",
        "MessageExpression": rule.get("messageExpression") or "",
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath") or "",
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def _words(schema: Json, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if schema.get("$ref"):
        found.append(forbidden(f"{path}.$ref", "$ref is not supported"))
    for word in _UNSUPPORTED:
        if schema.get(word):
            found.append(forbidden(f"{path}.{word}", f"{word} is not supported"))
    kind = schema.get("type")
    if kind == "null":
        detail = "type cannot be set to null, use nullable as an alternative"
        found.append(forbidden(f"{path}.type", detail))
    elif kind and kind not in _TYPES:
        found.append(not_supported(f"{path}.type", kind, _TYPES))
    pattern = schema.get("pattern")
    if pattern and pattern_check(pattern) is None:
        detail = (
            "must be a valid regular expression, but isn't: error parsing regexp: "
            f"{regex_problem(pattern)}"
        )
        found.append(bad_value(f"{path}.pattern", pattern, detail))
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        place = f"{path}.x-kubernetes-preserve-unknown-fields"
        found.append(bad_value(place, False, "must be true or undefined"))
    return found


def _list_rules(schema: Json, path: str) -> list[FieldError]:
    kind = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    items = schema.get("items")
    found: list[FieldError] = []
    if kind is not None and schema.get("type") != "array":
        shown = schema.get("type") or ""
        detail = "must be array if x-kubernetes-list-type is specified"
        found.append(bad_value(f"{path}.type", shown, detail))
    if kind is not None and kind not in ("atomic", "set", "map"):
        place = f"{path}.x-kubernetes-list-type"
        found.append(not_supported(place, kind, ("atomic", "set", "map")))
    if keys and kind != "map":
        place = f"{path}.x-kubernetes-list-type"
        detail = "must be map if x-kubernetes-list-map-keys is non-empty"
        found.append(required(place, detail) if kind is None else bad_value(place, kind, detail))
    if kind == "map":
        found += _keys(keys, items, path)
    if kind == "set" and isinstance(items, dict):
        found += _set_items(items, path)
    return found


def _keys(keys: list[str], items: Any, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    place = f"{path}.x-kubernetes-list-map-keys"
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        found.append(required(place, detail))
    if not isinstance(items, dict):
        detail = "must have a schema if x-kubernetes-list-type is map"
        found.append(required(f"{path}.items", detail))
        return found
    if items.get("type") != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        found.append(bad_value(f"{path}.items.type", items.get("type") or "", detail))
    properties, needed = items.get("properties") or {}, items.get("required") or ()
    for index, key in enumerate(keys):
        if key in keys[:index]:
            text = f"Duplicate value: {_quoted(key)}"
            found.append(FieldError("FieldValueDuplicate", f"{place}[{index}]", text))
        elif key not in properties:
            detail = "entries must all be names of item properties"
            found.append(bad_value(f"{place}[{index}]", key, detail))
        elif properties[key].get("type") not in _SCALARS:
            detail = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            shown = properties[key].get("type") or ""
            found.append(bad_value(f"{path}.items.properties[{key}].type", shown, detail))
        elif "default" not in properties[key] and key not in needed:
            detail = (
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a"
                " required property"
            )
            found.append(required(f"{path}.items.properties[{key}].default", detail))
    return found


def _set_items(items: Json, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    detail = "as item of a list with x-kubernetes-list-type=set"
    if items.get("nullable"):
        place = f"{path}.items.nullable"
        found.append(forbidden(place, "cannot be nullable when x-kubernetes-list-type is set"))
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        place = f"{path}.items.x-kubernetes-map-type"
        found.append(
            bad_value(place, items.get("x-kubernetes-map-type"), f"must be atomic {detail}")
        )
    if items.get("type") == "array" and items.get("x-kubernetes-list-type") not in (None, "atomic"):
        place = f"{path}.items.x-kubernetes-list-type"
        found.append(
            bad_value(place, items.get("x-kubernetes-list-type"), f"must be atomic {detail}")
        )
    return found


def _map_rules(schema: Json, path: str) -> list[FieldError]:
    kind = schema.get("x-kubernetes-map-type")
    found: list[FieldError] = []
    if kind is not None and schema.get("type") != "object":
        detail = "must be object if x-kubernetes-map-type is specified"
        found.append(bad_value(f"{path}.type", schema.get("type") or "", detail))
    if kind is not None and kind not in ("granular", "atomic"):
        place = f"{path}.x-kubernetes-map-type"
        found.append(not_supported(place, kind, ("atomic", "granular")))
    return found


def regex_problem(pattern: str) -> str:
    """Go's words for what is wrong with a regular expression, as far as they can be guessed."""
    opened = closed = 0
    in_class = -1
    escaped = False
    for at, letter in enumerate(pattern):
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = True
        elif in_class >= 0:
            in_class = -1 if letter == "]" and at > in_class + 1 else in_class
        elif letter == "[":
            in_class = at
        else:
            opened += letter == "("
            closed += letter == ")"
            if closed > opened:
                return f"unexpected ): `{pattern}`"
    if in_class >= 0:
        return f"missing closing ]: `{pattern[in_class:]}`"
    if opened > closed:
        return f"missing closing ): `{pattern}`"
    if escaped:
        return "trailing backslash at end of expression: ``"
    bare = _REPETITION.search(pattern)
    if bare is not None:
        return f"missing argument to repetition operator: `{bare[1]}`"
    return f"invalid or unsupported Perl syntax: `{pattern}`"


def _quoted(text: str) -> str:
    return bad_value("", text, "").text.removeprefix("Invalid value: ")


# --- what makes it structural ----------------------------------------------------------------


def _structure(schema: Json, path: str, where: str) -> list[FieldError]:
    """`where` says what a missing type is missing from."""
    found: list[FieldError] = []
    is_root = where == "at the root"
    for name, sub in sorted((schema.get("properties") or {}).items()):
        place = f"{path}.properties[{name}]"
        if is_root or schema.get("x-kubernetes-embedded-resource"):
            found += _resource_field(name, sub, place)
        found += _structure(sub, place, "for specified object fields")
    extra, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(extra, dict):
        place = f"{path}.additionalProperties"
        found += _structure(extra, place, "for specified object fields")
    if isinstance(items, dict):
        found += _structure(items, f"{path}.items", "for specified array items")
    kind = schema.get("type") or ""
    untyped = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if not kind and (is_root or not untyped):
        found.append(required(f"{path}.type", f"must not be empty {where}"))
    elif is_root and kind != "object":
        found.append(bad_value(f"{path}.type", kind, "must be object at the root"))
    elif kind in _TYPES and schema.get("x-kubernetes-int-or-string"):
        detail = "must be empty if x-kubernetes-int-or-string is true"
        found.append(bad_value(f"{path}.type", kind, detail))
    if kind == "array" and items is None:
        found.append(required(f"{path}.items", "must be specified"))
    if schema.get("x-kubernetes-embedded-resource"):
        found += _embedding(schema, kind, path)
    if not is_root or not found:
        found += _hidden(schema, path)
    return found


def _resource_field(name: str, sub: Json, place: str) -> list[FieldError]:
    if name in ("apiVersion", "kind") and sub.get("type") != "string":
        return [bad_value(f"{place}.type", sub.get("type") or "", "must be string")]
    if name != "metadata":
        return []
    found: list[FieldError] = []
    if sub.get("type") != "object":
        found.append(bad_value(f"{place}.type", sub.get("type") or "", "must be object"))
    allowed = {"description", "type", "properties", "title"}
    beyond = set(sub.get("properties") or {}) - {"name", "generateName"}
    if beyond or any(sub[k] for k in sub if k not in allowed):
        detail = (
            "must not specify anything other than name and generateName, but metadata is"
            " implicitly specified"
        )
        found.append(forbidden(place, detail))
    return found


def _embedding(schema: Json, kind: str, path: str) -> list[FieldError]:
    if kind != "object":
        detail = "must be object if x-kubernetes-embedded-resource is true"
        return [bad_value(f"{path}.type", kind, detail)]
    if not schema.get("properties") and not schema.get("x-kubernetes-preserve-unknown-fields"):
        detail = (
            "must not be empty if x-kubernetes-embedded-resource is true without"
            " x-kubernetes-preserve-unknown-fields"
        )
        return [required(f"{path}.properties", detail)]
    return []


def _hidden(schema: Json, path: str) -> list[FieldError]:
    """Structure inside combinations: it must be said outside too, and types only there."""
    found: list[FieldError] = []
    branches = [
        (f"{path}.{word}[{index}]", sub)
        for word in _COMBINATIONS
        for index, sub in enumerate(schema.get(word) or ())
    ]
    if isinstance(schema.get("not"), dict):
        branches.append((f"{path}.not", schema["not"]))
    for place, branch in branches:
        found += _branch(branch, schema, place)
    return found


def _branch(branch: Json, outer: Json, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for word in _ONLY_OUTSIDE:
        harmless = word == "type" and outer.get("x-kubernetes-int-or-string")
        if branch.get(word) not in (None, "", False, []) and not harmless:
            found.append(forbidden(f"{path}.{word}", "must be empty to be structural"))
    properties = outer.get("properties") or {}
    for name, sub in sorted((branch.get("properties") or {}).items()):
        place = f"{path}.properties[{name}]"
        if name not in properties and not isinstance(outer.get("additionalProperties"), dict):
            known = place.rpartition(".properties")[0]
            outside = re.sub(r"\.(allOf|anyOf|oneOf)\[\d+\]$|\.not$", "", known)
            detail = f"because it is defined in {place}"
            found.append(required(f"{outside}.properties[{name}]", detail))
        else:
            found += _branch(sub, properties.get(name) or outer["additionalProperties"], place)
    if isinstance(branch.get("items"), dict) and isinstance(outer.get("items"), dict):
        found += _branch(branch["items"], outer["items"], f"{path}.items")
    return found + _hidden_in_branch(branch, outer, path)


def _hidden_in_branch(branch: Json, outer: Json, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    for word in _COMBINATIONS:
        for index, sub in enumerate(branch.get(word) or ()):
            found += _branch(sub, outer, f"{path}.{word}[{index}]")
    if isinstance(branch.get("not"), dict):
        found += _branch(branch["not"], outer, f"{path}.not")
    return found


# --- defaults --------------------------------------------------------------------------------


def _defaults(schema: Json, path: str) -> list[FieldError]:
    """Defaults must be pruned already and obey the schema they fill."""
    found: list[FieldError] = []
    for name, sub in sorted((schema.get("properties") or {}).items()):
        found += _default(sub, f"{path}.properties[{name}]")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            found += _default(schema[word], f"{path}.{word}")
    return found


def _default(schema: Json, path: str) -> list[FieldError]:
    if "default" not in schema:
        return _defaults(schema, path)
    value = schema["default"]
    holder: Json = {"type": "object", "properties": {"it": {**schema, "default": None}}}
    holder["properties"]["it"].pop("default")
    dropped: list[str] = []
    filled = tidy(plan_of(holder), {"it": value}, dropped)
    if dropped:
        return [bad_value(f"{path}.default", value, "must not have unknown fields")]
    found: list[FieldError] = []
    for error in explain(schema, filled.get("it", value)):
        below = "" if error.field in ("", NOWHERE) else f".{error.field}"
        found.append(FieldError(error.reason, f"{path}.default{below}", error.text))
    return found + _defaults(schema, path)
