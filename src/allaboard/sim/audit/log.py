"""What is there after each commit? The auditor's copy of the objects, built from the log alone."""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from allaboard.api.meta import Json
from allaboard.api.times import parse_micro_time
from allaboard.sim.audit import reading
from allaboard.sim.audit.reading import Amounts
from allaboard.sim.audit.tree import Quotas

KINDS = ("ClusterQueue", "Cohort", "LocalQueue", "Workload", "Job", "Pod")
GROUPS = ("kueue.x-k8s.io/", "batch/")

# A decision is written a moment after the state it was made from. What a queue said until this
# long ago still excuses a reservation.
LAG_S = 1.0


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: at which commit, of which object, what was expected and what was found."""

    commit: str
    time: str
    object: str
    rule: str
    expected: str
    found: str

    def __str__(self) -> str:
        return (
            f"{self.time} commit {self.commit}: {self.object} breaks {self.rule}: "
            f"expected {self.expected}, found {self.found}"
        )


class Commit(NamedTuple):
    """One line of the log, with what was there before."""

    revision: str
    time: str
    at_s: float
    type: str
    kind: str
    obj: Json
    old: Json | None

    @property
    def what(self) -> str:
        meta = self.obj["metadata"]
        space = f"{meta['namespace']}/" if meta.get("namespace") else ""
        return f"{self.kind} {space}{meta['name']}"

    @property
    def is_gone(self) -> bool:
        return self.type == "DELETED"

    def breaks(self, rule: str, expected: str, found: str) -> Violation:
        return Violation(self.revision, self.time, self.what, rule, expected, found)


@dataclass(slots=True)
class Objects:
    """Everything the rules look at, by kind and then by (namespace, name)."""

    by_kind: dict[str, dict[tuple[str, str], Json]] = field(
        default_factory=lambda: {kind: {} for kind in KINDS}
    )
    reserving: dict[str, dict[str, Amounts]] = field(default_factory=dict)  # queue, uid
    workloads_of: dict[str, dict[str, Json]] = field(default_factory=dict)  # owner's uid, own uid
    pods_of: dict[str, dict[str, Json]] = field(default_factory=dict)
    jobs: dict[str, Json] = field(default_factory=dict)  # by uid
    suspects: list[tuple[float, Violation, Json]] = field(default_factory=list)
    earlier: deque[tuple[float, Quotas]] = field(default_factory=deque)

    def take(self, line: Json) -> Commit | None:
        """Apply one line; None where it is none of ours."""
        kind, obj = line["kind"], line["object"]
        if line["type"] == "REFUSED" or kind not in self.by_kind or not _is_known(kind, obj):
            return None
        key = (line["namespace"], line["name"])
        at_s = parse_micro_time(line["time"])
        if kind in ("ClusterQueue", "Cohort", "LocalQueue"):
            self._remember(at_s)
        old = self.by_kind[kind].get(key)
        if old is not None:
            self._forget(kind, old)
        if line["type"] == "DELETED":
            self.by_kind[kind].pop(key, None)
        else:
            self.by_kind[kind][key] = obj
            self._note(kind, obj)
        revision = str(obj["metadata"].get("resourceVersion") or "")
        return Commit(revision, line["time"], at_s, line["type"], kind, obj, old)

    def _remember(self, at_s: float) -> None:
        self.earlier.append((at_s, self.quotas()))
        while self.earlier[0][0] < at_s - LAG_S:
            self.earlier.popleft()

    def _note(self, kind: str, obj: Json) -> None:
        uid = reading.uid(obj)
        if kind == "Job":
            self.jobs[uid] = obj
        elif kind == "Pod":
            self.pods_of.setdefault(reading.controller_uid(obj), {})[uid] = obj
        elif kind == "Workload":
            self.workloads_of.setdefault(reading.controller_uid(obj), {})[uid] = obj
            if reading.is_reserving(obj):
                queue = self.reserving.setdefault(reading.queue_of(obj), {})
                queue[uid] = reading.charges(obj)

    def _forget(self, kind: str, obj: Json) -> None:
        uid = reading.uid(obj)
        if kind == "Job":
            self.jobs.pop(uid, None)
        elif kind == "Pod":
            self.pods_of.get(reading.controller_uid(obj), {}).pop(uid, None)
        elif kind == "Workload":
            self.workloads_of.get(reading.controller_uid(obj), {}).pop(uid, None)
            self.reserving.get(reading.queue_of(obj), {}).pop(uid, None)

    def quotas(self) -> Quotas:
        return Quotas(
            {name: obj["spec"] for (_, name), obj in self.by_kind["ClusterQueue"].items()},
            {name: obj.get("spec") or {} for (_, name), obj in self.by_kind["Cohort"].items()},
            {key: obj["spec"] for key, obj in self.by_kind["LocalQueue"].items()},
        )

    def lately(self, at_s: float) -> list[Quotas]:
        """The quotas in force now, then those that were a moment ago, newest first."""
        before = [quotas for when, quotas in self.earlier if when >= at_s - LAG_S]
        return [self.quotas(), *reversed(before)]

    def usage(self) -> dict[str, Amounts]:
        total: dict[str, Amounts] = {}
        for queue, holders in self.reserving.items():
            of_queue = total.setdefault(queue, {})
            for amounts in holders.values():
                for cell, value in amounts.items():
                    of_queue[cell] = of_queue.get(cell, reading.ZERO) + value
        return total

    def busy_pods(self, job_uid: str) -> int:
        """Pods of a job that may still run: there, and not ended."""
        return sum(
            (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
            for pod in self.pods_of.get(job_uid, {}).values()
        )


def _is_known(kind: str, obj: Json) -> bool:
    version = str(obj.get("apiVersion") or "")
    return version == "v1" if kind == "Pod" else version.startswith(GROUPS)
