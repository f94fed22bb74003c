"""Small worlds, told to the end: each `NAME.yaml` here runs in virtual time and gives `NAME.txt`.

A story has a line for each moment at which a pod, a job or a custom resource looks different than
before: `time kind name state`. Suffixes of generated names are left out, as are states that
lasted no time. To add a story write both files; where they differ the test shows what was told.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from allaboard.api.times import format_duration, parse_time
from allaboard.cli.documents import read_documents
from allaboard.sim.loop import START, run_virtual
from allaboard.sim.script import read_script
from allaboard.sim.world import World

HERE = Path(__file__).parent
A_DAY_S = 86400.0
Event = dict[str, Any]


def pod_state(pod: dict[str, Any]) -> str:
    status = pod["status"]
    conditions = {c["type"]: c for c in status.get("conditions") or ()}
    words = [status["phase"]]
    if conditions.get("Ready", {}).get("status") == "True":
        words.append("ready")
    if status["phase"] == "Pending" and not pod["spec"].get("nodeName"):
        words.append(conditions.get("PodScheduled", {}).get("reason", ""))
    for container in (status.get("containerStatuses") or ())[:1]:
        words += [f"restart {container['restartCount']}"] if container["restartCount"] else []
        words += [v["reason"] for k, v in container["state"].items() if k == "waiting"]
        ended = container["state"].get("terminated")
        words += [f"exit {ended['exitCode']}"] if ended and ended["exitCode"] else []
    words.append(conditions.get("DisruptionTarget", {}).get("reason", ""))
    words.append("stopping" if pod["metadata"].get("deletionTimestamp") else "")
    return " ".join(word for word in words if word)


def job_state(job: dict[str, Any]) -> str:
    status = job.get("status") or {}
    counts = ("active", "ready", "terminating", "succeeded", "failed")
    words = [f"{name} {status[name]}" for name in counts if status.get(name)]
    held = [c for c in status.get("conditions") or () if c["status"] == "True"]
    return " ".join(words + [f"{c['type']}/{c['reason']}" for c in held[-1:]]) or "nothing"


def state(event: Event) -> str:
    if event["type"] == "DELETED":
        return "gone"
    kind, obj = event["kind"], event["object"]
    if kind in ("Pod", "Job"):
        return pod_state(obj) if kind == "Pod" else job_state(obj)
    return str((obj.get("status") or {}).get("state", "there"))


def short_name(event: Event) -> str:
    generated = event["object"]["metadata"].get("generateName", "")
    return generated.rstrip("-") or str(event["name"])


def tell(events: list[Event], elapsed_s: float) -> list[str]:
    """The story: what each object looked like at the end of each moment, if that is news."""
    last: dict[tuple[str, ...], str] = {}
    moments: dict[str, dict[tuple[str, ...], str]] = {}
    lines = []
    for event in events:
        if event["type"] == "REFUSED":
            words = f"{event['kind']} {event['name']} REFUSED {event['object']['message']}"
            lines.append((event["time"], words))
        elif event["kind"] in ("Pod", "Job", "Widget"):
            key = (event["kind"], short_name(event), event["object"]["metadata"]["uid"])
            moments.setdefault(event["time"], {})[key] = state(event)
    for time, states in moments.items():
        news = {key: words for key, words in states.items() if last.get(key) != words}
        last.update(news)
        lines += [(time, f"{kind} {name} {words}") for (kind, name, _), words in news.items()]
    told = Counter((round(parse_time(time) - START, 3), words) for time, words in sorted(lines))
    story = [
        f"{format_duration(at)} {words}" + (f" ×{count}" if count > 1 else "")
        for (at, words), count in sorted(told.items())
    ]
    return [*story, f"{format_duration(round(elapsed_s, 3))} end"]


def play(script: Path) -> list[str]:
    events: list[Event] = []

    async def main() -> float:
        async with World(seed=0, trace=events.append) as world:
            steps = read_script(read_documents([str(script)]))
            await world.run(steps, until_s=A_DAY_S)  # each ends earlier, when its work is done
            return world.elapsed_s

    elapsed_s = run_virtual(main())
    return tell(events, elapsed_s)


@pytest.mark.parametrize("script", sorted(HERE.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_story_goes_as_written(script: Path) -> None:
    assert play(script) == script.with_suffix(".txt").read_text().splitlines()
