"""Rate limits wait by the loop's clock, in order, per kind if wanted."""

import asyncio
from typing import Any

import pytest

from allaboard.client.limits import Bucket, kind_in, limited
from allaboard.client.transport import Request, Response
from allaboard.sim.loop import run_virtual


class Instant:
    """Answers at once and notes when it was asked."""

    def __init__(self) -> None:
        self.times: list[float] = []

    async def request(self, request: Request) -> Response:
        self.times.append(round(asyncio.get_running_loop().time(), 3))
        return Response(200, {})

    def stream(self, request: Request) -> Any:
        raise NotImplementedError

    async def close(self) -> None: ...


def asked_at(paths: list[str], **limits: Any) -> list[float]:
    async def main() -> list[float]:
        inner = Instant()
        transport = limited(inner, **limits)
        await asyncio.gather(*(transport.request(Request("GET", path)) for path in paths))
        await transport.close()
        return inner.times

    return run_virtual(main())


PODS, NODES = "/api/v1/namespaces/a/pods/x", "/api/v1/nodes"


def test_a_burst_goes_at_once_and_the_rest_at_the_rate() -> None:
    assert asked_at([PODS] * 6, qps=2, burst=3) == [0, 0, 0, 0.5, 1.0, 1.5]


def test_kinds_may_have_their_own_bucket() -> None:
    assert asked_at([PODS, NODES, PODS, NODES], qps=1, burst=1) == [0, 1, 2, 3]
    assert asked_at([PODS, NODES, PODS, NODES], qps=1, burst=1, per_kind=True) == [0, 0, 1, 1]


def test_no_limit_is_no_wrapper() -> None:
    inner = Instant()
    assert limited(inner, None) is inner


def test_idle_time_refills_no_more_than_the_burst() -> None:
    bucket = Bucket(10, 2)
    assert [bucket.reserve_s(0.0) for _ in range(3)] == pytest.approx([0, 0, 0.1])
    assert [bucket.reserve_s(100.0) for _ in range(3)] == pytest.approx([0, 0, 0.1])


@pytest.mark.parametrize(("qps", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_senseless_limits_are_refused(qps: float, burst: int) -> None:
    with pytest.raises(ValueError, match="rate limit"):
        Bucket(qps, burst)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/v1/namespaces/a/pods/x/status", "v1/pods"), ("/api/v1/nodes/n", "v1/nodes"),
        ("/apis/batch/v1/namespaces/a/jobs", "batch/v1/jobs"),
        ("/api/v1/namespaces/a", "v1/namespaces"), ("/api/v1/namespaces", "v1/namespaces"),
        ("/version", ""),
    ],
)  # fmt: skip
def test_a_path_tells_its_kind(path: str, kind: str) -> None:
    assert kind_in(path) == kind
