"""What Kubernetes' own code says about our definitions and objects, beside what we say.

Builds the judge in `apiextensions/` with Go; without Go there is nothing to ask.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import test_kueue_flavor_rules as flavors
import test_kueue_queue_rules as queues
import test_kueue_workload_rules as workloads
from kueue_objects import put
from test_kueue_shape import FULL, defects, places

from allaboard.api import yaml_text
from allaboard.api.kueue.conversion import convert
from allaboard.api.kueue.crd.definitions import ConversionWebhook, definitions
from allaboard.api.kueue.validating.shape import schema_for
from allaboard.api.kueue.validation import check
from allaboard.api.meta import Json

pytestmark = pytest.mark.soak
SOURCE = Path(__file__).parent / "apiextensions"
Case = tuple[str, Json, Json | None]  # a name, the object, what it was before
ODD: tuple[Any, ...] = (None, "", 0, 1, -1, [], {}, "x", "5", "5m", True, False)


@pytest.fixture(scope="module")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("go"):
        pytest.skip("Go is not installed")
    target = tmp_path_factory.mktemp("judge") / "judge"
    subprocess.run(["go", "build", "-o", str(target), "."], cwd=SOURCE, check=True, timeout=1800)
    return target


def ask(binary: Path, folder: Path, crds: list[Json], cases: list[Case]) -> Json:
    (folder / "crds.yaml").write_text(yaml_text.write_documents(crds))
    asked = [{"new": new} | ({"old": old} if old else {}) for _, new, old in cases]
    (folder / "cases.json").write_text(json.dumps(asked))
    command = [str(binary), str(folder / "crds.yaml"), str(folder / "cases.json")]
    done = subprocess.run(command, capture_output=True, check=True, timeout=600)
    answer: Json = json.loads(done.stdout)
    return answer


def written() -> Iterator[Case]:
    """The rows of the tables."""
    for module in (flavors, queues, workloads):
        for name, obj in module.ACCEPTED.items():
            yield name, obj, None
            yield f"{name}, older", convert(obj, "v1beta1"), None
        for name, obj, *_ in module.REFUSED:
            yield name, obj, None
        for name, old, new, _ in module.UPDATES:
            yield name, new, old


def spoilt() -> Iterator[Case]:
    """Every property of every kind with every odd value, made so or changed so."""
    for kind, full in FULL.items():
        for version in ("v1beta1", "v1beta2"):
            good, schema = convert(full, version), schema_for(kind, version)
            assert schema is not None
            for place, below in places(schema, good):
                for value in (*defects(below), *ODD):
                    bad = put(good, place, value)
                    name = f"{kind} {version} {place} = {str(value)[:40]}"
                    yield name, bad, None
                    yield f"{name}, changed", bad, good


@pytest.mark.parametrize("webhook", [None, ConversionWebhook()], ids=["none", "webhook"])
def test_every_definition_is_accepted(
    binary: Path, tmp_path: Path, webhook: ConversionWebhook | None
) -> None:
    """Structure, patterns, defaults and CEL with its cost estimate."""
    answer = ask(binary, tmp_path, definitions(webhook), [])
    assert len(answer["definitions"]) == len(definitions())
    assert not any(answer["definitions"].values()), answer["definitions"]


@pytest.mark.parametrize("make", [written, spoilt])
def test_we_refuse_whatever_the_real_server_refuses(
    binary: Path, tmp_path: Path, make: Callable[[], Iterator[Case]]
) -> None:
    """The embedded server evaluates no CEL: our rules must say all that the expressions say."""
    cases = list(make())
    answers = ask(binary, tmp_path, definitions(), cases)["cases"]
    missed = [
        (name, refusals)
        for (name, new, old), refusals in zip(cases, answers, strict=True)
        if refusals and not check(new, old)
    ]
    assert missed == []


def test_the_real_server_enforces_the_rules_on_changes_by_itself(
    binary: Path, tmp_path: Path
) -> None:
    """Where a webhook is away, these still hold."""
    enforced = [
        "another queue", "the queue removed", "the spec removed", "the policy added",
        "the policy removed", "another topology", "the topology removed", "nodes added",
        "another controller", "another queue while reserved", "no queue while reserved",
        "a queue added while reserved", "a class added", "the class removed",
        "another pod class", "a limit added while admitted", "the limit removed while admitted",
        "sent elsewhere",
    ]  # fmt: skip
    cases = [case for case in written() if case[0] in enforced]
    assert len(cases) >= len(enforced)
    answers = ask(binary, tmp_path, definitions(), cases)["cases"]
    held = {name for (name, *_), refusals in zip(cases, answers, strict=True) if refusals}
    assert held == set(enforced)
