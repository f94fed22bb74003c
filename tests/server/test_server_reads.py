"""Checklist 7 to 11: versions of reads, paging, selectors, forms."""

from typing import Any

import pytest
from black_box import MAPS, NAMESPACE, PODS, Server, config_map, pod

OTHER = "/api/v1/namespaces/paged/configmaps"


@pytest.fixture(scope="module")
def paged(server: Server) -> str:
    """A namespace with c0 … c6, where i=0 … 6 and parity are labels."""
    server.post("/api/v1/namespaces", {"metadata": {"name": "paged"}})
    for i in range(7):
        labels = {"i": str(i), "parity": "odd" if i % 2 else "even"}
        server.post(OTHER, config_map(f"c{i}", meta={"labels": labels}))
    return OTHER


def names(answer: Any) -> list[str]:
    return [item["metadata"]["name"] for item in answer.body["items"]]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        pytest.param({}, 200, id="newest"),
        pytest.param({"resourceVersion": "0"}, 200, id="any"),
        pytest.param({"resourceVersion": "1"}, 200, id="not older than"),
        pytest.param(
            {"resourceVersion": "1", "resourceVersionMatch": "NotOlderThan"}, 200, id="match"
        ),
        pytest.param({"resourceVersionMatch": "Exact"}, 422, id="match without version"),
        pytest.param(
            {"resourceVersion": "0", "resourceVersionMatch": "Exact"}, 422, id="exactly any"
        ),
        pytest.param(
            {"resourceVersion": "1", "resourceVersionMatch": "Maybe"}, 422, id="unknown match"
        ),
        pytest.param({"resourceVersion": "abc"}, 400, id="not a number"),
        pytest.param({"continue": "garbage"}, 400, id="not a token"),
        pytest.param({"limit": "x"}, 400, id="limit is no number"),
    ],
)
def test_versions_of_lists(server: Server, paged: str, query: dict[str, str], status: int) -> None:
    assert server.get(paged, query=query).status == status


def test_an_exact_list_shows_the_past(server: Server) -> None:
    rv = server.post(MAPS, config_map("past", a="1")).rv
    server.patch(f"{MAPS}/past", {"data": {"a": "2"}})
    query = {"resourceVersion": str(rv), "resourceVersionMatch": "Exact"}
    items = server.get(MAPS, query=query).body["items"]
    assert [i["data"] for i in items if i["metadata"]["name"] == "past"] == [{"a": "1"}]


@pytest.mark.parametrize("path", [MAPS, f"{MAPS}/past"])
def test_a_version_of_the_future_times_out(server: Server, path: str) -> None:
    server.post(MAPS, config_map("past"))
    answer = server.get(path, query={"resourceVersion": "99999999"})
    assert (answer.status, answer.reason) == (504, "Timeout")
    assert answer.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert answer.headers["retry-after"] == "1"


def test_pages_show_one_moment(server: Server, paged: str) -> None:
    first = server.get(paged, query={"limit": "3"})
    assert first.body["metadata"]["remainingItemCount"] == 4
    server.post(paged, config_map("c1-later"))
    token = first.body["metadata"]["continue"]
    second = server.get(paged, query={"limit": "10", "continue": token})
    server.delete(f"{paged}/c1-later")
    assert names(first) + names(second) == [f"c{i}" for i in range(7)]
    assert second.rv == first.rv
    assert "continue" not in second.body["metadata"]
    both = {"continue": token, "resourceVersion": "1"}
    assert server.get(paged, query=both).status == 400


def test_a_page_of_a_selection_does_not_count_the_rest(server: Server, paged: str) -> None:
    answer = server.get(paged, query={"limit": "2", "labelSelector": "parity=even"})
    assert names(answer) == ["c0", "c2"]
    assert "remainingItemCount" not in answer.body["metadata"]


def test_an_expired_page_can_be_continued_inconsistently(server: Server, paged: str) -> None:
    token = server.get(paged, query={"limit": "3"}).body["metadata"]["continue"]
    server.patch(f"{paged}/c6", {"data": {"changed": "yes"}})
    server.api.services.store.forget_history()
    gone = server.get(paged, query={"limit": "3", "continue": token})
    assert (gone.status, gone.reason) == (410, "Expired")
    on = server.get(paged, query={"continue": gone.body["metadata"]["continue"]})
    assert names(on) == ["c3", "c4", "c5", "c6"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("i=1", ["c1"]),
        ("i==1", ["c1"]),
        ("parity!=odd", ["c0", "c2", "c4", "c6"]),
        ("i in (1,2)", ["c1", "c2"]),
        ("i notin (0,1,2,3)", ["c4", "c5", "c6"]),
        ("parity=odd,i!=3", ["c1", "c5"]),
        ("nope", []),
        ("!nope,i=0", ["c0"]),
    ],
)
def test_label_selectors(server: Server, paged: str, selector: str, expected: list[str]) -> None:
    assert names(server.get(paged, query={"labelSelector": selector})) == expected


def test_field_selectors_know_names_everywhere_and_phases_of_pods(server: Server) -> None:
    server.post(PODS, pod("a"))
    server.post(PODS, pod("b", nodeName="n1"))
    server.patch(f"{PODS}/b/status", {"status": {"phase": "Running"}})

    def chosen(selector: str) -> list[str]:
        return names(server.get(PODS, query={"fieldSelector": selector}))

    assert chosen("metadata.name=a") == ["a"]
    assert chosen("status.phase=Running") == ["b"]
    assert chosen("spec.nodeName=") == ["a"]
    assert server.get(PODS, query={"fieldSelector": "spec.priority=0"}).status == 400
    assert server.get(PODS, query={"labelSelector": "a in (b"}).status == 400


def test_the_accept_header_chooses_the_form(server: Server) -> None:
    server.post(MAPS, config_map("form", a="1"))
    path = f"{MAPS}/form"

    def asked(what: str, path: str = path) -> Any:
        return server.get(path, headers={"Accept": what})

    table = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json"
    partial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    partial_list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    assert asked(table).body["rows"][0]["cells"][:2] == ["form", 1]
    assert asked(table).body["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert asked(partial).body["kind"] == "PartialObjectMetadata"
    assert "data" not in asked(partial).body
    assert asked(partial_list, MAPS).body["kind"] == "PartialObjectMetadataList"
    assert asked(partial, MAPS).status == 406
    assert asked("text/html").status == 406
    assert asked("application/vnd.kubernetes.protobuf").status == 406
    assert b"kind: ConfigMap" in asked("application/yaml").body


def test_items_of_a_list_are_what_get_shows(server: Server) -> None:
    server.post(MAPS, config_map("same", a="1"))
    listed = server.get(MAPS, query={"fieldSelector": "metadata.name=same"}).body["items"][0]
    shown = server.get(f"{MAPS}/same").body
    assert {"kind": "ConfigMap", "apiVersion": "v1", **listed} == shown


def test_a_list_of_a_missing_namespace_is_empty(server: Server) -> None:
    answer = server.get("/api/v1/namespaces/nowhere/configmaps")
    assert (answer.status, answer.body["items"]) == (200, [])
    assert server.get(f"{NAMESPACE}-nowhere").status == 404
