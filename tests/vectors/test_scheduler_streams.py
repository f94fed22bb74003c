"""Our scheduler against recorded runs of the real one: same places, same sentences, same events."""

import os

import pytest
from tests.vectors.scheduler_streams import FOLDER, read, recorded, replayed

if not FOLDER.exists() and not os.environ.get("CI"):
    pytest.skip("the recorded streams are not on this machine", allow_module_level=True)

NAMES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))

# Streams whose intermediate states we do not show, each with the reason.
DECLARED: dict[str, str] = {}


def test_the_streams_are_there() -> None:
    assert len(NAMES) >= 30


@pytest.mark.parametrize("name", NAMES)
def test_pods_end_up_as_recorded(name: str) -> None:
    lines = read(name)
    assert replayed(lines) == recorded(lines)
