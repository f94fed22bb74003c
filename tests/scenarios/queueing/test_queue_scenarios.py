"""Queues at work, told to the end: each `NAME.yaml` runs in virtual time and gives `NAME.txt`.

The cluster of `base/cluster.yaml` is there in each. A story has a line for each moment at which a
Workload, called by its Job's name, looks different than before. The auditor watches every commit;
what it must find (the work of a user, not ours) is named in a comment: `# audited: RULE`.
"""

from pathlib import Path

import pytest
from queue_stories import HERE, play


@pytest.mark.parametrize("script", sorted(HERE.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_queue_goes_as_written_and_breaks_no_rule(script: Path) -> None:
    comments = [line for line in script.read_text().splitlines() if line.startswith("# audited:")]
    expected = [rule for line in comments for rule in line.removeprefix("# audited:").split()]
    story, violations = play(script)
    assert story == script.with_suffix(".txt").read_text().splitlines()
    assert [v.rule for v in violations] == expected, "\n".join(str(v) for v in violations)
