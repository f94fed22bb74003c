"""What does a pod's status tell of the life it has had? Pure.

A kubelet that begins anew finds pods in the middle of things. Times come back to the second, which
is what statuses hold.
"""

from allaboard.api.times import parse_time
from allaboard.api.types.pods import ContainerStatus, Pod
from allaboard.clock import Instant
from allaboard.cluster.kubelet.life import Life
from allaboard.cluster.kubelet.stages import Stages

FINISHED = ("Succeeded", "Failed")


def begin_life(pod: Pod, stages: Stages, now: Instant) -> Life:
    """A new life, or the one that the status tells of."""
    started = pod.status.start_time
    life = Life(
        uid=pod.uid,
        stages=stages,
        noticed_at=parse_time(started) if started else now,
        restart_policy=pod.spec.restart_policy or "Always",
        deadline_s=pod.spec.active_deadline_seconds,
        shown_waiting=started is not None,
    )
    first = _first(pod)
    if first is None:
        return life
    life.restarts, life.is_ready = first.restart_count, first.ready
    life.running_at = running_since(pod)
    last = first.last_state.terminated
    if first.state.waiting is not None and last is not None and last.finished_at:
        life.exited_at = parse_time(last.finished_at)
    return life


def running_since(pod: Pod) -> Instant | None:
    """When the main containers last began to run, if they do or did until they succeeded."""
    first = _first(pod)
    if first is None:
        return None
    state = first.state
    if state.running is not None and state.running.started_at:
        return parse_time(state.running.started_at)
    ended = state.terminated
    if pod.status.phase == "Succeeded" and ended is not None and ended.started_at:
        return parse_time(ended.started_at)
    return None


def runs_so_far(pod: Pod) -> int:
    """How often its containers were started."""
    first = _first(pod)
    if first is None:
        return 0
    began = first.state.running or first.state.terminated or first.last_state.terminated
    return first.restart_count + 1 if began else 0


def deleted_since(pod: Pod, now: Instant) -> Instant:
    """When the deletion was asked for: now if that is less than the second we can read it to."""
    grace = float(pod.metadata.deletion_grace_period_seconds or 0)
    told = parse_time(pod.metadata.deletion_timestamp or "") - grace
    return now if now - told < 1.0 else told


def address_number(ip: str) -> int:
    """The number that `address_of` made this of; 0 for an address that is none of ours."""
    parts = ip.split(".")
    if len(parts) != 4 or parts[0] != "10" or not all(p.isascii() and p.isdigit() for p in parts):
        return 0
    return int(parts[1]) << 16 | int(parts[2]) << 8 | int(parts[3])


def address_of(number: int) -> str:
    number %= 0xFFFFFF
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


def _first(pod: Pod) -> ContainerStatus | None:
    return pod.status.container_statuses[0] if pod.status.container_statuses else None
