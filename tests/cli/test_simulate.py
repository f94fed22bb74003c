"""`allaboard simulate`, as people call it: files in, summary, dump, events and exit code out."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NODE = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: "4", memory: 8Gi, pods: "10"}}
"""


def job(name: str, annotations: str = "", spec: str = "", meta: str = "") -> str:
    return f"""
---
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, {meta}}}
spec:
  {spec or "completions: 1"}
  template:
    metadata: {{annotations: {{{annotations}}}}}
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: x, resources: {{requests: {{cpu: "1"}}}}}}]
"""


class Run:
    def __init__(self, folder: Path, text: str, *options: str, hash_seed: str = "0") -> None:
        script = folder / "script.yaml"
        script.write_text(text)
        self.events_file, dump = folder / "events.jsonl", folder / "dump.json"
        command = [sys.executable, "-m", "allaboard.cli", "simulate", str(script)]
        outputs = ["--events", str(self.events_file), "--dump", str(dump)]
        done = subprocess.run(
            [*command, *outputs, *options],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        ran = self.events_file.exists() and dump.exists()
        self.events = (
            [json.loads(x) for x in self.events_file.read_text().splitlines()] if ran else []
        )
        self.objects = json.loads(dump.read_text())["items"] if ran else []

    def of(self, kind: str, name: str = "") -> list[dict[str, Any]]:
        return [
            o for o in self.objects if o["kind"] == kind and o["metadata"]["name"].startswith(name)
        ]

    def changes(self, kind: str, name: str = "") -> list[dict[str, Any]]:
        return [e for e in self.events if e["kind"] == kind and e["name"].startswith(name)]


def conditions(obj: dict[str, Any]) -> list[str]:
    found = (obj.get("status") or {}).get("conditions") or []
    return [c["type"] for c in found if c["status"] == "True"]


def test_a_job_runs_to_its_end_at_the_second(tmp_path: Path) -> None:
    run = Run(tmp_path, NODE + job("train", "sim.allaboard.dev/run-for: 1h"))
    assert (run.code, run.err.startswith("(")) == (0, True)
    assert "Jobs: 1 complete." in run.out
    phases = [
        (e["time"], e["object"]["status"]["phase"])
        for e in run.changes("Pod", "train")
        if e["type"] != "DELETED"
    ]
    assert ("2026-01-01T00:00:01.000000Z", "Running") in phases
    assert ("2026-01-01T01:00:01.000000Z", "Succeeded") in phases
    assert "Complete" in conditions(run.of("Job", "train")[0])


def test_events_tell_every_change_and_the_dump_is_their_sum(tmp_path: Path) -> None:
    """Replaying the lines gives exactly the objects of the dump."""
    run = Run(tmp_path, NODE + job("a", "sim.allaboard.dev/run-for: 5s"))
    world: dict[tuple[str, str, str, str], Any] = {}
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in run.events]
    assert versions == sorted(set(versions)) and len(versions) > 10
    for event in run.events:
        assert list(event) == ["time", "type", "kind", "namespace", "name", "object"]
        key = (event["object"]["apiVersion"], event["kind"], event["namespace"], event["name"])
        if event["type"] == "DELETED":
            del world[key]
        else:
            assert (key in world) == (event["type"] == "MODIFIED")
            world[key] = event["object"]
    dumped = {o["metadata"]["uid"]: o for o in run.objects}
    assert dumped == {o["metadata"]["uid"]: o for o in world.values()}


def test_the_same_seed_gives_the_same_bytes_under_any_hash_seed(tmp_path: Path) -> None:
    text = NODE + job("a", "sim.allaboard.dev/run-for: 5s", "completions: 3") + job("b")
    traces = set()
    for number, hash_seed in enumerate(("0", "1", "4242")):
        folder = tmp_path / str(number)
        folder.mkdir()
        Run(folder, text, "--seed", "7", "--until", "1h", hash_seed=hash_seed)
        traces.add((folder / "events.jsonl").read_bytes())
    assert len(traces) == 1
    other = tmp_path / "other"
    other.mkdir()
    Run(other, text, "--seed", "8", "--until", "1h")
    assert (other / "events.jsonl").read_bytes() not in traces


