"""Which flavors, topologies, checks and priority classes are accepted, and which are not?"""

from typing import Any

import pytest
from kueue_objects import (
    GONE,
    admission_check,
    priority_class,
    provisioning,
    put,
    resource_flavor,
    topology,
)

from allaboard.api.kueue.validation import check
from allaboard.api.meta import Json

HOST = "kubernetes.io/hostname"
PARAMETERS = {"apiGroup": "example.com", "kind": "Thing", "name": "one"}


def tolerating(**toleration: Any) -> Json:
    return resource_flavor(tolerations=[toleration])


def tainted(*taints: Json) -> Json:
    return resource_flavor(nodeTaints=list(taints))


TAINT = {"key": "spot", "value": "true", "effect": "NoSchedule"}
ACCEPTED = {
    "nothing": resource_flavor(),
    "no spec": put(resource_flavor(), "spec", GONE),
    "labels": resource_flavor(nodeLabels={"a.b/c": "d", "e": ""}),
    "eight labels": resource_flavor(nodeLabels={f"l{i}": "x" for i in range(8)}),
    "a taint": tainted(TAINT),
    "a key with two effects": tainted(TAINT, {"key": "spot", "effect": "NoExecute"}),
    "a preference": tainted({"key": "a", "effect": "PreferNoSchedule"}),
    "tolerates all": tolerating(operator="Exists"),
    "tolerates for a while": tolerating(
        key="a", operator="Exists", effect="NoExecute", tolerationSeconds=5
    ),
    "tolerates a value": tolerating(key="a", value="b"),
    "a topology": resource_flavor(nodeLabels={"a": "b"}, topologyName="dc"),
    "one level": topology("rack"),
    "down to the node": topology("a.b/block", "rack", HOST),
    "sixteen levels": topology(*(f"l{i}" for i in range(16))),
    "a check": admission_check(),
    "a check with parameters": admission_check(parameters=PARAMETERS),
    "a priority": priority_class(),
    "the lowest priority": priority_class(-(2**31), description="x" * 2048),
    "provisioning": provisioning(),
    "all of provisioning": provisioning(
        parameters={"a": "x" * 255},
        managedResources=["example.com/gpu"],
        retryStrategy={"backoffLimitCount": 0},
        podSetUpdates={"nodeSelector": [{"key": "a", "valueFromProvisioningClassDetail": "b"}]},
        podSetMergePolicy="IdenticalPodTemplates",
    ),
}

