"""May this request be sent again, and when?

A read may always be repeated. A write may be repeated only if it was surely not carried out: it
never left (`Unavailable` from the transport), or the server turned it away and said when to come
back (429, or 503 with Retry-After). A write whose outcome is unknown is never repeated here; its
caller must look.
"""

import asyncio
import random
from dataclasses import dataclass, field

from allaboard.api.errors import Timeout, Unavailable
from allaboard.client.transport import Request, Response, Transport

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_TRANSIENT = frozenset({500, 502, 503, 504})


@dataclass(slots=True)
class Retries:
    """`attempts` in all; waits double from `first_s` to `longest_s`, spread by `rng`."""

    attempts: int = 6
    first_s: float = 0.1
    longest_s: float = 10.0
    longest_retry_after_s: float = 60.0
    rng: random.Random = field(default_factory=lambda: random.Random(0))

    async def run(self, transport: Transport, request: Request) -> Response:
        attempt = 0
        while True:
            attempt += 1
            try:
                answer = await transport.request(request)
            except (Unavailable, Timeout) as error:
                may = isinstance(error, Unavailable) or request.method in _READS
                if not may or attempt >= self.attempts:
                    raise
                await asyncio.sleep(self._pause_s(attempt))
                continue
            wait_s = self.wait_s(request.method, answer, attempt)
            if wait_s is None or attempt >= self.attempts:
                return answer
            await asyncio.sleep(wait_s)

    def wait_s(self, method: str, answer: Response, attempt: int) -> float | None:
        """How long to wait before sending again what got this answer; None: do not."""
        if answer.status < 400:
            return None
        told_s = _retry_after_s(answer)
        if answer.status in (429, 503) and told_s is not None:
            return told_s if told_s <= self.longest_retry_after_s else None
        if answer.status in _TRANSIENT and method in _READS:
            return self._pause_s(attempt)
        return None

    def _pause_s(self, attempt: int) -> float:
        longest = min(self.longest_s, self.first_s * float(2 ** (attempt - 1)))
        return longest * (0.5 + 0.5 * self.rng.random())


def _retry_after_s(answer: Response) -> float | None:
    for name, value in answer.headers.items():
        if name.lower() == "retry-after" and value.isascii() and value.isdigit():
            return float(value)
    return None
