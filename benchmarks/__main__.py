"""`python -m benchmarks [NAME …] [--rounds N]`: measures and prints a table; docs/performance.md says what it means."""

import argparse
import sys

from benchmarks import ours
from benchmarks.ageing import ageing
from benchmarks.inward import inward
from benchmarks.memory import memory
from benchmarks.versus import versus


MEASURES = {
    "versus": versus,
    "inward": inward,
    "drain": ours.drain,
    "flat": ours.flat,
    "idle": ours.idle,
    "start": ours.start,
    "high": ours.high,
    "accept": ours.accept,
    "recovery": ours.recovery,
    "memory": memory,
    "ageing": ageing,
}


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"one of {', '.join(MEASURES)}; all when none is given",
    )
    parser.add_argument(
        "--rounds", type=int, default=5, help="of each thing that is compared, in turn"
    )
    given = parser.parse_args()
    unknown = set(given.names) - set(MEASURES)
    if unknown:
        parser.error(f"no such measure: {', '.join(sorted(unknown))}")
    print("| what | measured | to reach |\n|---|---|---|")
    for name in given.names or MEASURES:
        for what, figure, bound in MEASURES[name](given.rounds):
            print(f"| {what} | {figure} | {bound} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
