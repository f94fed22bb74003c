"""Where do the pods behind a Service answer? Endpoints and EndpointSlices, at most once a second.

Pure part: `addresses` sorts the pods a Service selects, `endpoints` and `slices` write them down.
"""

from typing import Any, NamedTuple

from allaboard.api.errors import AlreadyExists, NotFound
from allaboard.api.meta import Json, Key, Kind, key_of
from allaboard.api.types import Pod, Service
from allaboard.runtime.controller import DONE, Controller, Outcome
from allaboard.runtime.informer import Informer
from allaboard.runtime.manager import Manager

ENDPOINTS = Kind("", "v1", "Endpoints", "endpoints")
SLICES = Kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
SERVICE_LABEL = "kubernetes.io/service-name"
MANAGER_LABEL = "endpointslice.kubernetes.io/managed-by"
MANAGER_NAME = "endpointslice-controller.k8s.io"
MOST_PER_SLICE = 100
BATCH_S = 1.0


class Address(NamedTuple):
    """One pod behind a Service."""

    ip: str
    pod: Json
    ready: bool
    terminating: bool

    @property
    def hostname(self) -> str:
        """The name under which a headless Service shows the pod, if it asked for one."""
        return str(self.pod["spec"].get("hostname") or "")


def addresses(service: Json, pods: list[Json]) -> list[Address]:
    selector = service["spec"].get("selector") or {}
    all_ready = bool(service["spec"].get("publishNotReadyAddresses"))
    found = []
    for pod in pods:
        status = pod.get("status") or {}
        labels = pod["metadata"].get("labels") or {}
        if not status.get("podIP") or status.get("phase") in ("Succeeded", "Failed"):
            continue
        if any(labels.get(k) != v for k, v in selector.items()):
            continue
        terminating = bool(pod["metadata"].get("deletionTimestamp"))
        ready = all_ready or (not terminating and _is_ready(status))
        found.append(Address(status["podIP"], pod, ready, terminating))
    return sorted(found, key=lambda address: address.pod["metadata"]["name"])


def endpoints(service: Json, found: list[Address]) -> Json:
    meta = service["metadata"]
    ready = [_endpoint_address(service, a) for a in found if a.ready]
    unready = [_endpoint_address(service, a) for a in found if not a.ready and not a.terminating]
    subset: Json = {"addresses": ready, "notReadyAddresses": unready, "ports": _ports(service)}
    labels = dict(meta.get("labels") or {})
    if service["spec"].get("clusterIP") in (None, "", "None"):
        labels["service.kubernetes.io/headless"] = ""
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": meta["name"], "namespace": meta["namespace"], "labels": labels},
        "subsets": [{k: v for k, v in subset.items() if v}] if found else [],
    }


def slices(service: Json, found: list[Address]) -> list[Json]:
    meta = service["metadata"]
    owner = {
        "apiVersion": "v1",
        "kind": "Service",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = {
        **(meta.get("labels") or {}),
        SERVICE_LABEL: meta["name"],
        MANAGER_LABEL: MANAGER_NAME,
    }
    if service["spec"].get("clusterIP") in (None, "", "None"):
        labels["service.kubernetes.io/headless"] = ""
    made = []
    for number in range(0, max(len(found), 1), MOST_PER_SLICE):
        name = f"{meta['name'][:57]}-{number // MOST_PER_SLICE:05d}"
        made.append(
            {
                "apiVersion": SLICES.api_version,
                "kind": "EndpointSlice",
                "metadata": {
                    "name": name,
                    "namespace": meta["namespace"],
                    "labels": labels,
                    "ownerReferences": [owner],
                },
                "addressType": "IPv4",
                "endpoints": [
                    _slice_endpoint(service, a) for a in found[number : number + MOST_PER_SLICE]
                ],
                "ports": _ports(service),
            }
        )
    return made


def _is_ready(status: Json) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )


def _target(pod: Json) -> Json:
    meta = pod["metadata"]
    fields = {"name": meta["name"], "namespace": meta["namespace"], "uid": meta["uid"]}
    return {"kind": "Pod", **fields}


def _hostname(service: Json, address: Address) -> Json:
    named = address.hostname and address.pod["spec"].get("subdomain") == service["metadata"]["name"]
    return {"hostname": address.hostname} if named else {}


def _endpoint_address(service: Json, address: Address) -> Json:
    return {
        "ip": address.ip,
        **_hostname(service, address),
        "nodeName": address.pod["spec"].get("nodeName"),
        "targetRef": _target(address.pod),
    }


