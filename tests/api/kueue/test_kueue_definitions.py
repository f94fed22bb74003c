"""What do the generated definitions say, and do types and definitions agree?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from kueue_objects import cluster_queue, put, reserved, workload
from test_kueue_shape import FULL

from allaboard.api import yaml_text
from allaboard.api.kueue import names, reasons
from allaboard.api.kueue.crd.definitions import DEFINITIONS, ConversionWebhook, definitions
from allaboard.api.kueue.crd.rules import HOSTNAME
from allaboard.api.kueue.crd.schema import schema_of
from allaboard.api.kueue.defaults import (
    default_cluster_queue,
    default_resource_flavor,
    default_workload,
    filled,
)
from allaboard.api.kueue.types import ClusterQueue, Workload
from allaboard.api.kueue.validation import check
from allaboard.api.meta import Json
from allaboard.api.types.model import plain, typed
from allaboard.cli.main import commands
from allaboard.cluster.crds.acceptance import check_definition

EXAMPLES = Path(__file__).parents[3] / "examples"
VIEWS = {entry.view.KIND.kind: entry.view for entry in DEFINITIONS}


@pytest.mark.parametrize("crd", definitions(), ids=lambda crd: crd["metadata"]["name"])
def test_every_definition_is_accepted(crd: Json) -> None:
    crd["status"] = {"storedVersions": ["v1beta2"]}
    assert check_definition(crd) == []


def field(kind: str, path: str, version: str = "v1beta2") -> Json:
    crd = next(d for d in definitions() if d["spec"]["names"]["kind"] == kind)
    (found,) = (v for v in crd["spec"]["versions"] if v["name"] == version)
    schema: Json = found["schema"]["openAPIV3Schema"]
    for name in path.split("."):
        schema = schema["properties"][name.removesuffix("[]")]
        schema = schema["items"] if name.endswith("[]") else schema
    return schema


SAID: list[tuple[str, str, Json]] = [
    ("ClusterQueue", "spec.queueingStrategy",
     {"enum": ["StrictFIFO", "BestEffortFIFO"], "default": "BestEffortFIFO"}),
    ("ClusterQueue", "spec.resourceGroups", {"maxItems": 16, "x-kubernetes-list-type": "atomic"}),
    ("ClusterQueue", "spec.resourceGroups[].flavors",
     {"minItems": 1, "maxItems": 64, "x-kubernetes-list-map-keys": ["name"]}),
    ("ClusterQueue", "spec.resourceGroups[].flavors[].resources[]",
     {"required": ["name", "nominalQuota"]}),
    ("ClusterQueue", "spec.resourceGroups[].flavors[].resources[].nominalQuota",
     {"x-kubernetes-int-or-string": True}),
    ("ClusterQueue", "spec.preemption", {"default": {}}),
    ("ClusterQueue", "spec.fairSharing.weight", {"default": 1}),
    ("ClusterQueue", "spec.flavorFungibility.fallbackStrategy.rules",
     {"x-kubernetes-list-map-keys": ["name", "trigger"]}),
    ("ClusterQueue", "spec.flavorFungibility.fallbackStrategy.rules[].trigger",
     {"default": "TimeoutForPodsReadyExceeded"}),
    ("Workload", "spec.podSets", {"minItems": 1, "maxItems": 18}),
    ("Workload", "spec.podSets[].name", {"default": "main", "maxLength": 63}),
    ("Workload", "spec.podSets[].template", {"x-kubernetes-preserve-unknown-fields": True}),
    ("Workload", "spec.active", {"type": "boolean", "default": True}),
    ("Workload", "status.conditions",
     {"maxItems": 16, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}),
    ("Workload", "status.admissionChecks[]",
     {"required": ["name", "state", "lastTransitionTime", "message"]}),
    ("Workload", "status.schedulingStats.evictions",
     {"x-kubernetes-list-map-keys": ["reason", "underlyingCause"]}),
    ("Workload", "status.requeueState.requeueAt", {"type": "string", "format": "date-time"}),
    ("WorkloadPriorityClass", "value", {"type": "integer", "format": "int32"}),
    ("WorkloadPriorityClass", "description", {"maxLength": 2048}),
    ("Topology", "spec.levels[].nodeLabel", {"maxLength": 316, "minLength": 1}),
    ("ProvisioningRequestConfig", "spec.retryStrategy.backoffMaxSeconds", {"default": 1800}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "path", "words"), SAID, ids=[f"{r[0]}.{r[1]}" for r in SAID])
def test_the_schema_says(kind: str, path: str, words: Json) -> None:
    found = field(kind, path)
    assert {word: found.get(word) for word in words} == words


def test_v1beta1_has_its_own_names() -> None:
    old = field("ClusterQueue", "spec", "v1beta1")
    assert {"cohort", "admissionChecks"} <= set(old["properties"])
    assert "cohortName" not in old["properties"]
    (rule,) = (r for r in old["x-kubernetes-validations"] if "borrowingLimit" in r["rule"])
    assert "self.cohort " in rule["rule"] and "cohortName" not in rule["rule"]
    assert "priorityClassRef" not in str(field("Workload", "spec", "v1beta1"))
    assignment = "status.admission.podSetAssignments[].topologyAssignment"
    assert list(field("Workload", assignment, "v1beta1")["properties"]) == ["levels", "domains"]
    assert "flavorUsage" in field("LocalQueue", "status", "v1beta1")["properties"]


def test_the_same_types_give_the_same_bytes() -> None:
    one, other = (CliRunner().invoke(commands, ["manifests", "crds"]) for _ in range(2))
    assert (one.exit_code, one.output) == (0, other.output)
    documents = [d.data for d in yaml_text.read_documents(one.output)]
    assert documents == definitions()
    assert {d["spec"]["conversion"]["strategy"] for d in documents} == {"None"}


def test_a_webhook_converts_only_where_values_move() -> None:
    found = CliRunner().invoke(
        commands, ["manifests", "crds", "--conversion", "webhook", "--namespace", "here"]
    )
    documents = [d.data for d in yaml_text.read_documents(found.output)]
    assert documents == definitions(ConversionWebhook(namespace="here"))
    hooked = {d["spec"]["names"]["kind"]: d["spec"]["conversion"] for d in documents}
    assert [k for k, c in hooked.items() if c["strategy"] == "Webhook"] == [
        "ClusterQueue",
        "LocalQueue",
        "Workload",
    ]
    service = hooked["Workload"]["webhook"]["clientConfig"]["service"]
    assert service == {
        "namespace": "here", "name": "allaboard-webhook", "path": "/convert", "port": 443,
    }  # fmt: skip


@pytest.mark.parametrize("kind", VIEWS)
def test_every_property_has_a_description(kind: str) -> None:
    def walk(schema: Json, path: str) -> None:
        for name, below in (schema.get("properties") or {}).items():
            place = f"{path}.{name}"
            known = path == kind and name in ("apiVersion", "kind", "metadata")
            assert known or below.get("description"), place
            if ".template" not in place:
                walk(below.get("items") or below, place)

    walk(schema_of(VIEWS[kind]), kind)


def another(value: Any) -> Any:
    """A value of the same type."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else f"{value}x"


