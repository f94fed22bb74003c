"""Where the pods behind a Service answer."""

import asyncio

from controlled import Controlled, play

from allaboard.api.meta import Json, Kind

POD = Kind("", "v1", "Pod", "pods")
SERVICE = Kind("", "v1", "Service", "services")
ENDPOINTS = Kind("", "v1", "Endpoints", "endpoints")


async def run_pod(cluster: Controlled, name: str, ip: str, ready: bool, app: str = "x") -> None:
    spec = {
        "nodeName": "n",
        "hostname": name,
        "subdomain": "gang",
        "containers": [{"name": "main", "image": "i"}],
    }
    await cluster.make(POD, name, metadata={"labels": {"app": app}}, spec=spec)
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    state: Json = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}
    status: Json = {"status": {**state, "conditions": [condition]}}
    await cluster.client.patch(POD, name, "default", status, subresource="status")


def test_a_headless_service_names_its_pods() -> None:
    async def act(cluster: Controlled) -> None:
        spec: Json = {"clusterIP": "None", "selector": {"app": "x"}, "ports": [{"port": 80}]}
        await cluster.make(SERVICE, "gang", spec=spec)
        await run_pod(cluster, "a", "10.0.0.1", ready=True)
        await run_pod(cluster, "b", "10.0.0.2", ready=False)
        await run_pod(cluster, "c", "10.0.0.3", ready=True, app="y")
        await asyncio.sleep(3)
        found = await cluster.find(ENDPOINTS, "gang")
        assert found is not None
        (subset,) = found["subsets"]
        assert [(a["ip"], a["hostname"]) for a in subset["addresses"]] == [("10.0.0.1", "a")]
        assert [a["ip"] for a in subset["notReadyAddresses"]] == ["10.0.0.2"]
        (piece,) = cluster.store.list("endpointslices.discovery.k8s.io", "default")
        assert [(e["addresses"][0], e["conditions"]["ready"]) for e in piece.obj["endpoints"]] == [
            ("10.0.0.1", True),
            ("10.0.0.2", False),
        ]

    play(act)


def test_endpoints_follow_their_pods_and_go_with_their_service() -> None:
    async def act(cluster: Controlled) -> None:
        spec: Json = {"clusterIP": "None", "selector": {"app": "x"}, "ports": [{"port": 80}]}
        await cluster.make(SERVICE, "gang", spec=spec)
        await run_pod(cluster, "a", "10.0.0.1", ready=True)
        await asyncio.sleep(3)
        await cluster.client.delete(POD, "a", "default", grace_s=0)
        await asyncio.sleep(3)
        found = await cluster.find(ENDPOINTS, "gang")
        assert found is not None and not found.get("subsets")
        await cluster.client.delete(SERVICE, "gang", "default")
        await asyncio.sleep(3)
        assert cluster.names("endpoints") == []
        assert cluster.names("endpointslices.discovery.k8s.io") == []

    play(act)
