"""Events: told once, counted afterwards, and never a nuisance."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import pytest
from scripted_api import ScriptedApi, status

from allaboard.api.types import Node, Pod, typed
from allaboard.client.client import Client
from allaboard.client.retries import Retries
from allaboard.runtime.events import EventRecorder
from allaboard.sim.loop import run_virtual, virtual_clock

POD = typed(Pod, {"metadata": {"name": "x", "namespace": "a", "uid": "u1"}})


def run(
    scenario: Callable[[ScriptedApi, EventRecorder], Awaitable[None]],
    api_group: Literal["core", "events"] = "core",
) -> None:
    async def main() -> None:
        api = ScriptedApi()
        client = Client(api, retries=Retries(attempts=1))
        recorder = EventRecorder(client, virtual_clock(), random.Random(1), "me", api=api_group)
        task = asyncio.ensure_future(recorder.run())
        await scenario(api, recorder)
        task.cancel()

    run_virtual(main())


def told(api: ScriptedApi) -> list[tuple[str, int]]:
    return [(o.get("message", ""), o.get("count", 1)) for o in api.objects.values()]


def test_an_event_says_what_and_about_whom() -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        recorder.record(POD, "Normal", "Started", "it runs")
        await asyncio.sleep(1)
        (event,) = api.objects.values()
        assert event["involvedObject"] == {
            "apiVersion": "v1", "kind": "Pod", "namespace": "a", "name": "x", "uid": "u1",
        }  # fmt: skip
        assert (event["type"], event["reason"], event["message"]) == (
            "Normal",
            "Started",
            "it runs",
        )
        assert event["firstTimestamp"] == "2026-01-01T00:00:00Z"
        assert event["source"] == {"component": "me"}

    run(scenario)


def test_the_newer_api_has_its_own_names() -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        recorder.record(POD, "Normal", "Started", "it runs", action="Starting")
        recorder.record(POD, "Normal", "Started", "it runs", action="Starting")
        await asyncio.sleep(1)
        ((path, event),) = api.objects.items()
        assert path.startswith("/apis/events.k8s.io/v1/namespaces/a/events/x.")
        assert (event["note"], event["action"], event["regarding"]["uid"]) == (
            "it runs", "Starting", "u1",
        )  # fmt: skip
        assert event["series"]["count"] == 2

    run(scenario, "events")


def test_the_same_news_is_one_event_that_counts() -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        for _ in range(5):
            recorder.record(POD, "Warning", "Failed", "no luck")
            await asyncio.sleep(60)
        assert told(api) == [("no luck", 5)]
        await asyncio.sleep(700)
        recorder.record(POD, "Warning", "Failed", "no luck")
        await asyncio.sleep(1)
        assert told(api) == [("no luck", 5), ("no luck", 1)]

    run(scenario)


def test_a_burst_is_one_write() -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        for _ in range(20):
            recorder.record(POD, "Normal", "Tick", "again")
        await asyncio.sleep(1)
        assert told(api) == [("again", 20)]
        assert len(api.requests) == 1

    run(scenario)


def test_many_different_messages_become_one_combined() -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        for number in range(20):
            recorder.record(POD, "Normal", "Tick", f"number {number}")
        await asyncio.sleep(1)
        assert len(api.objects) == 11
        assert told(api)[-1] == ("(combined from similar events): number 19", 10)

    run(scenario)


def test_a_chatterbox_is_silenced_alone() -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        for _ in range(100):
            recorder.record(POD, "Normal", "Tick", "tock")
        other: dict[str, Any] = {"kind": "Job", "metadata": {"name": "y", "namespace": "a"}}
        recorder.record(other, "Normal", "Tick", "tock")
        await asyncio.sleep(1)
        assert told(api) == [("tock", 25), ("tock", 1)]
        assert recorder.dropped == 75
        await asyncio.sleep(301)
        recorder.record(POD, "Normal", "Tick", "tock")
        await asyncio.sleep(1)
        assert told(api)[0] == ("tock", 26)

    run(scenario)


def test_an_expired_event_is_told_anew() -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        recorder.record(POD, "Normal", "Started", "it runs")
        await asyncio.sleep(1)
        api.remove(next(iter(api.objects)))
        recorder.record(POD, "Normal", "Started", "it runs")
        await asyncio.sleep(1)
        assert told(api) == [("it runs", 2)]

    run(scenario)


@pytest.mark.parametrize("answer", [status(403, "Forbidden"), status(500, "InternalError")])
def test_what_cannot_be_written_is_dropped_and_counted(answer: Any) -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        api.fail_with = [answer]
        recorder.record(POD, "Normal", "Lost", "nobody hears this")
        recorder.record(POD, "Normal", "Heard", "but this")
        await asyncio.sleep(1)
        assert told(api) == [("but this", 1)]
        assert (recorder.dropped, recorder.written) == (1, 1)

    run(scenario)


def test_events_about_cluster_wide_objects_live_in_default() -> None:
    async def scenario(api: ScriptedApi, recorder: EventRecorder) -> None:
        recorder.record(typed(Node, {"metadata": {"name": "n1"}}), "Normal", "Up", "x" * 5000)
        await asyncio.sleep(1)
        ((path, event),) = api.objects.items()
        assert path.startswith("/api/v1/namespaces/default/events/n1.")
        assert len(event["message"]) == 1024

    run(scenario)
