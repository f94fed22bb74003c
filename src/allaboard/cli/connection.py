"""How does a command reach its cluster? Kubeconfig, context, namespace; one place for failures."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from allaboard import __version__
from allaboard.api.errors import ApiError, from_status
from allaboard.api.meta import Json
from allaboard.cli.failures import BadInput, Failure
from allaboard.client.client import Client
from allaboard.client.discovery import Discovery
from allaboard.client.http import HttpTransport
from allaboard.client.kubeconfig import KubeconfigError, load_connection
from allaboard.client.transport import Request
from allaboard.clock import Clock, system_clock

T = TypeVar("T")
USER_AGENT = f"allaboard/{__version__}"


@dataclass(slots=True)
class Connection:
    client: Client
    discovery: Discovery
    namespace: str
    clock: Clock

    def now(self) -> float:
        return self.clock.now()

    async def send(self, request: Request) -> Json:
        """A request of our own making, for what the verbs do not cover."""
        answer = await self.client.transport.request(request)
        if answer.status >= 400 or not isinstance(answer.body, dict):
            raise from_status(answer.body, answer.status)
        return answer.body


def connected(
    main: Callable[[Connection], Awaitable[T]],
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    namespace: str | None = None,
) -> T:
    """Run `main` with a connection; what the server refuses becomes one sentence."""

    async def run() -> T:
        clock = system_clock()
        settings = load_connection(clock, kubeconfig or "", context or "")
        transport = HttpTransport(settings, USER_AGENT)
        try:
            client = Client(transport, USER_AGENT)
            place = namespace or settings.namespace
            return await main(Connection(client, Discovery(client), place, clock))
        finally:
            await transport.close()

    try:
        return asyncio.run(run())
    except KubeconfigError as error:
        raise BadInput(str(error)) from None
    except ApiError as error:
        raise Failure(str(error)) from None
    except KeyboardInterrupt:
        raise Failure("interrupted") from None
