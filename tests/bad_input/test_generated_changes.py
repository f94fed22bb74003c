"""Bad changes by the thousand: PUT, three kinds of patch and apply on an object that exists.

Whatever is refused leaves the object as it was, byte for byte; whatever is accepted can be read.
"""

from random import Random
from typing import Any

import pytest
from judging import Answer, Asker, Endpoint, asker, endpoints, to_bytes
from planting import KEY, MARK, REFUSE, Defect, Path, defects, planted

from allaboard.api.meta import Json
from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.store.records import Record

HOW = {
    "put": "application/json",
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
KINDS = [f"{r.group}/{r.kind}" for r in builtin_resources() if "update" in r.verbs]
KINDS.append("bad.example.com/Thing")
SAMPLE, LARGE_SAMPLE = 250, 5_000
NAME = "there"


def nested(path: Path, value: Any) -> Any:
    """`value` alone, at the end of the path."""
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


def request_of(how: str, good: Json, path: Path, defect: Defect) -> tuple[str, Any, Json]:
    """(method, body, query) of a change that carries the defect."""
    query: Json = {"fieldValidation": "Strict"}
    if how == "put":
        return "PUT", planted(good, path, defect), query
    if how == "apply":
        return "PATCH", planted(good, path, defect), query | {"fieldManager": "m", "force": "true"}
    if how == "json":
        changed = planted(good, path, defect)
        ops = [
            {"op": "add", "path": "/" + str(key).replace("/", "~1"), "value": value}
            for key, value in changed.items()
            if key not in ("apiVersion", "kind", MARK)
        ]
        return "PATCH", ops, query
    return "PATCH", nested(path, defect.value), query


class Target:
    """One object and how it looked at first."""

    def __init__(self, it: Asker, endpoint: Endpoint) -> None:
        self.it, self.endpoint = it, endpoint
        self.good = endpoint.good(NAME)
        self.name: str = self.good["metadata"]["name"]
        self.store = it.server.services.store
        self.place = "ns" if endpoint.resource.namespaced else ""

    async def make(self) -> None:
        answer = await self.it.send("POST", self.endpoint.path(), self.endpoint.good(NAME))
        assert answer.status == 201, answer.body
        self.first = self.record()

    def record(self) -> Record:
        found = self.store.get(self.endpoint.resource.key, self.place, self.name)
        assert found is not None, "the object is lost"
        return found

    async def try_change(self, how: str, path: Path, defect: Defect) -> None:
        good = self.endpoint.good(NAME)
        method, body, query = request_of(how, good, path, defect)
        if self.endpoint.is_tried:
            query["dryRun"] = "All"
        raw = to_bytes(body)
        before = self.record()
        path_text = self.endpoint.path(self.name)
        answer = await self.it.send(method, path_text, raw, query, HOW[how])
        case = f"{how} {self.endpoint.kind} {'.'.join(map(str, path))} = {defect.name}"
        self.judge(case, answer, raw, before)
        if answer.status < 300:
            self.reset()

    def judge(self, case: str, answer: Answer, raw: bytes, before: Record) -> None:
        self.it.check(case, answer, len(raw) + len(before.data))
        if answer.status >= 300 or self.endpoint.is_tried:
            after = self.record()
            if after.rev != before.rev or after.data != before.data:
                self.it.fault(case, "refused, but the object changed", answer)

    def reset(self) -> None:
        now = self.store.get(self.endpoint.resource.key, self.place, self.name)
        key = self.endpoint.resource.key
        self.store.commit(key, self.place, self.name, self.first.obj, now.rev if now else 0)


async def try_changes(kind: str, size: int) -> Asker:
    async with asker() as it:
        endpoint = endpoints(it)[kind]
        target = Target(it, endpoint)
        await target.make()
        ways = [how for how in HOW if how != "strategic" or not endpoint.resource.custom]
        rng = Random(f"change {kind}")
        places = endpoint.places()
        for number in range(size):
            path, schema = rng.choice(places)
            defect = rng.choice(list(defects(path, schema)))
            await target.try_change(ways[number % len(ways)], path, defect)
        return it


@pytest.mark.parametrize("kind", KINDS)
async def test_bad_changes_leave_the_object_alone(kind: str) -> None:
    it = await try_changes(kind, SAMPLE)
    assert not it.faults, f"{len(it.faults)} faults\n" + "\n".join(it.faults[:20])


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
async def test_many_bad_changes(kind: str) -> None:
    it = await try_changes(kind, LARGE_SAMPLE)
    assert not it.faults, f"{len(it.faults)} faults\n" + "\n".join(it.faults[:20])


@pytest.mark.parametrize("how", HOW)
async def test_a_wrong_type_is_refused_however_it_comes(how: str) -> None:
    """Each scalar of a pod's specification, with a list in its place."""
    async with asker() as it:
        endpoint = endpoints(it)["/Pod"]
        target = Target(it, endpoint)
        await target.make()
        for path, schema in endpoint.places():
            if path[0] != "spec" or len(path) > 2 or schema.type not in ("string", "boolean"):
                continue
            defect = Defect("type: list", ["x"], REFUSE)
            method, body, query = request_of(how, endpoint.good(NAME), path, defect)
            answer = await it.send(method, endpoint.path(NAME), body, query, HOW[how])
            assert answer.status in (400, 422), (path, answer.body)
            assert str(path[-1]) in str(answer.body), (path, answer.body)
            assert target.record().rev == target.first.rev


@pytest.mark.parametrize("version", ["1", "18446744073709551615", "99999", "0x1", "-1", "new", " "])
@pytest.mark.parametrize("how", ["put", "merge", "apply"])
async def test_stale_and_odd_versions_change_nothing(how: str, version: str) -> None:
    async with asker() as it:
        endpoint = endpoints(it)["/ConfigMap"]
        target = Target(it, endpoint)
        await target.make()
        defect = Defect("version", version)
        path: Path = ("metadata", "resourceVersion")
        method, body, query = request_of(how, endpoint.good(NAME), path, defect)
        body["data"] = {"k": "v"}
        answer = await it.send(method, endpoint.path(NAME), body, query, HOW[how])
        assert answer.status in (400, 409, 422), answer.body
        assert answer.body["kind"] == "Status"
        assert target.record().rev == target.first.rev


def test_the_path_of_a_patch_is_the_path_of_the_property() -> None:
    assert nested(("spec", "containers", 0, "name"), 1) == {"spec": {"containers": [{"name": 1}]}}
    assert nested(("metadata", "labels", KEY), None) == {"metadata": {"labels": {KEY: None}}}
