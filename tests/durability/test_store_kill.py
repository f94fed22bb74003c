"""Whatever moment a process dies at, every acknowledged write is there afterwards."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from allaboard.clock import system_clock
from allaboard.cluster.store import Store

WRITER = Path(__file__).parent / "writer.py"
FAILPOINTS = [
    "append", "commit", "committed", "compact-choose", "compact-delete", "compact-persist",
    "compacted", "checkpoint",
]  # fmt: skip


class Witness:
    """Runs writers on one directory, kills them and knows what must be there afterwards."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.value: dict[str, str] = {}  # what each name holds, "-" for nothing
        self.doubt: dict[str, str] = {}  # what it holds if the last try came through
        self.revision = 0

    def run(self, plan: str = "", kill_after: int | None = None) -> str:
        """Let a writer run until so many lines were read or it ends itself; its last line."""
        command = [sys.executable, WRITER, self.directory, plan]
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        line = ""
        for number, raw in enumerate(child.stdout, 1):
            line = raw.decode()
            self.note(*line.split())
            if number == kill_after:
                os.kill(child.pid, signal.SIGKILL)
        child.stdout.close()
        assert child.wait() == (0 if plan.startswith("limit") else -signal.SIGKILL)
        return line

    def note(self, what: str, name: str, *rest: str) -> None:
        if what == "try":
            self.doubt[name] = rest[0]
        elif what == "ack":
            self.value[name] = self.doubt.pop(name)
            self.revision = max(self.revision, int(rest[1]))

    async def check(self) -> None:
        """Every name holds what was acknowledged last, or the one write after it."""
        async with Store.open(self.directory, system_clock()) as store:
            found = {record.name: str(record.obj["value"]) for record in store.list("things")}
            for name in sorted({*self.value, *self.doubt, *found}):
                value = found.get(name, "-")
                assert value in (self.value.get(name, "-"), self.doubt.get(name)), name
                self.value[name] = value
            assert store.revision >= self.revision
            self.revision = store.revision
            self.doubt = {}


async def survive(directory: Path, kills: int, seed: int) -> None:
    dice = random.Random(seed)
    witness = Witness(directory)
    for _ in range(kills):
        before = witness.revision
        witness.run(kill_after=dice.randrange(60, 3_000))
        await witness.check()
        assert witness.revision > before  # never back, never the same again


async def test_killed_at_random_moments(tmp_path: Path) -> None:
    await survive(tmp_path / "data", kills=8, seed=1)


@pytest.mark.parametrize("failpoint", FAILPOINTS)
async def test_killed_at_each_step_of_writing_and_compacting(
    tmp_path: Path, failpoint: str
) -> None:
    witness = Witness(tmp_path / "data")
    for count in (1, 3) if failpoint != "checkpoint" else (1,):
        witness.run(f"{failpoint}:{count}")
        await witness.check()


async def test_a_disk_that_takes_no_more_stops_writes_and_loses_nothing(tmp_path: Path) -> None:
    """The file may not grow: the write that hits the limit fails, half written as it is."""
    witness = Witness(tmp_path / "data")
    last = witness.run("limit:700000")
    assert last.startswith("failed") and "stopped accepting writes after revision" in last
    await witness.check()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
async def test_killed_hundreds_of_times(tmp_path: Path, seed: int) -> None:
    await survive(tmp_path / "data", kills=40, seed=100 + seed)
