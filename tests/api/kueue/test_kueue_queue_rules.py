"""Which ClusterQueues, LocalQueues and Cohorts are accepted, and why are the others refused?"""

from typing import Any

import pytest
from kueue_objects import (
    GONE,
    changes,
    cluster_queue,
    cohort,
    flavor,
    group,
    local_queue,
    put,
    quota,
)

from allaboard.api.kueue.validation import check
from allaboard.api.meta import Json

TWO = group(flavor("spot"), flavor("od"))
FUNGIBLE = "spec.flavorFungibility"
FALLBACK = f"{FUNGIBLE}.fallbackStrategy"
CHECKS = "spec.admissionChecksStrategy.admissionChecks"
POLICY = "spec.concurrentAdmissionPolicy"


def in_cohort(**limits: Any) -> Json:
    return cluster_queue(group(flavor("spot", quota(**limits))), cohortName="all")


def fallback(*rules: Json, **more: Any) -> Json:
    strategy = {"failurePolicy": "RetryAllFlavors", "rules": list(rules), **more}
    return put(cluster_queue(TWO), FALLBACK, strategy)


def migrating(mode: str = "TryPreferredFlavors", **constraints: Any) -> Json:
    migration: Json = {"mode": mode} | ({"constraints": constraints} if constraints else {})
    return put(cluster_queue(TWO), POLICY, {"migration": migration})


def wide(flavors: int, resources: int) -> Json:
    quotas = [quota(f"example.com/r{i}") for i in range(resources)]
    return group(*(flavor(f"f{i}", *quotas) for i in range(flavors)))


def many(groups: int, flavors: int, resources: int) -> list[Json]:
    found = []
    for g in range(groups):
        quotas = [quota(f"example.com/r{g}-{i}") for i in range(resources)]
        found.append(group(*(flavor(f"f{g}-{i}", *quotas) for i in range(flavors))))
    return found


ACCEPTED = {
    "no spec at all": put(cluster_queue(), "spec", GONE),
    "no groups": cluster_queue() | {"spec": {}},
    "one flavor": cluster_queue(),
    "two groups": cluster_queue(group(flavor("spot")), group(flavor("gpu", quota("x.y/gpu")))),
    "quota of nothing": cluster_queue(group(flavor("spot", quota(nominal=0)))),
    "quota with a suffix": cluster_queue(group(flavor("spot", quota("memory", "1.5Ti")))),
    "limits in a cohort": in_cohort(borrowingLimit="2", lendingLimit=10),
    "the largest amount": cluster_queue(group(flavor("spot", quota("memory", 2**63 - 1)))),
    "512 pairs in a group": cluster_queue(wide(8, 64)),
    "256 flavors in all": cluster_queue(*many(4, 64, 1)),
    "every namespace": cluster_queue(namespaceSelector={}),
    "some namespaces": cluster_queue(
        namespaceSelector={
            "matchLabels": {"team": "a"},
            "matchExpressions": [{"key": "env", "operator": "In", "values": ["dev"]}],
        }
    ),
    "a preference": changes(
        cluster_queue(),
        (f"{FUNGIBLE}.whenCanBorrow", "TryNextFlavor"),
        (f"{FUNGIBLE}.preference", "PreemptionOverBorrowing"),
    ),
    "borrowing preemption": changes(
        cluster_queue(),
        ("spec.preemption.reclaimWithinCohort", "Any"),
        (
            "spec.preemption.borrowWithinCohort",
            {"policy": "LowerPriority", "maxPriorityThreshold": 5},
        ),
    ),
    "a check on a flavor": put(cluster_queue(), CHECKS, [{"name": "a", "onFlavors": ["spot"]}]),
    "a check on all": put(cluster_queue(), CHECKS, [{"name": "a"}]),
    "weight nothing": put(cluster_queue(), "spec.fairSharing.weight", 0),
    "a small weight": put(cluster_queue(), "spec.fairSharing.weight", "2n"),
    "admission scope": put(
        cluster_queue(), "spec.admissionScope.admissionMode", "UsageBasedAdmissionFairSharing"
    ),
    "concurrent admission": migrating(lastAcceptableFlavorName="od"),
    "concurrent admission that stays": migrating("RetainFirstAdmission"),
    "fallback in words": fallback({"name": "spot", "timeout": "10m"}, {"name": "*"}),
    "fallback in minutes": fallback({"name": "od", "timeoutMinutes": 5}),
    "two triggers for one flavor": fallback(
        {"name": "od", "timeout": "1h30m"}, {"name": "od", "trigger": "AdmissionCheckRejected"}
    ),
    "fallback without rules": put(cluster_queue(), FALLBACK, {}),
    "a circuit breaker": fallback(circuitBreaker={"failures": 3, "probeInterval": "10m"}),
}

