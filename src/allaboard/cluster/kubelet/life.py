"""What is the next thing that happens to a pod on a simulated node, and when? Pure.

A `Life` is what the kubelet remembers of one pod: when it was noticed, when its containers began
to run, which attempt this is. `next_move` is level-triggered: asked at any moment it names the
next move and its instant, so a late or repeated question changes nothing.

    noticed ──start-after──▶ running ──ready-after──▶ ready ──run-for──▶ exited ─▶ (restarted)
       └── deleted: stopping ──stop-after──▶ gone
"""

from dataclasses import dataclass
from enum import Enum

from allaboard.clock import Instant
from allaboard.cluster.kubelet.gangs import Gang
from allaboard.cluster.kubelet.stages import Stages

RESTART_BASE_S = 10.0  # the kubelet's crash loop back-off: at once, then 10 s doubling to 5 min
RESTART_MAX_S = 300.0


class Move(Enum):
    WAIT = "wait"  # show that the containers are being created
    RUN = "run"
    READY = "ready"
    EXIT = "exit"
    EXPIRE = "expire"  # the pod's own activeDeadlineSeconds ran out
    REMOVE = "remove"


@dataclass(slots=True)
class Life:
    uid: str
    stages: Stages
    noticed_at: Instant
    restart_policy: str = "Always"
    deadline_s: float | None = None
    grace_s: float = 30.0
    attempt: int = 1
    restarts: int = 0
    shown_waiting: bool = False
    running_at: Instant | None = None
    is_ready: bool = False
    exited_at: Instant | None = None
    finished: bool = False  # phase Succeeded or Failed
    deleted_at: Instant | None = None
    gang: Gang | None = None
    gang_progress_at_start_s: float = 0.0
    met_peers: bool = False
    exit_code: int = 0


def next_move(life: Life, now: Instant) -> tuple[Move, Instant] | None:
    """The next move and when it is due; None if nothing will happen by itself."""
    if life.deleted_at is not None:
        grace = 0.0 if life.finished else min(life.stages.stop_after, life.grace_s)
        return Move.REMOVE, life.deleted_at + grace
    if life.finished:
        return None
    move = _next_stage(life, now)
    if life.deadline_s is None:
        return move
    expiry = life.noticed_at + life.deadline_s
    return move if move is not None and move[1] <= expiry else (Move.EXPIRE, expiry)


def _next_stage(life: Life, now: Instant) -> tuple[Move, Instant] | None:
    if life.running_at is None:
        return _next_start(life)
    ready_at = life.running_at + life.stages.ready_after
    exits_at = next_exit(life, now)
    if (
        not life.is_ready
        and not life.stages.never_ready
        and (exits_at is None or ready_at < exits_at)
    ):
        return Move.READY, ready_at
    return (Move.EXIT, exits_at) if exits_at is not None else None


def _next_start(life: Life) -> tuple[Move, Instant] | None:
    if life.exited_at is not None:
        return Move.RUN, life.exited_at + restart_delay(life.restarts + 1)
    if life.stages.never_start:
        return None if life.shown_waiting else (Move.WAIT, life.noticed_at)
    # A pod that starts within a second is not worth a write of its own to say that it waits.
    if life.stages.start_after > 1.0 and not life.shown_waiting:
        return Move.WAIT, life.noticed_at
    return Move.RUN, life.noticed_at + life.stages.start_after


def next_exit(life: Life, now: Instant) -> Instant | None:
    """When the main containers exit, as things stand."""
    assert life.running_at is not None
    candidates = [_own_exit(life, now), _rendezvous_end(life)]
    due = [at for at in candidates if at is not None]
    return min(due) if due else None


def _own_exit(life: Life, now: Instant) -> Instant | None:
    assert life.running_at is not None
    stages = life.stages
    if stages.fails(life.attempt) and stages.fail_after is not None:
        return life.running_at + stages.fail_after
    if stages.run_for is None:
        # Told to fail but not when: at once, since it would otherwise never happen.
        return life.running_at if stages.fails(life.attempt) else None
    if stages.gang and life.gang is not None:
        return life.gang.reaches(life.gang_progress_at_start_s + stages.run_for, now)
    return life.running_at + stages.run_for


def _rendezvous_end(life: Life) -> Instant | None:
    if life.stages.rendezvous_timeout is None or life.met_peers or life.gang is None:
        return None
    assert life.running_at is not None
    return life.running_at + life.stages.rendezvous_timeout


def exit_code(life: Life, now: Instant) -> int:
    """The code of an exit happening now: 1 if the peers never came, else what was planned."""
    end = _rendezvous_end(life)
    own = _own_exit(life, now)
    if end is not None and end <= now and (own is None or own > now):
        return 1
    return life.stages.exits_with(life.attempt)


def restarts_after(life: Life, code: int) -> bool:
    return life.restart_policy == "Always" or (life.restart_policy == "OnFailure" and code != 0)


def restart_delay(restarts: int) -> float:
    """How long the container stays down before its restart of this number, counted from 1."""
    if restarts <= 1:
        return 0.0
    return min(RESTART_BASE_S * 2.0 ** min(restarts - 2, 10), RESTART_MAX_S)
