"""The visibility endpoint: who waits where, and why a workload waits. Computed on request.

    /clusterqueues/X/pendingworkloads               as Kueue answers it, with a reason each
    /namespaces/N/localqueues/Y/pendingworkloads
    /namespaces/N/workloads/W/explanation           our own

Plain data in and out, so that the embedded API server and a controller's own server can serve it
alike. Every question is put to `Access`: for the path itself, and for each namespace whose
workloads would be named. What the reader may not list is left out; positions count it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from allaboard.api.errors import BadRequest, Forbidden, MethodNotAllowed, NotFound
from allaboard.api.kueue.types.shared import GROUP as KUEUE
from allaboard.api.kueue.types.workloads import Workload
from allaboard.api.meta import Json, Key
from allaboard.api.times import format_time
from allaboard.api.types.model import typed
from allaboard.core import values as core
from allaboard.core.ledger import Entry, Ledger
from allaboard.core.values import LocalQueueKey
from allaboard.queueing.access import Access
from allaboard.queueing.explain import explain, waiting_in
from allaboard.queueing.explanation import Viewer, render
from allaboard.queueing.messages import pending as pending_sentence
from allaboard.queueing.messages import pending_reason

GROUP = "visibility.kueue.x-k8s.io"
PENDING, EXPLANATION = "pendingworkloads", "explanation"
DEFAULT_LIMIT, MAX_LIMIT = 1000, 100_000
Find = Callable[[Key], Json | None]


class Visibility:
    """An API group whose objects exist only while they are read."""

    group = GROUP
    versions = ("v1beta2", "v1beta1")

    def __init__(self, ledger: Ledger, find: Find, access: Access) -> None:
        """`find` gives the Workload object of a key, as the ledger's informer saw it."""
        self._ledger, self._find, self._access = ledger, find, access

    def resources(self, version: str) -> list[Json]:
        """As discovery lists them."""
        rows = [
            ("clusterqueues", PENDING, False, "PendingWorkloadsSummary"),
            ("localqueues", PENDING, True, "PendingWorkloadsSummary"),
            ("workloads", EXPLANATION, True, "WorkloadExplanation"),
        ]
        return [
            {
                "name": f"{plural}/{sub}",
                "singularName": "",
                "namespaced": namespaced,
                "kind": kind,
                "verbs": ["get"],
            }
            for plural, sub, namespaced, kind in rows
        ]

    async def answer(
        self, method: str, path: Sequence[str], query: Mapping[str, str], user: Json
    ) -> Json:
        """`path` begins with the version; raises an ApiError for everything it refuses."""
        match path:
            case [version, "clusterqueues", name, "pendingworkloads"]:
                namespace, plural = "", "clusterqueues"
            case [version, "namespaces", namespace, "localqueues", name, "pendingworkloads"]:
                plural = "localqueues"
            case [version, "namespaces", namespace, "workloads", name, "explanation"]:
                plural = "workloads"
            case _:
                raise _no_such_path()
        if version not in self.versions:
            raise _no_such_path()
        if method not in ("GET", "HEAD"):
            raise MethodNotAllowed(
                "the server does not allow this method on the requested resource", details={}
            )
        subresource = path[-1]
        await self._check(user, plural, subresource, namespace, name)
        head: Json = {"apiVersion": f"{GROUP}/{version}"}
        if plural == "workloads":
            return head | await self._explanation(user, Key(namespace, name))
        return head | await self._pending(user, Key(namespace, name), query)

    # Who may

    async def _check(
        self, user: Json, plural: str, subresource: str, namespace: str, name: str
    ) -> None:
        attributes = {
            "verb": "get",
            "group": GROUP,
            "resource": plural,
            "subresource": subresource,
            "name": name,
        }
        if namespace:
            attributes["namespace"] = namespace
        if not await self._access(user, attributes):
            where = f" in the namespace {_quoted(namespace)}" if namespace else ""
            raise Forbidden(
                f'{plural}.{GROUP} "{name}" is forbidden: User {_quoted(user.get("username", ""))} '
                f'cannot get resource "{plural}/{subresource}" in API group "{GROUP}"{where}',
                details={"name": name, "group": GROUP, "kind": plural},
            )

    async def _visible(
        self, user: Json, namespaces: Callable[[], Iterable[str]]
    ) -> Callable[[str], bool]:
        """Whose workloads this user could list; one question where he may list them all."""
        listing = {"verb": "list", "group": KUEUE, "resource": "workloads"}
        if await self._access(user, listing):
            return lambda _: True
        seen = {
            namespace
            for namespace in sorted(dict.fromkeys(namespaces()))
            if await self._access(user, {**listing, "namespace": namespace})
        }
        return seen.__contains__

    # Explanations

    async def _explanation(self, user: Json, key: Key) -> Json:
        obj = self._find(key)
        if obj is None:
            raise _absent("workloads", key.name)
        entry = self._ledger.entries.get(obj["metadata"]["uid"])
        sees = await self._visible(user, lambda: self._neighbours(entry))
        # Nothing is awaited from here on: the ledger must not move under the trial.
        obj = self._find(key) or obj
        found = explain(self._ledger, typed(Workload, obj), Viewer(sees, self._name))
        meta = obj["metadata"]
        return {
            "kind": "WorkloadExplanation",
            "metadata": {n: meta[n] for n in ("name", "namespace", "uid") if n in meta},
            **render(found),
        }

    def _neighbours(self, entry: Entry | None) -> list[str]:
        """The namespaces of everybody in the same tree of queues."""
        ledger = self._ledger
        name = entry.queue if entry is not None else ""
        if entry is None or name not in ledger.queues:
            return []
        ledger.forest.refresh()
        root = ledger.queues[name].node.root
        holding = [r.workload for leaf in root.leaves() for r in ledger.residents(leaf)]
        waiting = [e.workload for e in waiting_in(ledger, name)]
        return [workload.key.namespace for workload in (*holding, *waiting)]

    def _name(self, workload: core.Workload) -> str:
        """By the job people know, where there is one."""
        key = Key(workload.key.namespace, workload.key.name)
        meta = (self._find(key) or {}).get("metadata") or {}
        owners = meta.get("ownerReferences") or ()
        name = next((str(o["name"]) for o in owners if o.get("controller")), key.name)
        return f"{key.namespace}/{name}"

    # Lines

    async def _pending(self, user: Json, key: Key, query: Mapping[str, str]) -> Json:
        limit, offset = _number(query, "limit", DEFAULT_LIMIT), _number(query, "offset", 0)
        queue = self._queue_behind(key)
        sees = await self._visible(
            user, lambda: [e.workload.key.namespace for e in waiting_in(self._ledger, queue)]
        )
        line = waiting_in(self._ledger, queue)
        places: dict[LocalQueueKey, int] = {}
        items: list[Json] = []
        for place, entry in enumerate(line):
            local = entry.workload.local_queue_key
            place_locally = places.get(local, 0)
            places[local] = place_locally + 1
            is_listed = not key.namespace or local == LocalQueueKey(key.namespace, key.name)
            if is_listed and sees(entry.workload.key.namespace):
                items.append(self._item(entry, place, place_locally))
        shown = items[offset : offset + min(limit, MAX_LIMIT)]
        return {"kind": "PendingWorkloadsSummary", "metadata": {}, "items": shown}

    def _queue_behind(self, key: Key) -> str:
        if not key.namespace:
            if key.name not in self._ledger.queues:
                raise _absent("clusterqueues", key.name)
            return key.name
        local = self._ledger.local_queues.get(LocalQueueKey(key.namespace, key.name))
        if local is None:
            raise _absent("localqueues", key.name)
        return local.cluster_queue

    def _item(self, entry: Entry, place: int, place_locally: int) -> Json:
        workload = entry.workload
        obj = self._find(Key(workload.key.namespace, workload.key.name)) or {}
        meta = obj.get("metadata") or {}
        shown: Json = {"name": workload.key.name, "namespace": workload.key.namespace}
        for name in ("creationTimestamp", "ownerReferences"):
            if meta.get(name):
                shown[name] = meta[name]
        reason, message = self._why(entry)
        return {
            "metadata": shown,
            "priority": workload.priority,
            "localQueueName": workload.local_queue,
            "positionInClusterQueue": place,
            "positionInLocalQueue": place_locally,
            "reason": reason,
            "message": message,
        }

    def _why(self, entry: Entry) -> tuple[str, str]:
        """In short, without a trial: what it was refused for, or what it waits for."""
        workload, state = entry.workload, self._ledger.queues[entry.queue]
        if workload.uid in state.holders:
            return "WaitingForVictims", "waits until preempted workloads have stopped"
        if workload.requeue_at is not None:
            return "Backoff", f"pauses until {format_time(workload.requeue_at)}"
        bucket = state.pending.bucket_of(workload.uid)
        parked = bucket.parked if bucket is not None else None
        refusal = parked or entry.told
        if refusal is not None:
            return pending_reason(refusal.reasons), pending_sentence(refusal.reasons)
        if state.is_strict and state.blocked:
            return "BehindOthers", "waits behind the first in line, which nobody may overtake"
        return "Considered", ""


def _number(query: Mapping[str, str], name: str, default: int) -> int:
    text = query.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadRequest(f"{name}: {text[:40]!r} is not a whole number from 0 on")
    return int(text)


def _no_such_path() -> NotFound:
    return NotFound("the server could not find the requested resource", details={})


def _absent(plural: str, name: str) -> NotFound:
    details = {"name": name, "group": KUEUE, "kind": plural}
    return NotFound(f'{plural}.{KUEUE} "{name}" not found', details=details)


def _quoted(text: object) -> str:
    return f'"{text}"'
