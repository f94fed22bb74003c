"""Annotations become stages; what cannot be read is named with what is allowed."""

import pytest

from allaboard.cluster.kubelet.stages import Stages, completion_index, read_stages

P = "sim.allaboard.dev/"


def stages(index: int | None = None, **annotations: str) -> Stages:
    texts = {P + name.replace("_", "-"): value for name, value in annotations.items()}
    found, problems = read_stages(texts, index)
    assert problems == []
    return found


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        pytest.param({}, Stages(), id="a plain pod starts after a second and runs until deleted"),
        pytest.param({"start-after": "1m30s"}, Stages(start_after=90), id="durations as Go's"),
        pytest.param({"exit-code": "3"}, Stages(exit_code=3), id="an exit code"),
        pytest.param({"never-start": "true"}, Stages(never_start="ContainerCreating"), id="stuck"),
        pytest.param(
            {"never-start": "ImagePullBackOff"},
            Stages(never_start="ImagePullBackOff"),
            id="stuck for a reason",
        ),
        pytest.param({"gang": "true"}, Stages(gang=True), id="a gang"),
        pytest.param({"fail-after.3": "5s"}, Stages(), id="meant for another index"),
        pytest.param(
            {"fail-after.2": "5s", "fail-after": "9s"}, Stages(fail_after=5), id="the index wins"
        ),
        pytest.param({"at": "5s", "action": "patch"}, Stages(), id="the script's own words"),
    ],
)
def test_annotations_are_read(annotations: dict[str, str], expected: Stages) -> None:
    found, problems = read_stages({P + k: v for k, v in annotations.items()}, index=2)
    assert (found, problems) == (expected, [])


@pytest.mark.parametrize(
    ("annotation", "value", "words"),
    [
        ("start-after", "soon", "cannot be read"),
        ("start-after", "-5s", "must not be negative"),
        ("exit-code", "256", "between 0 and 255"),
        ("fail-attempts", "-1", "whole number"),
        ("fail-attempts", "٣", "whole number"),
        ("never-ready", "yes", 'must be "true" or "false"'),
        ("run-four", "5s", "unknown; known are"),
        ("fail-after.x", "5s", "completion index"),
    ],
)
def test_what_cannot_be_read_is_explained(annotation: str, value: str, words: str) -> None:
    found, problems = read_stages({P + annotation: value}, index=None)
    assert found == Stages()
    assert len(problems) == 1 and words in problems[0] and annotation in problems[0]


def test_other_peoples_annotations_are_none_of_our_business() -> None:
    assert read_stages({"example.com/start-after": "x"}, None) == (Stages(), [])


@pytest.mark.parametrize(
    ("plan", "fails"),
    [
        (Stages(), [False, False, False]),
        (Stages(exit_code=2), [True, True, True]),
        (Stages(fail_after=1.0), [True, True, True]),
        (Stages(fail_attempts=2), [True, True, False]),
        (Stages(fail_attempts=0, exit_code=9), [False, False, False]),
    ],
)
def test_which_attempts_fail(plan: Stages, fails: list[bool]) -> None:
    assert [plan.fails(attempt) for attempt in (1, 2, 3)] == fails


@pytest.mark.parametrize(("text", "index"), [("0", 0), ("17", 17), ("", None), ("x", None)])
def test_the_completion_index_is_read_from_its_annotation(text: str, index: int | None) -> None:
    assert completion_index({"batch.kubernetes.io/job-completion-index": text}) == index
