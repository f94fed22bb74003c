"""kubectl, as people use it, against a running `allaboard up`: no --validate=false anywhere."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubectl_binary import find_kubectl
from manifests import CRD, configmap, job, pod, train

from running_cluster import RunningCluster

pytestmark = pytest.mark.xdist_group("kubectl")
LIMIT_S = 60


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Kubectl:
    binary: Path
    cluster: RunningCluster
    home: Path
    namespace: str = ""

    def ask(self, *words: str, stdin: Any = None) -> Answer:
        """Run it; `stdin` is text, or manifests to be written as YAML."""
        place = ("-n", self.namespace) if self.namespace else ()
        env = {"HOME": str(self.home), "KUBECONFIG": str(self.cluster.kubeconfig)}
        env |= {"PATH": os.environ["PATH"], "KUBECTL_EXTERNAL_DIFF": "diff -u"}
        done = subprocess.run(
            [self.binary, *place, *words],
            input=stdin if isinstance(stdin, str | None) else yaml.safe_dump_all(stdin),
            capture_output=True, text=True, env=env, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    def __call__(self, *words: str, stdin: Any = None) -> str:
        """Its output; it must succeed without a word of warning."""
        answer = self.ask(*words, stdin=stdin)
        assert (answer.code, answer.err) == (0, ""), f"kubectl {' '.join(words)}: {answer}"
        return answer.out

    def wait_for(self, name: str) -> None:
        """Until it is there; `wait --for=create` is younger than the oldest kubectl allowed."""
        for _ in range(200):
            if self("get", name, "--ignore-not-found", "-o", "name"):
                return
        raise AssertionError(f"{name} does not come")

    def read(self, *words: str) -> Any:
        return json.loads(self(*words, "-o", "json"))


@pytest.fixture(scope="module")
def plain(cluster: RunningCluster, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(find_kubectl(), cluster, tmp_path_factory.mktemp("home"))


@pytest.fixture
def kubectl(plain: Kubectl, request: pytest.FixtureRequest) -> Iterator[Kubectl]:
    """In a namespace of the test's own, which is deleted at the end."""
    name = request.node.name.replace("_", "-").partition("[")[0]
    assert plain("create", "namespace", name) == f"namespace/{name} created\n"
    there = Kubectl(plain.binary, plain.cluster, plain.home, name)
    there.wait_for("serviceaccount/default")
    yield there
    plain("delete", "namespace", name, "--wait=false")


@pytest.fixture(scope="module")
def trains(plain: Kubectl) -> None:
    plain("apply", "-f", "-", stdin=[CRD])
    met = plain("wait", "--for=condition=Established", "crd/trains.rail.example.com")
    assert met.endswith("condition met\n")


def rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_it_finds_out_about_the_server(plain: Kubectl) -> None:
    version = json.loads(plain.ask("version", "-o", "json").out)  # old ones warn of the distance
    assert version["serverVersion"]["major"] == "1"
    assert "batch/v1\n" in plain("api-versions")
    batch = rows(plain("api-resources", "--api-group=batch", "--no-headers"))
    assert ["jobs", "batch/v1", "true", "Job"] in batch
    assert plain.cluster.server in plain("cluster-info")
    assert plain("get", "--raw", "/readyz") == "ok"
    assert rows(plain("auth", "whoami"))[1] == ["Username", "admin"]
    assert plain("auth", "can-i", "create", "pods") == "yes\n"


def test_explain_knows_every_field(plain: Kubectl, trains: None) -> None:
    assert "completionMode\t<string>" in plain("explain", "job.spec")
    assert "containers\t<[]Container> -required-" in plain("explain", "pod.spec", "--recursive")
    custom = plain("explain", "trains.spec.cars")
    assert "FIELD: cars <integer>" in custom
    assert "How many cars it has." in custom
    unknown = plain.ask("explain", "pods.spec.nonsense")
    assert (unknown.code, 'field "nonsense" does not exist' in unknown.err) == (1, True)


