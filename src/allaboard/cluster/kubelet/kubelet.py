"""The loop that moves pods through their stages on all simulated nodes.

One reconciler serves every node: it asks `life.next_move`, writes the status that belongs to the
move, and sleeps until the next one. It uses the public API only, so it serves any API server. What
it remembers (exact instants, attempts) it can rebuild from the pods' statuses to the second.
"""

from collections import Counter
from collections.abc import Callable

from allaboard.api.errors import ApiError, Conflict, NotFound
from allaboard.api.meta import Json, Key
from allaboard.api.types.batch import Job
from allaboard.api.types.core import ConfigMap
from allaboard.api.types.model import controller_of, find_condition
from allaboard.api.types.nodes import Node
from allaboard.api.types.pods import Pod
from allaboard.client.client import Client
from allaboard.clock import Instant
from allaboard.cluster.kubelet.gangs import JOBSET_UID, Gang
from allaboard.cluster.kubelet.life import (
    Life,
    Move,
    exit_code,
    next_exit,
    next_move,
    restarts_after,
)
from allaboard.cluster.kubelet.nodes import NodeRegistrar, is_reachable, is_ready
from allaboard.cluster.kubelet.resuming import (
    FINISHED,
    address_number,
    address_of,
    begin_life,
    deleted_since,
    runs_so_far,
)
from allaboard.cluster.kubelet.stages import completion_index, read_stages
from allaboard.cluster.kubelet.status import (
    SIGKILL_EXIT_CODE,
    SIGTERM_EXIT_CODE,
    finished_patch,
    ready_patch,
    restarting_patch,
    running_patch,
    waiting_patch,
)
from allaboard.runtime.controller import Again, Controller, Done, Outcome
from allaboard.runtime.events import EventRecorder
from allaboard.runtime.manager import Manager

WORKERS = 64