def _slice_endpoint(service: Json, address: Address) -> Json:
    live = address.ready or (address.terminating and _is_ready(address.pod["status"]))
    conditions = {"ready": address.ready, "serving": live, "terminating": address.terminating}
    return {
        "addresses": [address.ip],
        "conditions": conditions,
        **_hostname(service, address),
        "nodeName": address.pod["spec"].get("nodeName"),
        "targetRef": _target(address.pod),
    }


def _ports(service: Json) -> list[Json]:
    found = []
    for port in service["spec"].get("ports") or ():
        target: Any = port.get("targetPort") or port.get("port")
        number = target if isinstance(target, int) else port.get("port")
        wanted = {
            "name": port.get("name"),
            "port": number,
            "protocol": port.get("protocol") or "TCP",
        }
        found.append({k: v for k, v in wanted.items() if v is not None})
    return found


class EndpointsController:
    def __init__(self, manager: Manager, workers: int = 2) -> None:
        self._client = manager.client
        self._services = manager.informers.of(Service.KIND)
        self._pods = manager.informers.of(Pod.KIND)
        self._endpoints = manager.informers.of(ENDPOINTS)
        self._slices = manager.informers.of(SLICES)
        self._services.add_index("selecting in", _selecting_in)
        self._pods.add_index("running in", _running_in)
        self._slices.add_index("service", _service_of)
        self.controller = manager.add(Controller("endpoints", self.reconcile, workers))
        self._services.on_change(self._service_changed)
        self._pods.on_change(self._pod_changed)

    def _service_changed(self, old: Json | None, new: Json | None) -> None:
        service = new or old or {}
        if new is None or old is None or old["spec"] != new["spec"]:
            self.controller.enqueue(key_of(service))

    def _pod_changed(self, old: Json | None, new: Json | None) -> None:
        pod = new or old or {}
        services = self._services.by_index("selecting in", pod["metadata"]["namespace"])
        for service in services:
            selector = service["spec"]["selector"].items()
            for state in (old, new):
                labels = (state["metadata"].get("labels") or {}) if state is not None else {}
                if all(labels.get(k) == v for k, v in selector):
                    self.controller.enqueue_after(key_of(service), BATCH_S)
                    break

    async def reconcile(self, key: Key) -> Outcome:
        service = self._services.get(key)
        if service is None:
            # Slices are collected by their owner reference; Endpoints have none.
            if self._endpoints.get(key) is not None:
                await self._delete(ENDPOINTS, key)
            return DONE
        if not service["spec"].get("selector"):
            return DONE
        found = addresses(service, self._pods.by_index("running in", key.namespace))
        await self._put(self._endpoints, endpoints(service, found), ("subsets",))
        wanted = slices(service, found)
        for made in wanted:
            await self._put(self._slices, made, ("endpoints", "ports"))
        names = {made["metadata"]["name"] for made in wanted}
        for old in self._slices.by_index("service", f"{key.namespace}/{key.name}"):
            if old["metadata"]["name"] not in names:
                await self._delete(SLICES, key_of(old))
        return DONE

    async def _put(self, cache: Informer[Json], wanted: Json, fields: tuple[str, ...]) -> None:
        key = key_of(wanted)
        found = cache.get(key)
        if found is None:
            try:
                await self._client.create(wanted, cache.kind)
                return
            except AlreadyExists:
                found = await self._client.get(cache.kind, key.name, key.namespace)
        patch = {f: wanted[f] for f in fields if (found.get(f) or []) != wanted[f]}
        if patch:
            await self._client.patch(cache.kind, key.name, key.namespace, patch)

    async def _delete(self, kind: Kind, key: Key) -> None:
        try:
            await self._client.delete(kind, key.name, key.namespace)
        except NotFound:
            return


def _selecting_in(service: Json) -> tuple[str, ...]:
    return (service["metadata"]["namespace"],) if service["spec"].get("selector") else ()


def _running_in(pod: Json) -> tuple[str, ...]:
    return (pod["metadata"]["namespace"],) if (pod.get("status") or {}).get("podIP") else ()


def _service_of(piece: Json) -> tuple[str, ...]:
    meta = piece["metadata"]
    labels = meta.get("labels") or {}
    if labels.get(MANAGER_LABEL) != MANAGER_NAME or SERVICE_LABEL not in labels:
        return ()
    return (f"{meta['namespace']}/{labels[SERVICE_LABEL]}",)
