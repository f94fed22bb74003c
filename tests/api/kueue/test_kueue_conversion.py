"""What both versions can say survives the way there and back."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kueue_objects import (
    TIME,
    V1,
    V2,
    assignment,
    cluster_queue,
    local_queue,
    put,
    reserved,
    thing,
    workload,
)

from allaboard.api.errors import BadRequest
from allaboard.api.kueue.conversion import ConversionError, convert, convert_all
from allaboard.api.kueue.topology_encoding import (
    Domain,
    EncodingError,
    decode,
    domains_of,
    encode,
    listed,
)
from allaboard.api.kueue.validation import check
from allaboard.api.meta import Json

USAGE = [{"name": "spot", "resources": [{"name": "cpu", "total": "1"}]}]
WPC = "kueue.x-k8s.io/workloadpriorityclass"


def old(obj: Json) -> Json:
    return {**obj, "apiVersion": V1}


RENAMED: list[tuple[str, Json, Json]] = [
    ("the cohort", old(cluster_queue(cohort="all")), cluster_queue(cohortName="all")),
    ("usage of a local queue", old(local_queue() | {"status": {"flavorUsage": USAGE}}),
     local_queue() | {"status": {"flavorsUsage": USAGE}}),
    ("a workload class", old(workload(priorityClassName="a", priorityClassSource=WPC, priority=1)),
     workload(priorityClassRef={"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass",
                                "name": "a"}, priority=1)),
    ("a pod class", old(workload(
        priorityClassName="a", priorityClassSource="scheduling.k8s.io/priorityclass", priority=1)),
     workload(priorityClassRef={"group": "scheduling.k8s.io", "kind": "PriorityClass",
                                "name": "a"}, priority=1)),
    ("the misspelt time", old(workload() | {
        "status": {"accumulatedPastExexcutionTimeSeconds": 5}}),
     workload() | {"status": {"accumulatedPastExecutionTimeSeconds": 5}}),
]  # fmt: skip


@pytest.mark.parametrize(("v1", "v2"), [r[1:] for r in RENAMED], ids=[r[0] for r in RENAMED])
def test_a_renamed_field_is_found_under_its_other_name(v1: Json, v2: Json) -> None:
    before = copy.deepcopy((v1, v2))
    assert convert(v1, "v1beta2") == v2
    assert convert(v2, V1) == v1
    assert (v1, v2) == before
    assert (check(v1), check(v2)) == ([], [])


UP: list[tuple[str, Json, Json]] = [
    ("older words for stopping", old(cluster_queue(
        flavorFungibility={"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"})),
     cluster_queue(flavorFungibility={
         "whenCanBorrow": "MayStopSearch", "whenCanPreempt": "MayStopSearch"})),
    ("newer words stay", old(cluster_queue(flavorFungibility={"whenCanBorrow": "TryNextFlavor"})),
     cluster_queue(flavorFungibility={"whenCanBorrow": "TryNextFlavor"})),
    ("checks by name", old(cluster_queue(admissionChecks=["a", "b"])),
     cluster_queue(admissionChecksStrategy={"admissionChecks": [{"name": "a"}, {"name": "b"}]})),
    ("checks join a strategy", old(cluster_queue(
        admissionChecks=["a", "b"],
        admissionChecksStrategy={"admissionChecks": [{"name": "b", "onFlavors": ["spot"]}]})),
     cluster_queue(admissionChecksStrategy={
         "admissionChecks": [{"name": "b", "onFlavors": ["spot"]}, {"name": "a"}]})),
    ("no checks", old(cluster_queue(admissionChecks=[])), cluster_queue()),
    ("the pending head is dropped", old(cluster_queue() | {
        "status": {"pendingWorkloadsStatus": {}, "pendingWorkloads": 1}}),
     cluster_queue() | {"status": {"pendingWorkloads": 1}}),
    ("flavors of a queue are dropped", old(local_queue() | {"status": {"flavors": []}}),
     local_queue() | {"status": {}}),
    ("the retry delay is dropped", old(thing("AdmissionCheck", spec={
        "controllerName": "c", "retryDelayMinutes": 15})),
     thing("AdmissionCheck", spec={"controllerName": "c"})),
    ("a class of unknown source is dropped", old(workload(
        priorityClassName="a", priorityClassSource="", priority=1)), workload(priority=1)),
]  # fmt: skip


@pytest.mark.parametrize(("v1", "v2"), [r[1:] for r in UP], ids=[r[0] for r in UP])
def test_what_only_v1beta1_says_is_said_otherwise_or_dropped(v1: Json, v2: Json) -> None:
    assert convert(v1, "v1beta2") == v2
    assert check(v1) == []


@pytest.mark.parametrize("kind", ["Cohort", "ResourceFlavor", "Topology", "WorkloadPriorityClass"])
def test_kinds_without_differences_only_change_version(kind: str) -> None:
    obj = thing(kind, spec={"anything": [1]}, value=2)
    assert convert(obj, V1) == {**obj, "apiVersion": V1}
    assert convert(convert(obj, V1), V2) == obj


def test_what_is_new_in_v1beta2_is_not_lost_through_v1beta1() -> None:
    """A client of the older version that writes back what it read takes nothing away."""
    policy = {"migration": {"mode": "RetainFirstAdmission"}}
    for obj in (
        put(cluster_queue(), "spec.concurrentAdmissionPolicy", policy),
        workload(preemptionGates=[{"name": "a"}]),
    ):
        down = convert(obj, V1)
        assert check(down) == []
        assert convert(down, V2) == obj


@pytest.mark.parametrize("target", ["v1", "batch/v1", "", "kueue.x-k8s.io/v1alpha1"])
def test_an_unknown_version_is_refused(target: str) -> None:
    with pytest.raises(ConversionError, match="none of"):
        convert(workload(), target)


def test_an_object_of_another_group_is_refused() -> None:
    with pytest.raises(ConversionError, match="batch/v1"):
        convert({"apiVersion": "batch/v1", "kind": "Job"}, V2)


# --- topology ---------------------------------------------------------------------------------

CONTRADICTION = {"levels": ["rack"], "domains": [{"values": ["a", "b"], "count": 1}]}


async def test_a_writer_of_a_contradiction_is_told_where_it_is() -> None:
    part = assignment(topologyAssignment=CONTRADICTION)
    v1 = old(put(reserved(workload()), "status.admission.podSetAssignments[0]", part))
    field = "status.admission.podSetAssignments[0].topologyAssignment.domains[0].values"
    assert [e.field for e in check(v1)] == [field]
    with pytest.raises(BadRequest, match=r"domains\[0\].values: must have one per level"):
        await convert_all([v1], V2)


def test_a_stored_contradiction_is_not_shown_to_older_readers() -> None:
    """One spoilt object must not break everybody's list."""
    bad = {"levels": ["rack"], "slices": [{"domainCount": 1}]}
    part = assignment(topologyAssignment=bad)
    v2 = put(reserved(workload()), "status.admission.podSetAssignments[0]", part)
    (shown,) = convert(v2, V1)["status"]["admission"]["podSetAssignments"]
    assert shown == assignment()