def test_apply_creates_then_changes_then_leaves_alone(kubectl: Kubectl) -> None:
    first, second = configmap("a", x="1", y="1"), configmap("a", x="2")
    apply = ("apply", "-f", "-")
    assert kubectl(*apply, stdin=[first]) == "configmap/a created\n"
    difference = kubectl.ask("diff", "-f", "-", stdin=yaml.safe_dump(second))
    assert difference.code == 1
    assert '-  x: "1"' in difference.out
    assert '+  x: "2"' in difference.out
    assert kubectl(*apply, stdin=[second]) == "configmap/a configured\n"
    assert kubectl(*apply, stdin=[second]) == "configmap/a unchanged\n"
    assert kubectl.ask("diff", "-f", "-", stdin=yaml.safe_dump(second)).code == 0
    assert kubectl.read("get", "cm", "a")["data"] == {"x": "2"}
    several = {"apiVersion": "v1", "kind": "List", "items": [configmap("b"), configmap("c")]}
    assert kubectl(*apply, stdin=[several]) == "configmap/b created\nconfigmap/c created\n"


def test_server_side_apply_respects_other_owners(kubectl: Kubectl) -> None:
    apply = ("apply", "--server-side", "-f", "-")
    one = (*apply, "--field-manager=one")
    assert kubectl(*one, stdin=[configmap("a", x="1")]) == ("configmap/a serverside-applied\n")
    refused = kubectl.ask(*apply, "--field-manager=two", stdin=[configmap("a", x="2")])
    assert refused.code == 1
    assert 'conflict with "one": .data.x' in refused.err
    forced = (*apply, "--field-manager=two", "--force-conflicts")
    kubectl(*forced, stdin=[configmap("a", x="2")])
    kubectl(*one, stdin=[configmap("a")])
    managed = kubectl("get", "cm", "a", "-o", "yaml", "--show-managed-fields")
    found = yaml.safe_load(managed)
    owners = {e["manager"]: e["fieldsV1"]["f:data"] for e in found["metadata"]["managedFields"]}
    assert owners == {"one": {}, "two": {"f:x": {}}}
    assert found["data"] == {"x": "2"}


def test_patch_in_its_three_ways(kubectl: Kubectl) -> None:
    kubectl("run", "a", "--image=x", "--labels=l=1", "--env=k=v")
    for how, patch in (
        ("strategic", '{"spec":{"containers":[{"name":"a","image":"y"}]}}'),
        ("merge", '{"metadata":{"labels":{"l":null,"m":"2"}}}'),
        ("json", '[{"op":"add","path":"/metadata/labels/n","value":"3"}]'),
    ):
        assert kubectl("patch", "pod", "a", f"--type={how}", "-p", patch) == "pod/a patched\n"
    found = kubectl.read("get", "pod", "a")
    assert found["metadata"]["labels"] == {"m": "2", "n": "3"}
    container = found["spec"]["containers"][0]
    assert (container["image"], container["env"]) == ("y", [{"name": "k", "value": "v"}])
    assert "(no change)" in kubectl("patch", "pod", "a", "-p", "{}")


