"""The `lightkube` library: typed models, generic resources, server-side apply, waits."""

from collections.abc import AsyncIterator, Iterator

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig
from lightkube.core.resource import Resource
from lightkube.generic_resource import create_namespaced_resource, load_in_cluster_generic_resources
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.operators import in_, not_equal
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.batch_v1 import Job
from lightkube.resources.core_v1 import ConfigMap, Event, Namespace, Node, Pod, ServiceAccount
from lightkube.types import CascadeType, PatchType
from manifests import CRD, GROUP, configmap, job, pod, train

from running_cluster import RunningCluster

pytestmark = pytest.mark.xdist_group("lightkube")


@pytest.fixture
def config(cluster: RunningCluster) -> KubeConfig:
    return KubeConfig.from_file(cluster.kubeconfig)


@pytest.fixture
def client(config: KubeConfig, request: pytest.FixtureRequest) -> Iterator[Client]:
    """Works in a namespace of the test's own."""
    name = request.node.name.replace("_", "-")
    connected = Client(config=config, namespace=name, field_manager="one")
    connected.create(Namespace(metadata=ObjectMeta(name=name)))
    for kind in (ServiceAccount, ConfigMap):
        next(iter(connected.watch(kind)))  # what controllers put into every namespace
    yield connected
    connected.delete(Namespace, name)
    connected.close()


def make(kind: type[Resource], manifest: dict[str, object]) -> Resource:
    return kind.from_dict(manifest)


def test_objects_are_written_read_listed_and_deleted(client: Client) -> None:
    assert [node.metadata.name for node in client.list(Node)] == ["node-0", "node-1", "node-2"]
    made = client.create(make(ConfigMap, configmap("a", x="1")))
    made.data["x"] = "2"
    changed = client.replace(made)
    assert changed.data == {"x": "2"}
    with pytest.raises(ApiError) as stale:
        client.replace(made)
    assert (stale.value.status.code, stale.value.status.reason) == (409, "Conflict")
    for i in range(5):
        meta = ObjectMeta(generateName="g-", labels={"i": str(i)})
        client.create(ConfigMap(metadata=meta))
    assert len(list(client.list(ConfigMap, chunk_size=2))) == 7
    chosen = client.list(ConfigMap, labels={"i": in_(["1", "2"])})
    assert sorted(one.metadata.labels["i"] for one in chosen) == ["1", "2"]
    others = client.list(ConfigMap, fields={"metadata.name": not_equal("a")})
    assert len(list(others)) == 6
    client.deletecollection(ConfigMap)
    assert "a" not in [one.metadata.name for one in client.list(ConfigMap)]
    with pytest.raises(ApiError) as missing:
        client.get(ConfigMap, "a")
    assert (missing.value.status.code, missing.value.status.reason) == (404, "NotFound")


def test_patches_of_every_type(client: Client) -> None:
    client.create(make(Pod, pod("a", l="1")))
    image = {"spec": {"containers": [{"name": "main", "image": "y"}]}}
    assert client.patch(Pod, "a", image).spec.containers[0].image == "y"
    client.patch(Pod, "a", {"metadata": {"labels": {"l": None}}}, patch_type=PatchType.MERGE)
    added = [{"op": "add", "path": "/metadata/labels", "value": {"m": "2"}}]
    patched = client.patch(Pod, "a", added, patch_type=PatchType.JSON)
    assert patched.metadata.labels == {"m": "2"}
    client.set(Pod, "a", labels={"n": "3"}, annotations={"note": "hi"})
    found = client.get(Pod, "a")
    assert found.metadata.labels == {"m": "2", "n": "3"}
    status = {"status": {"conditions": [{"type": "Seen", "status": "True"}]}}
    seen = client.patch(Pod.Status, "a", status)
    assert "Seen" in [condition.type for condition in seen.status.conditions]


def test_server_side_apply(client: Client) -> None:
    made = client.apply(make(ConfigMap, configmap("a", x="1")))
    assert client.apply(make(ConfigMap, configmap("a", x="1"))).metadata == made.metadata
    with pytest.raises(ApiError) as conflict:
        client.apply(make(ConfigMap, configmap("a", x="2")), field_manager="two")
    assert 'conflict with "one": .data.x' in str(conflict.value)
    forced = client.apply(make(ConfigMap, configmap("a", x="2")), field_manager="two", force=True)
    assert forced.data == {"x": "2"}
    imagined = client.apply(
        make(ConfigMap, configmap("a", x="3")), field_manager="two", dry_run=True
    )
    assert (imagined.data, client.get(ConfigMap, "a").data) == ({"x": "3"}, {"x": "2"})