def test_documents_come_patch_and_go_at_their_time(tmp_path: Path) -> None:
    text = f"""
apiVersion: v1
kind: ConfigMap
metadata: {{name: c, annotations: {{sim.allaboard.dev/at: 90s}}}}
data: {{a: "1"}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  annotations: {{sim.allaboard.dev/at: 2m, sim.allaboard.dev/action: patch}}
data: {{b: "2"}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
  annotations: {{sim.allaboard.dev/at: 1h, sim.allaboard.dev/action: delete}}
---
{NODE}
---
apiVersion: v1
kind: Node
metadata:
  name: n1
  annotations: {{sim.allaboard.dev/at: 30s, sim.allaboard.dev/action: patch}}
status: {{capacity: {{cpu: "9"}}}}
"""
    run = Run(tmp_path, text)
    assert run.code == 0
    story = [
        (e["time"][11:19], e["type"], e["object"].get("data"))
        for e in run.changes("ConfigMap", "c")
    ]
    assert story == [
        ("00:01:30", "ADDED", {"a": "1"}),
        ("00:02:00", "MODIFIED", {"a": "1", "b": "2"}),
        ("01:00:00", "DELETED", {"a": "1", "b": "2"}),
    ]
    assert run.of("Node")[0]["status"]["capacity"] == {"cpu": "9", "memory": "8Gi", "pods": "10"}


def test_an_object_may_be_addressed_by_its_owner(tmp_path: Path) -> None:
    patch = """
---
apiVersion: v1
kind: Pod
metadata:
  labels: {seen: "yes"}
  annotations:
    sim.allaboard.dev/at: 5s
    sim.allaboard.dev/action: patch
    sim.allaboard.dev/of: Job/train
"""
    run = Run(tmp_path, NODE + job("train", "sim.allaboard.dev/run-for: 9s") + patch)
    assert run.code == 0
    assert run.of("Pod", "train")[0]["metadata"]["labels"]["seen"] == "yes"


def test_a_refused_document_is_told_and_the_run_goes_on(tmp_path: Path) -> None:
    bad = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "Not A Name", annotations: {sim.allaboard.dev/at: 5s}}
