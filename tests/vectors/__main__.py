"""`python -m tests.vectors FILE... [--status-only] [--show N]`: replay, print what differs."""

import argparse
import json
import logging
from pathlib import Path

from tests.vectors.harness import FOLDER, Result, files, replay_file


def path_of(name: str) -> Path:
    """A path, or the name of a file in the vectors' folder with or without .json."""
    for candidate in (Path(name), FOLDER / name, FOLDER / f"{name}.json"):
        if candidate.is_file():
            return candidate
    raise SystemExit(f"{name}: no such file, here or in {FOLDER}")


def render(result: Result, status_only: bool, show: int) -> None:
    for entry in result.entries:
        agrees = entry.status_agrees if status_only else entry.body_agrees
        if agrees:
            continue
        mark = "" if entry.status_agrees else " [status]"
        print(f"{result.file}: {entry.name}{mark}")
        for path, want, got in entry.differences[:show]:
            print(f"    {path}")
            print(f"      want {json.dumps(want)[:300]}")
            print(f"      got  {json.dumps(got)[:300]}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.vectors")
    parser.add_argument("files", nargs="*", help="all of them when none is named")
    parser.add_argument("--status-only", action="store_true")
    parser.add_argument("--show", type=int, default=3, help="differences shown per entry")
    parser.add_argument("--quiet", action="store_true", help="print the table only")
    parser.add_argument("--log", action="store_true", help="show the server's log")
    options = parser.parse_args()
    logging.basicConfig(level=logging.WARNING if options.log else logging.CRITICAL)
    results = []
    for path in [path_of(name) for name in options.files] or files():
        result = replay_file(path)
        results.append(result)
        if not options.quiet:
            render(result, options.status_only, options.show)
    print(f"{'file':<40}{'entries':>8}{'status':>9}{'body':>9}")
    for result in results:
        print(
            f"{result.file:<40}{len(result.entries):>8}"
            f"{result.share('status_agrees'):>8.1f}%{result.share('body_agrees'):>8.1f}%"
        )
    total = Result("all", [entry for result in results for entry in result.entries])
    print(
        f"{'all':<40}{len(total.entries):>8}"
        f"{total.share('status_agrees'):>8.1f}%{total.share('body_agrees'):>8.1f}%"
    )


main()