def test_a_watch_resumes_where_it_ended(client: Client) -> None:
    listing = client.list(ConfigMap)
    assert [one.metadata.name for one in listing] == ["kube-root-ca.crt"]
    start = listing.resourceVersion
    for name in ("a", "b"):
        client.create(make(ConfigMap, configmap(name)))
    client.delete(ConfigMap, "a")
    seen, since = [], start
    for _ in range(3):  # a new watch for every event
        for type_, obj in client.watch(ConfigMap, resource_version=since, server_timeout=10):
            seen.append((type_, obj.metadata.name))
            since = obj.metadata.resourceVersion
            break
    assert seen == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]


def test_a_job_runs(client: Client) -> None:
    client.create(make(Job, job("train", completions=2)))
    done = client.wait(Job, "train", for_conditions=["Complete"], raise_for_conditions=["Failed"])
    assert done.status.succeeded == 2
    pods = list(client.list(Pod, labels={"job-name": "train"}))
    assert {found.status.phase for found in pods} == {"Succeeded"}
    assert "writes no log" in "".join(client.log(pods[0].metadata.name))
    assert "Completed" in [event.reason for event in client.list(Event)]
    client.delete(Job, "train", cascade=CascadeType.ORPHAN)
    left = list(client.list(Pod, labels={"job-name": "train"}))
    assert len(left) == 2


def test_scale_is_a_subresource(client: Client) -> None:
    labels = {"app": "web"}
    client.create(
        Deployment.from_dict(
            {
                "metadata": {"name": "web"},
                "spec": {
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": pod("x")["spec"]},
                },
            }
        )
    )
    scale = client.get(Deployment.Scale, "web")
    assert (scale.spec.replicas, scale.status.selector) == (1, "app=web")
    scale.spec = ScaleSpec(replicas=4)
    assert client.replace(scale).spec.replicas == 4
    assert client.get(Deployment, "web").spec.replicas == 4


def test_mistakes_are_named(client: Client) -> None:
    client.create(make(ConfigMap, configmap("taken")))
    for name, code, reason in (("taken", 409, "AlreadyExists"), ("Upper", 422, "Invalid")):
        with pytest.raises(ApiError) as refused:
            client.create(make(ConfigMap, configmap(name)))
        assert (refused.value.status.code, refused.value.status.reason) == (code, reason)


def test_custom_resources(client: Client) -> None:
    client.create(make(CustomResourceDefinition, CRD))
    client.wait(CustomResourceDefinition, f"trains.{GROUP}", for_conditions=["Established"])
    load_in_cluster_generic_resources(client)
    train_class = create_namespaced_resource(GROUP, "v1", "Train", "trains")
    made = client.create(train_class(train("express", 3)))
    assert made["spec"]["line"] == "north"
    made["status"] = {"cars": 3}
    status = client.replace(train_class.Status(made))
    assert status["status"] == {"cars": 3}
    applied = client.apply(train_class(train("express", 3)), field_manager="two")
    managers = [entry.manager for entry in applied.metadata.managedFields]
    assert "two" in managers
    with pytest.raises(ApiError) as wrong:
        client.create(train_class(train("t", -1)))
    assert wrong.value.status.details.causes[0].field == "spec.cars"
    client.delete(train_class, "express", grace_period=0)
    assert list(client.list(train_class)) == []


@pytest.fixture
async def aclient(config: KubeConfig) -> AsyncIterator[AsyncClient]:
    connected = AsyncClient(config=config)
    yield connected
    await connected.close()


async def test_the_same_from_inside_an_event_loop(aclient: AsyncClient) -> None:
    await aclient.create(make(Pod, pod("async")))
    ready = await aclient.wait(Pod, "async", for_conditions=["Ready"])
    assert ready.status.phase == "Running"
    await aclient.delete(Pod, "async")
    async for type_, obj in aclient.watch(Pod, resource_version=ready.metadata.resourceVersion):
        if (type_, obj.metadata.name) == ("DELETED", "async"):
            break
    assert [found async for found in aclient.list(Pod, fields={"metadata.name": "async"})] == []