def test_the_worked_example_is_written_compactly() -> None:
    """Six nodes of two racks: two slices are shorter than one, as in Kueue's own example."""
    nodes = [f"block-1-rack-1-node-{i}" for i in range(1, 5)]
    nodes += [f"block-1-rack-2-node-{i}" for i in range(1, 3)]
    made = encode(["kubernetes.io/hostname"], [Domain((node,), 1) for node in nodes])
    individual = {"prefix": "block-1-rack-", "roots": [n[13:] for n in nodes]}
    single = {
        "domainCount": 6,
        "valuesPerLevel": [{"individual": individual}],
        "podCounts": {"universal": 1},
    }
    assert decode({"levels": ["kubernetes.io/hostname"], "slices": [single]}) == decode(made)
    assert len(str(made["slices"])) <= len(str([single]))


def test_levels_and_counts_that_are_all_alike_are_written_once() -> None:
    made = encode(["block", "rack"], [Domain(("b", "r-1-x"), 4), Domain(("b", "r-22-x"), 2)])
    assert made["slices"] == [
        {
            "domainCount": 2,
            "valuesPerLevel": [
                {"universal": "b"},
                {"individual": {"prefix": "r-", "suffix": "-x", "roots": ["1", "22"]}},
            ],
            "podCounts": {"individual": [4, 2]},
        }
    ]


VALUES = st.one_of(
    st.text("ab-", max_size=6),
    st.builds("rack-{}-node-{}".format, st.integers(0, 3), st.integers(0, 99)),
)


