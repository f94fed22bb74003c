"""Style that a machine can check: see HACKING.md for the reasons."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src" / "allaboard").rglob("*.py"))
ROOMS = sorted(p.parent for p in SOURCES if p.name == "__init__.py")
FORBIDDEN_CALLS = {
    "time": {"time", "monotonic", "sleep", "perf_counter", "time_ns", "monotonic_ns"},
    "datetime": {"now", "utcnow", "today"},
    "random": {"random", "choice", "choices", "randint", "shuffle", "sample", "uniform", "seed"},
    "uuid": {"uuid1", "uuid4"},
}
# Time has one door; chance has one owner; keys and tokens come from the operating system.
DOORS = {"src/allaboard/clock.py"}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_no_junk_drawers(path: Path) -> None:
    """A file named after nothing collects everything: name it after what it holds."""
    assert path.stem not in {"util", "utils", "helpers", "common", "misc"}


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_files_and_functions_stay_short(path: Path) -> None:
    """Past 500 lines a file, or 60 a function, something wants a name of its own."""
    text = path.read_text()
    assert len(text.splitlines()) <= 500, f"{relative(path)} has grown past 500 lines"
    for node in functions(ast.parse(text)):
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        assert length <= 60, f"{relative(path)}:{node.lineno} {node.name} is {length} lines long"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_modules_say_what_they_answer(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), f"{relative(path)} has no docstring"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_time_has_one_door_and_chance_one_owner(path: Path) -> None:
    """Nobody reads the machine's clock or rolls unseeded dice; a clock or an rng is handed in."""
    if relative(path) in DOORS:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = node.func.value
        name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
        banned = node.func.attr in FORBIDDEN_CALLS.get(name, set())
        assert not banned, f"{relative(path)}:{node.lineno} calls {name}.{node.func.attr}"


@pytest.mark.parametrize("room", ROOMS, ids=relative)
def test_rooms_are_small_and_documented(room: Path) -> None:
    files = [p for p in room.glob("*.py") if p.name != "__init__.py"]
    assert len(files) <= 20, f"{relative(room)} has {len(files)} files; split it by what they serve"
    doc = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
    assert "tart with" in doc or room.name == "allaboard", (
        f"{relative(room)} does not say where to start"
    )


def test_no_registry_addresses_in_the_repository() -> None:
    """Packages are found by name; where from is the machine's business."""
    host = re.compile(r"(?:files\.pythonhosted|pypi)\.org|registry\.npmjs|proxy\.golang")
    for pattern in ("requirements/*", "Makefile", "pyproject.toml", ".ci/*", "**/go.mod"):
        for path in ROOT.glob(pattern):
            assert not host.search(path.read_text()), f"{relative(path)} names a registry host"
