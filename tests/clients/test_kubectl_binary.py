"""Where the tests' kubectl comes from, and what happens when there is none."""

from pathlib import Path

import kubectl_binary
import pytest


def script(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def kubectl(folder: Path, minor: str) -> Path:
    said = f'{{"clientVersion":{{"major":"1","minor":"{minor}"}}}}'
    return script(folder, "kubectl", f"echo '{said}'")


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KUBECTL", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_the_one_that_was_given_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = kubectl(tmp_path, "36").rename(tmp_path / "mine")
    kubectl(tmp_path, "35")
    monkeypatch.setenv("KUBECTL", str(given))
    assert kubectl_binary.find_kubectl() == given


def test_go_builds_one_and_only_one(tmp_path: Path) -> None:
    """A stand-in for go: it notes the call, and leaves a file where -o says."""
    count = tmp_path / "count"
    script(tmp_path, "go", f'echo built >> {count}\nwhile [ "$1" != -o ]; do shift; done\n: > "$2"')
    binary = kubectl_binary.find_kubectl()
    assert kubectl_binary.find_kubectl() == binary
    assert binary.parent.name.startswith("kubectl-v1.")
    assert count.read_text() == "built\n"


def test_one_on_the_path_serves_where_none_can_be_built(tmp_path: Path) -> None:
    script(tmp_path, "go", "exit 1")
    installed = kubectl(tmp_path, "29+")
    assert kubectl_binary.find_kubectl() == installed


def test_one_that_is_too_old_does_not(tmp_path: Path) -> None:
    kubectl(tmp_path, "28")
    with pytest.raises(pytest.skip.Exception, match="install Go"):
        kubectl_binary.find_kubectl()


def test_none_is_a_failure_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"no kubectl 1\.29 or newer"):
        kubectl_binary.find_kubectl()
