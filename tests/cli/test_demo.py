"""The demo tells its story, the same every time, and its exit code says that it went as told."""

import subprocess
import sys


def test_the_story_goes_as_told() -> None:
    command = [sys.executable, "-m", "allaboard.cli", "demo"]
    runs = [subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2)]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    assert runs[0].stdout == runs[1].stdout
    story = runs[0].stdout
    told = ["train is admitted by research", "sweep gives way: reclamation within the cohort",
            "eval is admitted by product", "sweep is admitted by research again"]  # fmt: skip
    places = [story.find(sentence) for sentence in told]
    assert -1 not in places and places == sorted(places), story