@pytest.mark.parametrize("kind", FULL)
def test_a_view_knows_every_property(kind: str) -> None:
    """Whatever the schema knows can be seen in the view: another value is another view."""
    view, good = VIEWS[kind], FULL[kind]
    same = typed(view, good)
    assert typed(view, plain(same)) == same
    for place, value in leaves(good):
        if ".template" not in place and not place.startswith(("apiVersion", "kind")):
            assert typed(view, put(good, place, another(value))) != same, place


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, member in value.items():
            yield from leaves(member, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from leaves(member, f"{path}[{index}]")
    else:
        yield path, value


def test_views_have_the_defaults_of_the_schema() -> None:
    view = typed(ClusterQueue, {"metadata": {"name": "a"}})
    assert view.spec.preemption.borrow_within_cohort.policy == "Never"
    assert view.spec.queueing_strategy == "BestEffortFIFO"
    held = typed(Workload, reserved(workload()))
    assert held.status.admission is not None
    assert held.status.admission.pod_set_assignments[0].resource_usage == {"cpu": "2"}
    assert held.spec.pod_sets[0].template.spec.containers[0].resources.requests == {"cpu": "1"}
    assert msgspec.json.encode(held)


# --- webhook defaults ---------------------------------------------------------------------------


@pytest.mark.parametrize("default", [default_cluster_queue, default_resource_flavor])
def test_an_object_in_use_gets_a_finalizer_once(default: Any) -> None:
    once = default({"metadata": {"name": "a", "finalizers": ["x/y"]}})
    assert once["metadata"]["finalizers"] == ["x/y", names.RESOURCE_IN_USE]
    assert default(once) is once


def test_without_partial_admission_there_is_no_minimum() -> None:
    flexible = put(workload(), "spec.podSets[0].minCount", 1)
    assert default_workload(flexible) is flexible
    assert default_workload(flexible, partial_admission=False) == workload()


def test_filling_in_is_idempotent_and_leaves_its_input_alone() -> None:
    given = cluster_queue()
    once = filled(given)
    assert (filled(once), given) == (once, cluster_queue())
    assert once["spec"]["preemption"]["borrowWithinCohort"] == {"policy": "Never"}


# --- names and examples -------------------------------------------------------------------------


def test_names_are_kueues() -> None:
    assert names.QUEUE_NAME == "kueue.x-k8s.io/queue-name"
    assert names.TOPOLOGY_GATE == "kueue.x-k8s.io/topology"
    assert names.HOSTNAME == HOSTNAME
    assert reasons.deactivated_due_to(reasons.FLAVORS_EXHAUSTED) == (
        "DeactivatedDueToFlavorsExhausted"
    )
    assert reasons.is_deactivation("DeactivatedDueToRequeuingLimitExceeded")
    assert not reasons.is_deactivation(reasons.PREEMPTED)


def test_the_example_is_accepted() -> None:
    documents = yaml_text.read_documents((EXAMPLES / "queues.yaml").read_bytes())
    assert len(documents) >= 5
    assert [error for document in documents for error in check(document.data)] == []
