"""`why` and `queue`: why does my job wait, and where in the line is it?

The cluster's visibility endpoint answers; where there is none, `why` reads the Workload's
conditions and says so.
"""

from collections.abc import Iterator
from urllib.parse import quote

import click

from allaboard.api.codec import write_pretty_json
from allaboard.api.errors import ApiError, Forbidden, NotFound, Unavailable
from allaboard.api.kueue import names
from allaboard.api.kueue.types.queues import LocalQueue
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json, Kind
from allaboard.api.times import parse_time
from allaboard.api.types.batch import Job
from allaboard.api.types.pods import Pod
from allaboard.cli.connection import Connection, connected
from allaboard.cli.failures import BadInput, Failure
from allaboard.cli.objects import cluster_options
from allaboard.cli.printing import align, render_age
from allaboard.client.transport import Request

BASE = "/apis/visibility.kueue.x-k8s.io/v1beta2"
NO_ENDPOINT = "this cluster has no visibility endpoint"
# The first of these that is there says how it stands with a Workload.
TELLING = (
    ("Finished", "True"), ("Evicted", "True"), ("DeactivationTarget", "True"),
    ("Admitted", "True"), ("QuotaReserved", "True"), ("QuotaReserved", "False"),
)  # fmt: skip


@click.command()
@click.argument("name", metavar="[NAMESPACE/]NAME")
@click.option("-o", "--output", type=click.Choice(["json"]))
@cluster_options
def why(name: str, output: str | None, **cluster: str | None) -> None:
    """Say why a Job or Workload waits, and what would help: the nearest remedy first."""
    space, _, last = name.rpartition("/")
    if not last or "/" in space or (space and cluster.get("namespace") not in (None, space)):
        raise BadInput(f"{name!r} names no Job or Workload; write NAME or NAMESPACE/NAME")

    async def main(connection: Connection) -> None:
        subject = await find_subject(connection, space or connection.namespace, last)
        told = await ask(connection, subject)
        if output == "json":
            click.echo(write_pretty_json(told).decode().rstrip("\n"))
        else:
            lines = render_answer(f"{subject.namespace}/{last}", told)
            click.echo("\n".join(harmless(line) for line in lines))

    connected(main, **cluster)


class Subject:
    """What the person means: a Workload, maybe by the object it stands for."""

    def __init__(self, namespace: str, owner: Json | None, workload: Json | None) -> None:
        self.namespace, self.owner, self.workload = namespace, owner, workload

    @property
    def is_job(self) -> bool:
        return self.owner is not None and self.owner.get("kind") == "Job"


async def find_subject(connection: Connection, namespace: str, name: str) -> Subject:
    for kind in (Job.KIND, Pod.KIND):
        owner = await connection.client.find(kind, name, namespace)
        if owner is not None:
            owner = {**owner, "kind": kind.kind}
            return Subject(namespace, owner, await _workload_of(connection, namespace, owner))
    workload = await _find_workload(connection, namespace, name)
    if workload is None:
        raise Failure(f"there is no Job, Pod or Workload {name!r} in namespace {namespace!r}")
    return Subject(namespace, None, workload)


async def _find_workload(connection: Connection, namespace: str, name: str) -> Json | None:
    found: Json | None = await connection.client.find(Workload.KIND, name, namespace)
    return found


async def _workload_of(connection: Connection, namespace: str, owner: Json) -> Json | None:
    """Proven by the owner's UID; of several the newest."""
    uid = owner["metadata"]["uid"]
    labels = f"{names.JOB_UID}={uid}" if owner["kind"] == "Job" else ""  # fewer to look at
    try:
        listing = await connection.client.list(Workload.KIND, namespace=namespace, labels=labels)
    except NotFound:
        return None  # a cluster without queueing
    mine = [
        item
        for item in listing.items
        if any(ref.get("uid") == uid for ref in item["metadata"].get("ownerReferences") or ())
    ]
    return max(mine, key=lambda w: str(w["metadata"]["creationTimestamp"]), default=None)


