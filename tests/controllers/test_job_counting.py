"""Every ended pod is counted exactly once, wherever the controller breaks off."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.cluster.controllers.job.backoff import Backoff
from allaboard.cluster.controllers.job.facts import TRACKING, PodFacts
from allaboard.cluster.controllers.job.plan import JobPlan, is_finished, settle
from allaboard.cluster.controllers.job.sync import sync

LONG_AGO = format_time(1_000.0)
STEPS = ("create", "delete", "status", "release", "settle")


class TinyServer:
    """One Job and its pods in two dicts; pods that are deleted stay until they ended."""

    def __init__(self, indexed: bool, completions: int, parallelism: int) -> None:
        template = {"spec": {"restartPolicy": "Never", "containers": []}}
        self.job: Json = {
            "metadata": {"name": "j", "namespace": "ns", "uid": "u"},
            "spec": {
                "completions": completions,
                "parallelism": parallelism,
                "completionMode": "Indexed" if indexed else "NonIndexed",
                "backoffLimit": 1_000,
                "template": template,
            },
            "status": {},
        }
        self.pods: dict[str, Json] = {}
        self.ended: dict[str, str] = {}  # UID -> phase, of every pod that ever ended
        self.now = 1_000_000.0

    def facts(self) -> list[PodFacts]:
        return [PodFacts(pod) for pod in self.pods.values()]

    def look(self, steps: int) -> None:
        """One reconcile that breaks off after so many steps."""
        self.now += 1_000
        plan = sync(self.job, self.facts(), self.now, Backoff())
        if plan is None:
            return
        for step in STEPS[:steps]:
            getattr(self, f"_{step}")(plan)

    def _create(self, plan: JobPlan) -> None:
        for pod in plan.create:
            uid = f"pod-{len(self.ended) + len(self.pods)}-{self.now:.0f}-{len(self.pods)}"
            meta = {**pod["metadata"], "name": uid, "uid": uid, "creationTimestamp": LONG_AGO}
            self.pods[uid] = {**pod, "metadata": meta, "status": {"phase": "Running"}}

    def _delete(self, plan: JobPlan) -> None:
        for pod in plan.delete:
            self.pods.pop(pod.uid, None)

    def _status(self, plan: JobPlan) -> None:
        if plan.write_status:
            self.job = {**self.job, "status": plan.status}

    def _release(self, plan: JobPlan) -> None:
        for pod in plan.release:
            meta = {**self.pods[pod.uid]["metadata"], "finalizers": []}
            self.pods[pod.uid] = {**self.pods[pod.uid], "metadata": meta}

    def _settle(self, plan: JobPlan) -> None:
        status, _ = settle(plan, {pod.uid for pod in plan.release}, self.now)
        if status is not None:
            self.job = {**self.job, "status": status}

    def end(self, which: int, phase: str) -> None:
        running = [uid for uid, pod in self.pods.items() if pod["status"]["phase"] == "Running"]
        if running:
            uid = running[which % len(running)]
            state: Any = {"terminated": {"exitCode": 1, "finishedAt": LONG_AGO}}
            status = {"phase": phase, "containerStatuses": [{"name": "m", "state": state}]}
            self.pods[uid] = {**self.pods[uid], "status": status}
            self.ended[uid] = phase

    def collect(self, which: int) -> None:
        """Somebody removes an ended pod; as long as it is tracked, it cannot go."""
        gone = [
            uid
            for uid in self.ended
            if uid in self.pods and TRACKING not in self.pods[uid]["metadata"]["finalizers"]
        ]
        if gone:
            del self.pods[gone[which % len(gone)]]


actions = st.one_of(
    st.tuples(st.just("look"), st.integers(0, len(STEPS))),
    st.tuples(st.just("succeed"), st.integers(0, 9)),
    st.tuples(st.just("fail"), st.integers(0, 9)),
    st.tuples(st.just("collect"), st.integers(0, 9)),
)


@settings(max_examples=150, deadline=None)
@given(
    indexed=st.booleans(),
    completions=st.integers(1, 6),
    parallelism=st.integers(1, 4),
    script=st.lists(actions, max_size=40),
)
def test_each_end_counts_once(
    indexed: bool, completions: int, parallelism: int, script: list[tuple[str, int]]
) -> None:
    server = TinyServer(indexed, completions, parallelism)
    for verb, number in script:
        if verb == "look":
            server.look(number)
        elif verb == "collect":
            server.collect(number)
        else:
            server.end(number, "Succeeded" if verb == "succeed" else "Failed")
    for _ in range(60):  # the world calms down: whatever still runs succeeds
        server.look(len(STEPS))
        server.end(0, "Succeeded")
    status = server.job["status"]
    ends = list(server.ended.values())
    assert is_finished(server.job)
    assert status["succeeded"] == completions == ends.count("Succeeded")
    assert status.get("failed", 0) == ends.count("Failed")
    assert status["uncountedTerminatedPods"] == {}
    assert not any(pod.tracked for pod in server.facts())
