"""Which rules of its schema does a custom resource break, in Kubernetes' words?

The slow walk behind `strictness.py`: it visits every value with the schema beside it and explains.
With an old object it is lenient as Kubernetes is ("ratcheting"): what did not change is not
judged again, so a schema that became stricter does not lock objects written before.

The order of complaints about one value, and which of them stop further ones, follow kube-openapi's
validators: type, combinations, strings, formats, numbers, lists, enumerations, objects.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any

from allaboard.api.fields import FieldError, bad_value, not_supported, required
from allaboard.api.meta import Json
from allaboard.cluster.crds.formats import CHECKS, matches
from allaboard.cluster.crds.strictness import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN

NOWHERE = "<nil>"  # how Kubernetes prints the path of an error that has none
UNCHECKED = FieldError(
    "FieldValueInvalid",
    NOWHERE,
    "Invalid value: null: some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation",
)
_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
_ABSENT: Any = object()  # there is no old value to compare with
_LARGEST_FLOAT = sys.float_info.max
_MAX_ERRORS = 200  # a hostile object must not make a hostile answer


def blocks_rules(errors: list[FieldError]) -> bool:
    """Whether rules in CEL would not have been tried after these errors."""
    return any(e.reason in _BLOCKING for e in errors)


def explain(schema: Json, value: Any, old: Any = _ABSENT, path: str = "") -> list[FieldError]:
    """Everything wrong with `value`; with `old`, only where it differs from it."""
    found: list[FieldError] = []
    _Judge(found, ratchets=old is not _ABSENT).judge(schema, value, path, old)
    return found[:_MAX_ERRORS]


def type_name(value: Any) -> str:
    """The JSON type as kube-openapi names it; an integer too big for 64 bits is a number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if INT64_MIN <= value <= INT64_MAX else "number"
    if isinstance(value, float):
        return "integer" if value.is_integer() and abs(value) < 2**63 else "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _number(value: float | int) -> Any:
    """A number as Go prints it inside an error: whole floats without a point, big ones in e."""
    if isinstance(value, int) and not INT64_MIN <= value <= INT64_MAX:
        value = float(value)
    return value


def _shown(value: Any) -> str:
    value = _number(value)
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e21:
            return str(int(value)) if abs(value) < 2**63 else f"{value:g}"
        return repr(value)
    return str(value)


