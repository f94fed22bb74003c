"""Bad manifests by the thousand: every property of every kind × every defect that fits it.

`make test` draws a sample with a fixed seed, some from every kind; `make soak` tries all of them.
"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

import pytest
from judging import Asker, Endpoint, asker, endpoints, try_create
from planting import Defect, Path, defects

from allaboard.cluster.kinds.registry import builtin_resources
from allaboard.cluster.schema.node import Schema

KINDS = [f"{r.group}/{r.kind}" for r in builtin_resources()] + ["bad.example.com/Thing"]
THOROUGH = {"/Pod": 3000, "batch/Job": 2000, "bad.example.com/Thing": 2000}
SAMPLE = 300
AT_LEAST = 15_000  # what the whole sample must not fall below

Case = tuple[Path, Schema, Defect]


def cases(endpoint: Endpoint) -> Iterator[Case]:
    for path, schema in endpoint.places():
        for defect in defects(path, schema):
            yield path, schema, defect


def sample(kind: str, endpoint: Endpoint) -> list[Case]:
    """Different pairs of property and defect, the same ones every time."""
    rng, places = Random(f"bad {kind}"), endpoint.places()
    chosen: dict[tuple[Path, str], Case] = {}
    for _ in range(THOROUGH.get(kind, SAMPLE)):
        path, schema = rng.choice(places)
        defect = rng.choice(list(defects(path, schema)))
        chosen[path, defect.name] = (path, schema, defect)
    return list(chosen.values())


async def run(it: Asker, endpoint: Endpoint, chosen: Iterable[Case]) -> None:
    for path, schema, defect in chosen:
        await try_create(it, endpoint, path, schema, defect)


def report(it: Asker) -> str:
    return f"{len(it.faults)} faults\n" + "\n".join(it.faults[:20])


@pytest.mark.parametrize("kind", KINDS)
async def test_bad_manifests_are_refused_or_harmless(kind: str) -> None:
    async with asker() as it:
        endpoint = endpoints(it)[kind]
        await run(it, endpoint, sample(kind, endpoint))
        assert not it.faults, report(it)


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
async def test_every_defect_at_every_property(kind: str) -> None:
    async with asker() as it:
        endpoint = endpoints(it)[kind]
        await run(it, endpoint, cases(endpoint))
        assert not it.faults, report(it)


async def test_the_sample_is_large_and_touches_every_kind() -> None:
    async with asker() as it:
        found = endpoints(it)
        assert set(found) == set(KINDS)
        sizes = {kind: len(sample(kind, found[kind])) for kind in KINDS}
        assert sum(sizes.values()) >= AT_LEAST, sizes
        assert min(sizes.values()) >= 100, sizes


@pytest.mark.parametrize("kind", KINDS)
async def test_what_defects_are_planted_in_is_itself_accepted(kind: str) -> None:
    """Otherwise every refusal would be about something else."""
    async with asker() as it:
        endpoint = endpoints(it)[kind]
        query: dict[str, Any] = {"fieldValidation": "Strict", "dryRun": "All"}
        answer = await it.send("POST", endpoint.path(), endpoint.good("good"), query)
        wanted = (404,) if kind == "/Binding" else (200, 201)  # there is no pod to bind
        assert answer.status in wanted, answer.body
