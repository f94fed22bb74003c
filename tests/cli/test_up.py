"""`allaboard up`, as people start it: a kubeconfig, a clean stop, and the same data afterwards."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

GREETING = re.compile(r"allaboard is up at (https://127\.0\.0\.1:\d+)")


@contextmanager
def up(*options: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "allaboard.cli", "up", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert process.stdout is not None
        greeting = ""
        while "Ctrl-C stops it" not in greeting:
            line = process.stdout.readline()
            assert line, f"it ended before it was up: {greeting}"
            greeting += line
        assert GREETING.search(greeting), greeting
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def cli(kubeconfig: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "allaboard.cli", *words, "--kubeconfig", str(kubeconfig)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_writes_a_private_kubeconfig_and_stops_cleanly(tmp_path: Path) -> None:
    config = tmp_path / "kubeconfig"
    with up("--in-memory", "--port", "0", "--nodes", "2", "--kubeconfig", str(config)) as process:
        assert config.stat().st_mode & 0o777 == 0o600
        settings = yaml.safe_load(config.read_text())
        assert settings["clusters"][0]["cluster"]["server"].startswith("https://127.0.0.1:")
        listed = cli(config, "get", "nodes", "-o", "name")
        assert listed.stdout.split() == ["node/node-0", "node/node-1"], listed.stderr
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=10)
        assert process.returncode == 0, output
        assert "Traceback" not in output


def test_the_same_folder_resumes_after_kill_minus_nine(tmp_path: Path) -> None:
    data, config = tmp_path / "data", tmp_path / "kubeconfig"
    options = ("--data", str(data), "--port", "0", "--kubeconfig", str(config))
    manifest = tmp_path / "c.yaml"
    manifest.write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: kept}, data: {a: b}}")
    with up(*options, "--nodes", "1") as process:
        applied = cli(config, "apply", "-f", str(manifest))
        assert applied.stdout == "configmap/kept created\n", applied.stderr
        process.kill()
        process.wait()
    with up(*options) as process:
        kept = cli(config, "get", "configmap", "kept", "-o", "yaml")
        assert yaml.safe_load(kept.stdout)["data"] == {"a": "b"}, kept.stderr
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=10)
        assert process.returncode == 0


def test_two_processes_never_share_a_folder(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path / "data"), "--port", "0")
    with up(*options):
        second = subprocess.run(
            [sys.executable, "-m", "allaboard.cli", "up", *options],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert second.returncode == 1
    assert "Error:" in second.stderr and "Traceback" not in second.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--data", "x", "--in-memory"), "exclude one another"),
        (("--nodes", "1", "--nodes-file", "x"), "exclude one another"),
        (("--nodes-file", "/nonexistent.yaml"), "cannot be read"),
        (("--port", "99999999"), "99999999"),
    ],
)
def test_bad_options_end_with_two_and_a_sentence(options: tuple[str, ...], words: str) -> None:
    command = [sys.executable, "-m", "allaboard.cli", "up", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr


def test_help_is_fast_because_commands_load_when_called() -> None:
    """Measured in CPU time of the child, which a busy machine does not stretch much."""
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "allaboard.cli", "--help"], capture_output=True, check=True
    )
    spent = os.times()
    assert b"simulate" in done.stdout
    assert (spent.children_user - before.children_user) < 1.0
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, allaboard.cli.main; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"aiohttp", "numpy", "yaml", "msgspec", "cryptography"} & set(loaded)
