"""How does a type say what its schema demands? The notation, read by `schema.py`.

A field is `Annotated[type, "what it means", rule, …] = default`. Strings describe, `Rule`s add
keywords of OpenAPI; a field is optional unless REQUIRED, and FILLED makes the Python default the
one that the server fills in. Rules over several fields are CEL expressions in a class's `CEL`;
the embedded server evaluates none, so `validation.py` says each of them again. What a class
inherits without an annotation is not part of the API.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple

from allaboard.api.meta import Json

HOSTNAME: Final = "kubernetes.io/hostname"
SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
LABEL_KEY: Final = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)
QUANTITY: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
# No sign and no bare number: a time span of ours is never negative and always has a unit.
DURATION: Final = r"^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$"


@dataclass(frozen=True, slots=True, eq=False)  # types must be hashable, and words are not
class Rule:
    words: Json = field(default_factory=dict)  # keywords of the schema
    items: Json = field(default_factory=dict)  # keywords of the schema of a list's items
    required: bool = False
    filled: bool = False  # the server fills in the Python default
    opaque: bool = False  # the words are the whole schema of this object, whatever its type


class Cel(NamedTuple):
    """A rule the API server evaluates, and what it says when the rule is broken."""

    rule: str
    message: str


REQUIRED: Final = Rule(required=True)
FILLED: Final = Rule(filled=True)
ATOMIC: Final = Rule({"x-kubernetes-list-type": "atomic"})
SET: Final = Rule({"x-kubernetes-list-type": "set"})
ATOMIC_MAP: Final = Rule({"x-kubernetes-map-type": "atomic"})
# Somebody else's type: whatever is inside is kept as it is.
OPEN: Final = Rule({"x-kubernetes-preserve-unknown-fields": True})


def one_of(*values: str) -> Rule:
    return Rule({"enum": list(values)})


def items(least: int, most: int) -> Rule:
    """Bounds of a list's length; 0 as the lower one goes without saying."""
    return Rule({"minItems": least, "maxItems": most} if least else {"maxItems": most})


def at_most(entries: int) -> Rule:
    """Bound of a map's size."""
    return Rule({"maxProperties": entries})


def keyed(*names: str) -> Rule:
    return Rule({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(names)})


def at_least(number: int) -> Rule:
    return Rule({"minimum": number})


def text(most: int, least: int = 0, pattern: str = "") -> Rule:
    words: Json = {"maxLength": most}
    if least:
        words["minLength"] = least
    if pattern:
        words["pattern"] = pattern
    return Rule(words)


def cel(*rules: Cel) -> Rule:
    """Rules over one field, where no class of its own could carry them."""
    return Rule({"x-kubernetes-validations": [{"rule": r, "message": m} for r, m in rules]})


Int32 = Annotated[int, Rule({"format": "int32"})]
Int64 = Annotated[int, Rule({"format": "int64"})]
Count = Annotated[int, Rule({"format": "int32", "minimum": 0})]
Time = Annotated[str, Rule({"format": "date-time"})]
Duration = Annotated[str, text(64, 1, DURATION)]
Amount = Annotated[
    str | int,
    Rule(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": QUANTITY,
            "x-kubernetes-int-or-string": True,
        }
    ),
]
Amounts = dict[str, Amount]
ObjectName = Annotated[str, text(253, 0, SUBDOMAIN)]
PodSetName = Annotated[str, text(63, 0, LABEL)]
LevelLabel = Annotated[str, text(317)]
Labels = dict[str, str]


def described(metadata: tuple[Any, ...]) -> str:
    return next((part for part in metadata if isinstance(part, str)), "")


def rules_of(metadata: tuple[Any, ...]) -> list[Rule]:
    return [part for part in metadata if isinstance(part, Rule)]
