"""The generated definitions on the embedded server: both versions, defaults, columns, status."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from kueue_objects import (
    V1,
    assignment,
    cluster_queue,
    cohort,
    condition,
    flavor,
    group,
    local_queue,
    put,
    quota,
    reserved,
    topology,
    workload,
)
from test_kueue_shape import FULL

from allaboard.api.errors import BadRequest, Invalid
from allaboard.api.kueue.conversion import convert, convert_all
from allaboard.api.kueue.crd.definitions import DEFINITIONS, definitions
from allaboard.api.kueue.types import ClusterQueue, Cohort, LocalQueue, Topology, Workload
from allaboard.api.meta import Json, Kind
from allaboard.api.types.cluster import CustomResourceDefinition
from allaboard.client.client import Client
from allaboard.client.transport import Request
from allaboard.sim.loop import run_virtual
from allaboard.sim.world import World

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
OLD_QUEUE = replace(ClusterQueue.KIND, version="v1beta1")
OLD_WORKLOAD = replace(Workload.KIND, version="v1beta1")
KINDS = {entry.view.KIND.kind: entry.view.KIND for entry in DEFINITIONS}


@asynccontextmanager
async def kueue() -> AsyncIterator[Client]:
    async with World(parts=frozenset()) as world:
        registry = world.cluster.server.definitions
        assert registry is not None
        for crd in definitions():
            await world.client.create(crd, CustomResourceDefinition.KIND)
            registry.register(crd["metadata"]["name"], convert_all)
        yield world.client


def served(test: Callable[[Client], Awaitable[None]]) -> Callable[[], None]:
    """Run the test in virtual time with all definitions applied."""

    async def main() -> None:
        async with kueue() as client:
            await test(client)

    def run() -> None:
        run_virtual(main())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def table(client: Client, kind: Kind, namespace: str = "", fields: str = "") -> Json:
    query = {"fieldSelector": fields} if fields else {}
    answer = await client.transport.request(
        Request("GET", kind.path(namespace), query, accept=TABLE)
    )
    return answer.body


def rows(body: Json) -> list[dict[str, object]]:
    names = [column["name"] for column in body["columnDefinitions"]]
    return [dict(zip(names, row["cells"], strict=True)) for row in body["rows"]]


@served
async def test_every_definition_is_established_and_serves_both_versions(client: Client) -> None:
    listing = await client.list(CustomResourceDefinition.KIND)
    assert len(listing.items) == len(DEFINITIONS)
    for crd in listing.items:
        states = {c["type"]: c["status"] for c in crd["status"]["conditions"]}
        assert states == {"NamesAccepted": "True", "Established": "True"}
        assert crd["status"]["storedVersions"] == ["v1beta2"]
        assert [v["name"] for v in crd["spec"]["versions"]] == ["v1beta1", "v1beta2"]
    for kind in KINDS.values():
        for version in ("v1beta1", "v1beta2"):
            assert (await client.list(replace(kind, version=version))).items == []


@served
async def test_full_objects_of_every_kind_are_stored_as_they_are(client: Client) -> None:
    """Nothing that the types know is pruned, in either version."""
    for name, obj in FULL.items():
        kind = KINDS[name]
        namespace = "default" if kind.namespaced else ""
        made = await client.create(obj, kind, namespace=namespace)
        if "status" in obj:
            wanted = {**made, "status": obj["status"]}
            made = await client.update(wanted, kind, subresource="status")
            assert made["status"] == obj["status"]
        for part in ("spec", "value", "description"):
            if part in obj:
                assert_within(obj[part], made[part])
        old = replace(kind, version="v1beta1")
        seen = await client.get(old, "it" if name != "Cohort" else "root", namespace)
        assert convert(seen, "v1beta2") == made
        assert convert(made, "v1beta1") == seen


def assert_within(given: object, stored: object) -> None:
    """All that was given is there; defaults may be there too."""
    if isinstance(given, dict):
        assert isinstance(stored, dict)
        for key, value in given.items():
            assert_within(value, stored[key])
    elif isinstance(given, list):
        assert isinstance(stored, list) and len(given) == len(stored)
        for one, other in zip(given, stored, strict=True):
            assert_within(one, other)
    else:
        assert given == stored


@served
async def test_an_object_of_v1beta1_is_read_in_v1beta2(client: Client) -> None:
    old = cluster_queue(
        cohort="all", admissionChecks=["a"], flavorFungibility={"whenCanBorrow": "Borrow"}
    )
    made = await client.create({**old, "apiVersion": V1}, OLD_QUEUE)
    assert (made["apiVersion"], made["spec"]["cohort"]) == (V1, "all")
    view = await client.get(ClusterQueue, "it")
    assert view.spec.cohort_name == "all"
    assert view.spec.flavor_fungibility.when_can_borrow == "MayStopSearch"
    strategy = view.spec.admission_checks_strategy
    assert strategy is not None and [c.name for c in strategy.admission_checks] == ["a"]


@served
async def test_defaults_are_filled_in(client: Client) -> None:
    await client.create(put(cluster_queue(), "spec.fairSharing", {}), ClusterQueue.KIND)
    spec = (await client.get(ClusterQueue.KIND, "it"))["spec"]
    assert spec["queueingStrategy"] == "BestEffortFIFO"
    assert spec["stopPolicy"] == "None"
    assert spec["flavorFungibility"] == {
        "whenCanBorrow": "MayStopSearch",
        "whenCanPreempt": "TryNextFlavor",
    }
    assert spec["preemption"] == {
        "reclaimWithinCohort": "Never",
        "withinClusterQueue": "Never",
        "borrowWithinCohort": {"policy": "Never"},
    }
    assert spec["fairSharing"] == {"weight": 1}
    made = await client.create(put(workload(), "spec.podSets[0].count", None), Workload.KIND)
    (pods,) = made["spec"]["podSets"]
    assert (pods["name"], pods["count"], made["spec"]["active"]) == ("main", 1, True)


@served
async def test_unknown_fields_are_pruned_but_templates_are_kept(client: Client) -> None:
    odd = put(workload(), "spec.podSets[0].template.spec.containers[0].securityContext", {"a": [1]})
    odd = put(odd, "spec.nonsense", 1)
    made = await client.create(odd, Workload.KIND)
    assert "nonsense" not in made["spec"]
    assert made["spec"]["podSets"][0]["template"] == odd["spec"]["podSets"][0]["template"]


@served
async def test_status_is_written_apart(client: Client) -> None:
    held = reserved(workload())
    made = await client.create(held, Workload.KIND)
    assert "status" not in made
    patch = {"spec": {"active": False}, "status": held["status"]}
    made = await client.patch(Workload.KIND, "it", "default", patch, subresource="status")
    assert made["spec"]["active"] is True
    assert made["status"] == held["status"]


@served
async def test_columns_say_what_kueue_shows(client: Client) -> None:
    await client.create(cluster_queue(cohortName="all"), ClusterQueue.KIND)
    await client.create(local_queue(), LocalQueue.KIND)
    await client.create(workload(queueName="q"), Workload.KIND)
    status = reserved(workload(), "Admitted")["status"]
    await client.patch(Workload.KIND, "it", "default", {"status": status}, subresource="status")
    (row,) = rows(await table(client, Workload.KIND, "default"))
    assert (row["Queue"], row["Reserved in"], row["Admitted"]) == ("q", "team-a", "True")
    assert row["Finished"] is None or row["Finished"] == ""
    for kind in (ClusterQueue.KIND, OLD_QUEUE):
        body = await table(client, kind)
        assert [(c["name"], c["priority"]) for c in body["columnDefinitions"]] == [
            ("Name", 0),
            ("Cohort", 0),
            ("Strategy", 1),
            ("Pending Workloads", 0),
            ("Admitted Workloads", 1),
        ]
        assert rows(body)[0]["Cohort"] == "all"
    (row,) = rows(await table(client, LocalQueue.KIND, "default"))
    assert row["ClusterQueue"] == "team-a"


@served
async def test_workloads_are_selected_by_their_cluster_queue(client: Client) -> None:
    for name, queue in (("a", "team-a"), ("b", "team-b"), ("c", "")):
        await client.create(put(workload(), "metadata.name", name), Workload.KIND)
        if queue:
            status = put(reserved(workload()), "status.admission.clusterQueue", queue)["status"]
            await client.patch(
                Workload.KIND, name, "default", {"status": status}, subresource="status"
            )
    for queue, names in (("team-a", ["a"]), ("team-b", ["b"]), ("team-c", [])):
        listing = await client.list(Workload, fields=f"status.admission.clusterQueue={queue}")
        assert [w.name for w in listing.items] == names


@served
async def test_what_the_schema_refuses_names_the_field(client: Client) -> None:
    for obj, kind, field in (
        (cluster_queue(queueingStrategy="LIFO"), ClusterQueue.KIND, "spec.queueingStrategy"),
        (cluster_queue(group(flavor("Spot"))), ClusterQueue.KIND,
         "spec.resourceGroups[0].flavors[0].name"),
        (cluster_queue(group(flavor("a", quota(nominal="x")))), ClusterQueue.KIND,
         "spec.resourceGroups[0].flavors[0].resources[0].nominalQuota"),
        (cohort(parentName="_"), Cohort.KIND, "spec.parentName"),
        (topology(), Topology.KIND, "spec.levels"),
    ):  # fmt: skip
        with pytest.raises(Invalid) as refusal:
            await client.create(obj, kind)
        assert field in [cause["field"] for cause in refusal.value.details["causes"]]


@served
async def test_an_assignment_is_shown_domain_by_domain_in_v1beta1(client: Client) -> None:
    await client.create(workload(), Workload.KIND)
    domains = [{"values": ["b-1", "r-1"], "count": 1}, {"values": ["b-1", "r-2"], "count": 1}]
    place = {"levels": ["block", "rack"], "domains": domains}
    part = assignment(topologyAssignment=place)
    status = {
        "conditions": [condition("QuotaReserved")],
        "admission": {"clusterQueue": "q", "podSetAssignments": [part]},
    }
    made = await client.patch(
        OLD_WORKLOAD, "it", "default", {"status": status}, subresource="status"
    )
    assert made["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"] == place
    stored = await client.get(Workload.KIND, "it", "default")
    seen = stored["status"]["admission"]["podSetAssignments"][0]["topologyAssignment"]
    assert seen["slices"][0]["valuesPerLevel"][0] == {"universal": "b-1"}
    broken = put({"status": status}, "status.admission.podSetAssignments[0]", assignment(
        topologyAssignment={"levels": ["rack"], "domains": domains}))  # fmt: skip
    with pytest.raises(BadRequest, match=r"domains\[0\].values"):
        await client.patch(OLD_WORKLOAD, "it", "default", broken, subresource="status")


@served
async def test_short_names_are_published(client: Client) -> None:
    answer = await client.transport.request(Request("GET", "/apis/kueue.x-k8s.io/v1beta2"))
    names = {r["name"]: r.get("shortNames") for r in answer.body["resources"]}
    assert names["clusterqueues"] == ["cq"]
    assert names["localqueues"] == ["queue", "queues", "lq"]
    assert names["workloads"] == ["kwl", "kueueworkload", "kueueworkloads"]
    assert names["resourceflavors"] == ["flavor", "flavors", "rf"]
    assert "workloads/status" in names and "resourceflavors/status" not in names


@served
async def test_the_older_version_warns(client: Client) -> None:
    answer = await client.transport.request(Request("GET", OLD_QUEUE.path()))
    assert "deprecated" in str(answer.headers)