async def ask(connection: Connection, subject: Subject) -> Json:
    """The explanation, or as much as the objects themselves say."""
    if subject.workload is None:
        return _unqueued(subject)
    meta = subject.workload["metadata"]
    path = f"namespaces/{quote(subject.namespace, safe='')}/workloads/{quote(meta['name'])}"
    try:
        told = await connection.send(Request("GET", f"{BASE}/{path}/explanation"))
    except (NotFound, Unavailable, Forbidden) as error:
        note = str(error) if isinstance(error, Forbidden) else NO_ENDPOINT
        told = read_conditions(subject.workload, note)
    if subject.is_job and told["state"] in ("Admitted", "Running", "WaitingForPods"):
        told["pods"] = await _pods(connection, subject)
    return told


def _unqueued(subject: Subject) -> Json:
    assert subject.owner is not None
    meta = subject.owner["metadata"]
    queue = (meta.get("labels") or {}).get(names.QUEUE_NAME)
    if queue:
        summary = f"It names LocalQueue {queue}, but nothing has made a Workload of it yet."
        remedy = "see whether the queueing controller runs and manages this kind and namespace"
    else:
        summary = "It is not queued: it names no queue and runs without waiting for quota."
        remedy = f"to queue it, create it with the label {names.QUEUE_NAME}"
    return {
        "state": "NotQueued",
        "summary": summary,
        "remedies": [{"remedy": "ChangeQueue", "message": remedy}],
    }


def read_conditions(workload: Json, note: str) -> Json:
    """Without an explanation: the condition that says most."""
    status = workload.get("status") or {}
    found = {(c["type"], c["status"]): c for c in status.get("conditions") or ()}
    told = next((found[key] for key in TELLING if key in found), None)
    state, message = (told["type"], told.get("message", "")) if told is not None else ("", "")
    if told is not None and told["status"] == "False":
        state = told.get("reason", "")
    return {
        "state": state or "Unknown",
        "summary": message or "Its status says nothing yet.",
        "localQueueName": (workload.get("spec") or {}).get("queueName", ""),
        "source": f"read from its conditions: {note}",
    }


async def _pods(connection: Connection, subject: Subject) -> Json:
    """How many of a Job's pods are there, and why a node would not take one."""
    assert subject.owner is not None
    spec, status = subject.owner["spec"], subject.owner.get("status") or {}
    uid = subject.owner["metadata"]["uid"]
    labels = f"batch.kubernetes.io/controller-uid={uid}"
    pods = await connection.client.list(Pod.KIND, namespace=subject.namespace, labels=labels)
    unplaced = [
        str(c.get("message", ""))
        for pod in pods.items
        for c in (pod.get("status") or {}).get("conditions") or ()
        if c["type"] == "PodScheduled" and c["status"] == "False"
    ]
    shown: Json = {"ready": int(status.get("ready") or 0), "wanted": spec.get("parallelism", 1)}
    if unplaced:
        shown |= {"unplaced": len(unplaced), "message": unplaced[0]}
    return shown


# In words


def harmless(line: str) -> str:
    """Messages come from others: whatever a terminal might obey is shown as a question mark."""
    return "".join(c if c.isprintable() else "?" for c in line)


def render_answer(name: str, told: Json) -> Iterator[str]:
    yield f"{name}: {told['summary']}"
    remedies = told.get("remedies") or []
    if remedies:
        yield "What would help:"
        yield from (f"  {i}. {r['message']}" for i, r in enumerate(remedies, 1))
    if "positionInClusterQueue" in told:
        here, local = told["positionInClusterQueue"] + 1, told["positionInLocalQueue"] + 1
        yield (
            f"Place: {here} of {told['pendingInClusterQueue']} in ClusterQueue "
            f"{told['clusterQueueName']}, {local} in LocalQueue {told['localQueueName']}, "
            f"priority {told['priority']}"
        )
    pods = told.get("pods")
    if pods:
        yield f"Pods: {pods['ready']} of {pods['wanted']} ready"
        if pods.get("unplaced"):
            yield f"  {pods['unplaced']} without a node: {pods['message']}"
    yield from _holder_lines(told.get("holders") or [])
    flavors = told.get("flavors") or []
    if flavors:
        yield "Flavors:"
        rows = [[f"  {f['podSet']}", f["message"]] for f in flavors]
        yield from align(rows)
    if told.get("source"):
        yield f"({told['source']})"


