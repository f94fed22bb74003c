"""Owners go, and so does what they owned: garbage collection against a running server."""

import asyncio
from typing import Any

from controlled import CONFIG_MAP, Controlled, play

from allaboard.api.meta import Json, Kind

NODE = Kind("", "v1", "Node", "nodes", namespaced=False)


def owned_by(*owners: Json, block: bool = False) -> dict[str, Any]:
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]
    return {"ownerReferences": references}


def test_dependents_follow_their_owner_into_the_background() -> None:
    async def act(cluster: Controlled) -> None:
        owner = await cluster.make(CONFIG_MAP, "owner")
        child = await cluster.make(CONFIG_MAP, "child", metadata=owned_by(owner))
        await cluster.make(CONFIG_MAP, "grandchild", metadata=owned_by(child))
        await cluster.client.delete(CONFIG_MAP, "owner", "default")
        await asyncio.sleep(1)
        assert cluster.names("configmaps") == ["kube-root-ca.crt"]

    play(act)


def test_a_foreground_owner_goes_last() -> None:
    async def act(cluster: Controlled) -> None:
        owner = await cluster.make(CONFIG_MAP, "owner")
        held = {**owned_by(owner, block=True), "finalizers": ["example.com/hold"]}
        await cluster.make(CONFIG_MAP, "child", metadata=held)
        await cluster.client.delete(CONFIG_MAP, "owner", "default", propagation="Foreground")
        await asyncio.sleep(1)
        child = await cluster.find(CONFIG_MAP, "child")
        assert child is not None and child["metadata"]["deletionTimestamp"]
        assert await cluster.find(CONFIG_MAP, "owner") is not None
        free: Json = {"metadata": {"finalizers": None}}
        await cluster.client.patch(CONFIG_MAP, "child", "default", free)
        await asyncio.sleep(1)
        assert cluster.names("configmaps") == ["kube-root-ca.crt"]

    play(act)


def test_orphans_stay_and_forget_their_owner() -> None:
    async def act(cluster: Controlled) -> None:
        owner = await cluster.make(CONFIG_MAP, "owner")
        await cluster.make(CONFIG_MAP, "child", metadata=owned_by(owner))
        await cluster.client.delete(CONFIG_MAP, "owner", "default", propagation="Orphan")
        await asyncio.sleep(1)
        child = await cluster.find(CONFIG_MAP, "child")
        assert child is not None and "ownerReferences" not in child["metadata"]
        assert await cluster.find(CONFIG_MAP, "owner") is None

    play(act)


def test_a_second_owner_keeps_a_dependent_alive() -> None:
    async def act(cluster: Controlled) -> None:
        one, two = await cluster.make(CONFIG_MAP, "one"), await cluster.make(CONFIG_MAP, "two")
        await cluster.make(CONFIG_MAP, "child", metadata=owned_by(one, two))
        await cluster.client.delete(CONFIG_MAP, "one", "default")
        await asyncio.sleep(1)
        child = await cluster.find(CONFIG_MAP, "child")
        assert child is not None
        assert [o["name"] for o in child["metadata"]["ownerReferences"]] == ["two"]

    play(act)


def test_an_owner_of_that_name_with_another_uid_is_no_owner() -> None:
    async def act(cluster: Controlled) -> None:
        owner = await cluster.make(CONFIG_MAP, "owner")
        stale = {"metadata": {"name": "owner", "uid": owner["metadata"]["uid"][:-4] + "dead"}}
        await cluster.make(CONFIG_MAP, "child", metadata=owned_by(stale))
        await asyncio.sleep(1)
        assert await cluster.find(CONFIG_MAP, "child") is None

    play(act)


def test_an_owner_elsewhere_owns_nothing_here_and_that_is_said() -> None:
    async def act(cluster: Controlled) -> None:
        namespace = Kind("", "v1", "Namespace", "namespaces", namespaced=False)
        await cluster.make(namespace, "other")
        owner = await cluster.make(CONFIG_MAP, "owner", "other")
        await cluster.make(CONFIG_MAP, "child", metadata=owned_by(owner))
        await asyncio.sleep(1)
        assert await cluster.find(CONFIG_MAP, "child") is None
        assert cluster.reasons() == ["OwnerRefInvalidNamespace"]

    play(act)


def test_a_circle_of_owners_can_be_deleted() -> None:
    async def act(cluster: Controlled) -> None:
        one = await cluster.make(CONFIG_MAP, "one")
        two = await cluster.make(CONFIG_MAP, "two", metadata=owned_by(one, block=True))
        closing: Json = {"metadata": owned_by(two, block=True)}
        await cluster.client.patch(CONFIG_MAP, "one", "default", closing)
        await cluster.client.delete(CONFIG_MAP, "one", "default", propagation="Foreground")
        await asyncio.sleep(1)
        assert cluster.names("configmaps") == ["kube-root-ca.crt"]

    play(act)
