"""An operator for Trains, as its author would write it; `kopf run` starts it in test_kopf.py.

It keeps a ConfigMap for each train, mirrors the number of cars into the status, counts on a timer,
knows all timetables by an index, and says goodbye when a train is deleted.
"""

import asyncio
from typing import Any

import kopf
from kubernetes import client, config

TRAINS = ("rail.example.com", "v1", "trains")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    config.load_kube_config()
    settings.posting.enabled = True
    settings.persistence.finalizer = "rail.example.com/operator"
    settings.watching.reconnect_backoff = 0.1


@kopf.index("configmaps", labels={"role": "timetable"})
def timetables(name: str, body: kopf.Body, **_: Any) -> dict[str, str]:
    return {name: body["data"]["line"]}


@kopf.on.create(*TRAINS)
def build(
    spec: kopf.Spec, name: str, namespace: str, patch: kopf.Patch, timetables: kopf.Index, **_: Any
) -> Any:
    child: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-cars"},
        "data": {"cars": str(spec["cars"])},
    }
    kopf.adopt(child)
    client.CoreV1Api().create_namespaced_config_map(namespace, child)
    patch.status["cars"] = spec["cars"]
    patch.metadata.labels["built"] = "yes"
    lines = sorted(line for store in timetables.values() for line in store)
    return {"lines": lines}


@kopf.on.create(*TRAINS, labels={"flaky": kopf.PRESENT}, backoff=0.1)
def try_hard(retry: int, patch: kopf.Patch, **_: Any) -> None:
    if retry < 2:
        raise kopf.TemporaryError("the rails are wet", delay=0.1)
    patch.status["attempts"] = retry + 1


@kopf.on.create(*TRAINS, labels={"hopeless": kopf.PRESENT})
def give_up(body: kopf.Body, **_: Any) -> None:
    kopf.warn(body, reason="NoTrack", message="nothing to run on")
    raise kopf.PermanentError("there is no track")


@kopf.on.update(*TRAINS, field="spec.cars")
def recouple(
    old: int, new: int, name: str, namespace: str, patch: kopf.Patch, body: kopf.Body, **_: Any
) -> None:
    data = {"data": {"cars": str(new)}}
    client.CoreV1Api().patch_namespaced_config_map(f"{name}-cars", namespace, data)
    patch.status["cars"] = new
    kopf.info(body, reason="Recoupled", message=f"{old} cars became {new}")


@kopf.on.resume(*TRAINS)
def greet_again(patch: kopf.Patch, status: kopf.Status, **_: Any) -> None:
    patch.status["resumed"] = status.get("resumed", 0) + 1


@kopf.timer(*TRAINS, interval=0.3, labels={"timed": kopf.PRESENT})
def tick(patch: kopf.Patch, status: kopf.Status, **_: Any) -> None:
    patch.status["ticks"] = status.get("ticks", 0) + 1


@kopf.daemon(*TRAINS, labels={"driven": kopf.PRESENT}, cancellation_timeout=1.0)
async def drive(stopped: kopf.DaemonStopped, patch: kopf.Patch, **_: Any) -> None:
    patch.status["driving"] = True
    await asyncio.sleep(0)


@kopf.on.event("pods", labels={"train": kopf.PRESENT})
def passenger(labels: kopf.Labels, namespace: str, **_: Any) -> None:
    note = {"metadata": {"annotations": {"rail.example.com/boarded": "yes"}}}
    place = ("rail.example.com", "v1", namespace, "trains", labels["train"])
    client.CustomObjectsApi().patch_namespaced_custom_object(*place, note)


@kopf.on.delete(*TRAINS)
def scrap(name: str, namespace: str, **_: Any) -> None:
    farewell = {"metadata": {"name": f"{name}-farewell"}, "data": {"name": name}}
    client.CoreV1Api().create_namespaced_config_map(namespace, farewell)
