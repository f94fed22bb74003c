"""A tiny API server behind the Transport seam, with a switch for every way a watch can go wrong.

It holds plain objects of any kind, in one total order of versions; not a second implementation of
the API, only enough of list, watch, create, replace, merge patch and delete to feed the runtime.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from allaboard.api.errors import Unavailable
from allaboard.client.transport import Request, Response

GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}


def status(code: int, reason: str) -> Response:
    body = {"kind": "Status", "code": code, "reason": reason, "message": reason}
    return Response(code, body)


class ScriptedApi:
    def __init__(self) -> None:
        self.version = 0
        self.uids = 0
        self.objects: dict[str, dict[str, Any]] = {}  # path -> object
        self.log: list[tuple[int, str, str, dict[str, Any]]] = []  # version, type, path, object
        self.forgotten = 0
        self.requests: list[Request] = []
        self.streams: list[asyncio.Queue[Any]] = []
        self.down = False
        self.mute = False  # streams deliver nothing until unmuted
        self.fail_with: list[Response] = []  # answers to hand out before working again
        self.news = asyncio.Event()

    # The owner's side

    def put(self, path: str, **fields: Any) -> dict[str, Any]:
        old = self.objects.get(path)
        self.version += 1
        collection, _, name = path.rpartition("/")
        parts = collection.split("/")
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        if old is None:
            self.uids += 1
        uid = old["metadata"]["uid"] if old else f"uid-{self.uids}"
        given = fields.pop("metadata", {})
        metadata = {**(old or {}).get("metadata", {}), **given, "name": name, "uid": uid}
        metadata["resourceVersion"] = str(self.version)
        if namespace:
            metadata["namespace"] = namespace
        obj = {**(old or {}), **fields, "metadata": metadata}
        self.objects[path] = obj
        self._commit("MODIFIED" if old else "ADDED", path, obj)
        return obj

    def remove(self, path: str) -> None:
        old = self.objects.pop(path)
        self.version += 1
        metadata = {**old["metadata"], "resourceVersion": str(self.version)}
        self._commit("DELETED", path, {**old, "metadata": metadata})

    def forget_history(self) -> None:
        self.forgotten = self.version

    def break_streams(self, last: Any = None) -> None:
        """End every open watch, after one more line if given."""
        for stream in self.streams:
            if last is not None:
                stream.put_nowait(last)
            stream.put_nowait(None)

    def say(self, line: Any) -> None:
        for stream in self.streams:
            stream.put_nowait(line)

    def _commit(self, type_: str, path: str, obj: dict[str, Any]) -> None:
        self.log.append((self.version, type_, path, obj))
        self.news.set()
        self.news = asyncio.Event()

    # The transport's side

    async def request(self, request: Request) -> Response:
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.down:
            raise Unavailable("connection refused")
        if self.fail_with:
            return self.fail_with.pop(0)
        match request.method:
            case "GET":
                return self._read(request.path)
            case "POST":
                name = request.body["metadata"]["name"]
                path = f"{request.path}/{name}"
                if path in self.objects:
                    return status(409, "AlreadyExists")
                return Response(201, self.put(path, **request.body))
            case "PUT":
                return self._replace(request)
            case "PATCH":
                if request.path not in self.objects:
                    return status(404, "NotFound")
                return Response(200, self.put(request.path, **request.body))
            case _:
                if request.path not in self.objects:
                    return status(404, "NotFound")
                uid = self.objects[request.path]["metadata"]["uid"]
                self.remove(request.path)
                return Response(200, {"kind": "Status", "details": {"uid": uid}})

    def _read(self, path: str) -> Response:
        if path in self.objects:
            return Response(200, self.objects[path])
        items = [o for p, o in sorted(self.objects.items()) if _is_in(p, path)]
        if not items and path.count("/") > 5:
            return status(404, "NotFound")
        body = {"metadata": {"resourceVersion": str(self.version)}, "items": items}
        return Response(200, body)

    def _replace(self, request: Request) -> Response:
        old = self.objects.get(request.path)
        wanted = request.body["metadata"].get("resourceVersion")
        if old is None:
            return status(404, "NotFound")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            return status(409, "Conflict")
        return Response(200, self.put(request.path, **request.body))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[AsyncIterator[Any]]:
        self.requests.append(request)
        await asyncio.sleep(0)
        if self.down:
            raise Unavailable("connection refused")
        extra: asyncio.Queue[Any] = asyncio.Queue()
        self.streams.append(extra)
        try:
            yield self._lines(request, int(request.query["resourceVersion"]), extra)
        finally:
            self.streams.remove(extra)

    async def _lines(self, request: Request, after: int, extra: asyncio.Queue[Any]) -> Any:
        if after < self.forgotten:
            yield {"type": "ERROR", "object": GONE}
            return
        at = 0
        while True:
            while not extra.empty():
                line = extra.get_nowait()
                if line is None:
                    return
                yield line
            while at < len(self.log) and not self.mute:
                version, type_, path, obj = self.log[at]
                at += 1
                if version > after and _is_in(path, request.path):
                    yield {"type": type_, "object": obj}
            await self._wait(extra)

    async def _wait(self, extra: asyncio.Queue[Any]) -> None:
        if not extra.empty():
            return
        news = asyncio.ensure_future(self.news.wait())
        spoken = asyncio.ensure_future(extra.get())
        done, rest = await asyncio.wait({news, spoken}, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        if spoken in done:
            # Put it back in front: the caller reads the queue in order.
            later = [spoken.result()]
            while not extra.empty():
                later.append(extra.get_nowait())
            for line in later:
                extra.put_nowait(line)

    async def close(self) -> None:
        self.break_streams()


def _is_in(path: str, collection: str) -> bool:
    """Is this object in that collection, also in one over all namespaces?"""
    parent = path.rpartition("/")[0]
    if parent == collection:
        return True
    root, _, plural = collection.rpartition("/")
    return parent.startswith(f"{root}/namespaces/") and parent.endswith(f"/{plural}")
