"""Which measurements are there? Lists them and runs them, one after the other.

    python -m bench [--list] [NAME...]

Each runs in a process of its own with its usual sizes; `python -m bench.NAME --help` says how to
change those. What the figures were, and what was asked for, is in docs/benchmarks.md.
"""

import argparse
import ast
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def measurements() -> dict[str, str]:
    """Every module here that can be run by itself to measure something, and its question."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        tree = ast.parse(path.read_text())
        runs = any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in tree.body)
        if runs and path.stem != "__main__":
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main() -> int:
    known = measurements()
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*known, []])
    parser.add_argument("--list", action="store_true", help="say what there is")
    options = parser.parse_args()
    if options.list:
        for name, question in known.items():
            print(f"{name:<20}{question}")
        return 0
    failed = []
    for name in options.names or known:
        print(f"\n== {name}: {known[name]}", flush=True)
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", f"bench.{name}"], cwd=HERE.parent, check=False)
        print(f"-- {time.perf_counter() - began:.0f} s", flush=True)
        if done.returncode:
            failed.append(name)
    if failed:
        print(f"\nfailed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
