"""Who takes too long? One sweep a second instead of a timer for every request.

Three things are watched: connections that were opened and never finished a first request header,
requests that are not answered within their time, and watchers that do not read what is sent.
"""

import asyncio
from collections.abc import Callable

from allaboard.clock import rest

SWEEP_S = 1.0
HEADER_S = 20.0  # from the connection to its first whole request header
READER_S = 60.0  # a watcher may leave what was sent unread this long


class Deadlines:
    def __init__(self, request_s: float) -> None:
        self._request_s = request_s
        self._fresh: dict[asyncio.BaseProtocol, float] = {}
        self._requests: dict[asyncio.Task[object], float] = {}
        self._sends: dict[asyncio.BaseTransport, float] = {}
        self._overdue: set[asyncio.Task[object]] = set()  # asked about, never iterated
        self._sweeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._sweeper = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)

    # --- what the server reports -------------------------------------------------------------

    def watched(
        self, factory: Callable[[], asyncio.BaseProtocol]
    ) -> Callable[[], asyncio.BaseProtocol]:
        """A protocol factory whose connections have to send a request soon."""

        def make() -> asyncio.BaseProtocol:
            protocol = factory()
            self._fresh[protocol] = asyncio.get_running_loop().time()
            return protocol

        return make

    def has_spoken(self, protocol: asyncio.BaseProtocol) -> None:
        self._fresh.pop(protocol, None)

    def begin(self, task: asyncio.Task[object]) -> None:
        self._requests[task] = asyncio.get_running_loop().time()

    def end(self, task: asyncio.Task[object]) -> None:
        self._requests.pop(task, None)

    def was_overdue(self, task: asyncio.Task[object]) -> bool:
        """Whether this task's cancellation came from us; asked once."""
        if task in self._overdue:
            self._overdue.discard(task)
            return True
        return False

    def sending(self, transport: asyncio.BaseTransport) -> None:
        self._sends[transport] = asyncio.get_running_loop().time()

    def sent(self, transport: asyncio.BaseTransport) -> None:
        self._sends.pop(transport, None)

    # --- the sweep ---------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            await rest(SWEEP_S)
            self.sweep(asyncio.get_running_loop().time())

    def sweep(self, now: float) -> None:
        for task, begun in list(self._requests.items()):
            if now - begun > self._request_s:
                del self._requests[task]
                self._overdue.add(task)
                task.cancel()
        for protocol, begun in list(self._fresh.items()):
            transport = getattr(protocol, "transport", None)
            if transport is None:
                if now - begun > SWEEP_S:  # gone already, or never came to be
                    del self._fresh[protocol]
            elif now - begun > HEADER_S:
                del self._fresh[protocol]
                transport.abort()
        for transport, begun in list(self._sends.items()):
            if now - begun > READER_S:
                del self._sends[transport]
                abort = getattr(transport, "abort", transport.close)
                abort()
