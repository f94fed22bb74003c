"""The `kubernetes_asyncio` library: the same server from inside an event loop."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from kubernetes_asyncio import client, config, dynamic, utils, watch
from kubernetes_asyncio.client import ApiClient, ApiException, CoreV1Api
from manifests import CRD, GROUP, configmap, job, pod, train

from running_cluster import RunningCluster

pytestmark = pytest.mark.xdist_group("kubernetes-asyncio")


@pytest.fixture
async def api(cluster: RunningCluster) -> AsyncIterator[ApiClient]:
    connected = await config.new_client_from_config(str(cluster.kubeconfig))
    async with connected:
        yield connected


@pytest.fixture
async def namespace(api: ApiClient, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    name = request.node.name.replace("_", "-")
    core = CoreV1Api(api)
    await core.create_namespace({"metadata": {"name": name}})
    for listing in (core.list_namespaced_service_account, core.list_namespaced_config_map):
        async with watch.Watch() as stream:
            await anext(stream.stream(listing, name))  # controllers put these everywhere
    yield name
    await core.delete_namespace(name)


def refusal(error: pytest.ExceptionInfo[ApiException]) -> tuple[int, str]:
    return error.value.status, json.loads(error.value.body)["reason"]


async def test_it_finds_out_about_the_server(api: ApiClient) -> None:
    assert (await client.VersionApi(api).get_code()).major == "1"
    groups = (await client.ApisApi(api).get_api_versions()).groups
    assert "batch" in [group.name for group in groups]
    review = await client.AuthenticationV1Api(api).create_self_subject_review({})
    assert review.status.user_info.username == "admin"


async def test_objects_are_written_read_patched_and_deleted(api: ApiClient, namespace: str) -> None:
    core = CoreV1Api(api)
    made = await core.create_namespaced_config_map(namespace, configmap("a", x="1", y="1"))
    made.data["x"] = "2"
    changed = await core.replace_namespaced_config_map("a", namespace, made)
    assert changed.data == {"x": "2", "y": "1"}
    with pytest.raises(ApiException) as stale:
        await core.replace_namespaced_config_map("a", namespace, made)
    assert refusal(stale) == (409, "Conflict")
    merged = await core.patch_namespaced_config_map("a", namespace, {"data": {"y": None}})
    assert merged.data == {"x": "2"}
    operations = [{"op": "add", "path": "/data/z", "value": "3"}]
    added = await core.patch_namespaced_config_map("a", namespace, operations)
    assert added.data == {"x": "2", "z": "3"}
    status = await core.delete_namespaced_config_map("a", namespace)
    assert status.status == "Success"
    with pytest.raises(ApiException) as missing:
        await core.read_namespaced_config_map("a", namespace)
    assert refusal(missing) == (404, "NotFound")


async def test_many_writers_at_once(api: ApiClient, namespace: str) -> None:
    """Fifty creations over one connection pool; paging finds each of them once."""
    core = CoreV1Api(api)
    names = [f"c{i:02d}" for i in range(50)]
    await asyncio.gather(
        *(core.create_namespaced_config_map(namespace, configmap(name)) for name in names)
    )
    found, token = [], None
    while token != "":
        page = await core.list_namespaced_config_map(namespace, limit=20, _continue=token)
        found += [item.metadata.name for item in page.items]
        token = page.metadata._continue or ""
    assert found == [*names, "kube-root-ca.crt"]
    await core.delete_collection_namespaced_config_map(
        namespace, field_selector="metadata.name!=kube-root-ca.crt"
    )
    left = await core.list_namespaced_config_map(namespace)
    assert len(left.items) == 1


async def test_a_watch_sees_every_change_in_order_and_resumes(
    api: ApiClient, namespace: str
) -> None:
    core = CoreV1Api(api)
    start = (await core.list_namespaced_config_map(namespace)).metadata.resource_version
    for name in ("a", "b"):
        await core.create_namespaced_config_map(namespace, configmap(name))
    await core.patch_namespaced_config_map("a", namespace, {"data": {"x": "1"}})
    await core.delete_namespaced_config_map("b", namespace)
    expected = [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    seen, since = [], start
    for wanted in range(2, 5, 2):  # two events, a new watch, two more
        async with watch.Watch() as stream:
            async for event in stream.stream(
                core.list_namespaced_config_map, namespace, resource_version=since
            ):
                seen.append((event["type"], event["object"].metadata.name))
                since = event["object"].metadata.resource_version
                if len(seen) == wanted:
                    break
    assert seen == expected


async def test_a_job_runs(api: ApiClient, namespace: str) -> None:
    core, batch = CoreV1Api(api), client.BatchV1Api(api)
    await utils.create_from_dict(api, job("train", 3), namespace=namespace)
    async with watch.Watch() as stream:
        async for event in stream.stream(batch.list_namespaced_job, namespace):
            if event["object"].status.completion_time:
                break
    done = await batch.read_namespaced_job_status("train", namespace)
    assert done.status.succeeded == 3
    pods = (await core.list_namespaced_pod(namespace, label_selector="job-name=train")).items
    log = await core.read_namespaced_pod_log(pods[0].metadata.name, namespace)
    assert "writes no log" in log
    events = (await core.list_namespaced_event(namespace)).items
    assert "Completed" in [event.reason for event in events]
    await batch.delete_namespaced_job("train", namespace, propagation_policy="Orphan")
    left = (await core.list_namespaced_pod(namespace)).items
    assert len(left) == 3


async def test_status_and_finalizers(api: ApiClient, namespace: str) -> None:
    core = CoreV1Api(api)
    held = pod("a")
    held["metadata"]["finalizers"] = ["x.example.com/f"]
    held["spec"]["schedulerName"] = "nobody"
    await core.create_namespaced_pod(namespace, held)
    reported = {"status": {"conditions": [{"type": "Seen", "status": "True"}]}}
    status = (await core.patch_namespaced_pod_status("a", namespace, reported)).status
    assert "Seen" in [condition.type for condition in status.conditions]
    await core.delete_namespaced_pod("a", namespace, grace_period_seconds=0)
    waiting = await core.read_namespaced_pod("a", namespace)
    assert waiting.metadata.deletion_timestamp is not None
    let_go = [{"op": "remove", "path": "/metadata/finalizers"}]
    await core.patch_namespaced_pod("a", namespace, let_go)
    assert (await core.list_namespaced_pod(namespace)).items == []


async def test_custom_resources_and_the_dynamic_client(api: ApiClient, namespace: str) -> None:
    await client.ApiextensionsV1Api(api).create_custom_resource_definition(CRD)
    async with dynamic.DynamicClient(api) as dyn:
        trains = await dyn.resources.get(api_version=f"{GROUP}/v1", kind="Train")
        made = await dyn.server_side_apply(
            trains, body=train("express", 3), namespace=namespace, field_manager="one"
        )
        assert made.spec.line == "north"
        refused = await dyn.server_side_apply(
            trains, body=train("express", 4), namespace=namespace, field_manager="two"
        )
        assert (refused.kind, refused.reason) == ("Status", "Conflict")  # this one does not raise
        custom = client.CustomObjectsApi(api)
        place = (GROUP, "v1", namespace, "trains", "express")
        await custom.patch_namespaced_custom_object_status(
            *place, {"status": {"cars": 3}}, _content_type="application/merge-patch+json"
        )
        found = await custom.get_namespaced_custom_object(*place)
        assert (found["status"], found["metadata"]["generation"]) == ({"cars": 3}, 1)
        with pytest.raises(ApiException) as wrong:
            await custom.create_namespaced_custom_object(*place[:4], train("t", -1))
        assert refusal(wrong) == (422, "Invalid")
        await trains.delete(name="express", namespace=namespace)
        listing = await custom.list_namespaced_custom_object(*place[:4])
        assert listing["items"] == []
