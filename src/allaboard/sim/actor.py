"""Carries a script's steps out on a cluster, as a person with a client would.

`apply` is a server-side apply (a create where the name is generated), followed by the document's
status where it has one. `patch` is a merge patch, its `status` going to the status subresource.
What the server refuses is returned as a value; the run goes on.
"""

import asyncio
from typing import Any

from allaboard.api.errors import ApiError, NotFound
from allaboard.api.meta import Json
from allaboard.api.types.core import Namespace, ServiceAccount
from allaboard.client.client import Client
from allaboard.client.discovery import Discovery, Served
from allaboard.sim.script import Owner, Step

TURNS = 1000


class Actor:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._discovery = Discovery(client)

    async def perform(self, step: Step) -> ApiError | None:
        """Do it; the refusal if the server said no."""
        try:
            served = await self._endpoint(step)
            namespace = (step.namespace or "default") if served.kind.namespaced else ""
            match step.action:
                case "apply":
                    await self._apply(served, namespace, step.document)
                case "patch":
                    name = await self._name(step, served, namespace)
                    await self._patch(served, namespace, name, step.document)
                case "delete":
                    name = await self._name(step, served, namespace)
                    await self._client.delete(
                        served.kind, name, namespace, propagation="Background"
                    )
        except ApiError as refusal:
            return refusal
        return None

    async def _endpoint(self, step: Step) -> Served:
        api_version = str(step.document["apiVersion"])
        served = await self._discovery.find(api_version, step.kind)
        if served is None:
            raise NotFound(
                f'no matches for kind "{step.kind}" in version "{api_version}"; '
                "is its CustomResourceDefinition applied earlier?"
            )
        return served

    async def _apply(self, served: Served, namespace: str, document: Json) -> None:
        body = _in_namespace(document, namespace)
        if body["metadata"].get("name"):
            stored = await self._client.apply(body, served.kind, namespace, force=True)
        else:
            stored = await self._client.create(body, served.kind, namespace)
        if served.kind == Namespace.KIND:
            await self._wait_usable(stored["metadata"]["name"])
        status = document.get("status")
        if status and "status" in served.subresources:
            name = stored["metadata"]["name"]
            await self._write_status(served, namespace, name, status)

    async def _wait_usable(self, namespace: str) -> None:
        """Pods need the namespace's default ServiceAccount, which a controller makes.

        The controller needs no time, only its turn; a cluster without one is not waited for.
        """
        for _ in range(TURNS):
            if await self._client.find(ServiceAccount.KIND, "default", namespace) is not None:
                return
            await asyncio.sleep(0)

    async def _patch(self, served: Served, namespace: str, name: str, document: Json) -> None:
        status = document.get("status") if "status" in served.subresources else None
        body = _patch_body(document, keep_status=status is None)
        if body or status is None:  # a patch of nothing still asks whether the object is there
            await self._client.patch(served.kind, name, namespace, body)
        if status is not None:
            await self._write_status(served, namespace, name, status)

    async def _write_status(self, served: Served, namespace: str, name: str, status: Any) -> None:
        await self._client.patch(
            served.kind, name, namespace, {"status": status}, subresource="status"
        )

    async def _name(self, step: Step, served: Served, namespace: str) -> str:
        if step.owner is None:
            return step.name
        listing = await self._client.list(served.kind, namespace)
        found = [str(o["metadata"]["name"]) for o in listing.items if _controls(step.owner, o)]
        if len(found) != 1:
            count = f"{len(found)}: {', '.join(found)}" if found else "none"
            raise NotFound(
                f"expected one {step.kind} controlled by {step.owner.kind} {step.owner.name!r} "
                f"in namespace {namespace!r}, found {count}"
            )
        return found[0]


def _controls(owner: Owner, obj: Json) -> bool:
    references = obj["metadata"].get("ownerReferences") or []
    return any(
        r.get("controller") and r.get("kind") == owner.kind and r.get("name") == owner.name
        for r in references
    )


def _in_namespace(document: Json, namespace: str) -> Json:
    if not namespace or document["metadata"].get("namespace"):
        return document
    return {**document, "metadata": {**document["metadata"], "namespace": namespace}}


def _patch_body(document: Json, keep_status: bool) -> Json:
    """What the document changes: everything but what only names the object."""
    naming = {"apiVersion", "kind", "metadata"} | (set() if keep_status else {"status"})
    body = {key: value for key, value in document.items() if key not in naming}
    meta = {k: v for k, v in document["metadata"].items() if k not in ("name", "namespace")}
    if meta:
        body["metadata"] = meta
    return body
