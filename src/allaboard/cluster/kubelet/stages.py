"""What will happen to this pod, and when? A pod's annotations read as stages. Pure.

Annotations carry the prefix `sim.allaboard.dev/` and may be limited to one completion index by a
suffix (`fail-after.3`), which then beats the general one. A value that cannot be read is a
problem with a sentence; whoever reads the annotations decides whether that refuses the object
(`allaboard simulate`) or is only reported (a running cluster).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from allaboard.api.times import parse_duration

PREFIX = "sim.allaboard.dev/"
INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class Stages:
    """Durations in seconds; None where the stage never comes."""

    start_after: float = 1.0  # scheduled to the first container running
    ready_after: float = 0.0  # main containers running to ready
    run_for: float | None = None  # main containers running to exit; None: until deleted
    stop_after: float = 0.0  # deletion to gone, within the grace period
    exit_code: int = 0
    fail_after: float | None = None  # running to failure
    fail_attempts: int | None = None  # how many attempts fail before one succeeds
    never_start: str = ""  # the reason it waits for ever
    never_ready: bool = False
    gang: bool = False  # run_for counts only while all of the gang run
    rendezvous_timeout: float | None = None  # fails if its peers are not all there in time

    def fails(self, attempt: int) -> bool:
        """Whether the attempt of this number, counted from 1, ends badly."""
        if self.fail_attempts is not None:
            return attempt <= self.fail_attempts
        return self.fail_after is not None or self.exit_code != 0

    def exits_with(self, attempt: int) -> int:
        return (self.exit_code or 1) if self.fails(attempt) else 0


def _duration(text: str) -> float:
    seconds = parse_duration(text)
    if seconds < 0:
        raise ValueError("must not be negative")
    return seconds


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError("must be a whole number such as 3")
    return int(text)


def _exit_code(text: str) -> int:
    code = _count(text)
    if code > 255:
        raise ValueError("must be between 0 and 255")
    return code


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError('must be "true" or "false"')
    return text == "true"


def _wait_reason(text: str) -> str:
    """`true` waits like a slow image pull; any other word is shown as the container's reason."""
    if text in ("true", "false"):
        return "ContainerCreating" if text == "true" else ""
    if not text.isidentifier():
        raise ValueError('must be "true", "false" or a reason such as ImagePullBackOff')
    return text


READERS: Mapping[str, Callable[[str], Any]] = {
    "start-after": _duration,
    "ready-after": _duration,
    "run-for": _duration,
    "stop-after": _duration,
    "exit-code": _exit_code,
    "fail-after": _duration,
    "fail-attempts": _count,
    "never-start": _wait_reason,
    "never-ready": _flag,
    "gang": _flag,
    "rendezvous-timeout": _duration,
}
# Annotations under the same prefix that steer a script or a node, not a pod's stages.
OTHERS = frozenset({"at", "action", "of"})


def read_stages(annotations: Mapping[str, str], index: int | None) -> tuple[Stages, list[str]]:
    """The stages of the pod with this completion index, and what could not be read."""
    chosen: dict[str, Any] = {}
    problems: list[str] = []
    for key, text in sorted(annotations.items()):
        if not key.startswith(PREFIX):
            continue
        name, _, suffix = key[len(PREFIX) :].partition(".")
        if name in OTHERS and not suffix:
            continue
        value, problem = _read(key, name, suffix, text)
        if problem:
            problems.append(problem)
        # Sorting puts the general annotation before the one with a suffix, which therefore wins.
        elif not suffix or int(suffix) == index:
            chosen[name.replace("-", "_")] = value
    assert chosen.keys() <= {f.name for f in fields(Stages)}
    return Stages(**chosen), problems


def _read(key: str, name: str, suffix: str, text: str) -> tuple[Any, str]:
    reader = READERS.get(name)
    if reader is None:
        return None, f"{key}: unknown; known are {', '.join(sorted(READERS))}"
    if suffix and not (suffix.isascii() and suffix.isdigit() and len(suffix) <= 9):
        return None, f"{key}: the suffix must be a completion index such as {name}.3"
    try:
        return reader(text), ""
    except ValueError as error:
        return None, f"{key}: {text!r} cannot be read: {error}"


def completion_index(annotations: Mapping[str, str]) -> int | None:
    text = annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdigit() else None
