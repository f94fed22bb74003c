"""The auditor catches each broken rule in a log made by hand, and nothing in a rightful one."""

import ast
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from allaboard.api.meta import Json
from allaboard.sim.audit.auditor import Auditor, audit

VERSION = "kueue.x-k8s.io/v1beta2"
START = "2026-01-01T00:0"


class Log:
    """Lines of a log, one a call; times in whole minutes."""

    def __init__(self) -> None:
        self.lines: list[Json] = []
        self.minute = 0

    def put(self, obj: Json, type_: str = "MODIFIED") -> None:
        obj = deepcopy(obj)
        obj["metadata"]["resourceVersion"] = str(len(self.lines) + 1)
        meta = obj["metadata"]
        line = {"time": f"{START}{self.minute}:00.000000Z", "type": type_, "kind": obj["kind"],
                "namespace": meta.get("namespace", ""), "name": meta["name"],
                "object": obj}  # fmt: skip
        self.lines.append(line)

    def rules(self, ends_at_rest: bool = False) -> list[str]:
        return [v.rule for v in audit(self.lines, ends_at_rest)]


def queue(name: str = "q", cpu: str = "2", **more: Any) -> Json:
    line = {"name": "cpu", "nominalQuota": cpu, **more.pop("limits", {})}
    flavors = [{"name": "f", "resources": [line]}]
    spec = {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}], **more}
    meta = {"name": name, "uid": f"queue-{name}"}
    return {"apiVersion": VERSION, "kind": "ClusterQueue", "metadata": meta, "spec": spec}


def local(name: str = "q", **more: Any) -> Json:
    meta = {"name": name, "namespace": "n", "uid": f"local-{name}"}
    spec = {"clusterQueue": name, **more}
    return {"apiVersion": VERSION, "kind": "LocalQueue", "metadata": meta, "spec": spec}


def cohort(name: str, parent: str = "") -> Json:
    meta = {"name": name, "uid": f"cohort-{name}"}
    spec = {"parentName": parent}
    return {"apiVersion": VERSION, "kind": "Cohort", "metadata": meta, "spec": spec}


def job(name: str = "j", suspend: bool = True, **status: Any) -> Json:
    meta = {"name": name, "namespace": "n", "uid": f"job-{name}",
            "labels": {"kueue.x-k8s.io/queue-name": "q"}}  # fmt: skip
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta,
            "spec": {"suspend": suspend}, "status": status}  # fmt: skip


def pod(name: str, of: str = "j", phase: str = "Running") -> Json:
    meta = {"name": name, "namespace": "n", "uid": f"pod-{name}",
            "ownerReferences": [{"kind": "Job", "uid": f"job-{of}", "controller": True}],
            }  # fmt: skip
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": {"phase": phase}}


def workload(name: str = "j", pods: int = 1, cpu: str = "1", **more: Any) -> Json:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    sets = [{"name": "main", "count": pods, "template": {"spec": {"containers": [container]}}}]
    created = f"{START}{more.pop('created', 0)}:00Z"
    owner = more.pop("owner", name)
    meta = {"name": f"w-{name}", "namespace": "n", "uid": f"w-{name}", "creationTimestamp": created,
            "ownerReferences": [{"kind": "Job", "uid": f"job-{owner}", "controller": True}],
            }  # fmt: skip
    spec = {"queueName": "q", "podSets": sets, **more}
    return {"apiVersion": VERSION, "kind": "Workload", "metadata": meta, "spec": spec}


def said(obj: Json, *true: str, false: str = "", **status: Any) -> Json:
    """The same with these conditions and status fields."""
    conditions = [{"type": t, "status": "True", "reason": t, "message": ""} for t in true]
    conditions += [
        {"type": t, "status": "False", "reason": t, "message": ""} for t in false.split()
    ]
    return {**obj, "status": {"conditions": conditions, **status}}


