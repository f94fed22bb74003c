"""`apply`, `get`, `describe`, `delete`, `wait`: the daily work on a running `allaboard up`."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from allaboard.cli.main import main
from running_cluster import RunningCluster, running_cluster

pytestmark = pytest.mark.xdist_group("cli-objects")

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  completions: 2
  parallelism: 2
  template:
    metadata: {annotations: {sim.allaboard.dev/start-after: 0s, sim.allaboard.dev/run-for: 0s}}
    spec: {restartPolicy: Never, containers: [{name: main, image: x}]}
"""
MAPS = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: web}}, data: {k: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {app: web}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
"""


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Allaboard = Callable[..., Answer]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster"), "--nodes", "2") as running:
        yield running


@pytest.fixture
def allaboard(
    cluster: RunningCluster,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Allaboard:
    """Calls the command as the console script does, in a namespace of the test's own."""
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    space = request.node.name.replace("_", "-").partition("[")[0][:60]

    def call(*words: str, place: str = space) -> Answer:
        monkeypatch.setattr(sys, "argv", ["allaboard", *words, "-n", place])
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return Answer(code, *capsys.readouterr())

    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
    file = cluster.kubeconfig.with_name(f"{space}.json")
    file.write_text(json.dumps(namespace))
    assert call("apply", "-f", str(file)).code == 0
    # Controllers put these into every namespace.
    assert call("wait", "sa/default", "cm/kube-root-ca.crt", "--for", "create").code == 0
    return call


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        file = tmp_path / "manifest.yaml"
        file.write_text(text)
        return str(file)

    return write


Manifest = Callable[[str], str]


def test_a_job_from_file_to_completion(allaboard: Allaboard, manifest: Manifest) -> None:
    assert allaboard("apply", "-f", manifest(JOB)) == (0, "job.batch/train created\n", "")
    waited = allaboard("wait", "job", "train", "--for", "condition=Complete")
    assert waited == (0, "job.batch/train condition met\n", "")
    table = allaboard("get", "jobs").out.splitlines()
    assert table[0].split() == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
    assert table[1].split()[:3] == ["train", "Complete", "2/2"]
    story = allaboard("describe", "job", "train").out
    assert "Kind:          Job (batch/v1)\n" in story
    assert "succeeded: 2\n" in story
    assert "Created pod: train-" in story
    pods = allaboard("get", "pods", "-l", "job-name=train", "-o", "name").out.split()
    assert len(pods) == 2
    assert "Controlled by: Job/train" in allaboard("describe", pods[0]).out
    assert allaboard("delete", "job/train") == (0, "job.batch/train deleted\n", "")
    gone = allaboard("wait", *pods, "--for", "delete")
    assert gone.out == "".join(f"{pod} deleted\n" for pod in pods)


def test_apply_says_what_it_did(allaboard: Allaboard, manifest: Manifest) -> None:
    file = manifest(MAPS)
    dry = allaboard("apply", "-f", file, "--dry-run")
    assert dry.out.splitlines()[0] == "configmap/a created (dry run)"
    assert allaboard("get", "cm", "a").code == 1
    assert allaboard("apply", "-f", file).out.count("created\n") == 3
    assert allaboard("apply", "-f", file).out.count("unchanged\n") == 3
    changed = allaboard("apply", "-f", manifest(MAPS.replace('"1"', '"2"')))
    assert changed.out.splitlines() == [
        "configmap/a configured",
        "configmap/b unchanged",
        "configmap/c unchanged",
    ]


def test_get_in_every_form(allaboard: Allaboard, manifest: Manifest) -> None:
    nothing = allaboard("get", "pods")
    assert (nothing.out, nothing.err) == (
        "",
        "No pods found in namespace 'test-get-in-every-form'.\n",
    )
    allaboard("apply", "-f", manifest(MAPS))
    assert yaml.safe_load(allaboard("get", "cm", "a", "-o", "yaml").out)["data"] == {"k": "1"}
    several = json.loads(allaboard("get", "cm", "-l", "app=web", "-o", "json").out)
    assert [item["metadata"]["name"] for item in several["items"]] == ["a", "b"]
    assert allaboard("get", "cm", "-l", "app=web", "-o", "name").out == "configmap/a\nconfigmap/b\n"
    both = allaboard("get", "cm/a", "sa/default", "-o", "name").out
    assert both == "configmap/a\nserviceaccount/default\n"
    everywhere = allaboard("get", "cm", "-A", "--no-headers").out
    assert "kube-system" in everywhere
    chosen = allaboard("get", "cm", "--field-selector", "metadata.name=c", "--no-headers").out
    assert chosen.split()[:2] == ["c", "0"]
    assert allaboard("get", "all").code == 0


def test_a_watch_goes_on_from_the_table_it_showed(
    allaboard: Allaboard, manifest: Manifest, cluster: RunningCluster
) -> None:
    place = "test-a-watch-goes-on-from-the-table-it-showed"
    command = [sys.executable, "-m", "allaboard.cli", "get", "cm", "-w", "-n", place]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline().split() == ["NAME", "DATA", "AGE"]
        assert process.stdout.readline().startswith("kube-root-ca.crt")
        allaboard("apply", "-f", manifest(MAPS))
        assert [process.stdout.readline().split()[0] for _ in "abc"] == ["a", "b", "c"]
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


def test_delete_by_file_label_and_all(allaboard: Allaboard, manifest: Manifest) -> None:
    file = manifest(MAPS)
    allaboard("apply", "-f", file)
    by_label = allaboard("delete", "cm", "-l", "app=web").out
    assert by_label == "configmap/a deleted\nconfigmap/b deleted\n"
    by_file = allaboard("delete", "-f", file)
    assert (by_file.code, by_file.out) == (1, "configmap/c deleted\n")
    assert by_file.err.count("not found") == 2
    again = allaboard("delete", "-f", file, "--ignore-not-found")
    assert again == (0, "", "")
    assert allaboard("delete", "cm", "--all").out.startswith("configmap/kube-root-ca.crt deleted\n")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("get", "pods", "nobody"), 1, 'Error: pods "nobody" not found'),
        (("get", "nonsense"), 2, "the server has no resource type 'nonsense'"),
        (("get", "pods", "a", "-l", "x=y"), 2, "give names or selectors, not both"),
        (("get", "pods,jobs", "-w"), 2, "--watch shows a table of one kind or one object"),
        (("delete", "pods"), 2, "say what to delete"),
        (("delete", "nodes/"), 2, "'' is not a name"),
        (("delete", "nodes", ""), 2, "'' is not a name"),
        (("get", "pods/"), 2, "'' is not a name"),
        (("wait", "node/", "--for", "delete"), 2, "'' is not a name"),
        (("wait", "pods", "--for", "delete"), 2, "say what to wait for"),
        (("wait", "pod", "x", "--for", "luck"), 2, "--for 'luck': write condition=NAME"),
        (("wait", "pod", "x", "--for", "condition=Ready"), 1, 'pods "x" not found'),
        (("wait", "cm/x", "--for", "create", "--timeout", "0s"), 1, "timed out after 0s"),
        (("apply", "-f", "nowhere.yaml"), 2, "nowhere.yaml: cannot be read"),
        (("get", "pods", "--context", "x"), 2, "has no context 'x' (it has: allaboard)"),
    ],
)
def test_mistakes_cost_one_sentence(
    allaboard: Allaboard, words: tuple[str, ...], code: int, sentence: str
) -> None:
    answer = allaboard(*words)
    assert (answer.code, answer.out) == (code, "")
    assert sentence in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        ("a: [1", 2, "manifest.yaml, document 1, line"),
        ("a: 1", 2, "document 1: apiVersion: required"),
        ("apiVersion: v1\nkind: Pod", 2, "metadata.name: required"),
        ("{apiVersion: x/v1, kind: W, metadata: {name: z}}", 2, "no matches for kind 'W'"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: A}}", 1, "metadata.name: Invalid"),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: 1}", 1, ".x: field not decl"),
    ],
)
def test_bad_files_name_document_and_field(
    allaboard: Allaboard, manifest: Manifest, text: str, code: int, sentence: str
) -> None:
    answer = allaboard("apply", "-f", manifest(text))
    assert (answer.code, answer.out) == (code, "")
    assert sentence in answer.err


def test_the_greeting_works_from_any_folder(cluster: RunningCluster) -> None:
    assert f"export KUBECONFIG={cluster.kubeconfig}\n" in cluster.greeting
    assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600
