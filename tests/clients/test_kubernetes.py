"""The `kubernetes` library: typed calls, watches, the dynamic client, leader election's locks."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from manifests import CRD, GROUP, configmap, job, pod, train

from running_cluster import RunningCluster

pytestmark = pytest.mark.xdist_group("kubernetes")


@pytest.fixture(scope="module")
def api(cluster: RunningCluster) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(cluster.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


@pytest.fixture
def namespace(core: client.CoreV1Api, request: pytest.FixtureRequest) -> Iterator[str]:
    name = request.node.name.replace("_", "-")
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    for listing in (core.list_namespaced_service_account, core.list_namespaced_config_map):
        next(watch.Watch().stream(listing, name))  # what controllers put into every namespace
    yield name
    core.delete_namespace(name)


def refusal(error: pytest.ExceptionInfo[ApiException]) -> tuple[int, str]:
    return error.value.status, json.loads(error.value.body)["reason"]


def test_it_finds_out_about_the_server(api: client.ApiClient) -> None:
    assert client.VersionApi(api).get_code().major == "1"
    assert "v1" in client.CoreApi(api).get_api_versions().versions
    groups = client.ApisApi(api).get_api_versions().groups
    assert "batch" in [group.name for group in groups]
    kinds = client.BatchV1Api(api).get_api_resources().resources
    assert {"jobs", "jobs/status", "cronjobs"} <= {kind.name for kind in kinds}
    review = client.AuthenticationV1Api(api).create_self_subject_review({})
    assert review.status.user_info.username == "admin"


def test_objects_are_written_read_and_listed(core: client.CoreV1Api, namespace: str) -> None:
    made = core.create_namespaced_config_map(namespace, configmap("a", x="1"))
    made.data["x"] = "2"
    changed = core.replace_namespaced_config_map("a", namespace, made)
    assert int(changed.metadata.resource_version) > int(made.metadata.resource_version)
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("a", namespace, made)
    assert refusal(stale) == (409, "Conflict")
    for i in range(5):
        body = client.V1ConfigMap(
            metadata=client.V1ObjectMeta(generate_name="g-", labels={"i": f"{i}"})
        )
        core.create_namespaced_config_map(namespace, body)
    pages, token = [], None
    while token != "":
        page = core.list_namespaced_config_map(namespace, limit=3, _continue=token)
        pages.append(len(page.items))
        token = page.metadata._continue or ""
    assert (sum(pages), max(pages)) == (7, 3)  # the root certificate is there too
    chosen = core.list_namespaced_config_map(namespace, label_selector="i in (1,2),i!=2")
    assert [found.metadata.labels["i"] for found in chosen.items] == ["1"]
    core.delete_collection_namespaced_config_map(namespace, label_selector="i")
    assert (
        len(core.list_namespaced_config_map(namespace, field_selector="metadata.name=a").items) == 1
    )


def test_patches_of_every_type(core: client.CoreV1Api, namespace: str) -> None:
    core.create_namespaced_pod(namespace, pod("a"))
    strategic = {"spec": {"containers": [{"name": "main", "image": "y"}]}}
    assert core.patch_namespaced_pod("a", namespace, strategic).spec.containers[0].image == "y"
    core.create_namespaced_config_map(namespace, configmap("a", x="1", y="1"))
    operations = [
        {"op": "test", "path": "/data/x", "value": "1"},
        {"op": "remove", "path": "/data/x"},
    ]
    assert core.patch_namespaced_config_map("a", namespace, operations).data == {"y": "1"}
    with pytest.raises(ApiException) as failed:
        core.patch_namespaced_config_map("a", namespace, operations)
    assert refusal(failed) == (422, "Invalid")
    merged = core.patch_namespaced_config_map("a", namespace, {"data": {"y": None, "z": "3"}})
    assert merged.data == {"z": "3"}


def test_server_side_apply(api: client.ApiClient, namespace: str) -> None:
    dyn = dynamic.DynamicClient(api)
    maps = dyn.resources.get(api_version="v1", kind="ConfigMap")
    one = {"namespace": namespace, "field_manager": "one"}
    made = maps.server_side_apply(body=configmap("a", x="1"), **one)
    assert made.data.x == "1"
    again = maps.server_side_apply(body=configmap("a", x="1"), **one)
    assert again.metadata.resourceVersion == made.metadata.resourceVersion
    two = {"namespace": namespace, "field_manager": "two"}
    with pytest.raises(dynamic.exceptions.ConflictError) as conflict:
        maps.server_side_apply(body=configmap("a", x="2"), **two)
    assert 'conflict with \\"one\\"' in conflict.value.body
    forced = maps.server_side_apply(body=configmap("a", x="2"), force_conflicts=True, **two)
    assert forced.data.x == "2"


def test_a_watch_resumes_where_it_ended(core: client.CoreV1Api, namespace: str) -> None:
    start = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, configmap("a"))
    core.create_namespaced_config_map(namespace, configmap("b"))
    listing, seen = core.list_namespaced_config_map, []
    for event in watch.Watch().stream(
        listing, namespace, resource_version=start, timeout_seconds=9
    ):
        seen.append((event["type"], event["object"].metadata.name))
        last = event["object"].metadata.resource_version
        break
    core.delete_namespaced_config_map("a", namespace)
    watching = watch.Watch()
    for event in watching.stream(listing, namespace, resource_version=last, timeout_seconds=9):
        seen.append((event["type"], event["object"].metadata.name))
        if event["type"] == "DELETED":
            watching.stop()
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_a_job_runs_and_its_pods_can_be_asked(
    api: client.ApiClient, core: client.CoreV1Api, namespace: str
) -> None:
    batch = client.BatchV1Api(api)
    (made,) = utils.create_from_dict(api, job("train", completions=2), namespace=namespace)
    assert made.spec.completion_mode == "NonIndexed"
    watching = watch.Watch()
    for event in watching.stream(batch.list_namespaced_job, namespace, timeout_seconds=30):
        if any(c.type == "Complete" for c in event["object"].status.conditions or ()):
            watching.stop()
    done = batch.read_namespaced_job_status("train", namespace)
    assert (done.status.succeeded, done.status.active) == (2, None)
    pods = core.list_namespaced_pod(namespace, label_selector="job-name=train").items
    assert {found.status.phase for found in pods} == {"Succeeded"}
    log = core.read_namespaced_pod_log(pods[0].metadata.name, namespace, tail_lines=1)
    assert "writes no log" in log
    events = core.list_namespaced_event(namespace, field_selector="involvedObject.name=train")
    assert {"SuccessfulCreate", "Completed"} <= {event.reason for event in events.items}
    batch.delete_namespaced_job("train", namespace, propagation_policy="Foreground")
    gone, since = watch.Watch(), done.metadata.resource_version
    for event in gone.stream(
        batch.list_namespaced_job, namespace, resource_version=since, timeout_seconds=30
    ):
        if event["type"] == "DELETED":
            gone.stop()
    assert core.list_namespaced_pod(namespace).items == []


def test_a_pod_is_bound_evicted_and_deleted(core: client.CoreV1Api, namespace: str) -> None:
    waiting = pod("a")
    waiting["spec"]["schedulerName"] = "nobody"
    core.create_namespaced_pod(namespace, waiting)
    target = client.V1ObjectReference(kind="Node", name="node-1")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="a"), target=target)
    core.create_namespaced_binding(namespace, binding, _preload_content=False)
    assert core.read_namespaced_pod("a", namespace).spec.node_name == "node-1"
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="a", namespace=namespace))
    core.create_namespaced_pod_eviction("a", namespace, eviction)
    core.create_namespaced_pod(
        namespace, {**pod("b"), "metadata": {"name": "b", "finalizers": ["x.example.com/f"]}}
    )
    core.delete_namespaced_pod("b", namespace, grace_period_seconds=0)
    held = core.read_namespaced_pod("b", namespace)
    assert held.metadata.deletion_timestamp is not None
    core.patch_namespaced_pod("b", namespace, [{"op": "remove", "path": "/metadata/finalizers"}])
    with pytest.raises(ApiException) as missing:
        core.read_namespaced_pod("b", namespace)
    assert refusal(missing) == (404, "NotFound")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(configmap("Upper"), (422, "Invalid"), id="a bad name"),
        pytest.param({**configmap("a"), "kind": "Secret"}, (400, "BadRequest"), id="another kind"),
        pytest.param(
            {**configmap("a"), "metadata": {"name": "a", "namespace": "b"}},
            (400, "BadRequest"),
            id="another namespace",
        ),
        pytest.param(configmap("kube-root-ca.crt"), (409, "AlreadyExists"), id="a taken name"),
    ],
)
def test_mistakes_are_named(core: client.CoreV1Api, body: Any, expected: tuple[int, str]) -> None:
    with pytest.raises(ApiException) as refused:
        core.create_namespaced_config_map("default", body)
    assert refusal(refused) == expected


def test_custom_resources_and_the_dynamic_client(api: client.ApiClient, namespace: str) -> None:
    definitions = client.ApiextensionsV1Api(api)
    definitions.create_custom_resource_definition(CRD)
    for event in watch.Watch().stream(
        definitions.list_custom_resource_definition, timeout_seconds=10
    ):
        if any(c.type == "Established" for c in event["object"].status.conditions or ()):
            break
    trains = dynamic.DynamicClient(api).resources.get(api_version=f"{GROUP}/v1", kind="Train")
    made = trains.create(body=train("express", 3), namespace=namespace)
    assert made.spec.line == "north"
    custom = client.CustomObjectsApi(api)
    place = (GROUP, "v1", namespace, "trains", "express")
    custom.patch_namespaced_custom_object_status(*place, {"status": {"cars": 3, "free": [1]}})
    assert custom.get_namespaced_custom_object(*place)["status"] == {"cars": 3, "free": [1]}
    scale = custom.get_namespaced_custom_object_scale(*place)
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (3, 3)
    with pytest.raises(ApiException) as wrong:
        custom.patch_namespaced_custom_object(*place, {"spec": {"cars": -1}})
    assert refusal(wrong) == (422, "Invalid")
    seen = [
        event["type"]
        for event in trains.watch(namespace=namespace, timeout=1, watcher=watch.Watch())
    ]
    assert seen == ["ADDED"]
    trains.delete(name="express", namespace=namespace)
    assert custom.list_namespaced_custom_object(*place[:4])["items"] == []
