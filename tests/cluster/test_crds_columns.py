"""JSON paths and the cells they fill."""

from typing import Any

import pytest

from allaboard.cluster.crds.columns import columns_of
from allaboard.cluster.crds.jsonpath import parse, select

OBJ = {
    "metadata": {"creationTimestamp": "2026-01-01T00:00:00Z", "labels": {"a.b/c": "d"}},
    "spec": {"n": 3, "on": True, "f": 1.5, "list": ["x", "y"], "none": None},
    "status": {"conditions": [{"type": "A", "status": "False"}, {"type": "B", "status": "True"}]},
}
NOW = 1_767_225_600.0 + 300  # five minutes after the object was made


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.n", [3]),
        (".metadata.labels['a.b/c']", ["d"]),
        (".metadata.labels.a\\.b/c", ["d"]),
        (".spec.list[1]", ["y"]),
        (".spec.list[-1]", ["y"]),
        (".spec.list[*]", ["x", "y"]),
        (".spec.list[7]", []),
        ('.status.conditions[?(@.type=="B")].status', ["True"]),
        (".status.conditions[?(@.type=='none')].status", []),
        (".no.such.thing", []),
    ],
)
def test_paths(path: str, expected: list[Any]) -> None:
    steps = parse(path)
    assert steps is not None
    assert select(steps, OBJ) == expected


@pytest.mark.parametrize("path", ["x[", ".a[?(@.b", ".a[b]", "a b"])
def test_what_is_no_path(path: str) -> None:
    assert parse(path) is None


@pytest.mark.parametrize(
    ("kind", "path", "expected"),
    [
        ("string", ".spec.n", "3"),
        ("string", ".spec.on", "true"),
        ("string", ".spec.list", '["x","y"]'),
        ("integer", ".spec.n", 3),
        ("integer", ".spec.list", None),
        ("number", ".spec.f", 1.5),
        ("boolean", ".spec.on", True),
        ("boolean", ".spec.n", None),
        ("date", ".metadata.creationTimestamp", "5m"),
        ("date", ".spec.list[0]", "<invalid>"),
        ("string", ".spec.absent", None),
    ],
)
def test_cells(kind: str, path: str, expected: Any) -> None:
    version = {"additionalPrinterColumns": [{"name": "C", "type": kind, "jsonPath": path}]}
    name, column = columns_of(version)
    assert (name.name, column.cell(OBJ, NOW)) == ("Name", expected)


def test_without_columns_of_its_own_a_kind_shows_its_age() -> None:
    assert [c.name for c in columns_of({})] == ["Name", "Age"]
