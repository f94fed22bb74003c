"""Conversations about webhooks, with a webhook server of our own beside the server."""

import os

import pytest
from tests.vectors.harness import FOLDER, Result
from tests.vectors.webhook_replay import replay_webhooks

pytestmark = [
    pytest.mark.xdist_group("vectors"),
    # The recordings' own client leaves its connections to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.skipif(
        not FOLDER.is_dir() and not os.environ.get("CI"), reason=f"{FOLDER} is not there"
    ),
]
CONDITIONS = "match conditions are CEL, which is not evaluated yet: they count as a failure"
DECLARED = {
    "matchConditions: no match": CONDITIONS,
    "matchConditions: match": CONDITIONS,
    "pod binding": "a Binding is not stored, so nobody owns its fields",
    "pod eviction": "the deletion behind an eviction is asked about too",
    "pod graceful delete again": "one DELETE is one review",
    "job create": "the labels of a new Job are there when validating webhooks are asked",
}


@pytest.fixture(scope="module")
def result() -> Result:
    return replay_webhooks()


def test_status_and_reason_agree_nearly_always(result: Result) -> None:
    assert len(result.entries) > 80
    assert result.share("status_agrees") >= 95


def test_answers_and_reviews_agree_but_for_what_is_declared(result: Result) -> None:
    differs = {e.name for e in result.entries if not e.body_agrees or not e.status_agrees}
    assert differs == set(DECLARED)
