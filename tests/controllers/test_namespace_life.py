"""What every namespace has from the start, and how it ends."""

import asyncio

from controlled import CONFIG_MAP, NAMESPACE, Controlled, play

from allaboard.api.meta import Json, Kind
from allaboard.cluster.controllers.install import Config

EVENT = Kind("", "v1", "Event", "events")
SERVICE_ACCOUNT = Kind("", "v1", "ServiceAccount", "serviceaccounts")


def test_every_namespace_has_an_account_and_the_root_certificate() -> None:
    async def act(cluster: Controlled) -> None:
        await cluster.make(NAMESPACE, "team")
        await asyncio.sleep(1)
        assert cluster.names("serviceaccounts", "team") == ["default"]
        root = await cluster.find(CONFIG_MAP, "kube-root-ca.crt", "team")
        assert root is not None and root["data"] == {"ca.crt": "PEM"}
        await cluster.client.delete(SERVICE_ACCOUNT, "default", "team")
        await asyncio.sleep(1)
        assert cluster.names("serviceaccounts", "team") == ["default"]

    play(act, Config(root_certificate="PEM"))


def test_a_deleted_namespace_empties_and_then_goes() -> None:
    async def act(cluster: Controlled) -> None:
        await cluster.make(NAMESPACE, "team")
        await cluster.make(CONFIG_MAP, "hold", "team", metadata={"finalizers": ["a.io/hold"]})
        await cluster.make(CONFIG_MAP, "plain", "team")
        await cluster.client.delete(NAMESPACE, "team")
        await asyncio.sleep(8)
        assert cluster.names("configmaps", "team") == ["hold"]
        namespace = await cluster.find(NAMESPACE, "team")
        assert namespace is not None
        said = {c["type"]: c["message"] for c in namespace["status"]["conditions"]}
        assert said["NamespaceContentRemaining"] == (
            "Some resources are remaining: configmaps. has 1 resource instances"
        )
        assert said["NamespaceFinalizersRemaining"].endswith(": a.io/hold in 1 resource instances")
        free: Json = {"metadata": {"finalizers": None}}
        await cluster.client.patch(CONFIG_MAP, "hold", "team", free)
        await asyncio.sleep(1)
        assert await cluster.find(NAMESPACE, "team") is None

    play(act)


def test_events_are_forgotten_an_hour_after_their_last_change() -> None:
    async def act(cluster: Controlled) -> None:
        about = {"kind": "Pod", "name": "p", "namespace": "default"}
        for name in ("old", "renewed"):
            await cluster.make(EVENT, name, involvedObject=about, reason="x", message="y")
        await asyncio.sleep(1800)
        await cluster.client.patch(EVENT, "renewed", "default", {"count": 2})
        await asyncio.sleep(1900)
        assert cluster.names("events") == ["renewed"]
        await asyncio.sleep(1800)
        assert cluster.names("events") == []

    play(act)
