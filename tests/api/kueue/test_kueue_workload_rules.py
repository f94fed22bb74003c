"""Which Workloads are accepted, and how may they change?"""

from typing import Any

import pytest
from kueue_objects import (
    GONE,
    V1,
    assignment,
    changes,
    check_state,
    condition,
    pod_set,
    put,
    reserved,
    workload,
)

from allaboard.api.kueue.validation import check, validate
from allaboard.api.meta import Json

REQUEST = "spec.podSets[0].topologyRequest"
CONTAINER = "spec.podSets[0].template.spec.containers[0].resources"
ASSIGNED = "status.admission.podSetAssignments[0]"
WPC = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"}
PC = {"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "high"}
SLICE = {
    "domainCount": 2,
    "valuesPerLevel": [{"individual": {"prefix": "node-", "roots": ["1", "2"]}}],
    "podCounts": {"universal": 1},
}
PLACE = {"levels": ["kubernetes.io/hostname"], "slices": [SLICE]}


def placed(**changes_: Any) -> Json:
    return put(reserved(workload()), f"{ASSIGNED}.topologyAssignment", PLACE | changes_)


def asking(count: int = 4, **request: Any) -> Json:
    return workload(pod_set(count=count, topologyRequest=request))


def layered(*sizes: Any, **more: Any) -> Json:
    layers = [{"topology": f"l{i}", "size": size} for i, size in enumerate(sizes)]
    return asking(16, podsetSliceRequiredTopologyConstraints=layers, **more)


def grouped(*counts: int, **second: Any) -> Json:
    first = {"podSetGroupName": "g", "required": "rack"}
    sets = [
        pod_set(f"s{i}", count, topologyRequest=first | (second if i else {}))
        for i, count in enumerate(counts)
    ]
    return workload(*sets)


def checked(update: Json, **state: Any) -> Json:
    return reserved(workload(), admissionChecks=[check_state(podSetUpdates=[update], **state)])


ACCEPTED = {
    "one pod set": workload(),
    "eighteen pod sets": workload(*(pod_set(f"s{i}") for i in range(18))),
    "no name": workload(put(pod_set(), "name", GONE)),
    "no pods": workload(pod_set(count=0)),
    "a minimum": workload(pod_set(count=4, minCount=1)),
    "a class of workloads": workload(priorityClassRef=WPC, priority=5),
    "a class of pods": workload(priorityClassRef=PC, priority=5),
    "a limit": workload(maximumExecutionTimeSeconds=1),
    "gates": workload(preemptionGates=[{"name": "a"}, {"name": "b"}]),
    "bare numbers in the template": put(workload(), f"{CONTAINER}.requests.memory", 0.5),
    "anything else in the template": put(
        workload(), "spec.podSets[0].template.spec.hostAliases", [{"ip": "1.2.3.4"}]
    ),
    "required": asking(required="rack"),
    "rank only": asking(podIndexLabel="batch.kubernetes.io/job-completion-index"),
    "slices": asking(podSetSliceRequiredTopology="rack", podSetSliceSize=2),
    "slices of slices": layered(8, 4, 2),
    "a leader and workers": grouped(1, 4),
    "reserved": reserved(workload(pod_set("a"), pod_set("b"))),
    "placed": placed(),
    "given back": reserved(workload(), reclaimablePods=[{"name": "main", "count": 2}]),
    "updates": checked(
        {"name": "main", "labels": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}
    ),
    "a thousandth of a CPU each": put(reserved(workload()), f"{ASSIGNED}.resourceUsage.cpu", "2m"),
    "requeued": workload() | {"status": {"requeueState": {"count": 3}}},
    "flavors tried": workload()
    | {
        "status": {
            "flavorFallbackRounds": 1,
            "flavorAssignmentHistory": [
                {"resourceFlavor": "spot", "usedSeconds": 60, "outcome": "TimedOut"}
            ],
        }
    },
}

REFUSED: list[tuple[str, Json, str, str]] = [
    ("no spec", put(workload(), "spec", GONE), "spec", "Required"),
    ("no pod sets", put(workload(), "spec.podSets", []), "spec.podSets", "at least 1"),
    ("nineteen pod sets", workload(*(pod_set(f"s{i}") for i in range(19))), "spec.podSets",
     "at most 18"),
    ("a name twice", workload(pod_set(), pod_set()), "spec.podSets[1]", "Duplicate"),
    ("a name that is none", workload(pod_set("A")), "spec.podSets[0].name", '"A"'),
    ("negative count", workload(pod_set(count=-1)), "spec.podSets[0].count", "-1"),
    ("a huge count", workload(pod_set(count=2**31)), "spec.podSets[0].count", str(2**31 - 1)),
    ("a count that is none", workload(put(pod_set(), "count", "two")), "spec.podSets[0].count",
     "integer"),
    ("a minimum of none", workload(pod_set(minCount=0)), "spec.podSets[0].minCount", "1"),
    ("a minimum above the count", workload(pod_set(minCount=3)), "spec.podSets[0].minCount",
     "which is 2"),
    ("two minima", workload(pod_set("a", minCount=1), pod_set("b", minCount=1)), "spec.podSets",
     "at most one"),
    ("no template", workload(put(pod_set(), "template", GONE)), "spec.podSets[0].template",
     "Required"),
    ("no containers", put(workload(), "spec.podSets[0].template.spec.containers", GONE),
     "spec.podSets[0].template.spec.containers", "Required"),
    ("pods requested", put(workload(), f"{CONTAINER}.requests.pods", "1"),
     f"{CONTAINER}.requests[pods]", "reserved"),
    ("pods limited", put(workload(), f"{CONTAINER}.limits.pods", "1"),
     f"{CONTAINER}.limits[pods]", "reserved"),
    ("pods requested by the pod", put(
        workload(), "spec.podSets[0].template.spec.resources.requests.pods", 1),
     "spec.podSets[0].template.spec.resources.requests[pods]", "reserved"),
    ("negative request", put(workload(), f"{CONTAINER}.requests.cpu", "-1"),
     f"{CONTAINER}.requests[cpu]", "equal to 0"),
    ("negative limit", put(workload(), f"{CONTAINER}.limits.cpu", -1),
     f"{CONTAINER}.limits[cpu]", "equal to 0"),
    ("negative overhead", put(
        workload(), "spec.podSets[0].template.spec.overhead", {"cpu": "-1m"}),
     "spec.podSets[0].template.spec.overhead[cpu]", "equal to 0"),
    ("negative request of an init container", put(
        workload(), "spec.podSets[0].template.spec.initContainers",
        [{"name": "i", "resources": {"requests": {"cpu": "-1"}}}]),
     "spec.podSets[0].template.spec.initContainers[0].resources.requests[cpu]", "equal to 0"),
    ("a request that is none", put(workload(), f"{CONTAINER}.requests.cpu", "lots"),
     f"{CONTAINER}.requests[cpu]", '"lots"'),
    ("more CPU than can be counted", put(workload(), f"{CONTAINER}.requests.cpu", "1E"),
     f"{CONTAINER}.requests[cpu]", "thousandths"),
    ("a label that is none", put(
        workload(), "spec.podSets[0].template.metadata.labels", {"a": "b c"}),
     "spec.podSets[0].template.metadata.labels[a]", '"b c"'),
    ("an annotation that is none", put(
        workload(), "spec.podSets[0].template.metadata.annotations", {"a b": ""}),
     "spec.podSets[0].template.metadata.annotations", '"a b"'),
    ("a queue that is none", workload(queueName="Q"), "spec.queueName", '"Q"'),
    ("a class without priority", workload(priorityClassRef=WPC), "spec.priority",
     "priorityClassRef is set"),
    ("an unknown group", workload(priorityClassRef=WPC | {"group": "x"}, priority=1),
     "spec.priorityClassRef.group", "scheduling.k8s.io"),
    ("a group of another kind", workload(priorityClassRef=PC | {"kind": WPC["kind"]}, priority=1),
     "spec.priorityClassRef.kind", "only the PriorityClass"),
    ("a kind of another group", workload(priorityClassRef=WPC | {"kind": PC["kind"]}, priority=1),
     "spec.priorityClassRef.kind", "only the WorkloadPriorityClass"),
    ("no time", workload(maximumExecutionTimeSeconds=0), "spec.maximumExecutionTimeSeconds", "1"),
    ("a gate twice", workload(preemptionGates=[{"name": "a"}] * 2), "spec.preemptionGates[1]",
     "Duplicate"),
    ("nine gates", workload(preemptionGates=[{"name": f"g{i}"} for i in range(9)]),
     "spec.preemptionGates", "at most 8"),
    ("required and preferred", asking(required="rack", preferred="block"), REQUEST, "exclude"),
    ("required and unconstrained", asking(required="rack", unconstrained=True), REQUEST,
     "keep one"),
    ("a level that is none", asking(required="a b"), f"{REQUEST}.required", '"a b"'),
    ("slices without a size", asking(podSetSliceRequiredTopology="rack"),
     f"{REQUEST}.podSetSliceSize", "Required"),
    ("slices without a level", asking(podSetSliceSize=2), f"{REQUEST}.podSetSliceSize",
     "together with podSetSliceRequiredTopology"),
    ("slices of nothing", asking(podSetSliceRequiredTopology="rack", podSetSliceSize=0),
     f"{REQUEST}.podSetSliceSize", "greater than 0"),
    ("slices that do not divide", asking(podSetSliceRequiredTopology="rack", podSetSliceSize=3),
     f"{REQUEST}.podSetSliceSize", "which is 4"),
    ("slices larger than all", asking(podSetSliceRequiredTopology="rack", podSetSliceSize=8),
     f"{REQUEST}.podSetSliceSize", "which is 4"),
    ("four layers", layered(8, 4, 2, 1), f"{REQUEST}.podsetSliceRequiredTopologyConstraints",
     "at most 3"),
    ("layers that do not divide", layered(8, 3),
     f"{REQUEST}.podsetSliceRequiredTopologyConstraints[1].size", "which is 8"),
    ("layers beside slices", layered(8, podSetSliceSize=8, podSetSliceRequiredTopology="rack"),
     f"{REQUEST}.podsetSliceRequiredTopologyConstraints", "together with podSetSliceSize"),
    ("layers in a group", layered(8, podSetGroupName="g"),
     f"{REQUEST}.podsetSliceRequiredTopologyConstraints", "together with podSetGroupName"),
    ("a group that is a number", asking(podSetGroupName="7"), f"{REQUEST}.podSetGroupName",
     "number"),
    ("a group of one", grouped(1), "spec.podSets[0].topologyRequest.podSetGroupName", "not 1"),
    ("a group of three", grouped(1, 2, 3), "spec.podSets[2].topologyRequest.podSetGroupName",
     "not 3"),
    ("a group without a leader", grouped(2, 4),
     "spec.podSets[1].topologyRequest.podSetGroupName", "count 1"),
    ("a group of two minds", grouped(1, 4, required="block"),
     "spec.podSets[1].topologyRequest.podSetGroupName", "same level"),
    ("a group with slices", grouped(1, 4, podSetSliceRequiredTopology="r", podSetSliceSize=2),
     "spec.podSets[1].topologyRequest.podSetGroupName", "slices"),
    ("reserved without admission", put(reserved(workload()), "status.admission", GONE),
     "status.admission", "QuotaReserved"),
    ("fewer assignments than pod sets", put(
        reserved(workload(pod_set("a"), pod_set("b"))), "status.admission.podSetAssignments",
        [assignment("a")]), "status.admission.podSetAssignments", "which has 2"),
    ("an assignment of nobody", put(reserved(workload()), f"{ASSIGNED}.name", "x"),
     f"{ASSIGNED}.name", '"x"'),
    ("an assignment twice", put(
        reserved(workload(pod_set("a"), pod_set("b"))),
        "status.admission.podSetAssignments[1].name", "a"),
     "status.admission.podSetAssignments[1]", "Duplicate"),
    ("usage that does not divide", put(reserved(workload()), f"{ASSIGNED}.resourceUsage.cpu", "1m"),
     f"{ASSIGNED}.resourceUsage[cpu]", "not a multiple of 2"),
    ("negative usage", put(reserved(workload()), f"{ASSIGNED}.resourceUsage.cpu", "-2"),
     f"{ASSIGNED}.resourceUsage[cpu]", "equal to 0"),
    ("a flavor that is none", put(reserved(workload()), f"{ASSIGNED}.flavors.cpu", "A"),
     f"{ASSIGNED}.flavors[cpu]", '"A"'),
    ("a delay that is none", put(
        reserved(workload()), f"{ASSIGNED}.delayedTopologyRequest", "Later"),
     f"{ASSIGNED}.delayedTopologyRequest", '"Pending", "Ready"'),
    ("levels without values", placed(levels=["a", "b"]),
     f"{ASSIGNED}.topologyAssignment.slices[0].valuesPerLevel", "per level, 2"),
    ("more roots than domains", placed(slices=[SLICE | {"domainCount": 1}]),
     f"{ASSIGNED}.topologyAssignment.slices[0].valuesPerLevel[0].individual.roots",
     "per domain, 1"),
    ("counts of both kinds", placed(
        slices=[SLICE | {"podCounts": {"universal": 1, "individual": [1, 1]}}]),
     f"{ASSIGNED}.topologyAssignment.slices[0].podCounts", "exactly one"),
    ("two billion domains", placed(slices=[SLICE | {"domainCount": 2**31 - 1}]),
     f"{ASSIGNED}.topologyAssignment.slices[0].domainCount", "100000"),
    ("nobody given back", reserved(workload(), reclaimablePods=[{"name": "x", "count": 1}]),
     "status.reclaimablePods[x].name", '"main"'),
    ("more given back than there are", reserved(
        workload(), reclaimablePods=[{"name": "main", "count": 3}]),
     "status.reclaimablePods[main].count", "less or equal to 2"),
    ("an update of nobody", checked({"name": "x"}),
     "status.admissionChecks[0].podSetUpdates[0].name", '"main"'),
    ("an update with a bad label", checked({"name": "main", "labels": {"a": "b c"}}),
     "status.admissionChecks[0].podSetUpdates[0].labels[a]", '"b c"'),
    ("an update with a bad selector", checked({"name": "main", "nodeSelector": {"a b": "c"}}),
     "status.admissionChecks[0].podSetUpdates[0].nodeSelector", '"a b"'),
    ("an update with a bad annotation", checked({"name": "main", "annotations": {"a b": "c"}}),
     "status.admissionChecks[0].podSetUpdates[0].annotations", '"a b"'),
    ("an update with a bad toleration", checked({"name": "main", "tolerations": [{"value": "x"}]}),
     "status.admissionChecks[0].podSetUpdates[0].tolerations[0].operator", "Exists"),
    ("an unknown state", checked({"name": "main"}, state="Done"),
     "status.admissionChecks[0].state", "Rejected"),
    ("nine checks", reserved(
        workload(), admissionChecks=[check_state(f"c{i}") for i in range(9)]),
     "status.admissionChecks", "at most 8"),
    ("sent and nominated", workload()
     | {"status": {"clusterName": "a", "nominatedClusterNames": ["b"]}}, "status.clusterName",
     "exclusive"),
    ("negative requeues", workload() | {"status": {"requeueState": {"count": -1}}},
     "status.requeueState.count", "-1"),
    ("a time that is none", workload() | {"status": {"requeueState": {"requeueAt": "soon"}}},
     "status.requeueState.requeueAt", '"soon"'),
    ("negative execution time", workload()
     | {"status": {"accumulatedPastExecutionTimeSeconds": -1}},
     "status.accumulatedPastExecutionTimeSeconds", "-1"),
    ("a condition of no status", workload()
     | {"status": {"conditions": [condition("Admitted", "Perhaps")]}},
     "status.conditions[0].status", '"Unknown"'),
    ("a condition twice", workload() | {"status": {"conditions": [condition("Admitted")] * 2}},
     "status.conditions[1]", "Duplicate"),
    ("17 conditions", workload()
     | {"status": {"conditions": [condition(f"C{i}") for i in range(17)]}},
     "status.conditions", "at most 16"),
    ("an unknown outcome", workload() | {"status": {
        "flavorAssignmentHistory": [{"resourceFlavor": "a", "outcome": "Lost"}]}},
     "status.flavorAssignmentHistory[0].outcome", "TimedOut"),
    ("a flavor twice in the history", workload() | {"status": {
        "flavorAssignmentHistory": [{"resourceFlavor": "a"}] * 2}},
     "status.flavorAssignmentHistory[1]", "Duplicate"),
    ("negative used time", workload() | {"status": {
        "flavorAssignmentHistory": [{"resourceFlavor": "a", "usedSeconds": -1}]}},
     "status.flavorAssignmentHistory[0].usedSeconds", "-1"),
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


def with_class(ref: Any) -> Json:
    return reserved(workload(priorityClassRef=ref, priority=1, queueName="q"))


HELD = reserved(workload(queueName="q"))
ADMITTED = reserved(workload(queueName="q"), "Admitted")
LIMITED = reserved(workload(maximumExecutionTimeSeconds=5), "Admitted")
ELASTIC = put(HELD, "metadata.annotations", {"kueue.x-k8s.io/elastic-job": "true"})
GIVEN = put(HELD, "status.reclaimablePods", [{"name": "main", "count": 1}])
READY = checked({"name": "main", "labels": {"a": "b"}})
POD_SETS, CLASS, QUEUE = "spec.podSets", "spec.priorityClassRef", "spec.queueName"
LIMIT, CHECKS = "spec.maximumExecutionTimeSeconds", "status.admissionChecks"
COUNT = f"{POD_SETS}[0].count"
RELEASED = changes(
    HELD, ("status.conditions", [condition("QuotaReserved", "False")]), ("status.admission", GONE)
)
UPDATES: list[tuple[str, Json, Json, str]] = [
    ("reserved", workload(queueName="q"), HELD, ""),
    ("released", HELD, RELEASED, ""),
    ("pods while pending", workload(), workload(pod_set(count=9)), ""),
    ("pods while reserved", HELD, put(HELD, COUNT, 9), POD_SETS),
    ("the template while reserved", HELD, put(HELD, f"{CONTAINER}.requests.cpu", "9"), POD_SETS),
    ("an elastic job shrinks", ELASTIC, put(ELASTIC, COUNT, 1), ""),
    ("an elastic job grows", ELASTIC, put(ELASTIC, COUNT, 3), POD_SETS),
    ("an elastic job changes", ELASTIC, put(ELASTIC, f"{CONTAINER}.requests.cpu", "9"), POD_SETS),
    ("becomes elastic and shrinks", HELD, put(ELASTIC, COUNT, 1), POD_SETS),
    ("another queue while pending", workload(queueName="q"), workload(queueName="r"), ""),
    ("another queue while reserved", HELD, put(HELD, QUEUE, "r"), QUEUE),
    ("no queue while reserved", HELD, put(HELD, QUEUE, GONE), QUEUE),
    ("a queue added while reserved", put(HELD, QUEUE, GONE), HELD, QUEUE),
    ("a class added", put(with_class(WPC), CLASS, GONE), with_class(WPC), CLASS),
    ("the class removed", with_class(WPC), put(with_class(WPC), CLASS, GONE), CLASS),
    ("another workload class", with_class(WPC), with_class(WPC | {"name": "low"}), ""),
    ("another pod class", with_class(PC), with_class(PC | {"name": "low"}), f"{CLASS}.name"),
    ("another class while pending", workload(priorityClassRef=PC, priority=1), workload(), ""),
    ("another priority", with_class(WPC), put(with_class(WPC), "spec.priority", 9), ""),
    ("deactivated", ADMITTED, put(ADMITTED, "spec.active", False), ""),
    ("another limit while reserved", HELD, put(HELD, LIMIT, 5), ""),
    ("a limit added while admitted", ADMITTED, put(ADMITTED, LIMIT, 5), LIMIT),
    ("the limit removed while admitted", LIMITED, put(LIMITED, LIMIT, GONE), LIMIT),
    ("another limit while admitted", LIMITED, put(LIMITED, LIMIT, 6), LIMIT),
    ("another ClusterQueue", HELD, put(HELD, "status.admission.clusterQueue", "b"),
     "status.admission"),
    ("another flavor", HELD, put(HELD, f"{ASSIGNED}.flavors.cpu", "od"), "status.admission"),
    ("another usage", HELD, put(HELD, f"{ASSIGNED}.resourceUsage.cpu", "4"), "status.admission"),
    ("a place", HELD, put(HELD, f"{ASSIGNED}.topologyAssignment", PLACE), ""),
    ("another place", placed(), placed(slices=[SLICE, SLICE]), ""),
    ("a delay", HELD, put(HELD, f"{ASSIGNED}.delayedTopologyRequest", "Pending"), ""),
    ("more given back", GIVEN, put(GIVEN, "status.reclaimablePods[0].count", 2), ""),
    ("less given back", GIVEN, put(GIVEN, "status.reclaimablePods[0].count", 0),
     "status.reclaimablePods[main].count"),
    ("nothing given back any more", GIVEN, HELD, "status.reclaimablePods[main]"),
    ("forgotten with the reservation", GIVEN, RELEASED, ""),
    ("other updates while Ready", READY, checked({"name": "main"}), f"{CHECKS}[0].podSetUpdates"),
    ("updates removed while Ready", READY, put(READY, f"{CHECKS}[0].podSetUpdates", GONE),
     f"{CHECKS}[0].podSetUpdates"),
    ("updates reset with the check", READY, put(READY, CHECKS, [check_state(state="Pending")]), ""),
    ("sent to a cluster", workload(), put(workload(), "status.clusterName", "a"), ""),
    ("sent elsewhere", put(workload(), "status.clusterName", "a"),
     put(workload(), "status.clusterName", "b"), "status.clusterName"),
    ("called back", put(workload(), "status.clusterName", "a"), workload(), ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "field"), [row[1:] for row in UPDATES], ids=[row[0] for row in UPDATES]
)
def test_changes(old: Json, new: Json, field: str) -> None:
    assert [e.field for e in check(new, old)] == ([field] if field else [])


def test_a_kind_of_class_cannot_change_while_reserved() -> None:
    found = [e.field for e in check(with_class(PC), with_class(WPC))]
    assert found == [f"{CLASS}.group", f"{CLASS}.kind"]


def test_a_stored_object_that_breaks_a_newer_rule_can_still_be_written() -> None:
    """Only what changes is judged again, so that status goes on and finalizers come off."""
    old = asking(podSetSliceRequiredTopology="rack", podSetSliceSize=3)
    assert validate(old) != []
    assert validate(reserved(old), old) == []
    assert validate(put(old, "spec.active", False), old) == []


def test_both_versions_are_judged() -> None:
    old = workload() | {"apiVersion": V1}
    assert check(put(old, "spec.priorityClassSource", "x"))[0].field == "spec.priorityClassSource"
    assert check(put(old, "spec.queueName", "Q"))[0].field == "spec.queueName"
    classy = old | {
        "spec": old["spec"] | {"priorityClassSource": "scheduling.k8s.io/priorityclass"}
    }
    held = reserved(put(put(classy, "spec.priorityClassName", "a"), "spec.priority", 1))
    moved = put(held, "spec.priorityClassName", "b")
    assert [e.field for e in check(moved, held)] == ["spec.priorityClassName"]
    assert [e.field for e in validate(moved, held)] == ["spec.priorityClassName"]
    assert check(workload() | {"apiVersion": "v1"})[0].field == "apiVersion"
    assert check(workload() | {"kind": "Job"})[0].field == "kind"
