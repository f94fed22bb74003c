"""`why` and `queue` on a running `allaboard up`, and on clusters that know less."""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from allaboard.api.kueue.types.flavors import ResourceFlavor
from allaboard.api.kueue.types.queues import ClusterQueue, LocalQueue
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json
from allaboard.cli.connection import Connection
from allaboard.cli.failures import Failure
from allaboard.cli.main import main
from allaboard.cli.why import ask, find_subject, harmless, render_answer
from allaboard.client.discovery import Discovery
from allaboard.queueing.config import Settings
from allaboard.sim.loop import run_virtual
from allaboard.sim.world import World
from running_cluster import RunningCluster, running_cluster

pytestmark = pytest.mark.xdist_group("cli-why")
VERSION = "kueue.x-k8s.io/v1beta2"
KINDS = {what.KIND.kind: what.KIND for what in (ResourceFlavor, ClusterQueue, LocalQueue)}


def queues(cpu: str) -> list[Json]:
    quota = {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    return [
        {"apiVersion": VERSION, "kind": "ResourceFlavor", "metadata": {"name": "plain"}},
        {"apiVersion": VERSION, "kind": "ClusterQueue", "metadata": {"name": "team"},
         "spec": {"namespaceSelector": {}, "resourceGroups": groups}},
        {"apiVersion": VERSION, "kind": "LocalQueue",
         "metadata": {"name": "main", "namespace": "default"}, "spec": {"clusterQueue": "team"}},
    ]  # fmt: skip


def job(name: str, pods: int, queue: str | None = "main", cpu: str = "1") -> Json:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"annotations": {"sim.allaboard.dev/run-for": "1h"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    meta = {"name": name, "namespace": "default", "labels": labels}
    spec = {"parallelism": pods, "completions": pods, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Allaboard = Callable[..., Answer]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    folder = tmp_path_factory.mktemp("why")
    with running_cluster(folder, "--nodes", "2") as running:
        yield running


@pytest.fixture
def allaboard(
    cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Allaboard:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))

    def call(*words: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["allaboard", *words])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Answer(code, *capsys.readouterr())

    return call


def test_a_job_that_waits_behind_another_and_who_waits_in_the_queue(
    allaboard: Allaboard, tmp_path: Path
) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all([*queues("4"), job("sweep", 3)]))
    assert allaboard("apply", "-f", str(file)).code == 0
    found = ("--for", "jsonpath={.status.ready}=3")
    assert allaboard("wait", "job", "sweep", *found).code == 0
    file.write_text(yaml.safe_dump_all([job("train", 2)]))
    assert allaboard("apply", "-f", str(file)).code == 0
    named = json.loads(allaboard("get", "workloads", "-o", "json").out)["items"]
    waiting = next(w["metadata"]["name"] for w in named
                   if w["metadata"]["name"].startswith("job-train"))  # fmt: skip
    told = ("--for", "condition=QuotaReserved=False")
    assert allaboard("wait", "workload", waiting, *told).code == 0

    lines = allaboard("why", "default/train").out.splitlines()
    assert lines[:2] == [
        "default/train: It waits for quota: 1 cpu more on flavor plain of ClusterQueue team.",
        "What would help:",
    ]
    assert lines[2] == "  1. 3 cpu come free when default/sweep ends"
    assert "Place: 1 of 1 in ClusterQueue team, 1 in LocalQueue main, priority 0" in lines
    assert any(line.split()[:3] == ["default/sweep", "3", "cpu"] for line in lines)

    by_workload = json.loads(allaboard("why", waiting, "-n", "default", "-o", "json").out)
    assert by_workload["state"] == "WaitingForQuota"
    assert "Pods: 3 of 3 ready" in allaboard("why", "sweep").out.splitlines()

    table = allaboard("queue").out.splitlines()
    assert table[1].split()[:5] == ["1", "1", "default/main", "train", "0"]
    assert allaboard("queue", "main").out.splitlines()[1].split()[3] == "train"
    assert allaboard("queue", "--cluster-queue", "team").out.splitlines()[1].split()[3] == "train"

    assert allaboard("queue", "none").code == 1
    assert allaboard("queue", "main", "--cluster-queue", "team").code == 2
    nobody = allaboard("why", "nobody")
    assert nobody.code == 1 and "no Job, Pod or Workload 'nobody'" in nobody.err
    assert allaboard("why", "a/b/c").code == 2


# --- on clusters that know less, in virtual time


def asked(documents: list[Json], name: str, queueing: bool = True, endpoint: bool = True) -> Any:
    """What `why` says of `name` a minute after these were created."""

    async def scene() -> list[str]:
        async with World(seed=1, queueing=Settings() if queueing else None) as world:
            for document in documents:
                await world.client.create(document, KINDS.get(document["kind"]))
            await asyncio.sleep(60)
            if not endpoint:
                world.cluster.server.discovery.extensions.clear()
            connection = Connection(world.client, Discovery(world.client), "default", world.clock)
            subject = await find_subject(connection, "default", name)
            return list(render_answer(name, await ask(connection, subject)))

    return run_virtual(scene())


def test_without_the_endpoint_the_conditions_speak() -> None:
    lines = asked([*queues("1"), job("big", 2)], "big", endpoint=False)
    assert "maximum capacity" in lines[0]
    assert lines[-1] == "(read from its conditions: this cluster has no visibility endpoint)"


def test_a_message_cannot_command_the_terminal() -> None:
    assert harmless("née \x1b[2Jgone\nnext") == "née ?[2Jgone?next"


def test_a_job_without_a_queue_is_not_queued() -> None:
    lines = asked([*queues("1"), job("free", 1, queue=None)], "free")
    assert lines[0].startswith("free: It is not queued") and "queue-name" in lines[2]


def test_on_a_bare_cluster_nothing_queues_it() -> None:
    lines = asked([job("lost", 1)], "lost", queueing=False)
    assert "nothing has made a Workload of it" in lines[0]


def test_quota_says_yes_and_nodes_say_no() -> None:
    """No node is there at all."""
    lines = asked([*queues("4"), job("placed", 2)], "placed")
    assert lines[0] == "placed: It is admitted to ClusterQueue team on flavor plain."
    assert lines[1] == "Pods: 0 of 2 ready"
    assert lines[2].startswith("  2 without a node: ")


def test_nothing_of_that_name() -> None:
    with pytest.raises(Failure, match="no Job, Pod or Workload 'ghost'"):
        asked(queues("1"), "ghost")


def test_a_workload_may_be_asked_for_by_its_own_name() -> None:
    async def scene() -> list[str]:
        async with World(seed=1, queueing=Settings()) as world:
            for document in (*queues("1"), job("big", 2)):
                await world.client.create(document, KINDS.get(document["kind"]))
            await asyncio.sleep(5)
            connection = Connection(world.client, Discovery(world.client), "default", world.clock)
            only = (await world.client.list(Workload.KIND)).items[0]["metadata"]["name"]
            subject = await find_subject(connection, "default", only)
            return list(render_answer("big", await ask(connection, subject)))

    assert "asks for 2 cpu" in run_virtual(scene())[0]
