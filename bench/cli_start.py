"""How long does somebody wait for `allaboard --help`, and for the package to be imported?

    python -m bench.cli_start [--runs N]

The best of several runs, wall clock, processes started from nothing.
"""

import argparse
import subprocess
import sys
import time

RUN = "import sys; from allaboard.cli import main; sys.argv[1:] = {}; main()"
COMMANDS = {
    "allaboard --help": RUN.format(["--help"]),
    "allaboard simulate --help": RUN.format(["simulate", "--help"]),
    "import allaboard": "import allaboard",
    "import the embedded cluster": "import allaboard.cluster.embedded",
    "(Python itself)": "pass",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    for name, code in COMMANDS.items():
        best = float("inf")
        for _ in range(runs):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
            best = min(best, time.perf_counter() - began)
        print(f"{name:<32}{best * 1e3:>8.0f} ms")


if __name__ == "__main__":
    main()
