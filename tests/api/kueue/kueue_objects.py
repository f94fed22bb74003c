"""Good objects of every kind, and a short way to spoil them."""

import copy
from typing import Any

from allaboard.api.meta import Json

V1, V2 = "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2"
TIME = "2026-01-01T00:00:00Z"
GONE = object()  # as a value: remove what is there


def thing(kind: str, name: str = "it", **parts: Any) -> Json:
    return {"apiVersion": V2, "kind": kind, "metadata": {"name": name}, **parts}


def put(obj: Json, path: str, value: Any) -> Json:
    """A copy of `obj` with `value` at a path such as `spec.levels[0].nodeLabel`."""
    obj = copy.deepcopy(obj)
    *way, last = _steps(path)
    here: Any = obj
    for step in way:
        if isinstance(here, list):
            here = here[step]
        else:
            here = here.setdefault(step, {})
    if value is GONE:
        here.pop(last, None)
    elif isinstance(here, list) and last == len(here):
        here.append(value)
    else:
        here[last] = copy.deepcopy(value)
    return obj


def _steps(path: str) -> list[Any]:
    steps: list[Any] = []
    for part in path.split("."):
        name, *indexes = part.split("[")
        steps += [name] + [int(i.rstrip("]")) for i in indexes]
    return steps


def changes(obj: Json, *pairs: tuple[str, Any]) -> Json:
    for path, value in pairs:
        obj = put(obj, path, value)
    return obj


def quota(resource: str = "cpu", nominal: Any = 10, **limits: Any) -> Json:
    return {"name": resource, "nominalQuota": nominal, **limits}


def flavor(name: str = "spot", *quotas: Json) -> Json:
    return {"name": name, "resources": list(quotas or [quota()])}


def group(*flavors: Json) -> Json:
    flavors = flavors or (flavor(),)
    covered = [q["name"] for q in flavors[0]["resources"]]
    return {"coveredResources": covered, "flavors": list(flavors)}


def cluster_queue(*groups: Json, **spec: Any) -> Json:
    return thing("ClusterQueue", spec={"resourceGroups": list(groups or [group()]), **spec})


def cohort(*groups: Json, **spec: Any) -> Json:
    return thing("Cohort", "root", spec={"resourceGroups": list(groups), **spec})


def local_queue(**spec: Any) -> Json:
    made = thing("LocalQueue", spec={"clusterQueue": "team-a", **spec})
    made["metadata"]["namespace"] = "default"
    return made


def resource_flavor(**spec: Any) -> Json:
    return thing("ResourceFlavor", spec=spec)


def topology(*labels: str) -> Json:
    return thing("Topology", spec={"levels": [{"nodeLabel": label} for label in labels]})


def pod_set(name: str = "main", count: int = 2, **more: Any) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    return {"name": name, "count": count, "template": {"spec": {"containers": [container]}}, **more}


def workload(*pod_sets: Json, **spec: Any) -> Json:
    made = thing("Workload", spec={"podSets": list(pod_sets or [pod_set()]), **spec})
    made["metadata"]["namespace"] = "default"
    return made


def condition(type_: str, status: str = "True") -> Json:
    return {
        "type": type_, "status": status, "reason": "Because", "message": "",
        "lastTransitionTime": TIME,
    }  # fmt: skip


def assignment(name: str = "main", count: int = 2, **more: Any) -> Json:
    return {
        "name": name, "count": count, "flavors": {"cpu": "spot"},
        "resourceUsage": {"cpu": str(count)}, **more,
    }  # fmt: skip


def reserved(made: Json, *types: str, **status: Any) -> Json:
    """The workload with quota reserved, and whatever else is true of it."""
    parts = [assignment(p["name"], p["count"]) for p in made["spec"]["podSets"]]
    return copy.deepcopy(made) | {
        "status": {
            "conditions": [condition(t) for t in ("QuotaReserved", *types)],
            "admission": {"clusterQueue": "team-a", "podSetAssignments": parts},
            **status,
        }
    }


def admission_check(**spec: Any) -> Json:
    return thing("AdmissionCheck", spec={"controllerName": "example.com/check", **spec})


def priority_class(value: Any = 100, **more: Any) -> Json:
    return thing("WorkloadPriorityClass", value=value, **more)


def provisioning(**spec: Any) -> Json:
    return thing("ProvisioningRequestConfig", spec={"provisioningClassName": "best", **spec})


def check_state(name: str = "check", state: str = "Ready", **more: Any) -> Json:
    return {"name": name, "state": state, "message": "", "lastTransitionTime": TIME, **more}
