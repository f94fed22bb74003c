"""Checklist 22 to 28: patches, apply, dry run, field validation, admission, custom resources."""

import pytest
from black_box import MAPS, NAMESPACE, PODS, Server, config_map, job, pod

JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def definition(plural: str, kind: str, versions: list[dict[str, object]]) -> dict[str, object]:
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.test.example.com"},
        "spec": {
            "group": "test.example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": versions,
        },
    }


def version(name: str, storage: bool, **spec: object) -> dict[str, object]:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
        "selectableFields": [{"jsonPath": ".spec.color"}],
    }


@pytest.fixture(scope="module")
def widgets(server: Server) -> str:
    fields = {
        "size": {"type": "integer", "minimum": 0, "default": 1},
        "color": {"type": "string"},
    }
    versions = [version("v1", True, **fields), version("v1beta1", False, **fields)]
    assert server.post(CRDS, definition("widgets", "Widget", versions)).status == 201
    return "/apis/test.example.com/v1/namespaces/t/widgets"


def widget(name: str, **spec: object) -> dict[str, object]:
    meta = {"name": name}
    return {"apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": meta, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "patch", "status", "data"),
    [
        pytest.param(
            JSON_PATCH, [{"op": "add", "path": "/data/b", "value": "2"}], 200,
            {"a": "1", "b": "2"}, id="json patch",
        ),
        pytest.param(
            JSON_PATCH, [{"op": "test", "path": "/data/a", "value": "x"}], 422, None,
            id="a failed test refuses all",
        ),
        pytest.param(
            JSON_PATCH, [{"op": "add", "path": "/data/x", "value": "1"}] * 10_001, 413, None,
            id="too many operations",
        ),
        pytest.param(
            "application/merge-patch+json", {"data": {"a": None, "c": "3"}}, 200, {"c": "3"},
            id="merge patch removes by null",
        ),
        pytest.param(STRATEGIC, {"data": {"d": "4"}}, 200, {"a": "1", "d": "4"}, id="strategic"),
        pytest.param("application/json", {}, 415, None, id="no patch type"),
    ],
)  # fmt: skip
def test_patches(
    server: Server, kind: str, patch: object, status: int, data: dict[str, str] | None
) -> None:
    server.delete(f"{MAPS}/p")
    server.post(MAPS, config_map("p", a="1"))
    assert server.patch(f"{MAPS}/p", patch, kind).status == status
    assert server.get(f"{MAPS}/p").body["data"] == (data or {"a": "1"})


def test_strategic_merge_knows_the_keys_of_lists(server: Server) -> None:
    server.post(PODS, pod("smp", tolerations=[{"key": "a", "operator": "Exists"}]))
    patch = {"spec": {"containers": [{"name": "main", "image": "img:2"}]}}
    spec = server.patch(f"{PODS}/smp", patch, STRATEGIC).body["spec"]
    assert [(c["name"], c["image"]) for c in spec["containers"]] == [("main", "img:2")]


def test_apply_owns_what_it_sets(server: Server) -> None:
    def apply(manager: str, force: bool = False, **data: str):  # type: ignore[no-untyped-def]
        query = {"fieldManager": manager} | ({"force": "true"} if force else {})
        return server.patch(f"{MAPS}/ssa", config_map("ssa", **data), APPLY, query=query)

    assert apply("one", a="1", b="1").status == 201
    assert apply("two", c="1").status == 200
    clash = apply("two", a="2")
    assert (clash.status, clash.body["details"]["causes"][0]["field"]) == (409, ".data.a")
    assert apply("two", True, a="2").body["data"] == {"a": "2", "b": "1"}
    assert apply("one", b="1").body["data"] == {"a": "2", "b": "1"}, "a belongs to two now"
    assert "data" not in apply("one").body or "b" not in apply("one").body["data"]
    unnamed = server.patch(f"{MAPS}/ssa", config_map("ssa"), APPLY)
    assert unnamed.status == 422
    owned = config_map("ssa", meta={"managedFields": []})
    assert server.patch(f"{MAPS}/ssa", owned, APPLY, query={"fieldManager": "x"}).status == 400


def test_the_user_agent_is_the_default_manager(server: Server) -> None:
    made = server.post(MAPS, config_map("agent", a="1"), headers={"User-Agent": "tool/1.2 (x)"})
    assert made.body["metadata"]["managedFields"][0]["manager"] == "tool"


def test_a_dry_run_checks_everything_and_stores_nothing(server: Server) -> None:
    dry = {"dryRun": "All"}
    tried = server.post(MAPS, config_map("dry"), query=dry)
    assert (tried.status, "resourceVersion" in tried.body["metadata"]) == (201, False)
    assert server.get(f"{MAPS}/dry").status == 404
    assert server.post(MAPS, config_map("Not A Name"), query=dry).status == 422
    server.post(MAPS, config_map("wet", a="1"))
    server.patch(f"{MAPS}/wet", {"data": {"a": "2"}}, query=dry)
    server.delete(f"{MAPS}/wet", query=dry)
    assert server.get(f"{MAPS}/wet").body["data"] == {"a": "1"}
    assert server.post(MAPS, config_map("x"), query={"dryRun": "Some"}).status == 422


