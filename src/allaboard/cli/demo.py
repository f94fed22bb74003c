"""`allaboard demo`: a small story in virtual time, told as it happens.

Two teams share twelve GPUs in two racks. One borrows what the other does not use; the owner takes
it back when it needs it, and the borrower returns; a gang whose last rank is late makes progress
only together; a pod that fails is tried again. The exit code tells whether it went as told.
"""

from collections.abc import Callable

import click

from allaboard.api.meta import Json
from allaboard.api.times import parse_micro_time
from allaboard.api.yaml_text import read_documents
from allaboard.cli.failures import Failure
from allaboard.queueing.config import Settings
from allaboard.sim.loop import START, run_virtual
from allaboard.sim.script import read_script
from allaboard.sim.world import World

STORY = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: rack1-a, labels: {pool: gpu, rack: one}},
   status: {capacity: {cpu: "16", memory: 64Gi, pods: "20", nvidia.com/gpu: "4"}}}
- {apiVersion: v1, kind: Node, metadata: {name: rack1-b, labels: {pool: gpu, rack: one}},
   status: {capacity: {cpu: "16", memory: 64Gi, pods: "20", nvidia.com/gpu: "4"}}}
- {apiVersion: v1, kind: Node, metadata: {name: rack2-a, labels: {pool: gpu, rack: two}},
   status: {capacity: {cpu: "16", memory: 64Gi, pods: "20", nvidia.com/gpu: "4"}}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: gpu},
   spec: {nodeLabels: {pool: gpu}}}
- apiVersion: kueue.x-k8s.io/v1beta2
  kind: ClusterQueue
  metadata: {name: research}
  spec: &team
    cohortName: lab
    namespaceSelector: {}
    preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
    resourceGroups:
    - coveredResources: [nvidia.com/gpu]
      flavors: [{name: gpu, resources: [{name: nvidia.com/gpu, nominalQuota: 6}]}]
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: product}, spec: *team}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: research},
   spec: {clusterQueue: research}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: product},
   spec: {clusterQueue: product}}
---
# A gang of eight GPUs: two more than its team owns. Its last rank is slow to start.
apiVersion: batch/v1
kind: Job
metadata: {name: train, labels: {kueue.x-k8s.io/queue-name: research}}
spec:
  completionMode: Indexed
  completions: 4
  parallelism: 4
  template:
    metadata:
      annotations:
        sim.allaboard.dev/run-for: 6m
        sim.allaboard.dev/gang: "true"
        sim.allaboard.dev/start-after.3: 40s
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: train, resources: {requests: {nvidia.com/gpu: "2"},
         limits: {nvidia.com/gpu: "2"}}}
---
# Four more, all borrowed; one of its pods fails once.
apiVersion: batch/v1
kind: Job
metadata:
  name: sweep
  labels: {kueue.x-k8s.io/queue-name: research}
  annotations: {sim.allaboard.dev/at: 10s}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
    metadata:
      annotations:
        sim.allaboard.dev/run-for: 3m
        sim.allaboard.dev/fail-after.1: 20s
        sim.allaboard.dev/fail-attempts.1: "1"
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: sweep, resources: {requests: {nvidia.com/gpu: "2"},
         limits: {nvidia.com/gpu: "2"}}}
---
# The other team wants its own back.
apiVersion: batch/v1
kind: Job
metadata:
  name: eval
  labels: {kueue.x-k8s.io/queue-name: product}
  annotations: {sim.allaboard.dev/at: 90s}
spec:
  completions: 2
  parallelism: 2
  template:
    metadata: {annotations: {sim.allaboard.dev/run-for: 2m}}
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: eval, resources: {requests: {nvidia.com/gpu: "2"},
         limits: {nvidia.com/gpu: "2"}}}
"""
TOLD = {"train": "Complete", "sweep": "Complete", "eval": "Complete"}


@click.command()
def demo() -> None:
    """See it work: a small story in virtual time."""
    click.echo("Two teams own six GPUs each and share what is idle. All of it is simulated.\n")
    narrator = Narrator(click.echo)

    async def main() -> dict[str, str]:
        async with World(seed=1, trace=narrator.hear, queueing=Settings()) as world:
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
            case "Workload":
                return _workload_sentence(obj)
        return None


def _job_sentence(type_: str, job: Json) -> str | None:
    name = job["metadata"]["name"]
    if type_ == "ADDED":
        team = job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"]
        return f"{team} submits {name}: {job['spec']['parallelism']} pods of two GPUs"
    if ending(job) != "unfinished":
        return f"job {name} is over: {ending(job)}"
    return None


def _workload_sentence(workload: Json) -> str | None:
    """The latest turn in a workload's life; conditions say it in Kueue's words."""
    name = workload["metadata"]["ownerReferences"][0]["name"]
    conditions = (workload.get("status") or {}).get("conditions") or []
    told = {c["type"]: c for c in conditions}
    holds = {kind for kind, c in told.items() if c["status"] == "True"}
    if "Finished" in holds:
        return None
    if "Evicted" in holds and "Admitted" in holds:
        why = told["Evicted"]["message"].partition(" due to ")[2].partition(";")[0]
        return f"{name} gives way: {why}"
    if "Admitted" in holds:
        queue = workload["status"]["admission"]["clusterQueue"]
        return f"{name} is admitted by {queue}" + (" again" if "Evicted" in told else "")
    reserved = told.get("QuotaReserved")
    if reserved is not None and "couldn't" in reserved["message"]:
        return f"{name} waits: {reserved['message'].partition(': ')[2]}"
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
