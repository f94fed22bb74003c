"""Replays a recorded Job stream in virtual time: our server and controllers, their actions.

Compared is what the vectors' README calls stable: per object the sequence of states, and the
Events. Names, UIDs and times differ between any two runs, so pods are matched by the order in
which they were made (per index where they have one) and times are reduced to what must hold.
"""

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.vectors import RECORDINGS

from allaboard.api.times import parse_time
from allaboard.client.client import Client
from allaboard.client.transport import Request
from allaboard.cluster.controllers.install import install
from allaboard.cluster.server.assembly import assemble
from allaboard.cluster.store.records import Change
from allaboard.cluster.transport import InProcessTransport
from allaboard.runtime.manager import Manager
from allaboard.sim.loop import VirtualLoop, run_virtual

FOLDER = RECORDINGS / "job-controller"
INDEX = "batch.kubernetes.io/job-completion-index"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_TOKEN_VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")

State = dict[str, Any]


@dataclass
class Story:
    """What happened to the objects of one run, in a form that two runs can share."""

    job: list[State] = field(default_factory=list)
    pods: dict[str, list[State]] = field(default_factory=dict)
    events: Counter[tuple[str, ...]] = field(default_factory=Counter)


class Teller:
    """Turns watch events into a `Story`, giving every pod a name that both runs share."""

    def __init__(self, namespace: str) -> None:
        self.story = Story()
        self.names: dict[str, str] = {}  # real name -> shared name
        self._tokens: dict[str, str] = {}  # UID -> shared name
        self._namespace = namespace
        self._count: Counter[str] = Counter()

    def pod_name(self, meta: State) -> str:
        if meta["name"] not in self.names:
            stem = f"index {meta.get('annotations', {}).get(INDEX, '-')}"
            self.names[meta["name"]] = f"{stem} no. {self._count[stem]}"
            self._count[stem] += 1
        return self.names[meta["name"]]

    def see(self, type_: str, obj: State) -> None:
        meta = obj["metadata"]
        if obj["kind"] == "Pod":
            name = self.pod_name(meta)
            self._tokens[meta["uid"]] = name
            self.story.pods.setdefault(name, []).append(self._state(type_, obj))
        elif obj["kind"] == "Job":
            self._tokens[meta["uid"]] = "the Job"
            self.story.job.append(self._state(type_, obj))

    def event(self, event: State) -> None:
        about = event["involvedObject"]
        words = (about["kind"], event["type"], event["reason"], self._text(event["message"]))
        self.story.events[words] += event.get("count") or 1

    def _state(self, type_: str, obj: State) -> State:
        meta = {
            key: value
            for key, value in obj["metadata"].items()
            if key not in ("resourceVersion", "managedFields", "name", "namespace", "uid")
        }
        state = {"type": type_, "metadata": meta, "status": obj.get("status", {})}
        if obj["kind"] == "Pod":
            state["spec"] = obj["spec"]
        return self._shared(json.loads(json.dumps(state)))

    def _shared(self, value: Any) -> Any:
        if isinstance(value, dict):
            found = {k: self._shared(v) for k, v in value.items()}
            pending = found.get("uncountedTerminatedPods")
            if pending:
                found["uncountedTerminatedPods"] = {k: sorted(v) for k, v in pending.items()}
            return found
        if isinstance(value, list):
            return [self._shared(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        if text in self._tokens:
            return self._tokens[text]
        text = _TOKEN_VOLUME.sub("<token volume>", text.replace(self._namespace, "<namespace>"))
        for real, shared in self.names.items():
            text = re.sub(rf"{real}(?![-a-z0-9])", f"<{shared}>", text)
        return _TIME.sub(lambda m: m[0] if m[0].startswith("2026-01-01") else "<time>", text)


class Recording:
    """One stream as it was recorded."""

    def __init__(self, path: Path) -> None:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.header = lines[0]
        self.namespace: str = lines[0]["namespace"]
        self.actions = [(line["t"], line["action"]) for line in lines if "action" in line]
        self.changes = [line for line in lines if "object" in line]
        teller = Teller(self.namespace)
        for line in self.changes:
            teller.see(line["type"], line["object"])
        for line in lines:
            if "event" in line:
                teller.event(line["event"])
        self.story = teller.story
        self.names = teller.names
        self.end = max(line["t"] for line in lines if "t" in line)

    @property
    def stable(self) -> bool:
        return not self.header.get("unstable")

    def start(self) -> float:
        """The wall clock at t = 0, as the recorded timestamps narrow it down."""
        stamps = [(line["t"], line["object"]["metadata"]["creationTimestamp"])
                  for line in self.changes if line["type"] == "ADDED"]  # fmt: skip
        for line in self.changes:
            for condition in line["object"].get("status", {}).get("conditions", []):
                if line["object"]["kind"] == "Job" and line["type"] == "MODIFIED":
                    stamps.append((line["t"], condition["lastTransitionTime"]))
        low = max(parse_time(text) - t for t, text in stamps)
        high = min(parse_time(text) + 1 - t for t, text in stamps if parse_time(text) + 1 - t > low)
        return (low + high) / 2


class Replay:
    """One recording's actions against a fresh cluster."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.teller = Teller(recording.namespace)
        self.refused: list[str] = []

    def run(self) -> Story:
        run_virtual(self._main())
        return self.teller.story

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        clock = loop.clock(self.recording.start())
        server = await assemble(clock, Random(1))
        store = server.services.store
        manager = Manager(Client(InProcessTransport(server)), clock, Random(2))
        install(manager, store)
        self.transport = InProcessTransport(server, "vectors/1.0")
        await manager.start()
        home = {"metadata": {"name": self.recording.namespace}}
        await self._send("POST", "/api/v1/namespaces", home)
        watch = store.watch_all(store.revision)
        seen: list[Change] = []

        async def look() -> None:
            async for change in watch:
                seen.append(change)
                if change.record.resource == "pods":
                    self.teller.pod_name(change.record.obj["metadata"])

        looking = asyncio.create_task(look())
        for at, action in self.recording.actions:
            await asyncio.sleep(max(0.0, at - loop.time()))
            await self._act(action)
        await asyncio.sleep(max(1.0, self.recording.end - loop.time()) + 5)
        looking.cancel()
        await manager.stop()
        self._tell(seen)
        await server.close()

    def _tell(self, seen: list[Change]) -> None:
        for change in seen:
            if change.record.namespace != self.recording.namespace:
                continue
            if change.record.resource in ("pods", "jobs.batch"):
                self.teller.see(change.type, change.record.obj)
        events = {c.record.name: c.record.obj for c in seen if c.record.resource == "events"}
        for event in events.values():
            if event["involvedObject"]["kind"] != "Pod":
                self.teller.event(event)

    async def _act(self, action: State) -> None:
        path, _, query = action["path"].partition("?")
        parts = path.split("/")
        if "pods" in parts and parts.index("pods") + 1 < len(parts):
            position = parts.index("pods") + 1
            parts[position] = await self._our_pod(parts[position])
        arguments = dict(item.split("=", 1) for item in query.split("&") if item)
        body = action.get("body")
        if body and "/binding" in path:
            body = {**body, "metadata": {"name": parts[parts.index("pods") + 1]}}
        await self._send(action["method"], "/".join(parts), body, arguments, action)

    async def _our_pod(self, recorded: str) -> str:
        """Our pod that plays the part of the recorded one; waits for it a little."""
        if recorded not in self.recording.names:
            return recorded
        wanted = self.recording.names[recorded]
        for _ in range(300):
            for real, shared in self.teller.names.items():
                if shared == wanted:
                    return real
            await asyncio.sleep(0.01)
        raise AssertionError(f"there never was a pod {wanted}")

    async def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: dict[str, str] | None = None,
        action: State | None = None,
    ) -> None:
        kind = (action or {}).get("contentType") or "application/json"
        answer = await self.transport.request(Request(method, path, query or {}, body, kind))
        expected = (action or {}).get("status", 201)
        if answer.status != expected:
            self.refused.append(f"{method} {path}: {answer.status}, not {expected}: {answer.body}")


def differences(want: Story, got: Story, stable: bool) -> list[str]:
    """Where the two stories part; of unstable recordings only the ends and the Events count."""
    found = _between("job", want.job, got.job, stable)
    for name in sorted(want.pods.keys() | got.pods.keys()):
        found += _between(f"pod {name}", want.pods.get(name, []), got.pods.get(name, []), stable)
    for event in sorted(want.events.keys() | got.events.keys()):
        if want.events[event] != got.events[event]:
            found.append(f"event {event}: want {want.events[event]}, got {got.events[event]}")
    return found


def _between(name: str, want: list[State], got: list[State], stable: bool) -> list[str]:
    if not stable:
        want, got = _last(want), _last(got)
    found = [f"{name}: want {len(want)} states, got {len(got)}"] if len(want) != len(got) else []
    for number, (one, other) in enumerate(zip(want, got, strict=False)):
        found += [f"{name} state {number} {d}" for d in _diff(one, other, "")]
        if found:
            break
    return found


def _last(states: list[State]) -> list[State]:
    """The final state; of a deleted object its status may be any intermediate one."""
    return [s if s["type"] != "DELETED" else s | {"status": None} for s in states[-1:]]


def _diff(want: Any, got: Any, path: str) -> list[str]:
    if isinstance(want, dict) and isinstance(got, dict):
        found = []
        for key in sorted(want.keys() | got.keys()):
            found += _diff(want.get(key, "<absent>"), got.get(key, "<absent>"), f"{path}/{key}")
        return found
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [d for i, (a, b) in enumerate(zip(want, got, strict=True))
                for d in _diff(a, b, f"{path}/{i}")]  # fmt: skip
    return [] if want == got else [f"{path}: want {want!r}, got {got!r}"]
