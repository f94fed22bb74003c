"""Children of queued owners are known by UID and by what their owner would make."""

from typing import Any

import pytest
from staged_jobs import NS, Stage, a_job, play

from allaboard.api.kueue import names
from allaboard.api.meta import Json
from allaboard.api.types.batch import Job
from allaboard.api.types.core import Namespace
from allaboard.queueing.jobs.adapter import Patch, Subject
from allaboard.queueing.jobs.batch_job import BatchJobs
from allaboard.queueing.jobs.caches import Caches
from allaboard.queueing.jobs.families import Families, TooDeep
from allaboard.queueing.jobs.settings import Settings
from allaboard.runtime.informers import Informers


class Nesting(BatchJobs):
    """Jobs that make Jobs, to whom they give a label."""

    def is_parent_of(self, owner: Json, child: Json) -> bool:
        return (child["metadata"].get("labels") or {}).get("made-by") == owner["metadata"]["name"]


def member(uid: str, parent: str = "", made_by: str = "", queue: str = "", ns: str = NS) -> Json:
    labels = {names.QUEUE_NAME: queue} if queue else {}
    if made_by:
        labels["made-by"] = made_by
    meta: dict[str, Any] = {"name": uid, "namespace": ns, "uid": uid, "labels": labels}
    if parent:
        meta["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "x", "uid": parent,
             "controller": True}
        ]  # fmt: skip
    return {"metadata": {**meta, "resourceVersion": "1"}, "spec": {}}


def families(stage: Stage, *jobs: Json) -> Families:
    informers = Informers(stage.client, stage.world.clock)
    adapters = {"batch/job": Nesting()}
    caches = Caches(informers, adapters)
    informers.of(Job.KIND).replace(jobs, 1)
    space = {"metadata": {"name": NS, "resourceVersion": "1", "labels": {}}}
    informers.of(Namespace.KIND).replace([space], 1)
    return Families(caches, adapters, Settings())


@pytest.mark.parametrize(
    ("jobs", "top"),
    [
        pytest.param([member("c")], None, id="nobody's child"),
        pytest.param([member("c", "p", "p"), member("p", queue="lq")], "p", id="a queued owner's"),
        pytest.param([member("c", "p", "p"), member("p")], None, id="its owner is not queued"),
        pytest.param([member("c", "p"), member("p", queue="lq")], None, id="it only claims so"),
        pytest.param([member("c", "p", "p")], None, id="its owner is not there"),
        pytest.param(
            [member("c", "p", "p"), member("p", queue="lq", ns="elsewhere")],
            None, id="its owner is in another namespace",
        ),
        pytest.param(
            [member("c", "p", "p"), member("p", "g", "g"), member("g", queue="lq")],
            "g", id="a grandchild",
        ),
    ],
)  # fmt: skip
def test_who_is_whose_child(jobs: list[Json], top: str | None) -> None:
    async def scene(stage: Stage) -> None:
        found = families(stage, *jobs).queued_ancestor(jobs[0])
        assert (found["metadata"]["uid"] if found else None) == top

    play(scene)


def test_a_chain_that_is_too_long_or_a_ring_is_not_followed_for_ever() -> None:
    async def scene(stage: Stage) -> None:
        ring = [member("a", "b", "b"), member("b", "a", "a")]
        with pytest.raises(TooDeep):
            families(stage, *ring).queued_ancestor(ring[0])

    play(scene)


def test_a_child_is_suspended_and_only_what_we_suspended_is_resumed() -> None:
    jobs = BatchJobs()

    def of(job: Json) -> Subject:
        return Subject("train", NS, (job,))

    running, waiting = a_job(suspend=False), a_job(suspend=True)
    (held,) = jobs.hold(of(running))
    assert isinstance(held, Patch) and held.body["spec"] == {"suspend": True}
    assert jobs.hold(of(waiting)) == jobs.let_go(of(waiting)) == []
    ours = a_job(suspend=True, annotations={names.STOPPING: "true"})
    (resumed,) = jobs.let_go(of(ours))
    assert isinstance(resumed, Patch) and resumed.body["spec"] == {"suspend": False}
