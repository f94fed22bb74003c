"""Our server against the recorded one: what agrees, and what is declared not to.

The recordings lie outside the repository. Without them there is nothing to compare, which is fine
on a developer's machine and a failure in CI.
"""

import os
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.vectors.harness import FOLDER, Result, files, replay_file

DECLARED = Path(__file__).parent / "declared.toml"
AT_ONCE = 4  # replays mostly wait for watches to end

pytestmark = [
    pytest.mark.xdist_group("vectors"),
    pytest.mark.skipif(
        not FOLDER.is_dir() and not os.environ.get("CI"), reason=f"{FOLDER} is not there"
    ),
]


@pytest.fixture(scope="module")
def results() -> list[Result]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(replay_file, files()))


@pytest.fixture(scope="module")
def declared() -> dict[str, dict[str, str]]:
    return tomllib.loads(DECLARED.read_text())


def everything(results: list[Result]) -> Result:
    return Result("all", [entry for result in results for entry in result.entries])


def test_status_and_reason_agree_nearly_always(results: list[Result]) -> None:
    assert everything(results).share("status_agrees") >= 95


def test_whole_bodies_agree_mostly(results: list[Result]) -> None:
    assert everything(results).share("body_agrees") >= 80


def test_no_recorded_request_makes_the_server_fail(results: list[Result]) -> None:
    """A bare 500 is an answer we never give, not even where the real server does."""
    assert [e.name for e in everything(results).entries if e.status == 500] == []


def test_every_deviation_is_declared_and_every_declaration_is_one(
    results: list[Result], declared: dict[str, dict[str, str]]
) -> None:
    differs = {(r.file, e.name) for r in results for e in r.entries if not e.body_agrees}
    listed = {(file, name) for file, names in declared.items() for name in names}
    assert sorted(differs - listed) == [], "these differ and are not declared"
    assert sorted(listed - differs) == [], "these are declared and agree"
