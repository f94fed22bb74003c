"""Checklist 12 to 17: events, resuming, transitions, bookmarks, timeouts, order, history."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from black_box import MAPS, Server, config_map


def told(events: list[Any]) -> list[tuple[str, str]]:
    return [(e["type"], e["object"]["metadata"].get("name", "")) for e in events]


def test_events_come_after_the_version_asked_for(server: Server) -> None:
    first = server.post(MAPS, config_map("ev", a="1")).rv
    server.patch(f"{MAPS}/ev", {"data": {"a": "2"}})
    server.delete(f"{MAPS}/ev")
    events = server.watch(MAPS, resourceVersion=str(first))
    assert told(events) == [("MODIFIED", "ev"), ("DELETED", "ev")]
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
    assert first < versions[0] < versions[1]


@pytest.mark.parametrize("version", [{}, {"resourceVersion": "0"}])
def test_without_a_version_what_exists_is_told_first(
    server: Server, version: dict[str, str]
) -> None:
    server.post(MAPS, config_map("there"))
    events = server.watch(MAPS, fieldSelector="metadata.name=there", **version)
    assert told(events) == [("ADDED", "there")]


def test_objects_enter_and_leave_a_selection(server: Server) -> None:
    rv = server.post(MAPS, config_map("sel", meta={"labels": {"app": "x"}})).rv
    out = server.patch(f"{MAPS}/sel", {"metadata": {"labels": {"app": "y"}}}).rv
    server.patch(f"{MAPS}/sel", {"metadata": {"labels": {"app": "x"}}})
    events = server.watch(MAPS, resourceVersion=str(rv), labelSelector="app=x")
    assert told(events) == [("DELETED", "sel"), ("ADDED", "sel")]
    left = events[0]["object"]["metadata"]
    assert left["labels"] == {"app": "x"}, "the last state that matched"
    assert left["resourceVersion"] == str(out), "at the revision of the change"


def test_initial_events_end_with_a_marked_bookmark(server: Server) -> None:
    server.post(MAPS, config_map("init"))
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    events = server.watch(
        MAPS, allowWatchBookmarks="true", fieldSelector="metadata.name=init", **query
    )
    assert told(events) == [("ADDED", "init"), ("BOOKMARK", "")]
    end = events[1]["object"]["metadata"]
    assert end["annotations"] == {"k8s.io/initial-events-end": "true"}
    refused = server.get(MAPS, query={"watch": "true", "sendInitialEvents": "true"})
    assert refused.status == 422


def test_a_last_bookmark_comes_before_the_end(server: Server) -> None:
    rv = server.post(MAPS, config_map("mark")).rv
    query = {"timeoutSeconds": "3", "allowWatchBookmarks": "true", "resourceVersion": str(rv)}
    events = server.watch(MAPS, **query)
    assert [e["type"] for e in events] == ["BOOKMARK"]
    assert int(events[0]["object"]["metadata"]["resourceVersion"]) >= rv


def test_forgotten_history_is_an_error_event(server: Server) -> None:
    rv = server.post(MAPS, config_map("old")).rv
    server.patch(f"{MAPS}/old", {"data": {"a": "1"}})
    server.api.services.store.forget_history()
    events = server.watch(MAPS, resourceVersion=str(rv - 1))
    assert [(e["type"], e["object"]["code"], e["object"]["reason"]) for e in events] == [
        ("ERROR", 410, "Expired")
    ]


def test_all_watchers_see_the_same_order(server: Server) -> None:
    rv = server.post(MAPS, config_map("order")).rv

    def write(number: int) -> None:
        server.post(MAPS, config_map(f"order-{number}"))

    with ThreadPoolExecutor(12) as pool:
        query = {"resourceVersion": str(rv), "timeoutSeconds": "2"}
        watchers = [pool.submit(server.watch, MAPS, **query) for _ in range(4)]
        list(pool.map(write, range(20)))
        seen = [told(w.result()) for w in watchers]
    assert len(seen[0]) == 20
    assert all(order == seen[0] for order in seen)


def test_a_live_watch_streams_without_waiting_for_its_end(server: Server) -> None:
    query = {"watch": "true", "timeoutSeconds": "10", "fieldSelector": "metadata.name=live"}
    connection, response = server.open("GET", MAPS, None, query)
    server.post(MAPS, config_map("live"))
    assert json.loads(response.readline())["type"] == "ADDED"
    server.delete(f"{MAPS}/live")
    assert json.loads(response.readline())["type"] == "DELETED"
    connection.close()


def test_old_paths_and_shapes_of_watches(server: Server) -> None:
    server.post(MAPS, config_map("legacy"))
    path = MAPS.replace("/api/v1/", "/api/v1/watch/") + "/legacy"
    assert told(server.watch(path)) == [("ADDED", "legacy")]
    query = {"watch": "1", "timeoutSeconds": "1", "fieldSelector": "metadata.name=legacy"}
    table = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    connection, answer = server.open("GET", MAPS, None, query, table)
    event = json.loads(answer.readline())
    answer.read()
    connection.close()
    assert event["object"]["rows"][0]["cells"][0] == "legacy"


def test_a_watch_that_falls_out_of_the_history_is_told(server: Server) -> None:
    """A reader that was slower than the history window gets an error, never a gap."""
    query = {"watch": "true", "timeoutSeconds": "5"}
    connection, response = server.open("GET", MAPS, None, query)
    store = server.api.services.store

    async def change_and_forget() -> None:
        record = store.commit("configmaps", "t", "fast", {"metadata": {"name": "fast"}})
        assert record.rev
        store.forget_history()

    server.run(change_and_forget())
    events = [json.loads(line) for line in response.read().splitlines()]
    connection.close()
    server.delete(f"{MAPS}/fast")
    shown = [e for e in events if e["object"].get("metadata", {}).get("name") == "fast"]
    told = events[-1]["type"] == "ERROR" and events[-1]["object"]["code"] == 410
    assert shown or told, f"a change is missing and nobody said so: {events}"
