"""Checklist 18 to 21: status, generation, finalizers, propagation, namespaces."""

import pytest
from black_box import JOBS, MAPS, PODS, Server, config_map, job, pod


def test_status_and_spec_have_doors_of_their_own(server: Server) -> None:
    made = server.post(JOBS, {**job("doors", suspend=True), "status": {"active": 7}}).body
    assert made["metadata"]["generation"] == 1
    assert made["status"] == {}, "a creator cannot set status"
    both = {"spec": {"parallelism": 5}, "status": {"active": 3}}
    by_status = server.patch(f"{JOBS}/doors/status", both).body
    assert by_status["status"] == {"active": 3}
    assert by_status["spec"]["parallelism"] == 1
    assert by_status["metadata"]["generation"] == 1
    by_main = server.patch(f"{JOBS}/doors", both | {"status": {"active": 9}}).body
    assert by_main["status"] == {"active": 3}
    assert by_main["metadata"]["generation"] == 2
    relabelled = server.patch(f"{JOBS}/doors", {"metadata": {"labels": {"a": "b"}}}).body
    assert relabelled["metadata"]["generation"] == 2


def test_finalizers_hold_an_object_until_the_last_is_gone(server: Server) -> None:
    meta = {"finalizers": ["a.io/one", "a.io/two"]}
    server.post(MAPS, config_map("held", meta=meta))
    marked = server.delete(f"{MAPS}/held")
    assert marked.status == 200
    stamp = marked.body["metadata"]["deletionTimestamp"]
    more = {"metadata": {"finalizers": ["a.io/one", "a.io/two", "a.io/three"]}}
    assert server.patch(f"{MAPS}/held", more).status == 422
    undo = server.patch(f"{MAPS}/held", {"metadata": {"deletionTimestamp": None}})
    assert undo.body["metadata"]["deletionTimestamp"] == stamp
    again = server.post(MAPS, config_map("held"))
    assert (again.status, again.reason) == (409, "AlreadyExists")
    server.patch(f"{MAPS}/held", {"metadata": {"finalizers": ["a.io/two"]}})
    assert server.get(f"{MAPS}/held").status == 200
    assert server.patch(f"{MAPS}/held", {"metadata": {"finalizers": None}}).status == 200
    assert server.get(f"{MAPS}/held").status == 404


def test_marking_counts_the_generation_up(server: Server) -> None:
    body = job("counted", suspend=True)
    body["metadata"]["finalizers"] = ["a.io/one"]
    server.post(JOBS, body)
    query = {"propagationPolicy": "Background"}
    assert server.delete(f"{JOBS}/counted", query=query).body["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [
        pytest.param("Foreground", ["foregroundDeletion"], id="foreground waits for dependents"),
        pytest.param("Orphan", ["orphan"], id="orphans are let go first"),
        pytest.param("Background", None, id="background goes at once"),
        pytest.param("Sideways", 422, id="there are three policies"),
    ],
)
def test_propagation_becomes_a_finalizer(
    server: Server, policy: str, finalizers: list[str] | int | None
) -> None:
    name = f"prop-{policy.lower()}"
    server.post(MAPS, config_map(name))
    answer = server.delete(f"{MAPS}/{name}", query={"propagationPolicy": policy})
    if isinstance(finalizers, int):
        assert answer.status == finalizers
    elif finalizers is None:
        assert answer.body["status"] == "Success"
    else:
        assert answer.body["metadata"]["finalizers"] == finalizers


def test_only_orphan_dependents_false_is_answered_with_202(server: Server) -> None:
    server.post(MAPS, config_map("accepted", meta={"finalizers": ["a.io/one"]}))
    assert server.delete(f"{MAPS}/accepted", {"orphanDependents": False}).status == 202


