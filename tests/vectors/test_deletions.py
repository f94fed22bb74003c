"""Deletion, garbage collection and the life of namespaces go as recorded."""

import pytest
from tests.vectors.deletions import Conversation
from tests.vectors.harness import FOLDER

FILES = ("delete-finalizers-propagation.json", "namespaces.json")


@pytest.mark.skipif(not FOLDER.exists(), reason="the recordings are not on this machine")
@pytest.mark.parametrize("name", FILES)
def test_conversation_agrees(name: str) -> None:
    conversation = Conversation(FOLDER / name)
    conversation.run()
    assert conversation.compared > 20
    assert conversation.differences == {}