---
apiVersion: example.com/v1
kind: Unheard
metadata: {name: of}
"""
    run = Run(tmp_path, NODE + bad + job("after", "sim.allaboard.dev/run-for: 1m"))
    assert run.code == 3
    refused = [e for e in run.events if e["type"] == "REFUSED"]
    assert [(e["kind"], e["object"]["kind"], e["object"]["code"]) for e in refused] == [
        ("Unheard", "Status", 404),
        ("ConfigMap", "Status", 422),
    ]
    assert refused[1]["time"] == "2026-01-01T00:00:05.000000Z"
    assert "Refused at 5s: " in run.out and "document 2" in run.out
    assert "Complete" in conditions(run.of("Job", "after")[0])


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("a: [1", (), "document 1"),
        ("kind: Pod\nmetadata: {name: x}", (), "apiVersion: required"),
        (NODE + "---\napiVersion: v1\nkind: Pod\nmetadata: {}", (), "document 2: metadata.name"),
        (NODE, ("--until", "soon"), "--until: 'soon' is not a duration"),
        (NODE + job("j", "sim.allaboard.dev/run-for: never"), (), "spec.template.metadata"),
        (NODE, ("--config", "/nonexistent"), "/nonexistent: cannot be read"),
        ("&a [*a]", (), "document 1"),
        ("kind: Pod\nmetadata: {name: x}\nmetadata: {}", (), 'document 1: line 3: key "metadata"'),
    ],
)
def test_bad_input_ends_with_two_and_a_sentence(
    tmp_path: Path, text: str, options: tuple[str, ...], words: str
) -> None:
    run = Run(tmp_path, text, *options)
    assert run.code == 2
    assert words in run.err and "Traceback" not in run.err


def test_a_dump_that_cannot_be_written_is_told_before_the_run(tmp_path: Path) -> None:
    run = Run(tmp_path, NODE, "--dump", str(tmp_path / "no" / "where.json"))
    assert run.code == 2 and "where.json: cannot be written" in run.err
    assert not run.events_file.exists()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "allaboard.cli", "simulate", str(tmp_path / "none.yaml")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 2 and "none.yaml: cannot be read: No such file" in done.stderr


STAGES = [
    pytest.param('sim.allaboard.dev/exit-code: "3"', "completions: 1, backoffLimit: 0", "Failed",
                 id="a bad exit code fails the job"),
    pytest.param("sim.allaboard.dev/fail-after: 2s", "completions: 1, backoffLimit: 1", "Failed",
                 id="failing for ever uses the retries up"),
    pytest.param('sim.allaboard.dev/fail-attempts: "2", sim.allaboard.dev/run-for: 5s',
                 "completions: 1, backoffLimit: 4", "Complete", id="the third attempt succeeds"),
    pytest.param('sim.allaboard.dev/run-for: 5s, sim.allaboard.dev/fail-after.1: 1s, '
                 'sim.allaboard.dev/fail-attempts.1: "1"',
                 "completions: 3, parallelism: 3, completionMode: Indexed", "Complete",
                 id="one index fails once"),
]  # fmt: skip


@pytest.mark.parametrize(("annotations", "spec", "ending"), STAGES)
def test_stages_lead_to_their_endings(
    tmp_path: Path, annotations: str, spec: str, ending: str
) -> None:
    run = Run(tmp_path, NODE + job("j", annotations, "\n  ".join(spec.split(", "))))
    assert run.code == 0
    assert ending in conditions(run.of("Job", "j")[0])


def test_pods_that_never_start_or_never_get_ready_wait_without_stopping_the_run(
    tmp_path: Path,
) -> None:
    never = job("stuck", "sim.allaboard.dev/never-start: ImagePullBackOff")
    lazy = job("lazy", 'sim.allaboard.dev/never-ready: "true", sim.allaboard.dev/run-for: 30s')
    run = Run(tmp_path, NODE + never + lazy)
    assert run.code == 0
    stuck = run.of("Pod", "stuck")[0]["status"]
    assert stuck["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    readiness = [
        c["status"]
        for e in run.changes("Pod", "lazy")
        for c in e["object"]["status"].get("conditions") or []
        if c["type"] == "Ready"
    ]
    assert readiness and set(readiness) == {"False"}
    assert "Complete" in conditions(run.of("Job", "lazy")[0])


def test_two_halves_of_a_gang_wait_for_one_another(tmp_path: Path) -> None:
    """run-for counts from the moment the slower rank runs; a rendezvous does not wait that long."""
    gang = 'sim.allaboard.dev/gang: "true", sim.allaboard.dev/run-for: 10s, '
    slow = "sim.allaboard.dev/start-after.1: 60s"
    spec = "completions: 2\n  parallelism: 2\n  completionMode: Indexed\n  backoffLimit: 0"
    run = Run(tmp_path, NODE + job("patient", gang + slow, spec))
    ends = [
        e["time"][14:19]
        for e in run.changes("Pod", "patient")
        if e["object"]["status"]["phase"] == "Succeeded"
    ]
    assert set(ends[:2]) == {"01:10"}
    hasty = gang + slow + ", sim.allaboard.dev/rendezvous-timeout: 20s"
    run = Run(tmp_path, NODE + job("hasty", hasty, spec))
    assert "Failed" in conditions(run.of("Job", "hasty")[0])


def test_a_pod_waits_for_its_config_map(tmp_path: Path) -> None:
    text = (
        NODE
        + """
---
apiVersion: v1
kind: Pod
metadata: {name: p, annotations: {sim.allaboard.dev/run-for: 10s}}
spec:
  restartPolicy: Never
  containers: [{name: main, image: x}]
  volumes: [{name: v, configMap: {name: late}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: late, annotations: {sim.allaboard.dev/at: 5m}}
"""
    )
    run = Run(tmp_path, text)
    running = [e["time"] for e in run.changes("Pod") if e["object"]["status"]["phase"] == "Running"]
    assert running[0] == "2026-01-01T00:05:00.000000Z"
    assert any(e["object"].get("reason") == "FailedMount" for e in run.changes("Event"))


def test_time_ends_at_until(tmp_path: Path) -> None:
    run = Run(tmp_path, NODE + job("j", "sim.allaboard.dev/run-for: 10h"), "--until", "30m")
    assert run.code == 0 and "Simulated 30m0s." in run.out and "1 running" in run.out
    assert max(e["time"] for e in run.events) <= "2026-01-01T00:30:00.000000Z"
