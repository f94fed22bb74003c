"""What does a kubelet write into a pod's status at each move? Pure.

Every function returns a strategic merge patch: conditions and container statuses are merged by
their keys, so what others put there (DisruptionTarget) stays. The pod's UID goes along, so that a
patch meant for one pod can never land on another of the same name.
"""

from typing import Any

from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.api.types.pods import Container, ContainerStatus, Pod
from allaboard.clock import Instant
from allaboard.cluster.kubelet.life import Life

SIGTERM_EXIT_CODE = 143  # 128 + SIGTERM
SIGKILL_EXIT_CODE = 137  # 128 + SIGKILL: it did not stop within its grace period


def waiting_patch(pod: Pod, life: Life, now: Instant, message: str = "") -> Json:
    """Scheduled and noticed, nothing runs yet."""
    state: Json = {"reason": life.stages.never_start or "ContainerCreating"}
    if message:
        state["message"] = message
    initial = (
        {"waiting": {"reason": "PodInitializing"}} if _plain_inits(pod) else {"waiting": state}
    )
    inits_done = not pod.spec.init_containers
    return _patch(
        pod,
        phase="Pending",
        conditions=_conditions(pod, now, initialised=inits_done, ready=False, running=False),
        initContainerStatuses=[
            _container(c, pod, {"waiting": state}, ready=False) for c in pod.spec.init_containers
        ],
        containerStatuses=[_container(c, pod, initial, ready=False) for c in pod.spec.containers],
        startTime=format_time(life.noticed_at),
    )


def running_patch(pod: Pod, life: Life, now: Instant, addresses: Json) -> Json:
    ready = life.is_ready
    return _patch(
        pod,
        phase="Running",
        conditions=_conditions(pod, now, initialised=True, ready=ready, running=True),
        initContainerStatuses=[_init_status(c, pod, life, now) for c in pod.spec.init_containers],
        containerStatuses=[
            _container(c, pod, _running(now), ready=ready, restarts=life.restarts)
            for c in pod.spec.containers
        ],
        startTime=pod.status.start_time or format_time(life.noticed_at),
        **addresses,
    )


def ready_patch(pod: Pod, life: Life, now: Instant) -> Json:
    started = life.running_at if life.running_at is not None else now
    return _patch(
        pod,
        conditions=_conditions(pod, now, initialised=True, ready=True, running=True),
        containerStatuses=[
            _container(c, pod, _running(started), ready=True, restarts=life.restarts)
            for c in pod.spec.containers
        ],
    )


def restarting_patch(pod: Pod, life: Life, now: Instant, code: int) -> Json:
    """Exited, and will be started again after the crash loop back-off."""
    last = _terminated(life, now, code)
    waiting = {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": f"back-off restarting failed container, restart {life.restarts + 1}",
        },
        "running": None,
    }
    return _patch(
        pod,
        conditions=_conditions(pod, now, initialised=True, ready=False, running=True),
        containerStatuses=[
            _container(c, pod, waiting, ready=False, restarts=life.restarts) | {"lastState": last}
            for c in pod.spec.containers
        ],
    )


def finished_patch(pod: Pod, life: Life, now: Instant, code: int, reason: str = "") -> Json:
    """The pod is over, for good."""
    phase = "Succeeded" if code == 0 and not reason else "Failed"
    state = _terminated(life, now, code) | {"running": None, "waiting": None}
    done_reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
    extra: Json = {"reason": reason} if reason else {}
    if reason == "DeadlineExceeded":
        extra["message"] = "Pod was active on the node longer than the specified deadline"
    return _patch(
        pod,
        phase=phase,
        conditions=_conditions(
            pod, now, initialised=True, ready=False, running=False, reason=done_reason
        ),
        containerStatuses=[
            _container(c, pod, state, ready=False, restarts=life.restarts)
            for c in pod.spec.containers
        ],
        startTime=pod.status.start_time or format_time(life.noticed_at),
        **extra,
    )


def _patch(pod: Pod, **status: Any) -> Json:
    filled = {key: value for key, value in status.items() if value != []}
    return {"metadata": {"uid": pod.uid}, "status": filled}


def _plain_inits(pod: Pod) -> list[Container]:
    return [c for c in pod.spec.init_containers if c.restart_policy != "Always"]


def _running(since: Instant) -> Json:
    return {"running": {"startedAt": format_time(since)}, "waiting": None}


def _terminated(life: Life, now: Instant, code: int) -> Json:
    started = life.running_at if life.running_at is not None else now
    return {
        "terminated": {
            "exitCode": code,
            "reason": "Completed" if code == 0 else "Error",
            "startedAt": format_time(started),
            "finishedAt": format_time(now),
        }
    }


def _init_status(container: Container, pod: Pod, life: Life, now: Instant) -> Json:
    if container.restart_policy == "Always":  # a sidecar runs as long as the pod does
        return _container(container, pod, _running(now), ready=True)
    done = _terminated(life, now, 0) | {"waiting": None, "running": None}
    return _container(container, pod, done, ready=True)


def _container(
    container: Container, pod: Pod, state: Json, *, ready: bool, restarts: int = 0
) -> Json:
    """A container's status; absent members of `state` are spelled out only where they were set."""
    before = next(
        (s for s in (*pod.status.container_statuses, *pod.status.init_container_statuses)
         if s.name == container.name),
        None,
    )  # fmt: skip
    return {
        "name": container.name,
        "image": container.image,
        "imageID": "",
        "ready": ready,
        "started": "running" in state and state["running"] is not None,
        "restartCount": restarts,
        "state": _without_needless_nulls(state, before),
        "lastState": {},
    }


def _without_needless_nulls(state: Json, before: ContainerStatus | None) -> Json:
    """A null in a patch removes a member; where there is none to remove it would only be noise."""
    was = before.state if before else None
    present = {
        "waiting": was is not None and was.waiting is not None,
        "running": was is not None and was.running is not None,
    }
    return {k: v for k, v in state.items() if v is not None or present.get(k, False)}


def _conditions(
    pod: Pod, now: Instant, *, initialised: bool, ready: bool, running: bool, reason: str = ""
) -> list[Json]:
    unready = reason or "ContainersNotReady"
    names = " ".join(c.name for c in pod.spec.containers)
    why = {} if reason else {"message": f"containers with unready status: [{names}]"}
    wanted: list[tuple[str, bool, Json]] = [
        ("PodReadyToStartContainers", running, {}),
        ("Initialized", initialised, {"reason": reason} if reason == "PodCompleted" else {}),
        ("Ready", ready, {} if ready else {"reason": unready, **why}),
        ("ContainersReady", ready, {} if ready else {"reason": unready, **why}),
    ]
    current = {c.type: c for c in pod.status.conditions}
    conditions: list[Json] = []
    for kind, holds, words in wanted:
        status = "True" if holds else "False"
        known = current.get(kind)
        kept = known is not None and known.status == status and known.last_transition_time
        condition: Json = {
            "type": kind,
            "status": status,
            "lastProbeTime": None,
            "lastTransitionTime": kept or format_time(now),
            **words,
        }
        if known is not None:  # a merge keeps what it is not told to drop
            for member, old in (("reason", known.reason), ("message", known.message)):
                if old and member not in condition:
                    condition[member] = None
        conditions.append(condition)
    return conditions
