"""What follows when a workload is taken out of its queue, or put back? Pure, and its loop.

`spec.active: false`, said by a person or by a limit, evicts what runs and closes what waits;
`true` opens it again whatever the cause was (Kueue's exact match on one reason is not copied,
reference §2.5). A person's deactivation leaves `requeueState` as it is; a limit clears it, and so
does reactivation.
"""

from allaboard.api.errors import Conflict, NotFound
from allaboard.api.kueue import reasons
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json, Key
from allaboard.clock import Instant
from allaboard.queueing.conditions import Say, changed, find, says, without
from allaboard.runtime.controller import Controller, Done, Outcome
from allaboard.runtime.manager import Manager

DEACTIVATED = "The workload is deactivated"
REACTIVATED = "The workload was reactivated"


def activation_patch(obj: Json, now: Instant) -> Json | None:
    """The status this workload's `spec.active` asks for; None if it says so already."""
    status = obj.get("status") or {}
    conditions = status.get("conditions") or []
    if _holds(conditions, reasons.FINISHED):
        return None
    if (obj.get("spec") or {}).get("active", True):
        return _reactivation(obj, conditions, now)
    return _deactivation(obj, conditions, now)


def _deactivation(obj: Json, conditions: list[Json], now: Instant) -> Json | None:
    target = find(conditions, reasons.DEACTIVATION_TARGET)
    reason, message = reasons.DEACTIVATED, DEACTIVATED
    if target is not None and target.get("status") == "True":
        reason = reasons.deactivated_due_to(str(target["reason"]))
        message = f"{DEACTIVATED} due to {target['message']}"
    evicted = find(conditions, reasons.EVICTED) or {}
    told = reasons.is_deactivation(str(evicted.get("reason")))
    if told and evicted.get("status") == "True":
        return None
    if _holds(conditions, reasons.QUOTA_RESERVED):
        wanted = Say(reasons.EVICTED, "True", reason, message)
    else:
        wanted = Say(reasons.QUOTA_RESERVED, "False", reasons.DEACTIVATED, DEACTIVATED)
        if says(conditions, wanted) and target is None:
            return None
    status: Json = {}
    if target is not None:
        status["requeueState"] = None
    kept = without(conditions, reasons.DEACTIVATION_TARGET)
    return _patch(obj, status, changed(kept, [wanted], now, _generation(obj)))


def _reactivation(obj: Json, conditions: list[Json], now: Instant) -> Json | None:
    closed = find(conditions, reasons.REQUEUED)
    if closed is None or closed.get("status") != "False":
        return None
    is_ours = reasons.is_deactivation(str(closed.get("reason")))
    if not is_ours or _holds(conditions, reasons.QUOTA_RESERVED):
        return None
    wanted = Say(reasons.REQUEUED, "True", reasons.REACTIVATED, REACTIVATED)
    reopened = changed(conditions, [wanted], now, _generation(obj))
    return _patch(obj, {"requeueState": None}, reopened)


def _patch(obj: Json, status: Json, conditions: list[Json]) -> Json:
    meta = obj["metadata"]
    identity = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
    return {"metadata": identity, "status": {**status, "conditions": conditions}}


def _holds(conditions: list[Json], type_: str) -> bool:
    found = find(conditions, type_)
    return found is not None and found.get("status") == "True"


def _generation(obj: Json) -> int:
    return int(obj["metadata"].get("generation") or 0)


class Activation:
    """Writes what `activation_patch` says, for every workload about which there is news."""

    def __init__(self, manager: Manager) -> None:
        self._client, self._clock = manager.client, manager.clock
        self._events = manager.recorder
        self._workloads = manager.informers.of(Workload.KIND)
        self.controller = manager.add(Controller("activation", self.reconcile, workers=4))
        self._workloads.on_change(self._changed)

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None and activation_patch(new, self._clock.now()) is not None:
            self.controller.enqueue(Key(new["metadata"]["namespace"], new["metadata"]["name"]))

    async def reconcile(self, key: Key) -> Outcome:
        obj = self._workloads.get(key)
        patch = activation_patch(obj, self._clock.now()) if obj is not None else None
        if obj is None or patch is None:
            return Done()
        try:
            await self._client.patch(
                Workload.KIND, key.name, key.namespace, patch, subresource="status"
            )
        except (NotFound, Conflict):
            return Done()  # changed meanwhile; the informer will bring it again
        evicted = find(patch["status"]["conditions"], reasons.EVICTED)
        if evicted is not None and evicted.get("status") == "True":
            reason = f"EvictedDueTo{evicted['reason']}"
            self._events.record(obj, "Normal", reason, str(evicted["message"]))
        return Done()
