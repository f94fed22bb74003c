"""`allaboard demo`: a small story in virtual time, told as it happens.

Two racks of GPU nodes. A gang of four starts together; one that loses a rank on its first attempt
recovers; a job that is too big for what is left waits until it fits. The exit code tells
whether the story went as told.
"""

from collections.abc import Callable

import click

from allaboard.api.meta import Json
from allaboard.api.times import parse_micro_time
from allaboard.api.yaml_text import read_documents
from allaboard.cli.failures import Failure
from allaboard.sim.loop import START, run_virtual
from allaboard.sim.script import read_script
from allaboard.sim.world import World

STORY = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: rack1-a, labels: {rack: one}},
   status: {capacity: {cpu: "16", memory: 64Gi, pods: "20", nvidia.com/gpu: "4"}}}
- {apiVersion: v1, kind: Node, metadata: {name: rack1-b, labels: {rack: one}},
   status: {capacity: {cpu: "16", memory: 64Gi, pods: "20", nvidia.com/gpu: "4"}}}
- {apiVersion: v1, kind: Node, metadata: {name: rack2-a, labels: {rack: two}},
   status: {capacity: {cpu: "16", memory: 64Gi, pods: "20", nvidia.com/gpu: "4"}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completionMode: Indexed
  completions: 4
  parallelism: 4
  template:
    metadata:
      annotations:
        sim.allaboard.dev/run-for: 2m
        sim.allaboard.dev/gang: "true"
        sim.allaboard.dev/start-after.3: 40s
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: train, resources: {requests: {nvidia.com/gpu: "2"},
         limits: {nvidia.com/gpu: "2"}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: flaky
  annotations: {sim.allaboard.dev/at: 10s}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
    metadata:
      annotations:
        sim.allaboard.dev/run-for: 1m
        sim.allaboard.dev/fail-after.1: 20s
        sim.allaboard.dev/fail-attempts.1: "1"
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: flaky, resources: {requests: {cpu: "2"}}}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: big
  annotations: {sim.allaboard.dev/at: 30s}
spec:
  completions: 2
  parallelism: 2
  template:
    metadata: {annotations: {sim.allaboard.dev/run-for: 1m}}
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: big, resources: {requests: {nvidia.com/gpu: "4"},
         limits: {nvidia.com/gpu: "4"}}}
"""
TOLD = {"train": "Complete", "flaky": "Complete", "big": "Complete"}


@click.command()
def demo() -> None:
    """See it work: a small story in virtual time."""
    click.echo("Three nodes in two racks, four GPUs each. Three jobs. All of it simulated.\n")
    narrator = Narrator(click.echo)

    async def main() -> dict[str, str]:
        async with World(seed=1, trace=narrator.hear) as world:
            documents = [("the story", document.data) for document in read_documents(STORY)]
            await world.run(read_script(documents), until_s=3600)
            return {o["metadata"]["name"]: ending(o) for o in world.objects() if is_job(o)}

    endings = run_virtual(main())
    if endings != TOLD:
        raise Failure(f"the story did not go as told: expected {TOLD}, found {endings}")
    click.echo("\nAll three jobs completed. `allaboard simulate` runs your own manifests this way;")
    click.echo("`allaboard up` starts the same cluster for kubectl.")


def is_job(obj: Json) -> bool:
    return obj.get("kind") == "Job"


def ending(job: Json) -> str:
    conditions = (job.get("status") or {}).get("conditions") or []
    done = [c["type"] for c in conditions if c["status"] == "True"]
    return next((kind for kind in ("Complete", "Failed") if kind in done), "unfinished")


class Narrator:
    """Turns committed changes into sentences; says each thing once."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said: dict[tuple[str, str], None] = {}

    def hear(self, line: Json) -> None:
        sentence = self._sentence(line["kind"], line["type"], line["object"])
        if sentence is None or (line["name"], sentence) in self._said:
            return
        self._said[line["name"], sentence] = None
        seconds = int(parse_micro_time(line["time"]) - START)
        self._say(f"{seconds // 60:3d}:{seconds % 60:02d}  {sentence}")

    def _sentence(self, kind: str, type_: str, obj: Json) -> str | None:
        match kind:
            case "Job":
                return _job_sentence(type_, obj)
            case "Pod":
                return _pod_sentence(obj)
        return None


def _job_sentence(type_: str, job: Json) -> str | None:
    name = job["metadata"]["name"]
    if type_ == "ADDED":
        spec = job["spec"]
        return f"job {name} asks for {spec['parallelism']} pods"
    if ending(job) != "unfinished":
        return f"job {name} is over: {ending(job)}"
    return None


def _pod_sentence(pod: Json) -> str | None:
    name, status = pod["metadata"]["name"].rpartition("-")[0], pod.get("status") or {}
    node = pod["spec"].get("nodeName")
    match status.get("phase"):
        case "Running":
            return f"pod {name} runs on {node}"
        case "Failed":
            return f"pod {name} failed on {node}"
        case "Pending" if node is None:
            for condition in status.get("conditions") or ():
                if condition.get("reason") == "Unschedulable":
                    return f"pod {name} waits: {condition['message'].partition('. no new')[0]}"
    return None