class Kubelets:
    def __init__(self, manager: Manager, client: Client, simulates: Callable[[Node], bool]) -> None:
        self._client, self._clock = client, manager.clock
        self.recorder = EventRecorder(client, manager.clock, manager.rng, "kubelet")
        self._simulates = simulates
        self._pods = manager.informers.of(Pod)
        self._nodes = manager.informers.of(Node)
        self._jobs = manager.informers.of(Job)
        self._config_maps = manager.informers.of(ConfigMap)
        self._lives: dict[str, Life] = {}
        self._gangs: dict[str, Gang] = {}
        self._members: dict[str, dict[str, Key]] = {}
        self._attempts: Counter[str] = Counter()
        self._short_of: dict[Key, dict[Key, None]] = {}  # ConfigMap -> pods waiting for it
        self._addresses = 0
        self._recalled: dict[str, int] | None = None
        self._pods.add_index("node", lambda pod: [pod.spec.node_name] if pod.spec.node_name else [])
        self._jobs.add_index("gang", lambda job: [_gang_of(job)])
        self.controller = Controller("kubelets", self.reconcile, workers=WORKERS)
        self.registrar = NodeRegistrar(self._client, self._clock, self._nodes)
        self._pods.on_change(self._pod_changed)
        self._nodes.on_change(self._node_changed)
        self._jobs.on_change(self._job_changed)
        self._config_maps.on_change(self._config_map_changed)

    # News

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None:
            if old is not None:
                self._forget(old)
            return
        if not new.spec.node_name:
            return
        noticed = old is None or not old.spec.node_name
        deleted = new.metadata.deletion_timestamp is not None
        if noticed or deleted or (old is not None and self._is_foreign(old, new)):
            self.controller.enqueue(new.key)

    def _is_foreign(self, old: Pod, new: Pod) -> bool:
        """Did somebody else move this pod? Of our own moves we need not be told."""
        if old.status.phase == new.status.phase:
            return False
        life = self._lives.get(new.uid)
        if life is None:
            return True
        if new.status.phase in FINISHED:
            return not life.finished
        return new.status.phase != "Running" or life.running_at is None

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        name = (new or old or Node()).name
        reachable = is_reachable(new)
        if reachable != is_reachable(old):
            for pod in self._pods.by_index("node", name):
                self._reach(pod, reachable)
        if is_ready(new) and not is_ready(old):
            for pod in self._pods.by_index("node", name):
                self._show_ready_again(pod)

    def _reach(self, pod: Pod, reachable: bool) -> None:
        """Nobody hears from a pod that is out of reach, its gang neither."""
        life, key = self._lives.get(pod.uid), self._gang_key(pod)
        if life is not None and life.gang is not None and key is not None and not life.finished:
            move = life.gang.arrive if reachable else life.gang.leave
            move(pod.uid, self._clock.now())
            self._wake(key)
        if reachable:
            self.controller.enqueue(pod.key)

    def _show_ready_again(self, pod: Pod) -> None:
        """Pods of a node that was not ready were marked so by others; the kubelet is back."""
        life = self._lives.get(pod.uid)
        ready = find_condition(pod.status.conditions, "Ready")
        if life is not None and life.is_ready and ready is not None and ready.status != "True":
            life.is_ready = False
            self.controller.enqueue(pod.key)

    def _job_changed(self, old: Job | None, new: Job | None) -> None:
        if new is None or (old is not None and old.spec == new.spec):
            return
        gang = _gang_of(new)
        if gang in self._gangs:
            self._gangs[gang].expect(self._expected(gang), self._clock.now())
            self._wake(gang)

    def _config_map_changed(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        if new is not None and old is None:
            for pod in self._short_of.pop(new.key, {}):
                self.controller.enqueue(pod)

    # Moves

    async def reconcile(self, key: Key) -> Outcome:
        pod = self._pods.get(key)
        if pod is None or not pod.spec.node_name or not self._may_act(pod):
            return Done()
        life = self._life(pod)
        due = next_move(life, self._clock.now())
        if due is None:
            return Done()
        move, at = due
        if at - self._clock.now() > 1e-6:  # timers are kept to the microsecond
            return Again(at - self._clock.now())
        if move is Move.RUN and self._lacks_volumes(pod):
            return await self._show_missing(pod, life)
        if not await self._make(move, pod, life):
            return Done()
        due = next_move(life, self._clock.now())
        return Done() if due is None else Again(max(0.0, due[1] - self._clock.now()))

    def _may_act(self, pod: Pod) -> bool:
        node = self._nodes.get(Key("", pod.spec.node_name))
        return node is not None and is_reachable(node) and self._simulates(node)

    async def _make(self, move: Move, pod: Pod, life: Life) -> bool:
        """Carry a move out; False when the pod is gone or no longer ours to move."""
        now = self._clock.now()
        match move:
            case Move.WAIT:
                life.shown_waiting = True
                return await self._write(pod, waiting_patch(pod, life, now))
            case Move.RUN:
                self._run(pod, life, now)
                return await self._write(pod, running_patch(pod, life, now, self._address(pod)))
            case Move.READY:
                life.is_ready = True
                return await self._write(pod, ready_patch(pod, life, now))
            case Move.EXIT:
                return await self._exit(pod, life, now)
            case Move.EXPIRE:
                life.finished = True
                self._leave_gang(pod, life, now)
                patch = finished_patch(pod, life, now, SIGTERM_EXIT_CODE, "DeadlineExceeded")
                return await self._write(pod, patch)
            case Move.REMOVE:
                return await self._remove(pod, life, now)

    def _run(self, pod: Pod, life: Life, now: Instant) -> None:
        slot = self._slot(pod)
        self._attempts[slot] += 1
        life.attempt = self._attempts[slot]
        life.restarts += life.exited_at is not None
        life.running_at, life.exited_at = now, None
        life.met_peers = False
        self._join_gang(pod, life, now)
        exits_at = next_exit(life, now)
        at_once = exits_at is not None and exits_at <= now
        life.is_ready = not (life.stages.never_ready or life.stages.ready_after > 0 or at_once)

    async def _exit(self, pod: Pod, life: Life, now: Instant) -> bool:
        code = exit_code(life, now)
        life.is_ready = False
        if restarts_after(life, code):
            patch = restarting_patch(pod, life, now, code)
            life.exited_at, life.running_at = now, None
        else:
            patch = finished_patch(pod, life, now, code)
            life.finished = True
        if code != 0 or not life.finished:
            self._leave_gang(pod, life, now)
        return await self._write(pod, patch)

    async def _remove(self, pod: Pod, life: Life, now: Instant) -> bool:
        """The kubelet's last words, then the pod itself."""
        self._leave_gang(pod, life, now)
        if not life.finished and pod.status.phase not in FINISHED:
            life.finished = True
            killed = life.stages.stop_after > life.grace_s
            code = SIGKILL_EXIT_CODE if killed else SIGTERM_EXIT_CODE
            if not await self._write(pod, finished_patch(pod, life, now, code)):
                return False
        try:
            await self._client.delete(Pod, pod.name, pod.namespace, uid=pod.uid, grace_s=0)
        except (NotFound, Conflict):
            pass  # somebody else was quicker; the informer will say so
        return False

    async def _write(self, pod: Pod, patch: Json) -> bool:
        try:
            await self._client.patch(
                Pod.KIND, pod.name, pod.namespace, patch, kind="strategic", subresource="status"
            )
        except (NotFound, Conflict):
            return False  # gone, or another pod of this name; the informer will say so
        except ApiError:
            self._lives.pop(pod.uid, None)  # what did not get through did not happen
            raise
        return True

    # Memory

    def _life(self, pod: Pod) -> Life:
        life = self._lives.get(pod.uid)
        if life is None:
            life = self._lives[pod.uid] = self._begin(pod)
        if pod.metadata.deletion_timestamp is not None and life.deleted_at is None:
            life.deleted_at = deleted_since(pod, self._clock.now())
            life.grace_s = float(pod.metadata.deletion_grace_period_seconds or 0)
        if pod.status.phase in FINISHED and not life.finished:
            life.finished = True
            if pod.status.phase == "Failed":
                self._leave_gang(pod, life, self._clock.now())
        return life

    def _begin(self, pod: Pod) -> Life:
        """A new life, or one resumed from what the pod's status tells."""
        if self._recalled is None:
            self._recalled = self._recall()
        annotations = pod.metadata.annotations
        stages, problems = read_stages(annotations, completion_index(annotations))
        for problem in problems:
            self.recorder.record(pod, "Warning", "BadSimulation", problem)
        life = begin_life(pod, stages, self._clock.now())
        life.attempt = self._recalled.pop(pod.uid, self._attempts[self._slot(pod)])
        if life.running_at is not None:
            self._join_gang(pod, life, life.running_at)
        return life

    def _recall(self) -> dict[str, int]:
        """Which attempt each pod is that was there before us; addresses in use are not reused."""
        attempts: dict[str, int] = {}
        for pod in sorted(
            self._pods.all(), key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name)
        ):
            slot = self._slot(pod)
            self._attempts[slot] += runs_so_far(pod)
            attempts[pod.uid] = self._attempts[slot]
            self._addresses = max(self._addresses, address_number(pod.status.pod_ip))
        return attempts

    def _forget(self, pod: Pod) -> None:
        self.controller.dismiss(pod.key)
        life = self._lives.pop(pod.uid, None)
        if life is not None and pod.status.phase != "Succeeded":
            self._leave_gang(pod, life, self._clock.now())
        for waiting in self._short_of.values():
            waiting.pop(pod.key, None)

    def _slot(self, pod: Pod) -> str:
        """Attempts are counted per completion index, or per Job, across a JobSet's restarts."""
        owner = controller_of(pod.metadata)
        group = pod.metadata.labels.get(JOBSET_UID) or (owner.uid if owner else pod.uid)
        name = owner.name if owner else pod.name
        index = completion_index(pod.metadata.annotations)
        return f"{group}/{name}/{'' if index is None else index}"

    # Gangs

    def _gang_key(self, pod: Pod) -> str | None:
        owner = controller_of(pod.metadata)
        return pod.metadata.labels.get(JOBSET_UID) or (owner.uid if owner else None)

    def _expected(self, gang: str) -> int:
        """How many pods the gang has when it is whole."""
        total = 0
        for job in self._jobs.by_index("gang", gang):
            parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
            total += min(parallelism, job.spec.completions or parallelism)
        return total

    def _join_gang(self, pod: Pod, life: Life, now: Instant) -> None:
        key = self._gang_key(pod)
        if key is None or not (life.stages.gang or life.stages.rendezvous_timeout is not None):
            return
        gang = self._gangs.get(key)
        if gang is None:
            gang = self._gangs[key] = Gang(self._expected(key))
        life.gang = gang
        life.gang_progress_at_start_s = gang.progress(now)
        self._members.setdefault(key, {})[pod.uid] = pod.key
        was_complete = gang.is_complete
        gang.arrive(pod.uid, now)
        if gang.is_complete:
            life.met_peers = True
            if not was_complete:
                self._wake(key)

    def _leave_gang(self, pod: Pod, life: Life, now: Instant) -> None:
        key = self._gang_key(pod)
        if key is None or life.gang is None:
            return
        life.gang.leave(pod.uid, now)
        members = self._members.get(key, {})
        members.pop(pod.uid, None)
        life.gang = None
        if not members:
            self._members.pop(key, None)
            self._gangs.pop(key, None)
        else:
            self._wake(key)

    def _wake(self, key: str) -> None:
        """The gang became whole, or no longer is: its members' times move."""
        gang = self._gangs[key]
        for uid, member in self._members.get(key, {}).items():
            life = self._lives.get(uid)
            if life is not None and gang.is_complete:
                life.met_peers = True
            self.controller.enqueue(member)

    # Volumes and addresses

    def _lacks_volumes(self, pod: Pod) -> list[Key]:
        wanted = [
            Key(pod.namespace, str(volume["configMap"].get("name", "")))
            for volume in pod.spec.volumes
            if volume.get("configMap") and not volume["configMap"].get("optional")
        ]
        return [key for key in wanted if self._config_maps.get(key) is None]

    async def _show_missing(self, pod: Pod, life: Life) -> Outcome:
        """A container cannot be made without its ConfigMap; wait for it, and say which."""
        missing = self._lacks_volumes(pod)
        for key in missing:
            self._short_of.setdefault(key, {})[pod.key] = None
        if not life.shown_waiting:
            life.shown_waiting = True
            for key in missing:
                words = f'MountVolume.SetUp failed: configmap "{key.name}" not found'
                self.recorder.record(pod, "Warning", "FailedMount", words)
            await self._write(pod, waiting_patch(pod, life, self._clock.now()))
        return Done()

    def _address(self, pod: Pod) -> Json:
        if pod.status.pod_ip:
            return {}
        self._addresses += 1
        address = address_of(self._addresses)
        return {"podIP": address, "podIPs": [{"ip": address}]}


def _gang_of(job: Job) -> str:
    return job.metadata.labels.get(JOBSET_UID) or job.uid


def install(
    manager: Manager, client: Client, simulates: Callable[[Node], bool] = lambda node: True
) -> Kubelets:
    """Run simulated kubelets beside the manager's controllers, writing as `client`."""
    kubelets = Kubelets(manager, client, simulates)
    manager.spawn(kubelets.recorder.run, "kubelet events")
    manager.add(kubelets.registrar.controller)
    manager.add(kubelets.controller)
    return kubelets
