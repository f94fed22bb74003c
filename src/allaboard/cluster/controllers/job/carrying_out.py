"""Turns a plan into requests: pods made and deleted, status written, finalizers removed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from allaboard.api.errors import ApiError, Invalid, NotFound
from allaboard.api.meta import Json
from allaboard.api.types import Job, Pod
from allaboard.client.client import Client
from allaboard.clock import Clock
from allaboard.cluster.controllers.job.claims import finalizer_removal
from allaboard.cluster.controllers.job.facts import PodFacts
from allaboard.cluster.controllers.job.plan import JobPlan, Note, settle
from allaboard.runtime.events import EventRecorder

T = TypeVar("T")


class Hands:
    def __init__(self, client: Client, clock: Clock, recorder: EventRecorder) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder

    async def carry_out(self, job: Json, plan: JobPlan) -> None:
        """Do all of it. Raises what the server refuses."""
        if plan.delete:
            await self._delete(job, plan)
        refusal = await self._create(job, plan) if plan.create else None
        for note in plan.notes:
            self._note(job, note)
        if plan.write_status:
            job = await self._write_status(job, plan.status)
        released = await self._release(plan.release)
        status, notes = settle(plan, released, self._clock.now())
        if status is not None:
            job = await self._write_status(job, status)
        for note in notes:
            self._note(job, note)
        if refusal is not None:
            raise refusal

    async def untrack(self, pod: PodFacts) -> None:
        """Remove the tracking finalizer, unless pod or finalizer are gone already."""
        meta = pod.obj["metadata"]
        live: PodFacts | None = pod
        while live is not None and live.uid == pod.uid and live.tracked:
            try:
                await self._client.patch(
                    Pod.KIND, meta["name"], meta["namespace"], finalizer_removal(live), "json"
                )
                return
            except NotFound:
                return
            except Invalid:  # the list of finalizers is not what it was
                found = await self._client.find(Pod.KIND, meta["name"], meta["namespace"])
                live = PodFacts(found) if found is not None and found != live.obj else None

    async def patch_pod(self, pod: PodFacts, patch: Json) -> list[PodFacts]:
        """The pod as it is afterwards; nothing if it is gone."""
        meta = pod.obj["metadata"]
        try:
            new = await self._client.patch(Pod.KIND, meta["name"], meta["namespace"], patch)
        except NotFound:
            return []
        return [PodFacts(new)]

    def _note(self, job: Json, note: Note) -> None:
        self._recorder.record(job, note.type, note.reason, note.message)

    async def _delete(self, job: Json, plan: JobPlan) -> None:
        async def delete(pod: PodFacts) -> None:
            meta = pod.obj["metadata"]
            if plan.delete_uncounted:
                await self.untrack(pod)
            try:
                await self._client.delete(
                    Pod.KIND, meta["name"], meta["namespace"], uid=pod.uid, propagation="Background"
                )
            except NotFound:
                return
            self._note(job, Note("Normal", "SuccessfulDelete", f"Deleted pod: {meta['name']}"))

        await _each(delete, plan.delete)

    async def _create(self, job: Json, plan: JobPlan) -> ApiError | None:
        """Make the pods in batches of 1, 2, 4, …: a namespace that refuses costs few requests."""

        async def create(pod: Json) -> ApiError | None:
            try:
                made = await self._client.create(pod, Pod.KIND)
            except ApiError as refusal:
                return refusal
            message = f"Created pod: {made['metadata']['name']}"
            self._note(job, Note("Normal", "SuccessfulCreate", message))
            return None

        batch, start = 1, 0
        while start < len(plan.create):
            pods = plan.create[start : start + batch]
            refusals: list[ApiError] = [e for e in await _each(create, pods) if e is not None]
            if refusals:
                made = start + len(pods) - len(refusals)
                active = plan.status.get("active", 0) - (len(plan.create) - made)
                plan.status["active"] = active
                if not active:
                    del plan.status["active"]
                message = f"Error creating: {refusals[0].message}"
                self._note(job, Note("Warning", "FailedCreate", message))
                return refusals[0]
            start += batch
            batch *= 2
        return None

    async def _release(self, pods: Sequence[PodFacts]) -> set[str]:
        await _each(self.untrack, pods)
        return {pod.uid for pod in pods}

    async def _write_status(self, job: Json, status: Json) -> Json:
        meta = job["metadata"]
        patch = {
            "metadata": {"resourceVersion": meta["resourceVersion"]},
            "status": difference(job.get("status") or {}, status),
        }
        return await self._client.patch(
            Job.KIND, meta["name"], meta["namespace"], patch, subresource="status"
        )


async def _each(do: Callable[[T], Awaitable[Any]], items: Sequence[T]) -> list[Any]:
    """Do it for all at once; the first error is raised when all have been tried."""
    if len(items) == 1:
        return [await do(items[0])]
    results = await asyncio.gather(*(do(item) for item in items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def difference(old: Json, new: Json) -> Json:
    """The merge patch from `old` to `new`."""
    patch: Json = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if key in old and before == value:
            continue
        nested = isinstance(value, dict) and isinstance(before, dict)
        patch[key] = difference(before or {}, value) if nested else value
    return patch
