"""A kubelet that begins anew reads from the statuses what its pods have gone through."""

from typing import Any

import pytest

from allaboard.api.times import format_time
from allaboard.api.types.model import typed
from allaboard.api.types.pods import Pod
from allaboard.cluster.kubelet.gangs import Gang
from allaboard.cluster.kubelet.life import Move, next_move
from allaboard.cluster.kubelet.resuming import (
    address_number,
    address_of,
    begin_life,
    deleted_since,
    runs_so_far,
)
from allaboard.cluster.kubelet.stages import Stages

NOW = 1767225600.0


def at(offset_s: float) -> str:
    return format_time(NOW + offset_s)


def pod(state: dict[str, Any], phase: str = "Running", restarts: int = 0, **status: Any) -> Pod:
    container = {"name": "main", "restartCount": restarts, "state": state, **status}
    told = {"phase": phase, "startTime": at(-60), "containerStatuses": [container]}
    return typed(Pod, {"metadata": {"uid": "u"}, "spec": {}, "status": told})


LAST: dict[str, Any] = {"lastState": {"terminated": {"exitCode": 1, "finishedAt": at(-5)}}}


@pytest.mark.parametrize(
    ("found", "runs", "comes"),
    [
        pytest.param(
            pod({"running": {"startedAt": at(-20)}}), 1, (Move.EXIT, NOW + 10), id="in mid-run"
        ),
        pytest.param(
            pod({"running": {"startedAt": at(-20)}}, restarts=3), 4, (Move.EXIT, NOW + 10),
            id="after three restarts",
        ),
        pytest.param(
            pod({"waiting": {"reason": "CrashLoopBackOff"}}, restarts=2, **LAST), 3,
            (Move.RUN, NOW - 5 + 20), id="backing off",
        ),
        pytest.param(
            pod({"waiting": {"reason": "ContainerCreating"}}, phase="Pending"), 0,
            (Move.RUN, NOW - 59), id="not started yet",
        ),
    ],
)  # fmt: skip
def test_a_life_goes_on_where_it_was(found: Pod, runs: int, comes: tuple[Move, float]) -> None:
    assert runs_so_far(found) == runs
    life = begin_life(found, Stages(run_for=30, never_ready=True), NOW)
    assert next_move(life, NOW) == comes


def test_a_gang_found_in_any_order_is_whole_since_the_last_of_it_began() -> None:
    gang = Gang(expected=2)
    gang.arrive("late", 50.0)
    gang.arrive("early", 10.0)
    assert gang.reaches(100.0, now=60.0) == 150.0


@pytest.mark.parametrize(("asked_s", "now_s", "since_s"), [(0, 0.6, 0.6), (-20, 0.6, -20)])
def test_a_deletion_counts_from_when_it_was_asked_for(
    asked_s: float, now_s: float, since_s: float
) -> None:
    """Timestamps hold no fractions: what was asked for within the second counts from now."""
    meta = {"deletionTimestamp": at(asked_s + 30), "deletionGracePeriodSeconds": 30}
    assert deleted_since(typed(Pod, {"metadata": meta}), NOW + now_s) == NOW + since_s


@pytest.mark.parametrize("number", [1, 255, 256, 65_536, 1_000_000])
def test_addresses_in_use_are_recognised(number: int) -> None:
    assert address_number(address_of(number)) == number
    assert address_number("192.168.0.1") == address_number("") == address_number("fd00::1") == 0
