"""Runs a script in virtual time and writes down what happened: the work behind `simulate`."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click

from allaboard.api.codec import write_json
from allaboard.api.meta import Json
from allaboard.api.times import format_duration, parse_duration
from allaboard.cli.configuration import read_config
from allaboard.cli.documents import read_documents
from allaboard.cli.failures import BadInput
from allaboard.clock import system_clock
from allaboard.queueing.config import Settings
from allaboard.sim.loop import Stuck, run_virtual
from allaboard.sim.script import ScriptError, Step, read_script
from allaboard.sim.world import World

REFUSED = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for on the command line, as it was typed."""

    files: tuple[str, ...]
    until: str | None
    seed: int
    config: str | None
    no_queueing: bool
    dump: str | None
    events: str | None


def run_simulation(asked: Request) -> None:
    steps = _steps(asked.files)
    until_s = _until(asked.until)
    settings = None if asked.no_queueing else read_config(asked.config)
    if asked.dump is not None:
        _opened(asked.dump).close()  # not after an hour's work
    with _lines(asked.events) as write_line:
        started = system_clock().monotonic()
        report = _run(steps, Run(asked.seed, until_s, settings), write_line)
        took_s = system_clock().monotonic() - started
    if asked.dump is not None:
        dumped = {"apiVersion": "v1", "kind": "List", "items": report.objects}
        _write(asked.dump, write_json(dumped))
    click.echo("\n".join(render_summary(report)))
    click.echo(f"({format_duration(round(took_s, 1))} of real time)", err=True)
    if report.refused:
        raise click.exceptions.Exit(REFUSED)


@dataclass(frozen=True, slots=True)
class Run:
    seed: int
    until_s: float | None
    settings: Settings | None  # of queueing; None: the bare cluster


class Report:
    def __init__(self, world: World) -> None:
        self.elapsed_s = world.elapsed_s
        self.objects = world.objects()
        self.refused = [(step, str(refusal)) for step, refusal in world.refused]


def _steps(files: tuple[str, ...]) -> list[Step]:
    try:
        return read_script(read_documents(files))
    except ScriptError as error:
        raise BadInput(str(error)) from None


def _until(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise BadInput(f"--until: {text!r} is not a duration such as 8h or 90s: {error}") from None
    if seconds < 0:
        raise BadInput(f"--until: {text!r} must not be negative")
    return seconds


def _run(steps: list[Step], run: Run, trace: Callable[[Json], None] | None) -> Report:
    async def main() -> Report:
        async with World(run.seed, trace, queueing=run.settings) as world:
            await world.run(steps, run.until_s)
            return Report(world)

    try:
        return run_virtual(main())
    except Stuck as stuck:
        raise BadInput(f"{stuck}; this is a defect of the simulator, please report it") from None


@contextmanager
def _lines(path: str | None) -> Iterator[Callable[[Json], None] | None]:
    if path is None:
        yield None
        return
    with _opened(path) as file:

        def write(line: Json) -> None:
            file.write(write_json(line) + b"\n")

        yield write


def _opened(path: str) -> IO[bytes]:
    try:
        return Path(path).open("wb")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def _write(path: str, data: bytes) -> None:
    with _opened(path) as file:
        file.write(data + b"\n")


def render_summary(report: Report) -> list[str]:
    """A few lines for people: how long, what became of jobs and pods, what was refused."""
    lines = [f"Simulated {format_duration(round(report.elapsed_s, 6))}."]
    for kind, state_of in (("Job", job_state), ("Pod", pod_state)):
        states = Counter(state_of(o) for o in report.objects if o.get("kind") == kind)
        if states:
            told = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
            lines.append(f"{kind}s: {told}.")
    others = Counter(
        o["kind"] for o in report.objects if o.get("kind") not in ("Job", "Pod", "Event")
    )
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items()))
    lines.append(f"Also there: {told}.")
    for step, refusal in report.refused:
        at = format_duration(step.at_s)
        lines.append(f"Refused at {at}: {step.where}: {step.kind} {step.name!r}: {refusal}")
    return lines


def job_state(job: Json) -> str:
    conditions: list[Any] = (job.get("status") or {}).get("conditions") or []
    for kind, word in (("Complete", "complete"), ("Failed", "failed"), ("Suspended", "suspended")):
        if any(c["type"] == kind and c["status"] == "True" for c in conditions):
            return word
    return "running" if (job.get("status") or {}).get("active") else "waiting"


def pod_state(pod: Json) -> str:
    return str((pod.get("status") or {}).get("phase") or "Unknown").lower()