def test_get_in_every_form(kubectl: Kubectl) -> None:
    assert (
        kubectl.ask("get", "pods").err == f"No resources found in {kubectl.namespace} namespace.\n"
    )
    kubectl("create", "-f", "-", stdin=[pod("a", app="web"), pod("b", app="db")])
    kubectl("wait", "--for=condition=Ready", "pod", "--all")
    header, a, _ = rows(kubectl("get", "pods"))
    assert header == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert a[:4] == ["a", "1/1", "Running", "0"]
    wide = rows(kubectl("get", "pod", "a", "-o", "wide"))
    assert wide[1][6].startswith("node-")
    assert kubectl("get", "pods", "-l", "app=db", "-o", "name") == "pod/b\n"
    assert kubectl("get", "pods", "--field-selector", "metadata.name=a", "-o", "name") == "pod/a\n"
    path = "jsonpath={.items[*].metadata.labels.app}"
    assert kubectl("get", "pods", "-o", path) == "web db"
    columns = "custom-columns=N:.metadata.name,I:.spec.containers[0].image"
    assert rows(kubectl("get", "pods", "-o", columns)) == [["N", "I"], ["a", "x"], ["b", "x"]]
    assert yaml.safe_load(kubectl("get", "pod/a", "-o", "yaml"))["status"]["phase"] == "Running"
    everywhere = rows(kubectl("get", "pods", "-A", "--show-labels"))
    assert [kubectl.namespace, "b"] in [row[:2] for row in everywhere]
    assert rows(kubectl("get", "pods", "--sort-by=.metadata.labels.app", "-L", "app"))[1][0] == "b"
    missing = kubectl.ask("get", "pod", "c")
    assert (missing.code, missing.err) == (
        1,
        'Error from server (NotFound): pods "c" not found\n',
    )


def test_watch_shows_rows_as_they_change(kubectl: Kubectl) -> None:
    kubectl("run", "a", "--image=x")
    watch = ("get", "pods", "-w", "--output-watch-events", "--request-timeout=3s")
    changes = rows(kubectl.ask(*watch).out)
    assert changes[0][:2] == ["EVENT", "NAME"]
    assert changes[1][:2] == ["ADDED", "a"]
    assert changes[-1][3] == "Running"


def test_describe_tells_the_story_of_a_job(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=[job("train", completions=2)])
    done = kubectl("wait", "--for=condition=Complete", "job/train", "--timeout=30s")
    assert done == "job.batch/train condition met\n"
    story = kubectl("describe", "job", "train")
    assert "0 Active (0 Ready) / 2 Succeeded / 0 Failed" in story
    assert "Created pod: train-" in story
    assert "Job completed" in story
    pods = kubectl("describe", "pods", "-l", "job-name=train", "--show-events=true")
    assert pods.count("Controlled By:  Job/train") == 2
    assert "Successfully assigned" in pods
    assert "writes no log" in kubectl("logs", "-l", "job-name=train", "--tail=1")
    assert "Completed" in kubectl("events", "--for", "job/train")
    assert "SuccessfulCreate" in kubectl(
        "get", "events", "--field-selector", "reason=SuccessfulCreate"
    )


def test_describe_of_other_things(kubectl: Kubectl) -> None:
    node = kubectl("describe", "node", "node-0")
    assert "KubeletReady" in node
    kubectl("create", "configmap", "a", "--from-literal=x=hello")
    assert "x:\n----\nhello\n" in kubectl("describe", "configmap", "a")
    assert kubectl.namespace in kubectl("describe", "namespace", kubectl.namespace)
    assert "Image pull secrets:" in kubectl("describe", "serviceaccount", "default")