@pytest.mark.parametrize(
    ("strictness", "status", "warns"),
    [("Strict", 400, False), ("Warn", 201, True), ("", 201, True), ("Ignore", 201, False)],
)
def test_unknown_and_doubled_fields(
    server: Server, strictness: str, status: int, warns: bool
) -> None:
    name = f"fv-{strictness.lower() or 'default'}"
    text = f'{{"metadata":{{"name":"{name}"}},"data":{{"a":"1","a":"2"}},"bogus":1}}'
    query = {"fieldValidation": strictness} if strictness else {}
    answer = server.post(MAPS, text.encode(), query=query)
    assert answer.status == status
    warnings = answer.headers.get_all("warning") or []
    assert ('299 - "unknown field \\"bogus\\""' in warnings) == warns
    if status == 400:
        assert "bogus" in answer.body["message"] and "data.a" in answer.body["message"]
    else:
        assert "bogus" not in answer.body


def test_an_invalid_object_is_told_every_broken_field(server: Server) -> None:
    bad = job("bad", parallelism=-1, completions=-2, backoffLimit=-3)
    answer = server.post("/apis/batch/v1/namespaces/t/jobs", bad)
    assert (answer.status, answer.reason) == (422, "Invalid")
    fields = [cause["field"] for cause in answer.body["details"]["causes"]]
    assert fields == ["spec.parallelism", "spec.completions", "spec.backoffLimit"]


def test_admission_fills_in_what_a_pod_needs(server: Server) -> None:
    made = server.post(PODS, pod("adm")).body["spec"]
    assert made["serviceAccountName"] == "default"
    assert {t["key"] for t in made["tolerations"]} == {
        "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable",
    }  # fmt: skip
    other = server.post(PODS, pod("adm2", serviceAccountName="absent"))
    assert (other.status, other.reason) == (403, "Forbidden")


def test_an_unreachable_webhook_fails_closed(server: Server) -> None:
    hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    hook = {
        "name": "no.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/deny"},
        "rules": [rule | {"resources": ["secrets"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 1,
    }
    server.post(hooks, {"metadata": {"name": "closed"}, "webhooks": [hook]})
    refused = server.post(f"{NAMESPACE}/secrets", {"metadata": {"name": "s"}})
    assert refused.status == 500 and "no.example.com" in refused.body["message"]
    assert server.delete(f"{hooks}/closed").status == 200, "configurations are exempt"
    assert server.post(f"{NAMESPACE}/secrets", {"metadata": {"name": "s"}}).status == 201


def test_a_definition_makes_an_endpoint(server: Server, widgets: str) -> None:
    made = server.post(widgets, widget("w", color="red", extra=1))
    assert made.status == 201
    assert made.body["spec"] == {"size": 1, "color": "red"}, "defaulted and pruned"
    assert server.post(widgets, widget("bad", size=-1)).status == 422
    assert server.put(f"{widgets}/w", widget("w")).status == 422, "a version must be named"
    assert server.patch(f"{widgets}/w", {}, STRATEGIC).status == 415
    chosen = server.get(widgets, query={"fieldSelector": "spec.color=red"}).body["items"]
    assert [item["metadata"]["name"] for item in chosen] == ["w"]
    table = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    assert server.get(widgets, headers=table).body["rows"][0]["cells"] == ["w", 1]
    status = server.patch(f"{widgets}/w/status", {"status": {"x": 1}, "spec": {"size": 9}})
    assert status.body["spec"]["size"] == 1


def test_another_version_shows_the_same_object(server: Server, widgets: str) -> None:
    server.post(widgets, widget("two"))
    beta = server.get(f"{widgets.replace('/v1/', '/v1beta1/')}/two")
    assert beta.body["apiVersion"] == "test.example.com/v1beta1"
    group = server.get("/apis/test.example.com").body
    assert [v["version"] for v in group["versions"]] == ["v1", "v1beta1"]


def test_deleting_a_definition_takes_its_objects_along(server: Server) -> None:
    server.post(CRDS, definition("gones", "Gone", [version("v1", True, color={"type": "string"})]))
    path = "/apis/test.example.com/v1/namespaces/t/gones"
    body = {**widget("g"), "kind": "Gone"}
    assert server.post(path, body).status == 201
    server.delete(f"{CRDS}/gones.test.example.com")
    assert server.get(path).status == 404


def test_events_are_one_store_with_two_faces(server: Server) -> None:
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "t"},
        "reason": "Tested",
        "message": "hello",
        "type": "Normal",
    }
    assert server.post(f"{NAMESPACE}/events", event).status == 201
    newer = server.get("/apis/events.k8s.io/v1/namespaces/t/events/e").body
    assert (newer["note"], newer["regarding"]["name"]) == ("hello", "p")


def test_a_lease_is_created_by_put_and_taken_over_by_version(server: Server) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/t/leases"
    first = server.put(f"{path}/l", {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}})
    assert first.status == 201
    made = server.post(path, {"metadata": {"name": "m"}, "spec": {"holderIdentity": "a"}})
    named = {"name": "m", "resourceVersion": str(made.rv)}
    taken = {"metadata": named, "spec": {"holderIdentity": "b"}}
    assert server.put(f"{path}/m", taken).status == 200
    assert server.put(f"{path}/m", taken).status == 409
