# ruff: noqa: RUF012  (msgspec copies these defaults for every instance)
"""What do several kinds of `kueue.x-k8s.io` have in common?"""

from typing import Annotated

from allaboard.api.kueue.crd.rules import (
    ATOMIC,
    FILLED,
    REQUIRED,
    Amount,
    Cel,
    Int64,
    Labels,
    ObjectName,
    Rule,
    Time,
    at_least,
    cel,
    items,
    keyed,
    one_of,
    text,
)
from allaboard.api.types.model import Condition, Model

GROUP = "kueue.x-k8s.io"
STORED = "v1beta2"
OLD = "v1beta1"

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
STOP_POLICIES = ("None", "Hold", "HoldAndDrain")
_CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)

ResourceName = Annotated[str, text(253, 1)]
FlavorName = ObjectName
StopPolicy = Annotated[str, one_of(*STOP_POLICIES)]


class StatusCondition(Condition, frozen=True):
    """One observation of the object's state."""

    type: Annotated[str, "What is observed.", REQUIRED, text(316, 0, _CONDITION_TYPE)] = ""
    status: Annotated[str, "Whether it holds.", REQUIRED, one_of("True", "False", "Unknown")] = (
        "Unknown"
    )
    reason: Annotated[
        str,
        "Why, as one word for programs.",
        REQUIRED,
        text(1024, 1, r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"),
    ] = ""
    message: Annotated[str, "Why, as a sentence for people.", REQUIRED, text(32768)] = ""
    observed_generation: Annotated[
        Int64 | None, "The generation of the spec this was said about.", at_least(0)
    ] = None
    last_transition_time: Annotated[Time | None, "When the status last changed.", REQUIRED] = None


Conditions = Annotated[
    list[StatusCondition], "What is observed of this object.", keyed("type"), items(0, 16)
]


class Requirement(Model, frozen=True):
    """One demand on labels."""

    key: Annotated[str, "Label the demand is about.", REQUIRED] = ""
    operator: Annotated[str, "In, NotIn, Exists or DoesNotExist.", REQUIRED] = ""
    values: Annotated[list[str], "Values for In and NotIn.", ATOMIC] = []


class Selector(Model, frozen=True):
    """Which labels are meant; an empty selector means all."""

    match_labels: Annotated[Labels, "Labels and the values they must have."] = {}
    match_expressions: Annotated[list[Requirement], "Further demands, all to be met.", ATOMIC] = []


class NodeTaint(Model, frozen=True):
    """A taint of the nodes of a flavor."""

    key: Annotated[str, "Key of the taint.", REQUIRED] = ""
    value: Annotated[str, "Value of the taint."] = ""
    effect: Annotated[str, "NoSchedule, PreferNoSchedule or NoExecute.", REQUIRED] = ""
    time_added: Annotated[Time | None, "When the taint was added."] = None


class PodToleration(Model, frozen=True):
    """A taint that a pod bears with."""

    key: Annotated[str, "Key of the taint; empty with Exists means every taint."] = ""
    operator: Annotated[str, "Equal, the default, or Exists."] = ""
    value: Annotated[str, "Value of the taint, for Equal."] = ""
    effect: Annotated[str, "Effect of the taint; empty means every effect."] = ""
    toleration_seconds: Annotated[
        Int64 | None, "How long NoExecute is borne with; unset: for ever."
    ] = None


_EFFECT_MESSAGE = "supported taint effect values: 'NoSchedule', 'PreferNoSchedule', 'NoExecute'"
TAINT_RULES: Rule = cel(
    Cel(f"self.all(x, x.effect in {list(EFFECTS)})", _EFFECT_MESSAGE),
)
TOLERATION_RULES: Rule = cel(
    Cel(
        "self.all(x, has(x.key) && x.key != '' || has(x.operator) && x.operator == 'Exists')",
        "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
    ),
    Cel(
        "self.all(x, !has(x.tolerationSeconds) || has(x.effect) && x.effect == 'NoExecute')",
        "effect must be 'NoExecute' when 'tolerationSeconds' is set",
    ),
    Cel(
        "self.all(x, !has(x.operator) || x.operator in ['', 'Equal', 'Exists'])",
        "supported toleration values: 'Equal'(default), 'Exists'",
    ),
    Cel(
        "self.all(x, !has(x.operator) || x.operator != 'Exists' || !has(x.value) || x.value == '')",
        "a value must be empty when 'operator' is 'Exists'",
    ),
    Cel(
        f"self.all(x, !has(x.effect) || x.effect in {['', *EFFECTS]})",
        _EFFECT_MESSAGE,
    ),
)
Tolerations = Annotated[list[PodToleration], ATOMIC, items(0, 8), TOLERATION_RULES]


class FairSharing(Model, frozen=True):
    """How much weight this one has when shares are compared."""

    weight: Annotated[
        Amount, "Its share is divided by this; with 0 it comes last of all.", FILLED
    ] = 1


class FairSharingStatus(Model, frozen=True):
    """What fair sharing measured."""

    weighted_share: Annotated[
        Int64, "Dominant share of what is borrowed, in thousandths, divided by weight.", REQUIRED
    ] = 0
