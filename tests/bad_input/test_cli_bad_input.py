"""Bad files, folders, ports and options at the command line: an exit code and one sentence.

The commands run in this process, so that an exception nobody expected fails the test by itself.
"""

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from allaboard.cli.main import main
from allaboard.cluster.server.tls import ensure_tls

NOW = 1_800_000_000.0

JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: default}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
"""


@pytest.fixture
def allaboard(monkeypatch: pytest.MonkeyPatch, capfd: Any, tmp_path: Path) -> Any:
    """Run a command; (exit code, standard error)."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["allaboard", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), capfd.readouterr().err

    return run


def is_one_sentence(text: str) -> bool:
    """One line from us; click puts the usage above its own."""
    lines = [line for line in text.splitlines() if line.strip()]
    return "Traceback" not in text and len(lines[-1:]) == 1 and lines[-1].startswith("Error: ")


BAD_FILES: dict[str, bytes] = {
    "not YAML": b"a: b: c",
    "an open bracket": b"kind: [",
    "a tab": b"a:\n\t- b",
    "not UTF-8": b"\xff\xfe\xff",
    "NUL": b"kind: Pod\x00",
    "a list": b"- 1\n- 2",
    "a word": b"hello",
    "no kind": b"metadata: {name: x}",
    "a kind that is a number": b"apiVersion: v1\nkind: 7\nmetadata: {name: x}",
    "no name": b"apiVersion: v1\nkind: Pod\nmetadata: {}",
    "metadata that is a list": b"apiVersion: v1\nkind: Pod\nmetadata: []",
    "a name that is a map": b"apiVersion: v1\nkind: Pod\nmetadata: {name: {}}",
    "annotations that are a list": (
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: []}"
    ),
    "an unquoted annotation": (
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: {sim.allaboard.dev/at: 5}}"
    ),
    "a time that is none": (
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: x, annotations: {sim.allaboard.dev/at: soon}}"
    ),
    "an action that is none": (
        b"apiVersion: v1\nkind: Pod\n"
        b"metadata: {name: x, annotations: {sim.allaboard.dev/action: explode}}"
    ),
    "laughs": b"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + b"\n".join(
        b"%c: &%c [%s]" % (n, n, b",".join([b"*%c" % (n - 1)] * 10)) for n in range(98, 110)
    ),
    "an alias of itself": b"&a [*a]",
    "an object of Python": b"!!python/object/apply:os.system ['false']",
    "levels": b"[" * 10_000,
    "a list whose items are a word": b"apiVersion: v1\nkind: List\nitems: nothing",
    "a list of nothing": b"apiVersion: v1\nkind: List\nitems: [null, 1]",
    "a deep template": JOB.encode().replace(b"spec: {template", b"spec: {x: " + b"[" * 300),
    "a bad stage": JOB.encode().replace(
        b"template: {", b'template: {metadata: {annotations: {sim.allaboard.dev/run-for: "-1"}}, '
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_FILES)
def test_simulate_refuses_bad_files(allaboard: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(BAD_FILES[name])
    code, said = allaboard("simulate", str(file))
    assert code == 2, said
    assert is_one_sentence(said) and "bad.yaml" in said, said


@pytest.mark.parametrize("name", BAD_FILES)
def test_apply_refuses_bad_files_before_it_looks_for_a_cluster(
    allaboard: Any, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "bad.yaml"
    file.write_bytes(BAD_FILES[name])
    code, said = allaboard("apply", "-f", str(file))
    assert code in (1, 2) and is_one_sentence(said), said


ODD_VALUES = {
    "quantity": 'resources: {requests: {cpu: "-5"}}',
    "huge quantity": 'resources: {requests: {cpu: "1e999999999"}}',
    "unknown field": "nonsense: 1",
    "wrong type": "args: 7",
    "bad name": "name: ../../x",
}


@pytest.mark.parametrize("name", ODD_VALUES)
def test_simulate_reports_what_the_server_refuses(
    allaboard: Any, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(JOB.replace("image: i", f"image: i, {ODD_VALUES[name]}"))
    code, said = allaboard("simulate", str(file))
    assert code in (0, 2, 3), said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "field", ["parallelism: 1000000000", "completions: 2147483647", "backoffLimit: 2147483647"]
)
def test_absurd_sizes_end_in_time(allaboard: Any, tmp_path: Path, field: str) -> None:
    """A Job of a billion pods may wait for room, but the machine stays usable."""
    file = tmp_path / "absurd.yaml"
    file.write_text(JOB.replace("spec: {template", f"spec: {{{field}, template"))
    code, said = allaboard("simulate", str(file), "--until", "3s")
    assert code in (0, 3), said


def bad_paths(folder: Path) -> dict[str, str]:
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "file").write_text("x")
    return {
        "missing": str(folder / "missing.yaml"),
        "below a file": str(folder / "file" / "x.yaml"),
        "a loop": str(folder / "loop"),
        "too long": str(folder / ("x" * 300)),
    }


@pytest.mark.parametrize("which", ["missing", "below a file", "a loop", "too long"])
@pytest.mark.parametrize(
    "command",
    [
        ("simulate", "{}"), ("apply", "-f", "{}"), ("delete", "-f", "{}"),
        ("simulate", "--config", "{}", "{good}"), ("simulate", "--dump", "{}/x", "{good}"),
        ("simulate", "--events", "{}/x", "{good}"), ("up", "--data", "{}/x"),
        ("up", "--in-memory", "--nodes-file", "{}"), ("get", "pods", "--kubeconfig", "{}"),
    ],
)  # fmt: skip
def test_paths_that_cannot_be_used(
    allaboard: Any, tmp_path: Path, which: str, command: tuple[str, ...]
) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(JOB)
    path = bad_paths(tmp_path)[which]
    if command[0] == "up" and which == "missing":
        path = str(tmp_path / "file" / "y")
    if "{}/x" in command and which == "missing" and command[0] == "simulate":
        path = str(tmp_path / "no" / "such" / "folder")
    filled = [part.replace("{}", path).replace("{good}", str(good)) for part in command]
    code, said = allaboard(*filled)
    assert code in (1, 2), said
    assert is_one_sentence(said), said


@pytest.mark.parametrize(
    "arguments",
    [
        ("explode",), ("simulate",), ("simulate", "--until", "soon", "x"),
        ("simulate", "--seed", "x"),
        ("simulate", "--until", "-5s", "{good}"), ("simulate", "--until", "9" * 400, "{good}"),
        ("simulate", "--seed", "-1", "{good}"), ("simulate", "--bogus"), ("up", "--port", "70000"),
        ("up", "--port", "-1"), ("up", "--port", "x"), ("up", "--nodes", "-1"), ("up", "extra"),
        ("up", "--nodes", "1000000000"), ("up", "--data", "x", "--in-memory"),
        ("get",), ("get", "pods"), ("get", "pods", "a", "b", "--bogus"), ("describe",), ("wait",),
        ("delete",), ("wait", "pod/x", "--for", ""), ("wait", "pod/x", "--for", "x=y=z"),
        ("wait", "pod/x", "--for", "condition=Ready", "--timeout", "x"), ("apply",),
        ("get", "pods", "-o", "bogus"), ("get", "pods", "-l", "!!"), ("get", "a/b/c"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(
    allaboard: Any, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    good = tmp_path / "good.yaml"
    good.write_text(JOB)
    code, said = allaboard(*(a.replace("{good}", str(good)) for a in arguments))
    assert code in (1, 2), said
    assert is_one_sentence(said), said


KUBECONFIGS = {
    "not YAML": b"{", "a list": b"[]", "a number": b"7", "empty": b"", "NUL": b"\x00",
    "clusters that are none": b"clusters: true\ncurrent-context: x",
    "no such context": b"current-context: x",
    "a server that is none": (
        b"current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
        b"clusters: [{name: x, cluster: {server: 'nonsense'}}]\nusers: [{name: x, user: {}}]"
    ),
    "nobody listening": (
        b"current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
        b"clusters: [{name: x, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        b"users: [{name: x, user: {token: t}}]"
    ),
    "a bad certificate": (
        b"current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
        b"clusters: [{name: x, cluster: {server: 'https://127.0.0.1:1', "
        b"certificate-authority-data: eA==}}]\nusers: [{name: x, user: {token: t}}]"
    ),
    "a missing plugin": (
        b"current-context: x\ncontexts: [{name: x, context: {cluster: x, user: x}}]\n"
        b"clusters: [{name: x, cluster: {server: 'https://127.0.0.1:1'}}]\n"
        b"users: [{name: x, user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
        b"command: /no/such/plugin, interactiveMode: Never}}}]"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KUBECONFIGS)
def test_kubeconfigs_that_lead_nowhere(allaboard: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_bytes(KUBECONFIGS[name])
    code, said = allaboard("get", "pods", "--kubeconfig", str(file))
    assert code in (1, 2) and is_one_sentence(said), said


@pytest.mark.parametrize("name", ["store", "tls", "admin.token", "kubeconfig"])
def test_a_data_folder_in_disorder(tmp_path: Path, name: str) -> None:
    """Something else stands where a file or folder of ours belongs; nothing is overwritten."""
    folder = tmp_path / "data"
    folder.mkdir()
    if name in ("store", "tls"):
        (folder / name).write_text("mine")
    else:
        (folder / name).mkdir()
    code, said = run_up(tmp_path, "--data", str(folder), "--port", "0", "--nodes", "0")
    assert code in (1, 2), said
    assert is_one_sentence(said), said
    if name in ("store", "tls"):
        assert (folder / name).read_text() == "mine"


def test_broken_certificates_and_an_empty_token_are_made_anew(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    files = ensure_tls(folder, NOW)
    for path in sorted(folder.iterdir()):
        good = path.read_bytes()
        for bad in (b"", b"garbage", good[: len(good) // 2]):
            path.write_bytes(bad)
            files = ensure_tls(folder, NOW)
            files.server_context()
            files.client_context(with_certificate=True)
            assert files.ca.read_bytes().startswith(b"-----BEGIN CERTIFICATE-----")


def test_a_busy_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, said = run_up(tmp_path, "--in-memory", "--port", port, "--nodes", "0")
    assert code == 1 and port in said and is_one_sentence(said), said


def run_up(folder: Path, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "allaboard.cli", "up", *arguments]
    environment = {**os.environ, "HOME": str(folder)}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=30, env=environment, check=False
    )
    return done.returncode, done.stderr
