"""A pod's life, asked at any moment: what comes next, and when."""

import pytest

from allaboard.cluster.kubelet.gangs import Gang
from allaboard.cluster.kubelet.life import Life, Move, exit_code, next_move, restart_delay
from allaboard.cluster.kubelet.stages import Stages


def life(stages: Stages, **state: object) -> Life:
    return Life(uid="u", stages=stages, noticed_at=100.0, **state)  # type: ignore[arg-type]


RUNNING = {"running_at": 200.0, "is_ready": True, "shown_waiting": True}


@pytest.mark.parametrize(
    ("stages", "state", "expected"),
    [
        pytest.param(Stages(), {}, (Move.RUN, 101.0), id="starts after a second"),
        pytest.param(Stages(start_after=60), {}, (Move.WAIT, 100.0), id="a slow start shows"),
        pytest.param(
            Stages(start_after=60), {"shown_waiting": True}, (Move.RUN, 160.0), id="then starts"
        ),
        pytest.param(
            Stages(never_start="X"), {"shown_waiting": True}, None, id="never starts by itself"
        ),
        pytest.param(Stages(), RUNNING, None, id="runs until somebody stops it"),
        pytest.param(Stages(run_for=30), RUNNING, (Move.EXIT, 230.0), id="exits after run-for"),
        pytest.param(
            Stages(ready_after=5, run_for=30),
            RUNNING | {"is_ready": False},
            (Move.READY, 205.0),
            id="becomes ready first",
        ),
        pytest.param(
            Stages(ready_after=40, run_for=30),
            RUNNING | {"is_ready": False},
            (Move.EXIT, 230.0),
            id="or exits before it ever is",
        ),
        pytest.param(
            Stages(never_ready=True, run_for=3),
            RUNNING | {"is_ready": False},
            (Move.EXIT, 203.0),
            id="never ready",
        ),
        pytest.param(
            Stages(run_for=30, fail_after=7), RUNNING, (Move.EXIT, 207.0), id="fails first"
        ),
        pytest.param(
            Stages(run_for=30, fail_after=7, fail_attempts=1),
            RUNNING | {"attempt": 2},
            (Move.EXIT, 230.0),
            id="a later attempt succeeds",
        ),
        pytest.param(
            Stages(run_for=30),
            RUNNING | {"deadline_s": 110.0},
            (Move.EXPIRE, 210.0),
            id="the pod's deadline ends it",
        ),
        pytest.param(
            Stages(stop_after=9), RUNNING | {"deleted_at": 300.0}, (Move.REMOVE, 309.0), id="stops"
        ),
        pytest.param(
            Stages(stop_after=99),
            RUNNING | {"deleted_at": 300.0},
            (Move.REMOVE, 330.0),
            id="but within its grace period",
        ),
        pytest.param(
            Stages(stop_after=9),
            RUNNING | {"deleted_at": 300.0, "finished": True},
            (Move.REMOVE, 300.0),
            id="what has ended is gone at once",
        ),
        pytest.param(
            Stages(), {"exited_at": 500.0, "restarts": 2}, (Move.RUN, 520.0), id="backs off"
        ),
    ],
)
def test_next_move(stages: Stages, state: dict[str, object], expected: object) -> None:
    assert next_move(life(stages, **state), now=0.0) == expected


def test_a_gang_member_makes_progress_only_while_all_are_there() -> None:
    gang = Gang(expected=2)
    gang.arrive("a", 200.0)
    member = life(Stages(run_for=30, gang=True), gang=gang, **RUNNING)
    assert next_move(member, now=250.0) is None
    gang.arrive("b", 260.0)
    assert next_move(member, now=260.0) == (Move.EXIT, 290.0)
    gang.leave("b", 270.0)
    assert next_move(member, now=280.0) is None
    gang.arrive("c", 400.0)
    assert next_move(member, now=400.0) == (Move.EXIT, 420.0)


def test_a_rendezvous_that_fails_ends_with_code_one() -> None:
    gang = Gang(expected=2)
    gang.arrive("u", 200.0)
    lonely = life(Stages(run_for=30, gang=True, rendezvous_timeout=10), gang=gang, **RUNNING)
    assert next_move(lonely, now=205.0) == (Move.EXIT, 210.0)
    assert exit_code(lonely, now=210.0) == 1
    lonely.met_peers = True
    assert next_move(lonely, now=205.0) is None


@pytest.mark.parametrize(
    ("restarts", "delay"), [(1, 0.0), (2, 10.0), (3, 20.0), (6, 160.0), (7, 300.0), (99, 300.0)]
)
def test_restarts_back_off(restarts: int, delay: float) -> None:
    assert restart_delay(restarts) == delay
