"""`python -m fuzz TARGET… [--seconds N]`: looks for octets that break a promise or take long, one target after the other.

What was found lies in the working directory as `crash-…`; made small, it becomes a file of the corpus.
New inputs are kept in a folder of their own, never in the corpus.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import atheris


with atheris.instrument_imports(include=["postroom"]):
    from fuzz.every import TARGETS

CORPUS = Path(__file__).parent / "corpus"
LONGEST = 128 * 1024
SLOW_S = 4  # of CPU under instrumentation, for so little: something grows faster than its input
HANGS_S = 60
STRETCHED = 0.05  # of the inputs


def stretch(octets: bytes, most: int, seed: int) -> bytes:
    """Mostly what libFuzzer makes of it; else a piece of it over and over."""
    chance = random.Random(seed)
    if octets and chance.random() < STRETCHED:
        start = chance.randrange(len(octets))
        piece = octets[start : start + chance.randint(1, 40)]
        count = min(most, chance.choice((2_000, 20_000, LONGEST))) // len(piece)
        return (octets[:start] + piece * count + octets[start:])[:most]
    return atheris.Mutate(octets, most)


def timed(target: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The target, which may not take long either."""

    def one(octets: bytes) -> None:
        began = time.process_time()
        target(octets)
        assert time.process_time() - began < SLOW_S, "it takes too long"

    return one


def run(name: str, seconds: int) -> None:
    """Fuzz one target; ends the process."""
    corpus = CORPUS / name
    found = Path(tempfile.gettempdir()) / f"fuzz-{name}"
    found.mkdir(exist_ok=True)
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-timeout={HANGS_S}"]
    more = ["-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]
    arguments = [sys.argv[0], str(found), str(corpus), *options, *more]
    atheris.Setup(arguments, timed(TARGETS[name]), custom_mutator=stretch)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    given = parser.parse_args()
    unknown = set(given.names) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    worst = 0
    for name in given.names or TARGETS:
        pid = os.fork()
        if not pid:
            run(name, given.seconds)
        worst = max(worst, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return worst


if __name__ == "__main__":
    sys.exit(main())