def test_create_knows_the_common_kinds(kubectl: Kubectl) -> None:
    for words, made in (
        (("job", "hello", "--image=x", "--", "echo", "hi"), "job.batch/hello"),
        (("cronjob", "nightly", "--image=x", "--schedule=0 3 * * *"), "cronjob.batch/nightly"),
        (("job", "now", "--from=cronjob/nightly"), "job.batch/now"),
        (("configmap", "c", "--from-literal=a=b"), "configmap/c"),
        (("secret", "generic", "s", "--from-literal=a=b"), "secret/s"),
        (("serviceaccount", "robot"), "serviceaccount/robot"),
        (("deployment", "web", "--image=x", "--replicas=0"), "deployment.apps/web"),
        (("service", "clusterip", "web", "--tcp=80:8080"), "service/web"),
        (("quota", "q", "--hard=pods=50,cpu=7"), "resourcequota/q"),
        (
            ("poddisruptionbudget", "p", "--selector=a=b", "--max-unavailable=0"),
            "poddisruptionbudget.policy/p",
        ),
        (("role", "r", "--verb=get", "--resource=pods"), "role.rbac.authorization.k8s.io/r"),
        (
            ("rolebinding", "b", "--role=r", "--serviceaccount=x:y"),
            "rolebinding.rbac.authorization.k8s.io/b",
        ),
        (("ingress", "i", "--rule=a.example.com/*=web:80"), "ingress.networking.k8s.io/i"),
    ):
        assert kubectl("create", *words) == f"{made} created\n"
    assert kubectl.read("get", "deployment", "web")["spec"]["replicas"] == 0
    assert kubectl("scale", "deployment", "web", "--replicas=2") == "deployment.apps/web scaled\n"
    assert "0/2" in kubectl("get", "deployment", "web")
    assert kubectl.read("get", "pdb", "p")["spec"]["maxUnavailable"] == 0
    assert kubectl.read("get", "secret", "s")["data"] == {"a": "Yg=="}
    assert kubectl.read("get", "quota", "q")["spec"]["hard"] == {"cpu": "7", "pods": "50"}
    command = kubectl.read("get", "job", "hello")["spec"]["template"]["spec"]["containers"][0]
    assert command["command"] == ["echo", "hi"]
    owner = kubectl.read("get", "job", "now")["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["name"]) == ("CronJob", "nightly")
    again = kubectl.ask("create", "configmap", "c")
    assert 'configmaps "c" already exists' in again.err
    assert len(kubectl("create", "token", "robot")) > 20


def test_labels_annotations_and_replacement(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "a")
    assert kubectl("label", "cm", "a", "tier=front") == "configmap/a labeled\n"
    refused = kubectl.ask("label", "cm", "a", "tier=back")
    assert (refused.code, "--overwrite is false" in refused.err) == (1, True)
    kubectl("label", "cm", "a", "tier=back", "--overwrite")
    assert kubectl("annotate", "cm", "a", "note=hi") == "configmap/a annotated\n"
    found = kubectl.read("get", "cm", "a")
    assert found["metadata"]["labels"] == {"tier": "back"}
    assert found["metadata"]["annotations"] == {"note": "hi"}
    kubectl("label", "cm", "a", "tier-")
    found["data"] = {"x": "new"}
    stale = kubectl.ask("replace", "-f", "-", stdin=[found])
    assert (stale.code, "the object has been modified" in stale.err) == (1, True)
    del found["metadata"]["resourceVersion"]
    assert kubectl("replace", "-f", "-", stdin=[found]) == "configmap/a replaced\n"


def test_delete_in_the_background_the_foreground_and_not_at_all(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", stdin=[job(name, run_for="1h") for name in ("a", "b", "c")])
    for name in ("a", "b", "c"):
        kubectl("wait", "--for=jsonpath={.status.ready}=1", f"job/{name}", "--timeout=30s")
    assert kubectl("delete", "job", "a").startswith('job.batch "a" deleted')
    kubectl("wait", "--for=delete", "pod", "-l", "job-name=a", "--timeout=30s")
    kubectl("delete", "job", "b", "--cascade=foreground")
    assert kubectl.ask("get", "pods", "-l", "job-name=b").out == ""
    kubectl("delete", "job", "c", "--cascade=orphan")
    (orphan,) = kubectl.read("get", "pods", "-l", "job-name=c")["items"]
    assert "ownerReferences" not in orphan["metadata"]
    name = orphan["metadata"]["name"]
    forced = kubectl.ask("delete", "pod", name, "--grace-period=0", "--force")
    assert forced.code == 0
    assert kubectl.ask("get", "pods").out == ""
    missing = kubectl.ask("delete", "pod", "nobody")
    assert 'pods "nobody" not found' in missing.err
    assert kubectl("delete", "pod", "nobody", "--ignore-not-found") == ""


def test_custom_resources_live_like_built_in_ones(kubectl: Kubectl, trains: None) -> None:
    assert kubectl("apply", "-f", "-", stdin=[train("express", 3)]) == (
        "train.rail.example.com/express created\n"
    )
    assert rows(kubectl("get", "trains"))[:2] == [
        ["NAME", "CARS", "LINE"],
        ["express", "3", "north"],
    ]
    assert kubectl("apply", "-f", "-", stdin=[train("express", 4)]).endswith("configured\n")
    assert kubectl("scale", "train", "express", "--replicas=7").endswith("scaled\n")
    ready = '{"status":{"cars":7,"conditions":[{"type":"Ready","status":"True"}]}}'
    kubectl("patch", "tr", "express", "--subresource=status", "--type=merge", "-p", ready)
    kubectl("wait", "--for=condition=Ready", "train/express")
    kubectl("wait", "--for=jsonpath={.status.cars}=7", "train/express")
    assert "Cars:  7" in kubectl("describe", "train", "express")
    assert "train.rail.example.com/express" in kubectl("get", "all", "-o", "name")
    assert kubectl("delete", "train", "express").startswith('train.rail.example.com "express" del')


def test_mistakes_are_named(kubectl: Kubectl, trains: None) -> None:
    typo = pod("a")
    typo["spec"]["containers"][0]["imagee"] = "x"
    wrong = train("t", 3)
    wrong["spec"]["cars"] = "many"
    extra = train("t", 3)
    extra["spec"]["wings"] = 2
    for manifest, sentence in (
        (typo, 'unknown field "spec.containers[0].imagee"'),
        (pod("B"), 'metadata.name: Invalid value: "B"'),
        (wrong, 'spec.cars in body must be of type integer: "string"'),
        (train("t", -1), "spec.cars in body should be greater than or equal to 0"),
        (extra, 'unknown field "spec.wings"'),
        ({**pod("a"), "kind": "Pood"}, 'no matches for kind "Pood" in version "v1"'),
    ):
        refused = kubectl.ask("apply", "-f", "-", stdin=[manifest])
        assert (refused.code, sentence in refused.err) == (1, True), refused
    dry = kubectl("apply", "--dry-run=server", "-f", "-", stdin=[pod("a")])
    assert dry == "pod/a created (server dry run)\n"
    assert kubectl.ask("get", "pod", "a").code == 1


def test_nodes_are_tainted_cordoned_and_drained(kubectl: Kubectl) -> None:
    kubectl("taint", "node", "node-2", "dedicated=me:NoSchedule")
    assert "dedicated=me:NoSchedule" in kubectl("describe", "node", "node-2")
    kubectl("taint", "node", "node-2", "dedicated-")
    kubectl("run", "a", "--image=x", '--overrides={"spec":{"nodeName":"node-2"}}')
    kubectl("wait", "--for=condition=Ready", "pod/a")
    assert kubectl("cordon", "node-2") == "node/node-2 cordoned\n"
    assert "Ready,SchedulingDisabled" in kubectl("get", "node", "node-2")
    drained = kubectl.ask("drain", "node-2", "--force", "--ignore-daemonsets", "--timeout=30s")
    assert "node/node-2 drained" in drained.out
    assert kubectl.ask("get", "pod", "a").code == 1
    assert kubectl("uncordon", "node-2") == "node/node-2 uncordoned\n"


def test_a_namespace_takes_everything_with_it(plain: Kubectl) -> None:
    plain("create", "namespace", "doomed")
    plain("-n", "doomed", "create", "configmap", "a")
    doomed = Kubectl(plain.binary, plain.cluster, plain.home, "doomed")
    doomed.wait_for("configmap/kube-root-ca.crt")
    assert plain("delete", "namespace", "doomed") == 'namespace "doomed" deleted\n'
    assert plain.ask("get", "ns", "doomed").code == 1
    plain("create", "namespace", "doomed")
    assert plain("-n", "doomed", "get", "cm", "a", "--ignore-not-found") == ""