REFUSED: list[tuple[str, Json, str, str]] = [
    ("nine labels", resource_flavor(nodeLabels={f"l{i}": "x" for i in range(9)}),
     "spec.nodeLabels", "at most 8"),
    ("a label key that is none", resource_flavor(nodeLabels={"a b": "c"}), "spec.nodeLabels",
     '"a b"'),
    ("a label value that is none", resource_flavor(nodeLabels={"a": "b c"}), "spec.nodeLabels[a]",
     '"b c"'),
    ("nine taints", tainted(*({"key": f"k{i}", "effect": "NoSchedule"} for i in range(9))),
     "spec.nodeTaints", "at most 8"),
    ("an unknown effect", tainted({"key": "a", "effect": "Maybe"}), "spec.nodeTaints[0].effect",
     "PreferNoSchedule"),
    ("no effect", tainted({"key": "a"}), "spec.nodeTaints[0].effect", "Required"),
    ("a taint without a key", tainted({"effect": "NoSchedule"}), "spec.nodeTaints[0].key",
     "Required"),
    ("a taint value that is none", tainted(TAINT | {"value": "a b"}), "spec.nodeTaints[0].value",
     '"a b"'),
    ("a taint twice", tainted(TAINT, TAINT | {"value": "x"}), "spec.nodeTaints[1]", "Duplicate"),
    ("nine tolerations", resource_flavor(tolerations=[{"operator": "Exists"}] * 9),
     "spec.tolerations", "at most 8"),
    ("tolerates no key", tolerating(operator="Equal", value="x"), "spec.tolerations[0].operator",
     "must be Exists when 'key' is empty"),
    ("an unknown operator", tolerating(key="a", operator="In"), "spec.tolerations[0].operator",
     '"Equal", "Exists"'),
    ("Exists with a value", tolerating(key="a", operator="Exists", value="b"),
     "spec.tolerations[0].value", "must be empty"),
    ("tolerates an unknown effect", tolerating(key="a", effect="X"), "spec.tolerations[0].effect",
     "NoExecute"),
    ("seconds of NoSchedule", tolerating(key="a", effect="NoSchedule", tolerationSeconds=1),
     "spec.tolerations[0].effect", "'NoExecute' when"),
    ("tolerates a key that is none", tolerating(key="a b"), "spec.tolerations[0].key", '"a b"'),
    ("a topology without labels", resource_flavor(topologyName="dc"), "spec.nodeLabels",
     "at least one nodeLabel"),
    ("a topology name that is none", resource_flavor(nodeLabels={"a": "b"}, topologyName="D"),
     "spec.topologyName", '"D"'),
    ("no levels", topology(), "spec.levels", "at least 1"),
    ("17 levels", topology(*(f"l{i}" for i in range(17))), "spec.levels", "at most 16"),
    ("a level twice", topology("rack", "rack"), "spec.levels[1].nodeLabel", "Duplicate"),
    ("nodes above racks", topology(HOST, "rack"), "spec.levels[0].nodeLabel", "lowest level"),
    ("a level that is none", topology("a b"), "spec.levels[0].nodeLabel", '"a b"'),
    ("a level too long", topology("x" * 317), "spec.levels[0].nodeLabel", "316"),
    ("no topology spec", put(topology("a"), "spec", GONE), "spec", "Required"),
    ("no controller", put(admission_check(), "spec.controllerName", GONE), "spec.controllerName",
     "Required"),
    ("an empty controller", admission_check(controllerName=""), "spec.controllerName", "at least"),
    ("half of the parameters", admission_check(parameters={"kind": "Thing"}),
     "spec.parameters.name", "Required"),
    ("a group that is none", admission_check(parameters=PARAMETERS | {"apiGroup": "A B"}),
     "spec.parameters.apiGroup", '"A B"'),
    ("no value", put(priority_class(), "value", GONE), "value", "Required"),
    ("a value too large", priority_class(2**31), "value", str(2**31 - 1)),
    ("a value that is none", priority_class("high"), "value", "integer"),
    ("a long description", priority_class(description="x" * 2049), "description", "2048"),
    ("no class", put(provisioning(), "spec.provisioningClassName", GONE),
     "spec.provisioningClassName", "Required"),
    ("a class that is none", provisioning(provisioningClassName="A"),
     "spec.provisioningClassName", '"A"'),
    ("101 parameters", provisioning(parameters={f"p{i}": "" for i in range(101)}),
     "spec.parameters", "at most 100"),
    ("a long parameter", provisioning(parameters={"a": "x" * 256}), "spec.parameters[a]", "255"),
    ("101 resources", provisioning(managedResources=[f"a.b/{i}" for i in range(101)]),
     "spec.managedResources", "at most 100"),
    ("a resource twice", provisioning(managedResources=["cpu", "cpu"]),
     "spec.managedResources[1]", "Duplicate"),
    ("negative backoff", provisioning(retryStrategy={"backoffBaseSeconds": -1}),
     "spec.retryStrategy.backoffBaseSeconds", "-1"),
    ("an unknown merge", provisioning(podSetMergePolicy="All"), "spec.podSetMergePolicy",
     "IdenticalPodTemplates"),
    ("a selector without a source", provisioning(podSetUpdates={"nodeSelector": [{"key": "a"}]}),
     "spec.podSetUpdates.nodeSelector[0].valueFromProvisioningClassDetail", "Required"),
]  # fmt: skip


@pytest.mark.parametrize("obj", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(obj: Json) -> None:
    assert check(obj) == []


@pytest.mark.parametrize(
    ("obj", "field", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused(obj: Json, field: str, says: str) -> None:
    errors = check(obj)
    assert any(e.field == field and says in str(e) for e in errors), [str(e) for e in errors]


LABELLED = resource_flavor(nodeLabels={"a": "b"})
PLACED = resource_flavor(nodeLabels={"a": "b"}, topologyName="dc")
UPDATES: list[tuple[str, Json, Json, str]] = [
    ("a topology set later", LABELLED, PLACED, ""),
    ("another topology", PLACED, put(PLACED, "spec.topologyName", "x"), "spec.topologyName"),
    ("the topology removed", PLACED, LABELLED, "spec.topologyName"),
    ("the spec removed", PLACED, put(PLACED, "spec", GONE), "spec.topologyName"),
    ("labels under a topology", PLACED, put(PLACED, "spec.nodeLabels", {"a": "c"}), ""),
    ("levels without nodes", topology("a"), topology("a", "b"), "spec.levels"),
    ("nodes added", topology("a"), topology("a", HOST), "spec.levels"),
    ("nodes removed", topology("a", HOST), topology("a"), "spec.levels"),
    ("levels above nodes", topology("a", HOST), topology("b", "a", HOST), ""),
    ("the same levels", topology("a"), topology("a"), ""),
    ("another controller", admission_check(), admission_check(controllerName="x"),
     "spec.controllerName"),
    ("other parameters", admission_check(), admission_check(parameters=PARAMETERS), ""),
    ("another value", priority_class(1), priority_class(2), ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "field"), [row[1:] for row in UPDATES], ids=[row[0] for row in UPDATES]
)
def test_changes(old: Json, new: Json, field: str) -> None:
    assert [e.field for e in check(new, old)] == ([field] if field else [])