REFUSED: list[tuple[str, Json, str, str]] = [
    ("17 groups", cluster_queue(*many(17, 1, 1)), "spec.resourceGroups", "at most 16"),
    ("no covered resources", put(cluster_queue(), "spec.resourceGroups[0].coveredResources", []),
     "spec.resourceGroups[0].coveredResources", "at least 1"),
    ("no flavors", put(cluster_queue(), "spec.resourceGroups[0].flavors", []),
     "spec.resourceGroups[0].flavors", "at least 1"),
    ("65 flavors", cluster_queue(wide(65, 1)), "spec.resourceGroups[0].flavors", "at most 64"),
    ("no name", put(cluster_queue(), "spec.resourceGroups[0].flavors[0].name", GONE),
     "spec.resourceGroups[0].flavors[0].name", "Required"),
    ("a name that is none", cluster_queue(group(flavor("Spot!"))),
     "spec.resourceGroups[0].flavors[0].name", '"Spot!"'),
    ("no nominal quota", put(
        cluster_queue(), "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", GONE),
     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", "Required"),
    ("fewer quotas than covered", put(
        cluster_queue(), "spec.resourceGroups[0].coveredResources", ["cpu", "memory"]),
     "spec.resourceGroups[0].flavors[0].resources", "same number"),
    ("quotas in another order", put(
        cluster_queue(group(flavor("spot", quota("cpu"), quota("memory")))),
        "spec.resourceGroups[0].coveredResources", ["memory", "cpu"]),
     "spec.resourceGroups[0].flavors[0].resources[0].name", "'memory'"),
    ("a resource in two groups", cluster_queue(group(flavor("a")), group(flavor("b"))),
     "spec.resourceGroups[1].coveredResources[0]", "belongs to one group"),
    ("a flavor in two groups", cluster_queue(group(), group(flavor("spot", quota("memory")))),
     "spec.resourceGroups[1].flavors[0].name", "belongs to one group"),
    ("a resource name that is none", cluster_queue(group(flavor("spot", quota("a b")))),
     "spec.resourceGroups[0].coveredResources[0]", '"a b"'),
    ("too many pairs", cluster_queue(wide(9, 64)), "spec.resourceGroups[0]", "at most 512"),
    ("257 flavors", cluster_queue(*many(4, 64, 1), group(flavor("x", quota("example.com/x")))),
     "spec.resourceGroups", "at most 256 flavors"),
    ("257 resources", cluster_queue(*many(4, 1, 64), group(flavor("x", quota("example.com/x")))),
     "spec.resourceGroups", "at most 256 covered"),
    ("negative quota", cluster_queue(group(flavor("spot", quota(nominal="-1")))),
     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", "greater than or equal to 0"),
    ("huge quota", cluster_queue(group(flavor("spot", quota(nominal="10E")))),
     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", str(2**63 - 1)),
    ("quota that is none", cluster_queue(group(flavor("spot", quota(nominal="much")))),
     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", '"much"'),
    ("fractional JSON quota", cluster_queue(group(flavor("spot", quota(nominal=0.5)))),
     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", "integer or string"),
    ("borrowing alone", cluster_queue(group(flavor("spot", quota(borrowingLimit=1)))),
     "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit", "nil when cohort is empty"),
    ("lending alone", cluster_queue(group(flavor("spot", quota(lendingLimit=1)))),
     "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit", "nil when cohort is empty"),
    ("negative borrowing", in_cohort(borrowingLimit="-1"),
     "spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit", "equal to 0"),
    ("lending more than it has", in_cohort(lendingLimit=11),
     "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit", "the nominalQuota, 10"),
    ("a cohort name that is none", cluster_queue(cohortName="All"), "spec.cohortName", '"All"'),
    ("an unknown strategy", cluster_queue(queueingStrategy="LIFO"),
     "spec.queueingStrategy", '"StrictFIFO", "BestEffortFIFO"'),
    ("an unknown stop policy", cluster_queue(stopPolicy="Drain"), "spec.stopPolicy",
     "HoldAndDrain"),
    ("a selector operator that is none", cluster_queue(
        namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Is"}]}),
     "spec.namespaceSelector.matchExpressions[0].operator", "DoesNotExist"),
    ("In without values", cluster_queue(
        namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
     "spec.namespaceSelector.matchExpressions[0].values", "Required"),
    ("Exists with values", cluster_queue(
        namespaceSelector={"matchExpressions": [
            {"key": "a", "operator": "Exists", "values": ["x"]}]}),
     "spec.namespaceSelector.matchExpressions[0].values", "Forbidden"),
    ("a selector label that is none", cluster_queue(namespaceSelector={"matchLabels": {"a": "?"}}),
     "spec.namespaceSelector.matchLabels[a]", '"?"'),
    ("an unknown search", put(cluster_queue(), f"{FUNGIBLE}.whenCanBorrow", "Borrow"),
     f"{FUNGIBLE}.whenCanBorrow", "MayStopSearch"),
    ("a preference without search", put(
        cluster_queue(), f"{FUNGIBLE}.preference", "BorrowingOverPreemption"),
     f"{FUNGIBLE}.preference", "both whenCanBorrow and whenCanPreempt are TryNextFlavor"),
    ("borrowing preemption without reclaim", put(
        cluster_queue(), "spec.preemption.borrowWithinCohort.policy", "LowerPriority"),
     "spec.preemption.borrowWithinCohort.policy", "reclaimWithinCohort=Never"),
    ("an unknown reclaim", put(cluster_queue(), "spec.preemption.reclaimWithinCohort", "All"),
     "spec.preemption.reclaimWithinCohort", '"Any"'),
    ("an unknown within", put(cluster_queue(), "spec.preemption.withinClusterQueue", "Any"),
     "spec.preemption.withinClusterQueue", "LowerOrNewerEqualPriority"),
    ("no checks in the strategy", put(cluster_queue(), CHECKS, []), CHECKS, "at least 1"),
    ("a check on an unknown flavor", put(
        cluster_queue(), CHECKS, [{"name": "a", "onFlavors": ["od"]}]),
     f"{CHECKS}[0].onFlavors[0]", '"spot"'),
    ("a check twice", put(cluster_queue(), CHECKS, [{"name": "a"}, {"name": "a"}]),
     f"{CHECKS}[1]", "Duplicate"),
    ("negative weight", put(cluster_queue(), "spec.fairSharing.weight", -1),
     "spec.fairSharing.weight", "equal to 0"),
    ("a weight too small to divide by", put(cluster_queue(), "spec.fairSharing.weight", "1n"),
     "spec.fairSharing.weight", "greater than 1n"),
    ("an unknown admission mode", put(cluster_queue(), "spec.admissionScope.admissionMode", "X"),
     "spec.admissionScope.admissionMode", "NoAdmissionFairSharing"),
    ("concurrent admission, two groups", put(
        cluster_queue(group(), group(flavor("b", quota("memory")))), POLICY,
        {"migration": {"mode": "RetainFirstAdmission"}}), POLICY, "exactly one resource group"),
    ("concurrent admission, 17 flavors", put(
        cluster_queue(wide(17, 1)), POLICY, {"migration": {"mode": "RetainFirstAdmission"}}),
     "spec.resourceGroups[0].flavors", "at most 16"),
    ("concurrent admission, strict", put(migrating(), "spec.queueingStrategy", "StrictFIFO"),
     "spec.queueingStrategy", "BestEffortFIFO"),
    ("constraints on who stays", migrating("RetainFirstAdmission", lastAcceptableFlavorName="od"),
     f"{POLICY}.migration.constraints", "TryPreferredFlavors"),
    ("an unknown last flavor", migrating(lastAcceptableFlavorName="x"),
     f"{POLICY}.migration.constraints.lastAcceptableFlavorName", '"od"'),
    ("no migration mode", put(migrating(), f"{POLICY}.migration.mode", GONE),
     f"{POLICY}.migration.mode", "Required"),
    ("fallback to an unknown flavor", fallback({"name": "x", "timeout": "1m"}),
     f"{FALLBACK}.rules[0].name", '"*", "spot", "od"'),
    ("two rules for a flavor", fallback({"name": "od"}, {"name": "od", "timeout": "1m"}),
     f"{FALLBACK}.rules[1]", "Duplicate"),
    ("two timeouts", fallback({"name": "od", "timeout": "1m", "timeoutMinutes": 1}),
     f"{FALLBACK}.rules[0].timeoutMinutes", "exclude each other"),
    ("no time at all", fallback({"name": "od", "timeout": "0s"}),
     f"{FALLBACK}.rules[0].timeout", "longer than zero"),
    ("negative time", fallback({"name": "od", "timeout": "-5m"}),
     f"{FALLBACK}.rules[0].timeout", '"-5m"'),
    ("time without a unit", fallback({"name": "od", "timeout": "5"}),
     f"{FALLBACK}.rules[0].timeout", '"5"'),
    ("more time than can be counted", fallback({"name": "od", "timeout": "9" * 20 + "h"}),
     f"{FALLBACK}.rules[0].timeout", "invalid duration"),
    ("no minutes", fallback({"name": "od", "timeoutMinutes": 0}),
     f"{FALLBACK}.rules[0].timeoutMinutes", "between 1 and"),
    ("an unknown trigger", fallback({"name": "od", "trigger": "Bored"}),
     f"{FALLBACK}.rules[0].trigger", "AdmissionCheckRejected"),
    ("a timeout that never applies", fallback(
        {"name": "od", "trigger": "AdmissionCheckRejected", "timeout": "1m"}),
     f"{FALLBACK}.rules[0].timeout", "never applies"),
    ("rules without a policy", put(
        fallback({"name": "od"}), f"{FALLBACK}.failurePolicy", GONE),
     f"{FALLBACK}.failurePolicy", "DeactivateWorkload, RetryAllFlavors"),
    ("an unknown policy", put(fallback(), f"{FALLBACK}.failurePolicy", "Cry"),
     f"{FALLBACK}.failurePolicy", "RetryAllFlavors"),
    ("a breaker of nothing", fallback(circuitBreaker={"failures": 0, "probeInterval": "1m"}),
     f"{FALLBACK}.circuitBreaker.failures", "between 1"),
    ("a breaker that never probes", fallback(circuitBreaker={"failures": 1}),
     f"{FALLBACK}.circuitBreaker.probeInterval", "Required"),
    ("a breaker that always probes", fallback(
        circuitBreaker={"failures": 1, "probeInterval": "0s"}),
     f"{FALLBACK}.circuitBreaker.probeInterval", "longer than zero"),
    ("limits of a root cohort", cohort(group(flavor("a", quota(lendingLimit=1)))),
     "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit", "nil when parent is empty"),
    ("a cohort under itself", cohort(parentName="root"), "spec.parentName", "its own parent"),
    ("a parent name that is none", cohort(parentName="a_b"), "spec.parentName", '"a_b"'),
    ("a cohort of negative quota", cohort(group(flavor("a", quota(nominal=-1)))),
     "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", "equal to 0"),
    ("a queue name that is none", local_queue(clusterQueue="A"), "spec.clusterQueue", '"A"'),
    ("a local stop policy", local_queue(stopPolicy="x"), "spec.stopPolicy", '"Hold"'),
    ("a local weight", local_queue(fairSharing={"weight": "-1"}), "spec.fairSharing.weight", "0"),
]  # fmt: skip


@pytest.mark.parametrize("obj", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(obj: Json) -> None:
    assert check(obj) == []


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(cohort(), id="a root"),
        pytest.param(
            cohort(group(flavor("a", quota(nominal=1, lendingLimit=5))), parentName="up"),
            id="lends more than it adds",
        ),
        pytest.param(local_queue(), id="a local queue"),
        pytest.param(put(local_queue(), "spec", GONE), id="a local queue without a spec"),
        pytest.param(local_queue(fairSharing={"weight": "0.5"}), id="a local weight"),
    ],
)
def test_accepted_too(obj: Json) -> None:
    assert check(obj) == []


@pytest.mark.parametrize(
    ("obj", "field", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused(obj: Json, field: str, says: str) -> None:
    """Every refusal names the field and says the value or what is allowed."""
    errors = check(obj)
    assert field in [e.field for e in errors], [str(e) for e in errors]
    assert any(e.field == field and says in str(e) for e in errors), [str(e) for e in errors]


QUEUE = "spec.clusterQueue"
UPDATES: list[tuple[str, Json, Json, str]] = [
    ("the same", local_queue(), local_queue(), ""),
    ("another queue", local_queue(), put(local_queue(), QUEUE, "b"), QUEUE),
    ("the queue removed", local_queue(), put(local_queue(), QUEUE, GONE), QUEUE),
    ("the spec removed", local_queue(), put(local_queue(), "spec", GONE), QUEUE),
    ("the queue set later", put(local_queue(), QUEUE, GONE), local_queue(), ""),
    ("stopped", local_queue(), local_queue(stopPolicy="Hold"), ""),
    ("another strategy", cluster_queue(), cluster_queue(queueingStrategy="StrictFIFO"), ""),
    ("the policy added", cluster_queue(TWO), migrating(), POLICY),
    ("the policy removed", migrating(), cluster_queue(TWO), POLICY),
    ("the policy changed", migrating(), migrating("RetainFirstAdmission"), POLICY),
    ("the policy kept", migrating(), put(migrating(), "spec.stopPolicy", "Hold"), ""),
    ("a bad queue left alone", in_cohort(lendingLimit=99), in_cohort(lendingLimit=99), ""),
    ("a bad queue made worse", in_cohort(lendingLimit=99), in_cohort(lendingLimit=100),
     "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "field"), [row[1:] for row in UPDATES], ids=[row[0] for row in UPDATES]
)
def test_changes(old: Json, new: Json, field: str) -> None:
    assert [e.field for e in check(new, old)] == ([field] if field else [])
