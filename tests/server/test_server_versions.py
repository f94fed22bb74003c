"""Checklist 1 to 6: revisions, conflicts, names, preconditions."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from black_box import MAPS, Server, config_map


def test_resource_versions_are_decimal_and_grow(server: Server) -> None:
    seen = [server.post(MAPS, config_map(f"grow-{i}")).body for i in range(5)]
    texts = [obj["metadata"]["resourceVersion"] for obj in seen]
    assert all(re.fullmatch(r"[1-9][0-9]*", text) for text in texts)
    assert [int(t) for t in texts] == sorted({int(t) for t in texts})


def test_a_write_that_changes_nothing_keeps_its_version_and_makes_no_event(server: Server) -> None:
    first = server.post(MAPS, config_map("noop", a="1"))
    for again in (
        server.put(f"{MAPS}/noop", config_map("noop", a="1")),
        server.patch(f"{MAPS}/noop", {"data": {"a": "1"}}),
        server.patch(f"{MAPS}/noop", [], "application/json-patch+json"),
    ):
        assert (again.status, again.rv) == (200, first.rv)
    events = server.watch(MAPS, resourceVersion=str(first.rv), fieldSelector="metadata.name=noop")
    assert events == []


@pytest.mark.parametrize("verb", ["put", "patch", "delete"])
def test_a_stale_version_is_a_conflict(server: Server, verb: str) -> None:
    old = server.post(MAPS, config_map(f"stale-{verb}", a="1")).rv
    path = f"{MAPS}/stale-{verb}"
    server.patch(path, {"data": {"a": "2"}})
    stale = {"resourceVersion": str(old)}
    answer = {
        "put": lambda: server.put(path, config_map(f"stale-{verb}", meta=stale, a="3")),
        "patch": lambda: server.patch(path, {"metadata": stale, "data": {"a": "3"}}),
        "delete": lambda: server.delete(path, {"preconditions": stale}),
    }[verb]()
    assert (answer.status, answer.reason) == (409, "Conflict")
    assert server.get(path).body["data"] == {"a": "2"}


def test_a_create_names_no_version_and_meets_no_object(server: Server) -> None:
    named = server.post(MAPS, config_map("versioned", meta={"resourceVersion": "5"}))
    assert (named.status, named.body["kind"]) == (400, "Status")
    server.post(MAPS, config_map("twice"))
    again = server.post(MAPS, config_map("twice"))
    assert (again.status, again.reason) == (409, "AlreadyExists")


def test_generated_names_avoid_taken_ones(server: Server) -> None:
    made = [server.post(MAPS, {"metadata": {"generateName": "gen-"}}).body for _ in range(20)]
    names = {obj["metadata"]["name"] for obj in made}
    assert len(names) == 20
    assert all(re.fullmatch(r"gen-[bcdfghjklmnpqrstvwxz2456789]{5}", n) for n in names)


def test_a_wrong_uid_protects_the_object(server: Server) -> None:
    first = server.post(MAPS, config_map("uid")).body["metadata"]["uid"]
    other = {"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}
    assert server.delete(f"{MAPS}/uid", other).status == 409
    assert server.delete(f"{MAPS}/uid", {"preconditions": {"uid": first}}).status == 200
    assert server.post(MAPS, config_map("uid")).body["metadata"]["uid"] != first


def test_of_many_writers_on_one_version_exactly_one_wins(server: Server) -> None:
    rv = server.post(MAPS, config_map("race")).rv

    def write(number: int) -> int:
        meta = {"resourceVersion": str(rv)}
        body = config_map("race", meta=meta, winner=str(number))
        return server.put(f"{MAPS}/race", body).status

    with ThreadPoolExecutor(8) as pool:
        statuses = sorted(pool.map(write, range(8)))
    assert statuses == [200] + [409] * 7


def test_unconditional_patches_never_lose_each_other(server: Server) -> None:
    server.post(MAPS, config_map("merge"))

    def write(number: int) -> int:
        return server.patch(f"{MAPS}/merge", {"data": {f"k{number}": "v"}}).status

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(write, range(24))) == {200}
    assert len(server.get(f"{MAPS}/merge").body["data"]) == 24
