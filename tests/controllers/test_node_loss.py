"""What happens to pods when their node breaks, falls silent or goes away."""

import asyncio
from typing import Any

from controlled import Controlled, play

from allaboard.api.meta import Json, Kind
from allaboard.api.times import format_micro_time

NODE = Kind("", "v1", "Node", "nodes", namespaced=False)
POD = Kind("", "v1", "Pod", "pods")
LEASE = Kind("coordination.k8s.io", "v1", "Lease", "leases")


async def add_node(cluster: Controlled, name: str = "n") -> None:
    await cluster.make(NODE, name)
    await say(cluster, name, "True")


async def say(cluster: Controlled, name: str, ready: str) -> None:
    status: Json = {"conditions": [{"type": "Ready", "status": ready}]}
    await cluster.client.patch(NODE, name, patch={"status": status}, subresource="status")
    await asyncio.sleep(1)


async def add_pod(cluster: Controlled, name: str = "p", node: str = "n", **spec: Any) -> None:
    containers = [{"name": "main", "image": "i"}]
    await cluster.make(POD, name, spec={"nodeName": node, "containers": containers, **spec})
    ready = [{"type": "Ready", "status": "True"}]
    status: Json = {"status": {"phase": "Running", "conditions": ready}}
    await cluster.client.patch(POD, name, "default", status, subresource="status")
    await asyncio.sleep(1)


async def pod(cluster: Controlled, name: str = "p") -> Json:
    found = await cluster.find(POD, name)
    assert found is not None
    return found


def conditions(obj: Json) -> dict[str, str]:
    return {c["type"]: c["status"] for c in obj["status"]["conditions"]}


async def taints(cluster: Controlled) -> list[str]:
    node = await cluster.find(NODE, "n")
    assert node is not None
    return [f"{t['key']}:{t['effect']}" for t in node["spec"].get("taints", [])]


def test_pods_leave_a_broken_node_when_their_patience_ends() -> None:
    async def act(cluster: Controlled) -> None:
        await add_node(cluster)
        await add_pod(cluster)  # admission gives it 300 s for not-ready and unreachable
        await say(cluster, "n", "False")
        key = "node.kubernetes.io/not-ready"
        assert await taints(cluster) == [f"{key}:NoSchedule", f"{key}:NoExecute"]
        assert conditions(await pod(cluster))["Ready"] == "False"
        await asyncio.sleep(290)
        assert "deletionTimestamp" not in (await pod(cluster))["metadata"]
        await asyncio.sleep(20)
        leaving = await pod(cluster)
        assert leaving["metadata"]["deletionTimestamp"]
        assert conditions(leaving)["DisruptionTarget"] == "True"
        assert "TaintManagerEviction" in cluster.reasons()

    play(act)


def test_a_node_that_recovers_keeps_its_pods() -> None:
    async def act(cluster: Controlled) -> None:
        await add_node(cluster)
        await add_pod(cluster)
        await say(cluster, "n", "False")
        await asyncio.sleep(100)
        await say(cluster, "n", "True")
        assert await taints(cluster) == []
        await asyncio.sleep(600)
        assert "deletionTimestamp" not in (await pod(cluster))["metadata"]

    play(act)


def test_a_node_whose_lease_is_not_renewed_becomes_unknown() -> None:
    async def act(cluster: Controlled) -> None:
        await add_node(cluster)
        await cluster.make(LEASE, "n", "kube-node-lease", spec={"holderIdentity": "n"})
        for _ in range(12):
            await asyncio.sleep(10)
            renewed: Json = {"spec": {"renewTime": format_micro_time(cluster.clock.now())}}
            await cluster.client.patch(LEASE, "n", "kube-node-lease", renewed)
        assert await taints(cluster) == []
        await asyncio.sleep(52)
        node = await cluster.find(NODE, "n")
        assert node is not None and conditions(node)["Ready"] == "Unknown"
        assert "node.kubernetes.io/unreachable:NoExecute" in await taints(cluster)

    play(act)


def test_pods_of_a_node_that_is_gone_fail_and_are_removed() -> None:
    async def act(cluster: Controlled) -> None:
        await add_node(cluster)
        await add_pod(cluster)
        seen: list[Json] = []

        async def look() -> None:
            watch = cluster.store.watch("pods", None, cluster.store.revision)
            async for change in watch:
                seen.append(change.record.obj)

        looking = asyncio.create_task(look())
        await cluster.client.delete(NODE, "n")
        await asyncio.sleep(30)
        assert cluster.names("pods") == ["p"]  # a node may be back soon
        await asyncio.sleep(15)
        assert cluster.names("pods") == []
        assert seen[0]["status"]["phase"] == "Failed"
        assert conditions(seen[0])["DisruptionTarget"] == "True"
        looking.cancel()

    play(act)


def test_a_cordoned_node_is_tainted_and_keeps_its_pods() -> None:
    async def act(cluster: Controlled) -> None:
        await add_node(cluster)
        await add_pod(cluster)
        await cluster.client.patch(NODE, "n", patch={"spec": {"unschedulable": True}})
        await asyncio.sleep(1)
        assert await taints(cluster) == ["node.kubernetes.io/unschedulable:NoSchedule"]
        await asyncio.sleep(1000)
        assert cluster.names("pods") == ["p"]

    play(act)