@dataclass(slots=True)
class _Judge:
    found: list[FieldError]
    ratchets: bool = False

    def judge(self, schema: Json, value: Any, path: str, old: Any) -> None:
        if old is not _ABSENT and _same(value, old):
            return
        if len(self.found) >= _MAX_ERRORS:
            return
        if value is None:
            self._type(schema, value, path)
            self._enum(schema, value, path)
            return
        self._type(schema, value, path)
        self._combinations(schema, value, path)
        if isinstance(value, str):
            self._string(schema, value, path)
            self._format(schema, value, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._numeric(schema, value, path)
        if isinstance(value, list):
            self._list(schema, value, path, old)
        self._enum(schema, value, path)
        if isinstance(value, dict):
            self._object(schema, value, path, old)

    def _type(self, schema: Json, value: Any, path: str) -> None:
        wanted = schema.get("type") or ""
        if schema.get("x-kubernetes-int-or-string"):
            wanted = "integer,string"
        if not wanted or (value is None and schema.get("nullable")):
            return
        actual = type_name(value)
        if actual in wanted.split(",") or (wanted == "number" and actual == "integer"):
            return
        detail = f'{path} in body must be of type {wanted}: "{actual}"'
        self._add_typed(path, actual, detail)

    def _add_typed(self, path: str, shown: Any, detail: str) -> None:
        plain = bad_value(path, shown, detail)
        self.found.append(FieldError("FieldValueTypeInvalid", path or NOWHERE, plain.text))

    def _combinations(self, schema: Json, value: Any, path: str) -> None:
        if schema.get("anyOf"):
            results = [explain(sub, value, path=path) for sub in schema["anyOf"]]
            if all(results):
                self._nowhere(f'"{path}" must validate at least one schema (anyOf)')
                self.found += results[0]
        if schema.get("oneOf"):
            results = [explain(sub, value, path=path) for sub in schema["oneOf"]]
            fitting = sum(not r for r in results)
            complaint = f'"{path}" must validate one and only one schema (oneOf).'
            if fitting == 0:
                self._nowhere(f"{complaint} Found none valid")
                self.found += results[0]
            elif fitting > 1:
                self._nowhere(f"{complaint} Found {fitting} valid alternatives")
        if schema.get("allOf"):
            results = [explain(sub, value, path=path) for sub in schema["allOf"]]
            for result in results:
                self.found += result
            if all(results):
                self._nowhere(f'"{path}" must validate all the schemas (allOf). None validated')
            elif any(results):
                self._nowhere(f'"{path}" must validate all the schemas (allOf)')
        if schema.get("not") and not explain(schema["not"], value, path=path):
            self._nowhere(f'"{path}" must not validate the schema (not)')

    def _nowhere(self, detail: str) -> None:
        self.found.append(bad_value(NOWHERE, "", detail))

    def _string(self, schema: Json, value: str, path: str) -> None:
        longest, shortest = schema.get("maxLength"), schema.get("minLength")
        if longest is not None and len(value) > longest:
            text = f"Too long: may not be more than {longest} bytes"
            self.found.append(FieldError("FieldValueTooLong", path, text))
        elif shortest is not None and len(value) < shortest:
            detail = f"{path} in body should be at least {shortest} chars long"
            self.found.append(bad_value(path, value, detail))
        elif schema.get("pattern") and not matches(schema["pattern"], value):
            detail = f"{path} in body should match '{schema['pattern']}'"
            self.found.append(bad_value(path, value, detail))

    def _format(self, schema: Json, value: str, path: str) -> None:
        form = schema.get("format")
        check = CHECKS.get(form) if isinstance(form, str) else None
        if check is not None and not check(value):
            quoted = bad_value(path, value, "").text.removeprefix("Invalid value: ")
            self._add_typed(path, value, f"{path} in body must be of type {form}: {quoted}")

    def _numeric(self, schema: Json, value: float, path: str) -> None:
        form, wanted = schema.get("format"), schema.get("type")
        if abs(value) > _LARGEST_FLOAT:
            return  # no number Go could hold; its type was refused already
        whole = type_name(value) == "integer"
        shown = _number(value)
        if wanted == "integer":
            if not whole:
                self._nowhere(f"Checked value must be of type integer (default format) in {path}")
            elif form == "int32" and not INT32_MIN <= value <= INT32_MAX:
                self._nowhere(f"Checked value must be of type integer with format int32 in {path}")
                return
        factor = schema.get("multipleOf")
        if factor and not _divides(factor, value if whole else float(value)):
            detail = f"{path} in body should be a multiple of {_shown(factor)}"
            self.found.append(_bad_number(path, shown, detail))
        highest, lowest = schema.get("maximum"), schema.get("minimum")
        if highest is not None:
            strict = bool(schema.get("exclusiveMaximum"))
            # kube-openapi compares whole numbers with the whole part of the bound
            bound = int(highest) if whole and isinstance(value, int) else highest
            if value > bound or (strict and value == bound):
                word = "less than" if strict else "less than or equal to"
                detail = f"{path} in body should be {word} {_shown(bound)}"
                self.found.append(_bad_number(path, shown, detail))
        if lowest is not None:
            strict = bool(schema.get("exclusiveMinimum"))
            bound = int(lowest) if whole and isinstance(value, int) else lowest
            if value < bound or (strict and value == bound):
                word = "greater than" if strict else "greater than or equal to"
                detail = f"{path} in body should be {word} {_shown(bound)}"
                self.found.append(_bad_number(path, shown, detail))

    def _enum(self, schema: Json, value: Any, path: str) -> None:
        allowed = schema.get("enum")
        if allowed and not any(_same(value, a) for a in allowed):
            if value is None and schema.get("nullable"):
                return
            options = [a if isinstance(a, str) else as_json(a) for a in allowed]
            self.found.append(not_supported(path, value, options))

    def _list(self, schema: Json, value: list[Any], path: str, old: Any) -> None:
        shortest, longest = schema.get("minItems"), schema.get("maxItems")
        items = schema.get("items")
        if isinstance(items, dict):
            previous = _correlate(schema, value, old)
            for index, member in enumerate(value):
                self.judge(items, member, f"{path}[{index}]", previous[index])
        if shortest is not None and len(value) < shortest:
            detail = f"{path} in body should have at least {shortest} items"
            self.found.append(bad_value(path, len(value), detail))
        if longest is not None and len(value) > longest:
            text = f"Too many: {len(value)}: must have at most {longest} items"
            self.found.append(FieldError("FieldValueTooMany", path, text))
        if schema.get("uniqueItems") and len({as_json(v) for v in value}) < len(value):
            detail = f"{path} in body shouldn't contain duplicates"
            self.found.append(bad_value(path, value, detail))

    def _object(self, schema: Json, value: Json, path: str, old: Any) -> None:
        fewest, most = schema.get("minProperties"), schema.get("maxProperties")
        if fewest is not None and len(value) < fewest:
            detail = f"{path} in body should have at least {fewest} properties"
            self.found.append(bad_value(path, len(value), detail))
            return
        if most is not None and len(value) > most:
            text = f"Too many: {len(value)}: must have at most {most} items"
            self.found.append(FieldError("FieldValueTooMany", path, text))
            return
        properties = schema.get("properties") or {}
        extra = schema.get("additionalProperties")
        before = old if isinstance(old, dict) else {}
        for name in sorted(value):
            sub = properties.get(name)
            if sub is None and isinstance(extra, dict):
                sub = extra
            if sub is not None:
                below = f"{path}.{name}" if path else name
                self.judge(sub, value[name], below, before.get(name, _ABSENT))
        needed = list(schema.get("required") or ())
        if schema.get("x-kubernetes-embedded-resource"):
            needed += [n for n in ("apiVersion", "kind") if n not in needed]
        for name in needed:
            if name not in value:
                self.found.append(required(f"{path}.{name}" if path else name))


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: true is not 1."""
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return bool(a == b)


def _divides(factor: float, value: float) -> bool:
    if isinstance(factor, int) and isinstance(value, int):
        return value % factor == 0
    ratio = value / factor
    # Beyond 2**53 every float is whole; Kubernetes then says no, since the quotient is no int64.
    return abs(ratio) < 2**53 and math.isclose(ratio, round(ratio), rel_tol=0, abs_tol=1e-9)


def as_json(value: Any) -> str:
    return bad_value("", value, "").text.removeprefix("Invalid value: ")


def _bad_number(path: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", path, f"Invalid value: {_shown(value)}: {detail}")


def _correlate(schema: Json, value: list[Any], old: Any) -> list[Any]:
    """The old value of each item: lists keyed by fields have one, all others do not."""
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    if not isinstance(old, list) or schema.get("x-kubernetes-list-type") != "map" or not keys:
        return [_ABSENT] * len(value)
    before = {key_of(member, keys): member for member in old}
    return [before.get(key_of(member, keys), _ABSENT) for member in value]


def key_of(member: Any, keys: list[str] | tuple[str, ...]) -> str:
    if not isinstance(member, dict):
        return ""
    return "\0".join(as_json(member.get(k)) for k in keys)
