"""Sends one bad request after another and says what an answer must be.

An answer is good when it is 2xx or 4xx, a refusal is a `Status` that names what it is about, and
nothing took long. The server is asked in process, but with bytes as from the wire.
"""

import copy
import gc
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from good_manifests import GOOD, GROUP, definition
from planting import KEY, MARK, REFUSE, Defect, Path, planted, properties

from allaboard.api.meta import Json
from allaboard.clock import system_clock
from allaboard.cluster.resource import Resource
from allaboard.cluster.schema.node import Schema
from allaboard.cluster.server.api import ApiServer
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.server.exchange import ApiRequest
from allaboard.cluster.transport import LOCAL_USER

LIMIT_S = 1.0
# Real ones of these would change how everything after them is answered.
ONLY_TRIED = ("WebhookConfiguration", "CustomResourceDefinition")
# What reads itself complains in its own words, as the recorded server does: without a path.
SELF_READING = ("quantity", "date-time", "micro-time", "byte", "int-or-string", "duration")


@dataclass(slots=True)
class Answer:
    status: int
    body: Any
    size: int
    took_s: float


def to_bytes(body: Any) -> bytes:
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    head, found, tail = raw.partition(json.dumps(MARK) + ":")
    if found:
        name, _, rest = tail[1:].partition('"')
        raw = f'{head}"{name}":null{rest}'
    return raw.encode("utf-8", "surrogatepass")


@dataclass(slots=True)
class Asker:
    """A server in memory, and the verbs on it."""

    server: ApiServer
    sent: int = 0
    faults: list[str] = field(default_factory=list)

    async def send(
        self, method: str, path: str, body: Any = b"", query: Json | None = None, how: str = ""
    ) -> Answer:
        raw = body if isinstance(body, bytes) else to_bytes(body)
        headers = {
            "content-type": how or "application/json",
            "accept": "application/json",
            "user-agent": "bad-input/1",
        }
        self.sent += 1
        request = ApiRequest(method, path, query or {}, headers, raw, user=LOCAL_USER)
        gc.disable()  # thousands of cases are held here, which is not the server's fault
        started = time.thread_time()
        try:
            response = await self.server.handle(request)
            text = b"" if response.stream is not None else response.to_bytes()
        finally:
            took_s = time.thread_time() - started
            gc.enable()
        if response.stream is not None:
            response.stream.close()
        return Answer(response.status, json.loads(text) if text else None, len(text), took_s)

    def fault(self, case: str, what: str, answer: Answer) -> None:
        self.faults.append(f"{case}: {what}: {answer.status} {str(answer.body)[:300]}")

    def check(self, case: str, answer: Answer, sent_bytes: int = 0) -> bool:
        """Whether the answer is one a server may give; what is not is kept in `faults`."""
        before = len(self.faults)
        if not (200 <= answer.status < 300 or 400 <= answer.status < 500):
            self.fault(case, "neither accepted nor refused", answer)
        if answer.took_s > LIMIT_S:
            self.fault(case, f"took {answer.took_s:.2f} s", answer)
        if answer.size > 262144 + 12 * sent_bytes:
            self.fault(case, f"an answer of {answer.size} bytes to {sent_bytes}", answer)
        if 400 <= answer.status < 500:
            for problem in status_problems(answer):
                self.fault(case, problem, answer)
        return len(self.faults) == before


def status_problems(answer: Answer) -> list[str]:
    """What a refusal lacks."""
    body = answer.body
    if not isinstance(body, dict) or body.get("kind") != "Status":
        return ["not a Status"]
    problems = []
    if body.get("code") != answer.status or not body.get("reason") or not body.get("message"):
        problems.append("a Status without code, reason or message")
    if answer.status == 422:
        causes = (body.get("details") or {}).get("causes") or []
        if not causes or not all(c.get("field") and c.get("message") for c in causes):
            problems.append("does not name the field in its causes")
    return problems


def names_the_field(answer: Answer, path: Path, schema: Schema, defect: Defect) -> bool:
    """Whether a refusal of what stands at `path` says so.

    A value that only rules refuse may stand in an object whose other parts they refuse first.
    """
    if defect.verdict != REFUSE or defect.name == "deep nesting":
        return True
    text = json.dumps(answer.body)
    if defect.beside:
        return defect.beside in text
    if schema.format in SELF_READING and answer.status == 400:
        return True
    steps = [step for step in path if isinstance(step, str) and step != KEY]
    return steps[-1] in text