def admission(pods: int = 1, cpu: str = "1", cluster_queue: str = "q", flavor: str = "f") -> Json:
    place = {"name": "main", "count": pods, "flavors": {"cpu": flavor},
             "resourceUsage": {"cpu": cpu}}  # fmt: skip
    return {"clusterQueue": cluster_queue, "podSetAssignments": [place]}


def admitted(obj: Json, **place: Any) -> Json:
    return said(obj, "QuotaReserved", "Admitted", admission=admission(**place))


def opened(**more: Any) -> Log:
    log = Log()
    log.put(queue(**more), "ADDED")
    log.put(local(), "ADDED")
    log.minute = 1
    return log


def test_a_rightful_log_is_clean() -> None:
    log = opened()
    log.put(job(), "ADDED")
    log.put(workload(), "ADDED")
    log.put(admitted(workload()))
    log.put(job(suspend=False, active=1))
    log.put(said(job(suspend=False), "Complete"))
    done = said(workload(), "QuotaReserved", "Admitted", "Finished", admission=admission())
    log.put(done)
    assert log.rules(ends_at_rest=True) == []


def over_nominal(log: Log) -> None:
    log.put(workload("a", 2), "ADDED")
    log.put(admitted(workload("a", 2), pods=2, cpu="2"))
    log.put(workload("b"), "ADDED")
    log.put(admitted(workload("b")))


def over_borrowing_limit(log: Log) -> None:
    log.put(queue(cohortName="all", limits={"borrowingLimit": "1"}))
    log.put(queue("lender", "10", cohortName="all"), "ADDED")
    log.minute += 1
    log.put(workload("a", 4), "ADDED")
    log.put(admitted(workload("a", 4), pods=4, cpu="4"))


def over_lending_limit(log: Log) -> None:
    log.put(queue(cohortName="all"))
    log.put(queue("lender", "10", cohortName="all", limits={"lendingLimit": "1"}), "ADDED")
    log.minute += 1
    log.put(workload("a", 4), "ADDED")
    log.put(admitted(workload("a", 4), pods=4, cpu="4"))


def lender_needs_it_itself(log: Log) -> None:
    log.put(queue(cohortName="left"))
    log.put(queue("other", "2", cohortName="right"), "ADDED")
    log.put(local("other"), "ADDED")
    log.put(cohort("left", "top"), "ADDED")
    log.put(cohort("right", "top"), "ADDED")
    log.minute += 1
    mine = workload("a", 2, queueName="other")
    log.put(admitted(mine, pods=2, cpu="2", cluster_queue="other"), "ADDED")
    log.put(admitted(workload("b", 3), pods=3, cpu="3"), "ADDED")


def in_a_circle(log: Log) -> None:
    log.put(queue(cohortName="left"))
    log.put(cohort("left", "right"), "ADDED")
    log.put(cohort("right", "left"), "ADDED")
    log.minute += 1
    log.put(admitted(workload()), "ADDED")


def strange_flavor(log: Log) -> None:
    log.put(admitted(workload(), flavor="g"), "ADDED")


def charged_too_little(log: Log) -> None:
    log.put(admitted(workload(pods=2), pods=2, cpu="1"), "ADDED")


def stopped_queue(log: Log) -> None:
    log.put(queue(stopPolicy="Hold"))
    log.minute += 1
    log.put(admitted(workload()), "ADDED")


def negative_number(log: Log) -> None:
    log.put({**queue(), "status": {"pendingWorkloads": -1}})


def moved_without_release(log: Log) -> None:
    log.put(queue("r", "2"), "ADDED")
    log.put(admitted(workload()), "ADDED")
    log.put(admitted(workload(), cluster_queue="r"))


def two_admitted_of_one_job(log: Log) -> None:
    log.put(admitted(workload("a", owner="j")), "ADDED")
    log.put(admitted(workload("b", owner="j")), "ADDED")


def runs_unadmitted(log: Log) -> None:
    log.put(job(), "ADDED")
    log.put(workload(), "ADDED")
    log.put(job(suspend=False))


def two_workloads_of_one_job(log: Log) -> None:
    log.put(job(), "ADDED")
    log.put(workload("a", owner="j"), "ADDED")
    log.put(workload("b", owner="j"), "ADDED")


