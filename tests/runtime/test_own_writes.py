"""What a cache must show before a key is reconciled again."""

from typing import Any

import pytest

from allaboard.api.meta import Key
from allaboard.api.types import Pod
from allaboard.client.client import Written
from allaboard.runtime.informer import Informer, Scope
from allaboard.runtime.ownwrites import Writes, _shows

X = Key("a", "x")


def pod(version: int, uid: str = "u1", **metadata: Any) -> dict[str, Any]:
    shown = {"name": "x", "namespace": "a", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": {**shown, **metadata}}


def wrote(version: int) -> Written:
    return Written(Pod.KIND, X, "write", pod(version))


def deleted(answer: dict[str, Any]) -> Written:
    return Written(Pod.KIND, X, "delete", answer)


GONE = deleted({"kind": "Status", "details": {"uid": "u1"}})
LEAVING = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("writes", "news", "shown"),
    [
        pytest.param([wrote(5)], [("ADDED", pod(4))], False, id="an older state"),
        pytest.param([wrote(5)], [("ADDED", pod(5))], True, id="our own state"),
        pytest.param([wrote(5)], [("ADDED", pod(9))], True, id="a later state"),
        pytest.param([wrote(5)], [], False, id="nothing yet"),
        pytest.param([wrote(5)], [("BOOKMARK", pod(6))], True, id="the cache passed it"),
        pytest.param([wrote(5), wrote(7)], [("ADDED", pod(6))], False, id="the last write counts"),
        pytest.param([GONE], [("ADDED", pod(4))], False, id="deleted, still there"),
        pytest.param([GONE], [("ADDED", pod(4)), ("DELETED", pod(6))], True, id="deleted and gone"),
        pytest.param([GONE], [("ADDED", pod(4, **LEAVING))], True, id="deleted and leaving"),
        pytest.param([GONE], [("ADDED", pod(4, "u2"))], True, id="a namesake took its place"),
        pytest.param([wrote(5), GONE], [], False, id="made and deleted, neither seen"),
        pytest.param([wrote(5), GONE], [("ADDED", pod(5))], False, id="made and deleted, one seen"),
        pytest.param([deleted(pod(5, **LEAVING))], [("ADDED", pod(4))], False, id="lingering"),
        pytest.param([deleted({})], [("ADDED", pod(4))], False, id="an answer that says nothing"),
    ],
)
def test_shown(writes: list[Written], news: list[tuple[str, Any]], shown: bool) -> None:
    informer: Informer[Pod] = Informer(Scope(Pod.KIND), Pod)
    for type_, obj in news:
        informer.apply(type_, obj)
    noted = Writes()
    for written in writes:
        noted.note(written)
    ((_, mark),) = noted.items()
    assert _shows(informer, X, mark) is shown