def test_a_bound_pod_waits_for_its_kubelet(server: Server) -> None:
    server.post(PODS, pod("bound", nodeName="n1", terminationGracePeriodSeconds=45))
    meta = server.delete(f"{PODS}/bound").body["metadata"]
    assert meta["deletionGracePeriodSeconds"] == 45
    assert meta["generation"] == 2
    longer = server.delete(f"{PODS}/bound", query={"gracePeriodSeconds": "300"}).body["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 45, "a deadline is only ever shortened"
    shorter = server.delete(f"{PODS}/bound", query={"gracePeriodSeconds": "3"}).body["metadata"]
    assert shorter["deletionGracePeriodSeconds"] == 3
    server.delete(f"{PODS}/bound", query={"gracePeriodSeconds": "0"})
    assert server.get(f"{PODS}/bound").status == 404


def test_an_unbound_pod_goes_at_once(server: Server) -> None:
    server.post(PODS, pod("unbound"))
    assert server.delete(f"{PODS}/unbound").body["metadata"]["deletionGracePeriodSeconds"] == 0
    assert server.get(f"{PODS}/unbound").status == 404


def test_a_collection_is_deleted_by_selector(server: Server) -> None:
    for i in range(4):
        labels = {"labels": {"set": "a" if i < 3 else "b"}}
        server.post(MAPS, config_map(f"col-{i}", meta=labels))
    answer = server.delete(MAPS, query={"labelSelector": "set=a"})
    assert [i["metadata"]["name"] for i in answer.body["items"]] == ["col-0", "col-1", "col-2"]
    left = server.get(MAPS, query={"labelSelector": "set"}).body["items"]
    assert [i["metadata"]["name"] for i in left] == ["col-3"]


def test_nothing_is_made_in_a_namespace_that_is_missing_or_going(server: Server) -> None:
    missing = server.post("/api/v1/namespaces/nowhere/configmaps", config_map("a"))
    assert (missing.status, missing.body["details"]["kind"]) == (404, "namespaces")
    server.post("/api/v1/namespaces", {"metadata": {"name": "going"}})
    gone = server.delete("/api/v1/namespaces/going").body
    assert gone["status"]["phase"] == "Terminating"
    late = server.post("/api/v1/namespaces/going/configmaps", config_map("late"))
    assert (late.status, late.reason) == (403, "Forbidden")
    assert late.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    finalized = {"metadata": {"name": "going"}, "spec": {"finalizers": []}}
    server.put("/api/v1/namespaces/going/finalize", finalized)
    assert server.get("/api/v1/namespaces/going").status == 404


def test_binding_happens_once(server: Server) -> None:
    server.post(PODS, pod("b"))
    binding = {"metadata": {"name": "b"}, "target": {"kind": "Node", "name": "n1"}}
    assert server.post(f"{PODS}/b/binding", binding).status == 201
    assert server.get(f"{PODS}/b").body["spec"]["nodeName"] == "n1"
    assert server.post(f"{PODS}/b/binding", binding).status == 409
    assert server.get(f"{PODS}/b/log").body.startswith(b"simulated")


def test_an_eviction_respects_the_budget(server: Server) -> None:
    body = pod("ev", nodeName="n1")
    body["metadata"]["labels"] = {"app": "ev"}
    server.post(PODS, body)
    server.patch(f"{PODS}/ev/status", {"status": {"phase": "Running"}})
    budgets = "/apis/policy/v1/namespaces/t/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "ev"}}}
    server.post(budgets, {"metadata": {"name": "b"}, "spec": spec})
    eviction = {"metadata": {"name": "ev"}}
    refused = server.post(f"{PODS}/ev/eviction", eviction)
    assert (refused.status, refused.headers["retry-after"]) == (429, "10")
    status = {"observedGeneration": 1, "disruptionsAllowed": 1, "currentHealthy": 2}
    counts = {"desiredHealthy": 1, "expectedPods": 2}
    server.patch(f"{budgets}/b/status", {"status": status | counts})
    assert server.post(f"{PODS}/ev/eviction", eviction).status == 201
    assert "deletionTimestamp" in server.get(f"{PODS}/ev").body["metadata"]
    assert server.get(f"{budgets}/b").body["status"]["disruptionsAllowed"] == 0


def test_scale_is_a_window_on_replicas(server: Server) -> None:
    deployments = "/apis/apps/v1/namespaces/t/deployments"
    template = {
        "metadata": {"labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    server.post(deployments, {"metadata": {"name": "d"}, "spec": spec})
    shown = server.get(f"{deployments}/d/scale").body
    assert (shown["kind"], shown["spec"], shown["status"]["selector"]) == (
        "Scale", {"replicas": 2}, "a=b",
    )  # fmt: skip
    server.patch(f"{deployments}/d/scale", {"spec": {"replicas": 5}})
    assert server.get(f"{deployments}/d").body["spec"]["replicas"] == 5
    assert server.patch(f"{deployments}/d/scale", {"spec": {"replicas": -1}}).status == 422
