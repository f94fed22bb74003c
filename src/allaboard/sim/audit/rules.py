"""What must hold at every commit? One function a rule; each yields what it finds broken.

The names are those of the table of safety rules: S1 quota, S4 one admission, S9 one workload a
job, S10 an end is an end, S11 not before its time, S14 no overtaking; `two-phase`, `charge`,
`stopped` and `L2` have no letter of their own there.
"""

from collections.abc import Iterator

from allaboard.api.meta import Json
from allaboard.api.times import format_time
from allaboard.sim.audit import reading
from allaboard.sim.audit.log import LAG_S, Commit, Objects, Violation
from allaboard.sim.audit.reading import Amounts
from allaboard.sim.audit.tree import Quotas

Found = Iterator[Violation]


def reservation_appears(commit: Commit) -> bool:
    if commit.kind != "Workload" or commit.is_gone or not reading.is_reserving(commit.obj):
        return False
    return not reading.is_reserving(commit.old)


def within_quota(commit: Commit, objects: Objects) -> Found:
    """S1: what a reservation takes is nominal quota or may be borrowed, under quota in force."""
    if not reservation_appears(commit):
        return
    queue, added, usage = reading.queue_of(commit.obj), reading.charges(commit.obj), objects.usage()
    faults = [_quota_faults(q, queue, added, usage) for q in objects.lately(commit.at_s)]
    if all(faults):
        for expected, found in faults[0]:
            yield commit.breaks("S1", expected, found)


def _quota_faults(
    quotas: Quotas, queue: str, added: Amounts, usage: dict[str, Amounts]
) -> list[tuple[str, str]]:
    if queue not in quotas.queues:
        return [("a ClusterQueue that is there", f"{queue!r}, which is not")]
    if quotas.path(queue) is None:
        return [("cohorts without a circle", f"a circle above {queue}")]
    offered = {cell for cell, _ in reading.quota_lines(quotas.queues[queue])}
    strange = sorted(cell for cell in added if cell not in offered)
    if strange:
        return [(f"flavors and resources of {queue}", f"{strange[0]}")]
    return [
        (
            f"at most {reading.shown(e.allowed)} of {e.cell[1]} in {e.cell[0]} at {e.node}",
            f"{reading.shown(e.found)} with this reservation in {queue}",
        )
        for e in quotas.excess(queue, added, usage)
    ]


def charged_in_full(commit: Commit, objects: Objects) -> Found:
    """`charge`: a reservation counts what its pods ask for, for every resource the queue covers."""
    if not reservation_appears(commit):
        return
    queue = objects.by_kind["ClusterQueue"].get(("", reading.queue_of(commit.obj)))
    covered = {cell[1] for cell, _ in reading.quota_lines(queue["spec"])} if queue else set()
    assigned = {p["name"]: p for p in reading.admission(commit.obj)["podSetAssignments"]}
    for pod_set in commit.obj["spec"]["podSets"]:
        own = assigned.get(pod_set["name"])
        if own is None:
            yield commit.breaks("charge", f"an assignment of pod set {pod_set['name']}", "none")
            continue
        count = int(own.get("count") or 0)
        wanted = reading.requests(pod_set["template"]) | {"pods": reading.amount("1")}
        for resource in sorted(covered & wanted.keys()):
            each, whole = wanted[resource], wanted[resource] * count
            used = reading.amount((own.get("resourceUsage") or {}).get(resource, "0"))
            if used < whole or (whole and resource not in (own.get("flavors") or {})):
                expected = f"{count} × {reading.shown(each)} {resource}"
                yield commit.breaks("charge", expected, reading.shown(used))


def in_an_open_queue(commit: Commit, objects: Objects) -> Found:
    """`stopped`: quota is given only in the ClusterQueue of its LocalQueue, and neither stopped."""
    if not reservation_appears(commit):
        return
    name, space = str(commit.obj["spec"].get("queueName")), commit.obj["metadata"]["namespace"]
    faults = []
    for quotas in objects.lately(commit.at_s):
        local = quotas.locals.get((space, name)) or {}
        queue = quotas.queues.get(reading.queue_of(commit.obj)) or {}
        stops = [str(spec.get("stopPolicy") or "None") for spec in (local, queue)]
        target = str(local.get("clusterQueue") or "no ClusterQueue")
        if target == reading.queue_of(commit.obj) and stops == ["None", "None"]:
            return
        faults.append(f"{reading.queue_of(commit.obj)}; {name} leads to {target}; stops: {stops}")
    yield commit.breaks("stopped", "a reservation in an open queue of its own", faults[0])


