"""Is the store in a data directory sound, and if not, what can be kept of it?

    python -m allaboard.cluster.store [--recover] DIRECTORY

Says what is wrong, one line each. With --recover what is readable becomes a new store and the
damaged files are put aside. Exit code 0: sound; 1: damaged (or recovered); 2: not a store.
"""

import argparse
import sys
from pathlib import Path

from allaboard.cluster.store.errors import StoreUnreadable
from allaboard.cluster.store.opening import recover


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m allaboard.cluster.store")
    parser.add_argument("--recover", action="store_true", help="keep what is readable")
    parser.add_argument("directory", type=Path)
    options = parser.parse_args(arguments)
    try:
        found = recover(options.directory, dry_run=not options.recover)
    except StoreUnreadable as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for problem in found.problems:
        sys.stdout.write(f"{problem}\n")
    kept = f"{found.objects} objects, newest revision {found.last}"
    if not found.problems:
        sys.stdout.write(f"sound: {kept}\n")
        return 0
    if found.aside is None:
        sys.stdout.write(f"damaged; readable: {kept}\n")
    else:
        sys.stdout.write(f"kept {kept}; the damaged files are in {found.aside}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
