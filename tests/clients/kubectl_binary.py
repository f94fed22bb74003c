"""Which kubectl do the tests drive? $KUBECTL, one built once from tests/kubectl, or one on PATH.

The built one is kept in a cache under the hash of what it is built from. Without any, tests are
skipped; in CI, which has Go, that is a failure.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "tests" / "kubectl"
PACKAGE = "k8s.io/kubernetes/cmd/kubectl"
VERSION_PACKAGE = "k8s.io/component-base/version"
OLDEST = (1, 29)
BUILD_LIMIT_S = 1800


class BuildFailed(Exception):
    """The text is what the compiler said last."""


def find_kubectl() -> Path:
    """The binary; skips the test when there is none, or fails it in CI."""
    given = os.environ.get("KUBECTL")
    if given:
        if not is_new_enough(Path(given)):
            pytest.fail(f"$KUBECTL={given} does not run, or is older than 1.29")
        return Path(given)
    reason = "no kubectl 1.29 or newer: set $KUBECTL, or install Go so that one can be built"
    if shutil.which("go"):
        try:
            return build_once(cache_folder())
        except BuildFailed as error:
            reason = f"kubectl cannot be built: {error}"
    installed = shutil.which("kubectl")
    if installed and is_new_enough(Path(installed)):
        return Path(installed)
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def cache_folder() -> Path:
    """Shared by all checkouts; named after what is built, so that versions never mix."""
    home = os.environ.get("XDG_CACHE_HOME")
    base = (Path(home) if home else Path.home() / ".cache") / "allaboard"
    content = (MODULE / "go.mod").read_bytes() + (MODULE / "go.sum").read_bytes()
    return base / f"kubectl-{version()}-{hashlib.sha256(content).hexdigest()[:12]}"


def version() -> str:
    found = re.search(r"k8s\.io/kubernetes (v\S+)", (MODULE / "go.mod").read_text())
    assert found is not None
    return found[1]


def build_once(folder: Path) -> Path:
    """Build under a lock: of several test workers the first builds, the others wait."""
    binary = folder / "kubectl"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            beside = folder / f"kubectl.{os.getpid()}"
            built = subprocess.run(
                ["go", "build", "-ldflags", linker_flags(version()), "-o", str(beside), PACKAGE],
                cwd=MODULE, capture_output=True, text=True, timeout=BUILD_LIMIT_S, check=False,
            )  # fmt: skip
            if built.returncode != 0:
                raise BuildFailed(built.stderr[-4000:])
            beside.replace(binary)
    return binary


def linker_flags(full: str) -> str:
    """A kubectl from source does not know its version; `kubectl version` refuses to compare."""
    major, minor, _ = full.removeprefix("v").split(".")
    known = {"gitVersion": full, "gitMajor": major, "gitMinor": minor}
    return " ".join(f"-X {VERSION_PACKAGE}.{name}={value}" for name, value in known.items())


def is_new_enough(binary: Path) -> bool:
    try:
        answer = subprocess.run(
            [binary, "version", "--client", "-o", "json"],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        said = json.loads(answer.stdout)["clientVersion"]
        return (int(said["major"]), int(re.sub(r"\D", "", said["minor"]))) >= OLDEST
    except (OSError, subprocess.SubprocessError, ValueError, KeyError):
        return False


if __name__ == "__main__":
    print(build_once(cache_folder()))
