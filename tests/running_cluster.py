"""A real `allaboard up --in-memory` process for tests that come from outside."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

START_LIMIT_S = 60
STOP_LIMIT_S = 30


@dataclass(frozen=True)
class RunningCluster:
    kubeconfig: Path
    greeting: str

    @property
    def settings(self) -> Any:
        return yaml.safe_load(self.kubeconfig.read_text())

    @property
    def server(self) -> str:
        return str(self.settings["clusters"][0]["cluster"]["server"])


@contextmanager
def running_cluster(folder: Path, *options: str) -> Iterator[RunningCluster]:
    """Start one, wait for its greeting; at the end Ctrl-C must stop it cleanly."""
    kubeconfig = folder / "kubeconfig"
    command = [sys.executable, "-m", "allaboard.cli", "up", "--in-memory", "--port", "0"]
    command += ["--kubeconfig", str(kubeconfig), *(options or ("--nodes", "3"))]
    complaints = folder / "stderr.txt"
    with complaints.open("w") as errors:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env=_environment(),
        )
    try:
        yield RunningCluster(kubeconfig, _greeting(process, complaints))
    finally:
        process.send_signal(signal.SIGINT)
        try:
            code = process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()
    assert code == 0, f"exit code {code}: {complaints.read_text()}"


def _greeting(process: "subprocess.Popen[str]", complaints: Path) -> str:
    assert process.stdout is not None
    limit = threading.Timer(START_LIMIT_S, process.kill)
    limit.start()
    lines = []
    try:
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                return "".join(lines)
    finally:
        limit.cancel()
    raise AssertionError(f"no greeting: {''.join(lines)}{complaints.read_text()}")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