def not_negative(commit: Commit, objects: Objects) -> Found:
    """S3, first half: nothing that is counted is below zero."""
    if commit.kind == "Workload" and not commit.is_gone:
        for cell, value in reading.charges(commit.obj).items():
            if value < 0:
                yield commit.breaks("S3", f"{cell} not negative", reading.shown(value))
    if commit.kind in ("ClusterQueue", "LocalQueue"):
        for path, value in reading.published_numbers(commit.obj):
            if value < 0:
                yield commit.breaks("S3", f"{path} not negative", reading.shown(value))


def admitted_once(commit: Commit, objects: Objects) -> Found:
    """S4: one live admission a workload and a job; a new one only after the old was given back."""
    if commit.kind != "Workload" or commit.is_gone or not reading.is_reserving(commit.obj):
        return
    if commit.old is not None and reading.is_reserving(commit.old):
        before, after = (_places(o) for o in (commit.old, commit.obj))
        if reading.uid(commit.old) == reading.uid(commit.obj) and before != after:
            yield commit.breaks("S4", f"the admission it had, {before}", f"{after}")
    uid = reading.uid(commit.obj)
    elsewhere = [q for q, held in objects.reserving.items() if uid in held]
    if len(elsewhere) > 1:
        yield commit.breaks("S4", "one admission", f"admissions in {elsewhere}")
    owner = reading.controller_uid(commit.obj)
    rivals = [
        w for w in objects.workloads_of.get(owner, {}).values() if reading.is_reserving(w)
    ] if owner else []  # fmt: skip
    if len(rivals) > 1:
        names = sorted(str(w["metadata"]["name"]) for w in rivals)
        yield commit.breaks("S4", "one admitted Workload of its job", f"{names}")


def _places(workload: Json) -> list[tuple[str, str, dict[str, str]]]:
    queue = reading.queue_of(workload)
    sets = reading.admission(workload).get("podSetAssignments") or []
    return [(queue, p["name"], p.get("flavors") or {}) for p in sets]


def runs_admitted(commit: Commit, objects: Objects) -> Found:
    """S4: a queued Job is let go only while its Workload is admitted."""
    if commit.kind != "Job" or commit.is_gone or not _runs(commit.obj):
        return
    if not reading.is_queued(commit.obj) or (commit.old is not None and _runs(commit.old)):
        return
    own = objects.workloads_of.get(reading.uid(commit.obj), {}).values()
    if not any(_lets_go(w, commit.at_s) for w in own):
        yield commit.breaks("S4", "an admitted Workload of the Job that starts", _told(own))


def _lets_go(workload: Json, at_s: float) -> bool:
    """Admitted, and not evicted for longer than a writer may need to hear of it."""
    evicted = reading.condition(workload, "Evicted")
    is_gone = evicted is not None and evicted["status"] == "True"
    late = is_gone and reading.since(evicted) + 1 + LAG_S < at_s
    return reading.holds(workload, "Admitted") and not late


def _runs(job: Json) -> bool:
    ended = reading.holds(job, "Complete") or reading.holds(job, "Failed")
    return not job["spec"].get("suspend") and not ended


def _told(workloads: object) -> str:
    return "none of them admitted" if workloads else "no Workload"


def one_workload_a_job(commit: Commit, objects: Objects) -> Found:
    """S9: never two Workloads of a Job that could both be admitted."""
    if commit.kind != "Workload" or commit.type != "ADDED":
        return
    owner = reading.controller_uid(commit.obj)
    live = [
        str(w["metadata"]["name"])
        for w in objects.workloads_of.get(owner, {}).values()
        if not reading.holds(w, "Finished") and not reading.is_leaving(w)
    ]
    if owner in objects.jobs and len(live) > 1:
        yield commit.breaks("S9", "one live Workload of its Job", f"{sorted(live)}")


def an_end_is_an_end(commit: Commit, objects: Objects) -> Found:
    """S10: Finished stays, and neither finished nor deactivated work gets quota."""
    if commit.kind != "Workload" or commit.is_gone or commit.old is None:
        return
    if reading.uid(commit.old) != reading.uid(commit.obj):
        return
    if reading.holds(commit.old, "Finished"):
        if not reading.holds(commit.obj, "Finished"):
            yield commit.breaks("S10", "Finished for good", "Finished taken back")
        if not reading.holds(commit.old, "QuotaReserved") and reading.holds(
            commit.obj, "QuotaReserved"
        ):
            yield commit.breaks("S10", "no quota after the end", "QuotaReserved")
    if reservation_appears(commit) and not reading.is_active(commit.old):
        yield commit.breaks("S10", "no quota while deactivated", "QuotaReserved")