def finished_taken_back(log: Log) -> None:
    log.put(said(workload(), "Finished"), "ADDED")
    log.put(said(workload()))


def finished_admitted_again(log: Log) -> None:
    log.put(said(workload(), "Finished"), "ADDED")
    log.put(said(workload(), "Finished", "QuotaReserved", admission=admission()))


def deactivated_admitted(log: Log) -> None:
    log.put(workload(active=False), "ADDED")
    log.put(admitted(workload(active=False)))


def released_too_early(log: Log) -> None:
    log.put(admitted(workload()), "ADDED")
    log.put(job(suspend=False, active=1), "ADDED")
    log.put(job(terminating=1))
    log.put(said(workload(), "Evicted", false="QuotaReserved Admitted"))


def released_while_a_pod_is_there(log: Log) -> None:
    log.put(admitted(workload()), "ADDED")
    log.put(job(suspend=False), "ADDED")
    log.put(pod("p"), "ADDED")
    log.put(job())
    log.put(said(workload(), "Evicted", false="QuotaReserved Admitted"))


def evicted_while_waiting(log: Log) -> None:
    log.put(workload(), "ADDED")
    log.put(said(workload(), "Evicted"))


def before_its_time(log: Log) -> None:
    later = {"requeueAt": f"{START}9:00Z"}
    log.put(said(workload(), requeueState=later), "ADDED")
    log.put(admitted(workload()))


def overtaken(log: Log) -> None:
    log.put(queue(queueingStrategy="StrictFIFO"))
    log.put(workload("first", created=1), "ADDED")
    log.minute = 2
    log.put(workload("second", created=2), "ADDED")
    log.minute = 3
    log.put(admitted(workload("second", created=2)))
    log.minute = 4
    log.put(job())


def overtaken_by_lower_priority(log: Log) -> None:
    log.put(queue(queueingStrategy="StrictFIFO"))
    log.put(workload("lower", created=1, priority=1), "ADDED")
    log.put(workload("higher", created=1, priority=2), "ADDED")
    log.minute = 3
    log.put(admitted(workload("lower", created=1, priority=1)))
    log.minute = 4
    log.put(job())


def preempted_twice_for_one(log: Log) -> None:
    message = "Preempted for a workload (UID: u-1, JobUID: x)"
    before = {"type": "Preempted", "status": "False", "message": f"Previously: {message}"}
    for known in ([], [before]):
        here = admitted(workload())
        here["status"]["conditions"] += known
        log.put(here)
        away = said(workload(), "Evicted", "Preempted", "QuotaReserved", admission=admission())
        away["status"]["conditions"][1]["message"] = message
        log.put(away)
        log.put(said(workload(), "Evicted", false="QuotaReserved"))


BROKEN: list[tuple[Callable[[Log], None], str]] = [
    (over_nominal, "S1"),
    (over_borrowing_limit, "S1"),
    (over_lending_limit, "S1"),
    (lender_needs_it_itself, "S1"),
    (in_a_circle, "S1"),
    (strange_flavor, "S1"),
    (charged_too_little, "charge"),
    (stopped_queue, "stopped"),
    (negative_number, "S3"),
    (moved_without_release, "S4"),
    (two_admitted_of_one_job, "S4"),
    (runs_unadmitted, "S4"),
    (two_workloads_of_one_job, "S9"),
    (finished_taken_back, "S10"),
    (finished_admitted_again, "S10"),
    (deactivated_admitted, "S10"),
    (released_too_early, "two-phase"),
    (released_while_a_pod_is_there, "two-phase"),
    (evicted_while_waiting, "two-phase"),
    (before_its_time, "S11"),
    (overtaken, "S14"),
    (overtaken_by_lower_priority, "S14"),
    (preempted_twice_for_one, "L2"),
]


@pytest.mark.parametrize(("break_it", "rule"), BROKEN, ids=lambda x: getattr(x, "__name__", x))
def test_a_broken_rule_is_told_once_and_by_its_name(
    break_it: Callable[[Log], None], rule: str
) -> None:
    log = opened()
    break_it(log)
    assert log.rules() == [rule]


