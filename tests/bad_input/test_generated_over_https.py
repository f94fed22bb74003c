"""A sample of the generated bad manifests, over TLS to a server in a process of its own."""

import json
from http.client import HTTPSConnection
from pathlib import Path
from random import Random
from typing import Any

import pytest
from child_server import TOKEN, Child, child
from judging import Answer, Endpoint, status_problems, to_bytes, wrong
from planting import REFUSE, defects

from allaboard.cluster.kinds.registry import builtin_resources

SAMPLE = 600
pytestmark = pytest.mark.xdist_group("bad-input-child")


def send(connection: HTTPSConnection, path: str, raw: bytes) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request("POST", f"{path}?fieldValidation=Strict", raw, headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def try_sample(server: Child, size: int) -> list[str]:
    """What was wrong with the answers; one connection serves them all."""
    rng, faults = Random("over https"), []
    kinds = [Endpoint(r) for r in builtin_resources()]
    places = {kind.path(): kind.places() for kind in kinds}
    connection = HTTPSConnection("127.0.0.1", server.port, timeout=20, context=server.context)
    for number in range(size):
        endpoint = rng.choice([kind for kind in kinds if not kind.is_tried])
        path, schema = rng.choice(places[endpoint.path()])
        defect = rng.choice(list(defects(path, schema)))
        raw = to_bytes(wrong(endpoint, f"x{number}", path, defect))
        status, body = send(connection, endpoint.path(), raw)
        case = f"{endpoint.kind} {'.'.join(map(str, path))} = {defect.name}: {status}"
        if not (200 <= status < 300 or 400 <= status < 500):
            faults.append(case)
        elif status >= 400:
            faults += [f"{case}: {p}" for p in status_problems(Answer(status, body, 0, 0))]
        elif defect.verdict == REFUSE:
            faults.append(f"{case}: accepted")
    connection.close()
    return faults


def test_bad_manifests_over_https(tmp_path: Path) -> None:
    with child(tmp_path) as server:
        before = server.memory_mb()
        assert not try_sample(server, SAMPLE)
        assert server.memory_mb() - before < 50