@dataclass(slots=True)
class Endpoint:
    """One kind: where its objects live and what a good one looks like."""

    resource: Resource

    @property
    def kind(self) -> str:
        return self.resource.kind

    @property
    def group(self) -> str:
        return self.resource.group

    @property
    def schema(self) -> Schema:
        return next(iter(self.resource.versions.values())).schema

    @property
    def is_tried(self) -> bool:
        return self.kind.endswith(ONLY_TRIED)

    @property
    def is_review(self) -> bool:
        return self.resource.verbs == ("create",)

    def path(self, name: str = "") -> str:
        root = f"/apis/{self.group}/v1" if self.group else "/api/v1"
        place = "/namespaces/ns" if self.resource.namespaced else ""
        return f"{root}{place}/{self.resource.plural}" + (f"/{name}" if name else "")

    def good(self, name: str) -> Json:
        make = GOOD.get(f"{self.group}/{self.kind}")
        body = copy.deepcopy(make()) if make else {}
        meta = body.setdefault("metadata", {})
        meta.setdefault("name", name)
        if self.kind == "Event":
            meta["namespace"] = "ns"
        api_version = f"{self.group}/v1" if self.group else "v1"
        return {"apiVersion": api_version, "kind": self.kind, **body}

    def places(self) -> list[tuple[Path, Schema]]:
        return list(properties(self.schema))


@asynccontextmanager
async def asker() -> AsyncIterator[Asker]:
    """A fresh server with a namespace, a node and one custom kind."""
    server = await assemble(system_clock(), Random(1))
    it = Asker(server)
    for path, body in (
        ("/api/v1/namespaces", {"metadata": {"name": "ns"}}),
        ("/api/v1/namespaces/ns/serviceaccounts", {"metadata": {"name": "default"}}),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition()),
    ):
        answer = await it.send("POST", path, body)
        assert answer.status == 201, answer.body
    try:
        yield it
    finally:
        await server.close()


def endpoints(it: Asker) -> dict[str, Endpoint]:
    """Every served kind by group/Kind, the custom one included."""
    found = {}
    for resource in it.server.services.catalogue.all():
        found[f"{resource.group}/{resource.kind}"] = Endpoint(resource)
    assert f"{GROUP}/Thing" in found
    return found


def wrong(endpoint: Endpoint, name: str, path: Path, defect: Defect) -> Json:
    return planted(endpoint.good(name), path, defect)


async def try_create(it: Asker, endpoint: Endpoint, path: Path, schema: Schema, d: Defect) -> bool:
    """POST one bad manifest; True when it was accepted. Faults are collected."""
    name = f"x{it.sent}"
    body = wrong(endpoint, name, path, d)
    raw = to_bytes(body)
    query = {"fieldValidation": "Strict"}
    if endpoint.is_tried:
        query["dryRun"] = "All"
    case = f"{endpoint.kind} {'.'.join(map(str, path))} = {d.name}"
    answer = await it.send("POST", endpoint.path(), raw, query)
    if not it.check(case, answer, len(raw)):
        return False
    if answer.status >= 300:
        if not names_the_field(answer, path, schema, d):
            it.fault(case, "does not name the field", answer)
        return False
    if d.verdict == REFUSE and not _is_dropped(endpoint, path):
        it.fault(case, "accepted", answer)
    if not endpoint.is_tried and not endpoint.is_review:
        await _check_stored(it, endpoint, case, answer)
    return True


def _is_dropped(endpoint: Endpoint, path: Path) -> bool:
    """The status of a new custom object goes unread, as in Kubernetes."""
    return endpoint.resource.custom and path[0] == "status"


async def _check_stored(it: Asker, endpoint: Endpoint, case: str, answer: Answer) -> None:
    name = answer.body["metadata"]["name"]
    again = await it.send("GET", endpoint.path(name))
    if again.body != answer.body:
        it.fault(case, "what is stored differs from what was answered", again)
    stored = it.server.services.store
    key, place = endpoint.resource.key, answer.body["metadata"].get("namespace", "")
    stored.commit(key, place, name, None, int(again.body["metadata"]["resourceVersion"]))
