"""What the server says about itself: groups, resources, OpenAPI, version, metrics."""

from black_box import MAPS, Server, config_map

from allaboard.cluster.kinds.registry import builtin_resources


def test_every_built_in_resource_is_discovered(server: Server) -> None:
    roots = {"": "/api/v1"}
    for group in server.get("/apis").body["groups"]:
        roots[group["name"]] = f"/apis/{group['preferredVersion']['groupVersion']}"
    for resource in builtin_resources():
        listed = server.get(roots[resource.group]).body["resources"]
        line = next(r for r in listed if r["name"] == resource.plural)
        assert line["kind"] == resource.kind
        assert line["namespaced"] == resource.namespaced
        assert set(line["verbs"]) == set(resource.verbs)


def test_core_has_no_group(server: Server) -> None:
    assert server.get("/api").body["versions"] == ["v1"]
    assert server.get("/api/v1").body["groupVersion"] == "v1"
    assert server.get("/apis/batch").body["preferredVersion"]["groupVersion"] == "batch/v1"


def test_who_asks_for_aggregated_discovery_gets_what_there_is(server: Server) -> None:
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    fallen_back = server.get("/apis", headers={"Accept": f"{aggregated},application/json"})
    assert fallen_back.body["kind"] == "APIGroupList"
    assert server.get("/apis", headers={"Accept": aggregated}).status == 406


def test_openapi_documents_are_listed_with_their_addresses(server: Server) -> None:
    paths = server.get("/openapi/v3").body["paths"]
    assert {"api/v1", "apis/batch/v1", "apis/apps/v1"} <= set(paths)
    document = server.get(paths["apis/batch/v1"]["serverRelativeURL"]).body
    assert "io.k8s.api.batch.v1.Job" in document["components"]["schemas"]
    assert "/apis/batch/v1/namespaces/{namespace}/jobs" in document["paths"]
    assert server.get("/openapi/v2").body["swagger"] == "2.0"
    assert server.get("/openapi/v3/apis/nope/v1").status == 404


def test_version_root_and_metrics(server: Server) -> None:
    assert server.get("/version").body["gitVersion"].startswith("v1.36")
    assert "/apis/batch/v1" in server.get("/").body["paths"]
    server.post(MAPS, config_map("counted"))
    text = server.get("/metrics").body.decode()
    assert 'apiserver_request_total{code="201",resource="configmaps",verb="create"}' in text


def test_reviews_say_that_everybody_known_may_do_everything(server: Server) -> None:
    base = "/apis/authorization.k8s.io/v1"
    asked = {"spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}}
    allowed = server.post(f"{base}/selfsubjectaccessreviews", asked)
    assert (allowed.status, allowed.body["status"]["allowed"]) == (201, True)
    rules = server.post(f"{base}/selfsubjectrulesreviews", {"spec": {"namespace": "t"}})
    assert rules.body["status"]["resourceRules"][0]["verbs"] == ["*"]
    tokens = "/apis/authentication.k8s.io/v1/tokenreviews"
    known = server.post(tokens, {"spec": {"token": "a-token"}}).body["status"]
    assert (known["authenticated"], known["user"]["username"]) == (True, "admin")
