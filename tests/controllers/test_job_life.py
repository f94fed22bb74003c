"""Jobs against a running server, where the recorded streams do not reach."""

import asyncio
from typing import Any

import pytest
from controlled import CONFIG_MAP, Controlled, play

from allaboard.api.errors import Forbidden
from allaboard.api.meta import Json, Kind
from allaboard.api.times import format_time
from allaboard.cluster.controllers.install import CONTROLLERS, Config, install
from allaboard.runtime.manager import Manager

JOB = Kind("batch", "v1", "Job", "jobs")
POD = Kind("", "v1", "Pod", "pods")
TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}}


async def add_job(cluster: Controlled, name: str = "j", **spec: Any) -> None:
    await cluster.make(JOB, name, spec={"template": TEMPLATE, **spec})
    await asyncio.sleep(0.5)


async def status(cluster: Controlled, name: str = "j") -> Json:
    job = await cluster.find(JOB, name)
    assert job is not None
    found: Json = job["status"]
    return found


async def end_pods(cluster: Controlled, phase: str, *names: str) -> None:
    code = int(phase == "Failed")
    ended = {"exitCode": code, "finishedAt": format_time(cluster.clock.now())}
    container = {"name": "main", "state": {"terminated": ended}, "image": "i", "imageID": ""}
    state = {"phase": phase, "containerStatuses": [container | {"ready": False, "restartCount": 0}]}
    for name in names or cluster.names("pods"):
        await cluster.client.patch(POD, name, "default", {"status": state}, subresource="status")
    await asyncio.sleep(2.5)


def test_more_pods_than_one_sync_takes_are_all_counted() -> None:
    async def act(cluster: Controlled) -> None:
        await add_job(cluster, parallelism=1200, completions=1200, completionMode="Indexed")
        await asyncio.sleep(10)
        assert len(cluster.names("pods")) == 1200
        await end_pods(cluster, "Succeeded")
        await asyncio.sleep(10)
        assert (await status(cluster))["completedIndexes"] == "0-1199"
        assert (await status(cluster))["conditions"][-1]["type"] == "Complete"
        metas = [record.obj["metadata"] for record in cluster.store.list("pods", None)]
        assert not any(meta.get("finalizers") for meta in metas)

    play(act)


def test_a_restarted_controller_still_waits_before_it_retries() -> None:
    """The delay is told by the ended pods, so it survives the controller's memory."""

    async def act(cluster: Controlled) -> None:
        await add_job(cluster)
        await end_pods(cluster, "Failed")
        await cluster.restart()
        await asyncio.sleep(4)
        assert len(cluster.names("pods")) == 1
        await asyncio.sleep(5)
        assert len(cluster.names("pods")) == 2

    play(act)


def test_a_restarted_controller_takes_up_what_the_first_left() -> None:
    async def act(cluster: Controlled) -> None:
        await add_job(cluster, parallelism=3, completions=3)
        pods = cluster.names("pods")
        await cluster.stop()
        await end_pods(cluster, "Succeeded", *pods)
        await cluster.restart()
        await asyncio.sleep(2)
        assert (await status(cluster))["succeeded"] == 3
        assert len(cluster.names("pods")) == 3

    play(act)


def test_a_pod_that_the_job_no_longer_selects_is_let_go_and_replaced() -> None:
    async def act(cluster: Controlled) -> None:
        await add_job(cluster)
        (name,) = cluster.names("pods")
        strange: Json = {"metadata": {"labels": {"batch.kubernetes.io/controller-uid": "x"}}}
        await cluster.client.patch(POD, name, "default", strange)
        await asyncio.sleep(2)
        pod = await cluster.find(POD, name)
        assert pod is not None
        assert not pod["metadata"].get("ownerReferences")
        assert not pod["metadata"].get("finalizers")
        assert len(cluster.names("pods")) == 2

    play(act)


def test_refused_pods_cost_few_requests_and_are_told_about() -> None:
    async def act(cluster: Controlled) -> None:
        asked: list[Json] = []

        async def refuse(path: str, body: Json) -> None:
            if path.endswith("/pods"):
                asked.append(body)
                raise Forbidden("pods are not wanted here")

        cluster.before_create = refuse
        await add_job(cluster, parallelism=100, completions=100)
        assert 1 <= len(asked) <= 12  # one per attempt, and attempts come ever later
        assert (await status(cluster)).get("active", 0) == 0
        assert "FailedCreate" in cluster.reasons()
        cluster.before_create = None
        await asyncio.sleep(10)
        assert len(cluster.names("pods")) == 100

    play(act)


def test_ttl_counts_from_the_end() -> None:
    async def act(cluster: Controlled) -> None:
        await add_job(cluster, ttlSecondsAfterFinished=60)
        await end_pods(cluster, "Succeeded")
        await asyncio.sleep(50)
        assert cluster.names("jobs.batch") == ["j"]
        await asyncio.sleep(15)
        assert (cluster.names("jobs.batch"), cluster.names("pods")) == ([], [])

    play(act)


def test_controllers_can_be_left_out_by_name() -> None:
    async def act(cluster: Controlled) -> None:
        await add_job(cluster)
        assert cluster.names("pods") == []
        assert await cluster.find(CONFIG_MAP, "kube-root-ca.crt") is not None

    play(act, Config(without=frozenset({"job"})))


def test_a_misspelt_controller_is_refused() -> None:
    async def act(cluster: Controlled) -> None:
        manager = Manager(cluster.client, cluster.clock, cluster.rng)
        with pytest.raises(ValueError, match="no controller is named jobs; there are "):
            install(manager, cluster.store, Config(without=frozenset({"jobs"})))

    assert "job" in CONTROLLERS
    play(act)
