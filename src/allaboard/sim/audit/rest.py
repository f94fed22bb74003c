"""What must hold once nothing changes any more? Published numbers, jobs and their workloads."""

from collections.abc import Iterator
from fractions import Fraction

from allaboard.api.meta import Json
from allaboard.sim.audit import reading
from allaboard.sim.audit.log import Commit, Objects, Violation
from allaboard.sim.audit.reading import Amounts

Found = Iterator[Violation]


def at_rest(objects: Objects, time: str, at_s: float) -> Found:
    for kind in ("ClusterQueue", "LocalQueue", "Job", "Workload"):
        for _, obj in sorted(objects.by_kind[kind].items()):
            revision = str(obj["metadata"].get("resourceVersion"))
            here = Commit(revision, time, at_s, "MODIFIED", kind, obj, obj)
            match kind:
                case "Job":
                    yield from _job(here, objects)
                case "Workload":
                    yield from _workload(here, objects)
                case _:
                    yield from _queue(here, objects)


def _queue(here: Commit, objects: Objects) -> Found:
    """S3, second half: what a queue says of itself is what its workloads add up to."""
    obj = here.obj
    if here.kind == "ClusterQueue":
        name = obj["metadata"]["name"]
        mine = [w for w in objects.by_kind["Workload"].values() if reading.queue_of(w) == name]
        spec = obj["spec"]
    else:
        name = obj["spec"]["clusterQueue"]
        queue = objects.by_kind["ClusterQueue"].get(("", name))
        if queue is None:
            return
        mine = [
            w
            for w in objects.by_kind["Workload"].values()
            if w["spec"].get("queueName") == obj["metadata"]["name"]
            and w["metadata"]["namespace"] == obj["metadata"]["namespace"]
        ]
        spec = queue["spec"]
    reserving = [w for w in mine if reading.is_reserving(w)]
    admitted = [w for w in reserving if reading.holds(w, "Admitted")]
    status = obj.get("status") or {}
    for field, held in (("reservingWorkloads", reserving), ("admittedWorkloads", admitted)):
        if status.get(field, 0) != len(held):
            yield here.breaks("S3", f"{field} {len(held)}", f"{status.get(field, 0)}")
    for field, held in (("flavorsReservation", reserving), ("flavorsUsage", admitted)):
        yield from _totals(here, field, spec, _sum(held))


def _sum(workloads: list[Json]) -> Amounts:
    total: Amounts = {}
    for workload in workloads:
        for cell, value in reading.charges(workload).items():
            total[cell] = total.get(cell, reading.ZERO) + value
    return total


def _totals(here: Commit, field: str, spec: Json, wanted: Amounts) -> Found:
    told: dict[tuple[str, str], Json] = {
        (flavor["name"], resource["name"]): resource
        for flavor in (here.obj.get("status") or {}).get(field) or []
        for resource in flavor.get("resources") or []
    }
    for cell, line in reading.quota_lines(spec):
        total = wanted.get(cell, reading.ZERO)
        yield from _compare(here, f"{field} {cell} total", total, told.get(cell), "total")
        if here.kind == "ClusterQueue":
            over = max(reading.ZERO, total - reading.amount(line["nominalQuota"]))
            if not spec.get("cohortName"):
                over = reading.ZERO
            yield from _compare(here, f"{field} {cell} borrowed", over, told.get(cell), "borrowed")


def _compare(here: Commit, path: str, wanted: Fraction, told: Json | None, field: str) -> Found:
    found = reading.amount((told or {}).get(field) or "0")
    if found != wanted:
        yield here.breaks("S3", f"{path} {reading.shown(wanted)}", reading.shown(found))


def _job(here: Commit, objects: Objects) -> Found:
    """S9: one live Workload of each queued Job, none of a finished one. S4: runs only admitted."""
    if not reading.is_queued(here.obj) or reading.is_leaving(here.obj):
        return
    own = list(objects.workloads_of.get(reading.uid(here.obj), {}).values())
    live = [w for w in own if not reading.holds(w, "Finished")]
    names = sorted(str(w["metadata"]["name"]) for w in live)
    if reading.holds(here.obj, "Complete") or reading.holds(here.obj, "Failed"):
        if live:
            yield here.breaks("S9", "no live Workload of a finished Job", f"{names}")
        return
    if len(live) != 1 and not own:
        yield here.breaks("S9", "one live Workload of a queued Job", "none")
    elif len(live) > 1:
        yield here.breaks("S9", "one live Workload of a queued Job", f"{names}")
    runs = not here.obj["spec"].get("suspend")
    if runs and not any(reading.holds(w, "Admitted") for w in live):
        yield here.breaks("S4", "an admitted Workload of a Job that runs", f"{names}")
    if not runs and any(
        reading.holds(w, "Admitted") and not reading.holds(w, "Evicted") for w in live
    ):
        yield here.breaks("S9", "an admitted Job let go", "suspended")


def _workload(here: Commit, objects: Objects) -> Found:
    """Quota leaks: nothing holds quota without an owner, or on its way out."""
    if not reading.is_reserving(here.obj):
        return
    owner = reading.controller_uid(here.obj)
    if owner and owner not in objects.jobs and not _is_pods(here.obj):
        yield here.breaks("leak", "quota held for a Job that is there", "its Job is gone")
    if reading.holds(here.obj, "Evicted"):
        yield here.breaks("leak", "an evicted Workload to give its quota back", "QuotaReserved")
    if not reading.is_active(here.obj):
        yield here.breaks("leak", "a deactivated Workload to give its quota back", "QuotaReserved")


def _is_pods(workload: Json) -> bool:
    owners = workload["metadata"].get("ownerReferences") or []
    return any(owner.get("kind") != "Job" for owner in owners)
