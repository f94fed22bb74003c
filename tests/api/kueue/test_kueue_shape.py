"""Every property of every kind, spoilt in every way, is refused by name; nothing ever crashes."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kueue_objects import (
    TIME,
    V1,
    V2,
    admission_check,
    changes,
    check_state,
    cluster_queue,
    cohort,
    condition,
    flavor,
    group,
    local_queue,
    pod_set,
    priority_class,
    provisioning,
    put,
    quota,
    reserved,
    resource_flavor,
    topology,
    workload,
)

from allaboard.api.kueue.conversion import convert
from allaboard.api.kueue.defaults import DEFAULTS, filled
from allaboard.api.kueue.validating.shape import schema_for
from allaboard.api.kueue.validation import VALIDATORS, check, validate
from allaboard.api.meta import Json

USAGE = [{"name": "spot", "resources": [{"name": "cpu", "total": 1, "borrowed": 0}]}]
LOCAL_USAGE = [{"name": "spot", "resources": [{"name": "cpu", "total": 1}]}]
SHARE = {"weightedShare": 1}
PLACE = {
    "levels": ["rack"],
    "slices": [
        {
            "domainCount": 2,
            "valuesPerLevel": [{"individual": {"prefix": "r", "suffix": "x", "roots": ["1", "2"]}}],
            "podCounts": {"individual": [1, 2]},
        }
    ],
}
REQUEST = {
    "required": "rack", "podIndexLabel": "i", "subGroupIndexLabel": "j", "subGroupCount": 1,
    "podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}],
}  # fmt: skip
FULL = {
    "ClusterQueue": changes(
        cluster_queue(
            group(flavor("spot", quota(borrowingLimit=1, lendingLimit=1)), flavor("od")),
            cohortName="all",
            queueingStrategy="BestEffortFIFO",
            stopPolicy="None",
            namespaceSelector={
                "matchLabels": {"a": "b"},
                "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
            },
            fairSharing={"weight": 1},
            admissionScope={"admissionMode": "NoAdmissionFairSharing"},
            preemption={
                "reclaimWithinCohort": "Any", "withinClusterQueue": "Never",
                "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 1},
            },
            admissionChecksStrategy={"admissionChecks": [{"name": "a", "onFlavors": ["spot"]}]},
            concurrentAdmissionPolicy={
                "migration": {
                    "mode": "TryPreferredFlavors",
                    "constraints": {"lastAcceptableFlavorName": "od"},
                }
            },
            flavorFungibility={
                "whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor",
                "preference": "PreemptionOverBorrowing",
                "fallbackStrategy": {
                    "failurePolicy": "RetryAllFlavors",
                    "rules": [
                        {"name": "spot", "trigger": "TimeoutForPodsReadyExceeded", "timeout": "1m"},
                        {"name": "*", "timeoutMinutes": 5},
                    ],
                    "circuitBreaker": {"failures": 1, "probeInterval": "1m"},
                },
            },
        ),
        ("status.conditions", [condition("Active")]),
        ("status.flavorsReservation", USAGE),
        ("status.flavorsUsage", USAGE),
        ("status.pendingWorkloads", 1),
        ("status.reservingWorkloads", 1),
        ("status.admittedWorkloads", 1),
        ("status.fairSharing", SHARE),
        (
            "status.flavorBreakers",
            [
                {
                    "name": "spot", "state": "Open", "failures": 1, "lastFailureTime": TIME,
                    "nextProbeTime": TIME, "probe": {"namespace": "a", "name": "b", "uid": "c"},
                }
            ],
        ),
    ),
    "LocalQueue": changes(
        local_queue(stopPolicy="None", fairSharing={"weight": 1}),
        ("status.flavorsUsage", LOCAL_USAGE),
        ("status.flavorsReservation", LOCAL_USAGE),
        ("status.pendingWorkloads", 1),
        ("status.fairSharing", SHARE),
        (
            "status.fairSharing.admissionFairSharingStatus",
            {"consumedResources": {"cpu": 1}, "lastUpdate": TIME},
        ),
    ),
    "Cohort": put(cohort(group(), parentName="up"), "status.fairSharing", SHARE),
    "ResourceFlavor": resource_flavor(
        nodeLabels={"a": "b"},
        nodeTaints=[{"key": "a", "value": "b", "effect": "NoSchedule"}],
        tolerations=[{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute",
                      "tolerationSeconds": 1}],
        topologyName="dc",
    ),
    "Topology": topology("rack", "kubernetes.io/hostname"),
    "AdmissionCheck": put(
        admission_check(parameters={"apiGroup": "a.b", "kind": "C", "name": "d"}),
        "status.conditions",
        [condition("Active")],
    ),
    "WorkloadPriorityClass": priority_class(description="d"),
    "ProvisioningRequestConfig": provisioning(
        parameters={"a": "b"},
        managedResources=["cpu"],
        retryStrategy={"backoffLimitCount": 1, "backoffBaseSeconds": 1, "backoffMaxSeconds": 1},
        podSetUpdates={"nodeSelector": [{"key": "a", "valueFromProvisioningClassDetail": "b"}]},
        podSetMergePolicy="IdenticalPodTemplates",
    ),
    "Workload": changes(
        reserved(
            workload(
                pod_set(minCount=1, topologyRequest=REQUEST),
                queueName="q",
                priority=1,
                active=True,
                maximumExecutionTimeSeconds=1,
                priorityClassRef={
                    "group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "a",
                },
                preemptionGates=[{"name": "g"}],
            ),
            requeueState={"count": 1, "requeueAt": TIME},
            reclaimablePods=[{"name": "main", "count": 1}],
            admissionChecks=[
                check_state(
                    requeueAfterSeconds=1,
                    retryCount=1,
                    podSetUpdates=[{"name": "main", "labels": {"a": "b"}, "annotations": {},
                                    "nodeSelector": {"a": "b"}}],
                )
            ],
            resourceRequests=[{"name": "main", "resources": {"cpu": 1}}],
            accumulatedPastExecutionTimeSeconds=1,
            accumulatedNotReadySeconds=1,
            firstAdmissionTime=TIME,
            schedulingStats={"evictions": [{"reason": "a", "underlyingCause": "", "count": 1}]},
            nominatedClusterNames=["a"],
            unhealthyNodes=[{"name": "n"}],
            preemptionGates=[{"name": "g", "position": "Open"}],
            flavorAssignmentHistory=[
                {"resourceFlavor": "a", "assignmentTime": TIME, "usedSeconds": 1,
                 "outcome": "TimedOut"}
            ],
            flavorFallbackRounds=1,
        ),
        ("status.admission.podSetAssignments[0].topologyAssignment", PLACE),
        ("status.admission.podSetAssignments[0].delayedTopologyRequest", "Ready"),
    ),
}  # fmt: skip


def places(schema: Json, value: Any, path: str = "") -> Iterator[tuple[str, Json]]:
    """Every property that is there, with its schema."""
    if isinstance(value, dict):
        for name, below in (schema.get("properties") or {}).items():
            if name in value and not (path == "" and name in ("apiVersion", "kind", "metadata")):
                place = f"{path}.{name}" if path else name
                yield place, below
                yield from places(below, value[name], place)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield f"{path}[{index}]", schema["items"]
            yield from places(schema["items"], member, f"{path}[{index}]")


def defects(schema: Json) -> Iterator[Any]:
    """Values that break the schema, one for each thing it says."""
    kind = "amount" if schema.get("x-kubernetes-int-or-string") else schema["type"]
    yield from {
        "object": ("x", 1, []), "array": ("x", 1, {}), "string": (1, True, {}, []),
        "integer": ("x", 1.5, True, {}, 2**70), "boolean": ("x", 1, {}),
        "amount": (True, 1.5, {}, "x y", "1Q"),
    }[kind]  # fmt: skip
    if "enum" in schema:
        yield "no-such-value"
    if "pattern" in schema and kind == "string":
        yield "$%&\n"
        yield "a\n"
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)
    if schema.get("format") == "date-time":
        yield "yesterday"
    if "minimum" in schema:
        yield schema["minimum"] - 1
    if schema.get("minItems"):
        yield []
    if "maxProperties" in schema:
        yield {f"k{i}": "v" for i in range(schema["maxProperties"] + 1)}


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("kind", FULL)
def test_every_property_spoilt_in_every_way_is_refused_by_name(kind: str, version: str) -> None:
    good, schema = convert(FULL[kind], version), schema_for(kind, version)
    assert check(good) == [], [str(e) for e in check(good)]
    assert schema is not None
    spoilt = 0
    for place, below in places(schema, good):
        for value in defects(below):
            errors = check(put(good, place, value))
            named = [e.field for e in errors if e.field.startswith(place)]
            assert named, (place, value, [str(e) for e in errors])
            spoilt += 1
    assert spoilt > 5


@pytest.mark.parametrize("kind", FULL)
def test_every_required_property_is_missed_by_name(kind: str) -> None:
    good, schema = FULL[kind], schema_for(kind, "v1beta2")
    assert schema is not None
    for place, below in [("", schema), *places(schema, good)]:
        for name in below.get("required") or ():
            path = f"{place}.{name}" if place else name
            errors = check(put(good, path, None))
            assert path in [e.field for e in errors], (path, [str(e) for e in errors])


def test_full_objects_cover_every_kind() -> None:
    assert sorted(FULL) == sorted(VALIDATORS)


KEYS = sorted(
    {
        part.split("[")[0]
        for kind, good in FULL.items()
        for place, _ in places(schema_for(kind, "v1beta2") or {}, good)
        for part in place.split(".")
    }
)
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a", "-1", "10Gi", "True", "QuotaReserved", "*", "1m", "\n", "x" * 400]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=25,
)


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(sorted(FULL)), spec=ANYTHING, status=ANYTHING, data=st.data())
def test_rules_and_defaults_never_crash(kind: str, spec: Any, status: Any, data: Any) -> None:
    obj = {"apiVersion": V2, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    obj |= {"status": status, "value": spec}
    old = data.draw(st.sampled_from([None, FULL[kind], obj]))
    for error in [*validate(obj, old), *check(obj, old), *check({**obj, "apiVersion": V1}, old)]:
        assert error.field and len(str(error)) < 2_000
    filled(obj)
    if kind in DEFAULTS:
        DEFAULTS[kind](obj)


@settings(max_examples=150, deadline=None)
@given(kind=st.sampled_from(sorted(FULL)), value=ANYTHING, data=st.data())
def test_a_good_object_with_one_strange_part_never_crashes_a_rule(
    kind: str, value: Any, data: Any
) -> None:
    good = FULL[kind]
    found = list(places(schema_for(kind, "v1beta2") or {}, good))
    place, _ = data.draw(st.sampled_from(found))
    spoilt = put(good, place, value)
    validate(spoilt, None)
    validate(spoilt, good)
    validate(good, spoilt)


def test_an_answer_does_not_grow_with_the_input() -> None:
    bad = resource_flavor(nodeLabels={f"a b {i}": "c d" for i in range(5_000)})
    assert len(check(bad)) < 100
    assert len(validate(bad)) < 100
    long = workload(queueName="x" * 1_000_000)
    assert all(len(str(e)) < 1_000 for e in [*check(long), *validate(long)])


def test_numbers_too_long_to_print_are_refused() -> None:
    huge = cluster_queue(group(flavor("spot", quota(nominal=10**5_000))))
    (error,) = check(huge)
    assert error.field.endswith("nominalQuota")
