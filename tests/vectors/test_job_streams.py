"""Our Job controller and garbage collector tell the same stories as Kubernetes' did."""

from pathlib import Path

import pytest
from tests.vectors.job_streams import FOLDER, Recording, Replay, differences

STREAMS = sorted(FOLDER.glob("*.jsonl"))

pytestmark = pytest.mark.skipif(not STREAMS, reason="the recorded streams are not on this machine")


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_stream_agrees(path: Path) -> None:
    recording = Recording(path)
    replay = Replay(recording)
    told = replay.run()
    assert replay.refused == []
    assert differences(recording.story, told, recording.stable) == []


def test_all_recorded_streams_are_replayed() -> None:
    assert len(STREAMS) == 39