def test_a_violation_says_commit_object_rule_and_both_sides() -> None:
    log = opened()
    over_nominal(log)
    (violation,) = audit(log.lines, ends_at_rest=False)
    assert str(violation) == (
        "2026-01-01T00:01:00.000000Z commit 6: Workload n/w-b breaks S1: "
        "expected at most 2 of cpu in f at q, found 3 with this reservation in q"
    )


def published(total: str, reserving: int) -> Json:
    lines = [{"name": "f", "resources": [{"name": "cpu", "total": total, "borrowed": "0"}]}]
    return {"flavorsReservation": lines, "flavorsUsage": lines, "reservingWorkloads": reserving,
            "admittedWorkloads": reserving}  # fmt: skip


AT_REST: list[tuple[str, list[Json], list[str]]] = [
    ("what is published is so", [{**queue(), "status": published("0", 0)}], []),
    ("usage published that nobody has", [{**queue(), "status": published("1", 0)}], ["S3", "S3"]),
    ("a workload counted that is not there", [{**queue(), "status": published("0", 1)}],
     ["S3", "S3"]),
    ("a queued Job without a Workload", [job()], ["S9"]),
    ("a finished Job with a live Workload", [said(job(), "Complete"), workload()], ["S9"]),
    ("quota of a Job that is gone",
     [{**queue(), "status": published("1", 1)}, {**local(), "status": published("1", 1)},
      admitted(workload())], ["leak"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("objects", "rules"), [c[1:] for c in AT_REST], ids=[c[0] for c in AT_REST]
)
def test_at_rest_everything_agrees_with_everything(objects: list[Json], rules: list[str]) -> None:
    log = opened()
    for obj in objects:
        log.put(obj)
    assert log.rules(ends_at_rest=True) == rules


def test_quota_cut_after_a_reservation_is_nobodys_fault() -> None:
    log = opened()
    log.put(admitted(workload(pods=2), pods=2, cpu="2"), "ADDED")
    log.put(queue(cpu="1"))
    assert log.rules() == []


def test_a_decision_may_be_written_a_moment_after_the_quota_it_saw_was_cut() -> None:
    log = opened()
    log.put(queue(cpu="0"))
    log.put(admitted(workload()), "ADDED")
    assert log.rules() == []
    log.minute += 1
    log.put(admitted(workload("b")), "ADDED")
    assert log.rules() == ["S1"]


def test_pods_that_are_not_needed_any_more_are_not_counted() -> None:
    log = opened()
    spared = admitted(workload("a", 2), pods=2, cpu="2")
    log.put(spared, "ADDED")
    spared["status"]["reclaimablePods"] = [{"name": "main", "count": 1}]
    log.put(spared)
    log.put(admitted(workload("b")), "ADDED")
    assert log.rules() == []


def test_writes_of_one_moment_may_come_in_any_order() -> None:
    log = opened()
    overtaken(log)
    log.lines.pop()
    log.minute = 3
    log.put(admitted(workload("first", created=1)))
    log.minute = 4
    log.put(job())
    assert log.rules() == []


def test_objects_of_other_groups_and_refusals_are_none_of_its_business() -> None:
    auditor = Auditor()
    other = {**queue(), "apiVersion": "example.com/v1"}
    meta = {"time": f"{START}0:00.000000Z", "type": "ADDED", "namespace": "", "name": "q"}
    auditor.see({**meta, "kind": "ClusterQueue", "object": other})
    auditor.see({**meta, "kind": "ClusterQueue", "type": "REFUSED", "object": {}})
    assert auditor.commits == 0


def test_the_auditor_shares_no_code_with_what_it_audits() -> None:
    import allaboard.sim.audit as room

    for path in sorted(Path(str(room.__file__)).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("allaboard"):
                parts = str(node.module).split(".")
                assert parts[1] in ("api", "sim") and "kueue" not in parts, f"{path}: {node.module}"