@st.composite
def domains(draw: Any) -> tuple[list[str], list[Domain]]:
    levels = draw(st.integers(1, 4))
    rows = st.tuples(*[VALUES] * levels)
    found = draw(st.lists(st.builds(Domain, rows, st.integers(1, 2**31 - 1)), max_size=12))
    return [f"level-{i}" for i in range(levels)], found


@given(domains())
def test_an_assignment_survives_both_encodings(made: tuple[list[str], list[Domain]]) -> None:
    levels, found = made
    encoded = encode(levels, found)
    assert decode(encoded) == found
    assert domains_of(listed(levels, found)) == found
    assert encode(levels, decode(encoded)) == encoded


def _columns(part: list[Domain]) -> list[tuple[str, ...]]:
    return list(zip(*(d.values for d in part), strict=True))


@given(domains(), st.data())
def test_any_valid_form_is_read(made: tuple[list[str], list[Domain]], data: Any) -> None:
    """Cut into slices anywhere, with or without prefixes, it means the same domains."""
    levels, found = made
    slices: list[Json] = []
    rest = found
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        part, rest = rest[:cut], rest[cut:]
        if data.draw(st.booleans()):
            slices += encode(levels, part)["slices"]
        else:
            columns = [{"individual": {"roots": list(c)}} for c in _columns(part)]
            counts = {"individual": [d.pods for d in part]}
            slices.append(
                {"domainCount": len(part), "valuesPerLevel": columns, "podCounts": counts}
            )
    assert decode({"levels": levels, "slices": slices}) == found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("a1", max_size=2),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["domainCount", "valuesPerLevel", "podCounts", "universal", "individual",
                         "roots", "prefix", "values", "count"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=300)
@given(levels=JSON, slices=JSON, domains_=JSON)
def test_hostile_assignments_are_refused_not_crashed(
    levels: Any, slices: Any, domains_: Any
) -> None:
    for reader, body in ((decode, {"slices": slices}), (domains_of, {"domains": domains_})):
        try:
            reader({"levels": levels, **body})
        except EncodingError as error:
            assert error.field and error.problem


# --- whole objects ----------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b-1"])
MAYBE = st.sampled_from([None, {}, [], "", 1, {"name": "a"}])


@st.composite
def workloads(draw: Any) -> Json:
    levels, found = draw(domains())
    made = reserved(workload())
    if found:
        part = assignment(topologyAssignment=encode(levels, found))
        made = put(made, "status.admission.podSetAssignments[0]", part)
    if draw(st.booleans()):
        made["status"]["accumulatedPastExecutionTimeSeconds"] = draw(st.integers(0, 9))
    if draw(st.booleans()):
        made["status"]["preemptionHold"] = {**made["status"]["admission"], "since": TIME}
    group, kind = draw(
        st.sampled_from(
            [("kueue.x-k8s.io", "WorkloadPriorityClass"), ("scheduling.k8s.io", "PriorityClass")]
        )
    )
    if draw(st.booleans()):
        made["spec"]["priority"] = 1
        made["spec"]["priorityClassRef"] = {"group": group, "kind": kind, "name": draw(NAMES)}
    return made


@given(workloads())
def test_a_workload_survives_both_ways(made: Json) -> None:
    down = convert(made, V1)
    assert convert(down, V2) == made
    assert convert(convert(down, V2), V1) == down
    assert down["metadata"] == made["metadata"]


@given(st.sampled_from(["ClusterQueue", "LocalQueue", "Workload", "AdmissionCheck"]), st.data())
def test_misshapen_objects_are_converted_without_a_crash(kind: str, data: Any) -> None:
    keys = st.sampled_from(
        ["cohort", "cohortName", "flavorFungibility", "admissionChecks", "admissionChecksStrategy",
         "priorityClassName", "priorityClassSource", "priorityClassRef", "admission",
         "podSetAssignments", "flavorUsage"]
    )  # fmt: skip
    part = st.one_of(MAYBE, st.dictionaries(keys, MAYBE, max_size=5))
    obj = thing(kind, spec=data.draw(part), status=data.draw(part))
    version = data.draw(st.sampled_from([V1, V2]))
    converted = convert({**obj, "apiVersion": version}, V1 if version == V2 else V2)
    assert converted["metadata"] == obj["metadata"]
