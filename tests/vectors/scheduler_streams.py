"""Replays a recorded scheduling stream in virtual time and tells what became of each pod.

Compared are, per pod, the sequence of (node, conditions, nominated node) and the Events. Which of
several equal nodes is chosen is free, so a node that the recording could have swapped for another
of the same description is compared by that description.
"""

import asyncio
import json
import re
from typing import Any

from tests.vectors import RECORDINGS

from allaboard.client.transport import Request
from allaboard.sim.loop import run_virtual
from allaboard.sim.world import World

FOLDER = RECORDINGS / "scheduler"
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
CLASSES = {
    "vec-low": (10, ""),
    "vec-mid": (20, ""),
    "vec-high": (30, ""),
    "vec-never": (30, "Never"),
}
Lines = list[dict[str, Any]]


def read(name: str) -> Lines:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]


def node_classes(lines: Lines) -> dict[str, str]:
    """Node name -> a text equal for nodes that nobody can tell apart."""
    classes: dict[str, str] = {}
    for line in lines:
        for node in line.get("nodes", []):
            labels = dict(node["metadata"].get("labels") or {})
            labels.pop("kubernetes.io/hostname", None)
            told = [labels, node.get("spec"), node["status"].get("allocatable")]
            classes[node["metadata"]["name"]] = json.dumps(told, sort_keys=True)
    return classes


def pod_state(pod: dict[str, Any], classes: dict[str, str]) -> dict[str, Any]:
    status = pod.get("status") or {}
    node = pod["spec"].get("nodeName")
    return {
        "node": classes.get(node, node),
        "nominated": classes.get(status.get("nominatedNodeName")),
        "deleted": "deletionTimestamp" in pod["metadata"],
        "conditions": [
            [c["type"], c["status"], c.get("reason"), c.get("message")]
            for c in status.get("conditions") or []
        ],
    }


def told(events: list[tuple[str, str, dict[str, Any]]], classes: dict[str, str]) -> dict[str, Any]:
    """Per pod its states, without repetitions: what others wrote in between does not count."""
    pods: dict[str, list[Any]] = {}
    for type_, name, pod in events:
        states = pods.setdefault(name, [])
        state = "gone" if type_ == "DELETED" else pod_state(pod, classes)
        if not states or states[-1] != state:
            states.append(state)
    return pods


def event_text(message: str, classes: dict[str, str]) -> str:
    text = UID.sub("<uid>", message)
    for name in classes:
        text = re.sub(rf"\b(to|node) {name}\b", r"\1 <node>", text)
    return text


def recorded(lines: Lines) -> tuple[dict[str, Any], set[tuple[str, str, str]]]:
    classes = node_classes(lines)
    changes = [
        (line["type"], line["object"]["metadata"]["name"], line["object"])
        for line in lines
        if line.get("type") and line["object"]["kind"] == "Pod"
    ]
    events = {
        (e["involvedObject"]["name"], e["reason"], event_text(e["message"], classes))
        for e in (line["event"] for line in lines if "event" in line)
    }
    return told(changes, classes), events


def replayed(lines: Lines) -> tuple[dict[str, Any], set[tuple[str, str, str]]]:
    classes = node_classes(lines)
    trace: Lines = []

    async def main() -> None:
        parts = frozenset({"controllers", "scheduler"})
        async with World(seed=1, trace=trace.append, parts=parts) as world:
            await _prepare(world, lines)
            for line in lines:
                if "action" in line:
                    await asyncio.sleep(max(0.0, 1 + line["t"] - world.elapsed_s))
                    await _act(world, line["action"])
            await asyncio.sleep(5)

    run_virtual(main())
    pods = [(t["type"], t["name"], t["object"]) for t in trace if t["kind"] == "Pod"]
    events = {
        (
            t["object"]["involvedObject"]["name"],
            t["object"]["reason"],
            event_text(t["object"]["message"], classes),
        )
        for t in trace
        if t["kind"] == "Event" and t["object"]["involvedObject"].get("kind") == "Pod"
    }
    return told(pods, classes), events


async def _prepare(world: World, lines: Lines) -> None:
    """What was there before the recording: namespace, priority classes, ready nodes."""
    send = world.client.transport.request
    meta = {"name": lines[0]["namespace"]}
    await send(Request("POST", "/api/v1/namespaces", body={"metadata": meta}))
    for name, (value, policy) in CLASSES.items():
        body: dict[str, Any] = {"metadata": {"name": name}, "value": value}
        if policy:
            body["preemptionPolicy"] = policy
        await send(Request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body=body))
    nodes = next(line["nodes"] for line in lines if "nodes" in line)
    for node in nodes:
        await send(Request("POST", "/api/v1/nodes", body=node))
    await asyncio.sleep(1)


async def _act(world: World, action: dict[str, Any]) -> None:
    path, _, query = action["path"].partition("?")
    options = dict(part.split("=", 1) for part in query.split("&") if part)
    answer = await world.client.transport.request(
        Request(
            action["method"],
            path,
            options,
            action.get("body"),
            content_type=action.get("contentType") or "application/json",
        )
    )
    assert answer.status < 400, (action["text"], answer.body)
