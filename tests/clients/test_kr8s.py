"""The `kr8s` library: objects that know their server, waits and watches."""

from collections.abc import AsyncIterator
from typing import Any

import kr8s
import pytest
from kr8s.asyncio.objects import APIObject, ConfigMap, Job, Namespace, Pod, new_class
from manifests import CRD, GROUP, configmap, job, pod, train

from running_cluster import RunningCluster

pytestmark = [
    pytest.mark.xdist_group("kr8s"),
    # It says so about every Kubernetes newer than itself.
    pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported"),
]


@pytest.fixture
async def api(cluster: RunningCluster, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """A connection whose namespace is the test's own."""
    name = request.node.name.replace("_", "-")
    connected = await kr8s.asyncio.api(kubeconfig=str(cluster.kubeconfig), namespace=name)
    place = await Namespace({"metadata": {"name": name}}, api=connected)
    await place.create()
    async for _ in connected.watch("serviceaccounts"):
        break  # a controller has put the default one there; pods may come
    yield connected
    await place.delete()
    await connected._session.aclose()  # the library leaves it open


async def made(kind: type[APIObject], manifest: Any, api: Any) -> Any:
    obj = await kind(manifest, api=api)
    await obj.create()
    return obj


async def test_it_finds_out_about_the_server(api: Any) -> None:
    assert (await api.version())["major"] == "1"
    assert await api.whoami() == "admin"
    names = {resource["name"] for resource in await api.api_resources()}
    assert {"pods", "jobs", "customresourcedefinitions"} <= names
    nodes = [node async for node in api.get("nodes")]
    assert [node.name for node in nodes] == ["node-0", "node-1", "node-2"]


async def test_objects_are_written_read_changed_and_deleted(api: Any) -> None:
    a = await made(ConfigMap, configmap("a", x="1"), api)
    assert await a.exists()
    await a.label(tier="front")
    await a.annotate(note="hi")
    await a.patch({"data": {"x": None, "y": "2"}})
    assert (a.labels, a.raw["data"]) == ({"tier": "front"}, {"y": "2"})
    await a.patch([{"op": "replace", "path": "/data/y", "value": "3"}], type="json")
    again = await ConfigMap.get("a", api=api, namespace=a.namespace)
    assert again.raw["data"] == {"y": "3"}
    await a.remove_label("tier")
    await again.refresh()
    assert "tier" not in again.labels
    await a.delete()
    assert not await again.exists()
    with pytest.raises(kr8s.NotFoundError):
        await again.refresh()


async def test_selectors_and_lists(api: Any) -> None:
    for name, app in (("a", "web"), ("b", "web"), ("c", "db")):
        await made(Pod, pod(name, app=app), api)
    web = [found.name async for found in api.get("pods", label_selector={"app": "web"})]
    assert web == ["a", "b"]
    one = [found.name async for found in api.get("pods", field_selector="metadata.name=c")]
    assert one == ["c"]
    named = [found.name async for found in api.get("pods", "a", "c")]
    assert named == ["a", "c"]
    table = [row async for row in api.get("po", raw=True)]
    assert len(table) == 3


async def test_a_pod_becomes_ready_and_says_what_it_does(api: Any) -> None:
    a = await made(Pod, pod("a"), api)
    await a.wait("condition=Ready", timeout=20)
    assert await a.ready()
    log = [line async for line in a.logs()]
    assert "writes no log" in log[0]
    assert a.spec.nodeName.startswith("node-")
    await a.delete(grace_period=0)
    await a.wait("delete", timeout=20)


async def test_a_job_runs(api: Any) -> None:
    train_job = await made(Job, job("train", completions=2), api)
    await train_job.wait("condition=Complete", timeout=20)
    await train_job.refresh()
    assert train_job.status.succeeded == 2
    pods = [found async for found in api.get("pods", label_selector="job-name=train")]
    assert {found.status.phase for found in pods} == {"Succeeded"}
    events = [event.raw["reason"] async for event in api.get("events")]
    assert {"Scheduled", "SuccessfulCreate", "Completed"} <= set(events)
    await train_job.delete(propagation_policy="Background")
    for found in pods:
        await found.wait("delete", timeout=20)


async def test_a_watch_tells_of_every_change(api: Any) -> None:
    await made(ConfigMap, configmap("a"), api)
    seen = []
    async for type_, obj in api.watch("configmaps", field_selector="metadata.name=a"):
        seen.append(type_)
        if type_ == "ADDED":
            await obj.patch({"data": {"x": "1"}})
        elif type_ == "MODIFIED":
            await obj.delete()
        else:
            break
    assert seen == ["ADDED", "MODIFIED", "DELETED"]


async def test_refusals_carry_the_reason(api: Any) -> None:
    await made(ConfigMap, configmap("a"), api)
    for manifest, code, reason in (
        (configmap("a"), 409, "AlreadyExists"),
        (configmap("Upper"), 422, "Invalid"),
    ):
        with pytest.raises(kr8s.ServerError) as refused:
            await made(ConfigMap, manifest, api)
        assert refused.value.response is not None
        assert refused.value.response.status_code == code
        assert refused.value.status["reason"] == reason


async def test_custom_resources(api: Any) -> None:
    definition = kr8s.asyncio.objects.CustomResourceDefinition
    crd = await made(definition, CRD, api)
    await crd.wait("condition=Established", timeout=20)
    train_class = new_class("Train", f"{GROUP}/v1", scalable=True, scalable_spec="cars")
    express = await made(train_class, train("express", 3), api)
    assert express.spec.line == "north"
    await express.patch({"status": {"cars": 3, "phase": "Off"}}, subresource="status", type="merge")
    await express.wait("jsonpath='{.status.phase}'=Off", timeout=20)
    await express.scale(5)
    found = [one async for one in api.get(f"trains.{GROUP}", "express")]
    assert found[0].raw["spec"]["cars"] == 5
    parent = await made(ConfigMap, configmap("owner"), api)
    await express.set_owner(parent)
    await parent.delete()
    await express.wait("delete", timeout=20)