def released_when_still(commit: Commit, objects: Objects) -> Found:
    """`two-phase`: quota goes back only when the Job has neither active nor terminating pods."""
    if commit.kind != "Workload" or not reading.is_reserving(commit.old):
        return
    assert commit.old is not None
    if not commit.is_gone and (
        reading.is_reserving(commit.obj) or reading.holds(commit.obj, "Finished")
    ):
        return
    owner = reading.controller_uid(commit.old)
    job = objects.jobs.get(owner)
    if job is None:
        return
    status = job.get("status") or {}
    counted = [f"{n} {status[n]}" for n in ("active", "terminating") if status.get(n)]
    busy = objects.busy_pods(owner)
    counted += [f"{busy} pods there"] if busy else []
    if counted:
        yield commit.breaks("two-phase", "a Job at rest when quota is released", str(counted))


def not_before_its_time(commit: Commit, objects: Objects) -> Found:
    """S11: no quota before requeueAt."""
    if not reservation_appears(commit) or commit.old is None:
        return
    due = reading.requeue_at(commit.old)
    if due is not None and commit.at_s < due:
        yield commit.breaks("S11", f"nothing before {format_time(due)}", commit.time)


def still_overtaken(objects: Objects, at_s: float) -> Found:
    """S14, decided later: writes of one moment may come in any order."""
    due = [suspect for suspect in objects.suspects if suspect[0] + LAG_S < at_s]
    if due:
        objects.suspects = [suspect for suspect in objects.suspects if suspect not in due]
    for _, told, other in due:
        meta = other["metadata"]
        now = objects.by_kind["Workload"].get((meta["namespace"], meta["name"]))
        if now is not None and not reading.holds(now, "QuotaReserved"):
            yield told


def no_overtaking(commit: Commit, objects: Objects) -> Found:
    """S14: in a StrictFIFO queue nobody of equal shape is overtaken."""
    yield from still_overtaken(objects, commit.at_s)
    if not reservation_appears(commit):
        return
    name = reading.queue_of(commit.obj)
    specs = [quotas.queues.get(name) or {} for quotas in objects.lately(commit.at_s)]
    if any(spec.get("queueingStrategy") != "StrictFIFO" for spec in specs):
        return
    for other in objects.by_kind["Workload"].values():
        if _waits_before(other, commit) and reading.same_shape(other, commit.obj):
            told = commit.breaks("S14", f"{other['metadata']['name']} first", "overtaken")
            objects.suspects.append((commit.at_s, told, other))


def _waits_before(other: Json, commit: Commit) -> bool:
    """It could have gone first: waiting for a while, never evicted, nothing else in its way."""
    own = commit.obj
    noted = other["metadata"].get("annotations") or {}
    if reading.uid(other) == reading.uid(own) or reading.is_leaving(other):
        return False
    if reading.holds(other, "QuotaReserved") or reading.holds(other, "Finished"):
        return False
    is_hindered = reading.GATED_BY in noted or bool(other["spec"].get("preemptionGates"))
    if not reading.is_active(other) or is_hindered or reading.condition(other, "Evicted"):
        return False
    if reading.created(other) > commit.at_s - LAG_S - 1:
        return False
    ahead = reading.priority(other) - reading.priority(own)
    if ahead:
        return ahead > 0
    evicted = reading.condition(own, "Evicted") is not None
    return not evicted and reading.created(other) < reading.created(own)


def not_preempted_twice_for_one(commit: Commit, objects: Objects) -> Found:
    """L2: nobody is preempted a second time for the same preemptor."""
    if commit.kind != "Workload" or commit.is_gone or commit.old is None:
        return
    if not reading.holds(commit.obj, "Preempted") or reading.holds(commit.old, "Preempted"):
        return
    for_whom = reading.preemptor(commit.obj)
    before = reading.condition(commit.old, "Preempted")
    others = objects.by_kind["Workload"].values()
    came_back = any(
        reading.uid(w) == for_whom and reading.condition(w, "Evicted") is not None for w in others
    )
    if before is None or not for_whom or came_back:
        return
    if for_whom in str(before.get("message")):
        yield commit.breaks("L2", f"one preemption for {for_whom}", "a second one")


def evicted_from_something(commit: Commit, objects: Objects) -> Found:
    """`two-phase`: only who holds quota is evicted; one who waits has nothing to give back."""
    if commit.kind != "Workload" or commit.is_gone or commit.old is None:
        return
    begins = reading.holds(commit.obj, "Evicted") and not reading.holds(commit.old, "Evicted")
    if begins and not reading.holds(commit.old, "QuotaReserved"):
        yield commit.breaks("two-phase", "eviction of one that holds quota", "no reservation")


RULES = (
    within_quota,
    charged_in_full,
    in_an_open_queue,
    not_negative,
    admitted_once,
    runs_admitted,
    one_workload_a_job,
    an_end_is_an_end,
    released_when_still,
    evicted_from_something,
    not_before_its_time,
    no_overtaking,
    not_preempted_twice_for_one,
)