def _holder_lines(holders: list[Json]) -> Iterator[str]:
    if not holders:
        return
    yield "Held by:"
    rows = []
    for holder in holders:
        held = ", ".join(
            f"{a['amount']} {a['resource']} ({a['flavor']})" for a in holder["amounts"]
        )
        more = f"priority {holder['priority']}" if "priority" in holder else ""
        if holder["leaving"]:
            more = f"{more}, leaving".lstrip(", ")
        rows.append([f"  {holder['name'] or 'others'}", held, more])
    yield from align(rows)


@click.command()
@click.argument("local_queue", required=False)
@click.option("--cluster-queue", metavar="NAME", help="Everybody in a ClusterQueue.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option("-o", "--output", type=click.Choice(["json"]))
@cluster_options
def queue(
    local_queue: str | None,
    cluster_queue: str | None,
    limit: int,
    output: str | None,
    **cluster: str | None,
) -> None:
    """Show who waits, in which place and for what; of all LocalQueues where none is named."""
    if local_queue and cluster_queue:
        raise BadInput("give a LocalQueue or --cluster-queue, not both")

    async def main(connection: Connection) -> None:
        items = await _lines(connection, local_queue, cluster_queue, limit)
        if output == "json":
            click.echo(write_pretty_json({"items": items}).decode().rstrip("\n"))
        elif items:
            lines = render_line(items, connection.now())
            click.echo("\n".join(harmless(line) for line in lines))
        else:
            click.echo("Nobody waits.")

    connected(main, **cluster)


async def _lines(
    connection: Connection, local_queue: str | None, cluster_queue: str | None, limit: int
) -> list[Json]:
    if cluster_queue:
        paths = [f"clusterqueues/{quote(cluster_queue, safe='')}"]
    else:
        locals_ = [local_queue] if local_queue else await _names(connection, LocalQueue.KIND)
        space = quote(connection.namespace, safe="")
        paths = [f"namespaces/{space}/localqueues/{quote(n, safe='')}" for n in locals_]
    items: list[Json] = []
    for path in paths:
        request = Request("GET", f"{BASE}/{path}/pendingworkloads", {"limit": str(limit)})
        try:
            items += (await connection.send(request)).get("items") or []
        except ApiError as error:
            if isinstance(error, NotFound) and not (error.details or {}).get("kind"):
                raise Failure(f"{NO_ENDPOINT}; try `allaboard get workloads`") from None
            raise
    return items


async def _names(connection: Connection, kind: Kind) -> list[str]:
    listing = await connection.client.list(kind, namespace=connection.namespace)
    return [str(item["metadata"]["name"]) for item in listing.items]


def render_line(items: list[Json], now: float) -> list[str]:
    rows = [["PLACE", "IN QUEUE", "LOCALQUEUE", "NAME", "PRIORITY", "AGE", "REASON"]]
    for item in items:
        meta = item["metadata"]
        owner = next((o for o in meta.get("ownerReferences") or () if o.get("controller")), meta)
        created = meta.get("creationTimestamp")
        age = render_age(now - parse_time(created)) if created else ""
        rows.append(
            [
                str(item["positionInClusterQueue"] + 1),
                str(item["positionInLocalQueue"] + 1),
                f"{meta['namespace']}/{item['localQueueName']}",
                str(owner["name"]),
                str(item["priority"]),
                age,
                item.get("message") or item.get("reason") or "",
            ]
        )
    return align(rows)
