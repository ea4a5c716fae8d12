"""What the machine says of its time and its chance."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from postroom.core.instant import SECOND
from postroom.ops.host import SystemClock, SystemEntropy


def test_wall_time_counts_microseconds_from_1970(tmp_path: Path) -> None:
    clock = SystemClock()
    before = clock.now()
    (tmp_path / "x").touch()
    touched = (tmp_path / "x").stat().st_mtime_ns // 1000
    assert before - SECOND < touched < clock.now() + SECOND


async def test_monotonic_time_passes_while_one_sleeps() -> None:
    clock = SystemClock()
    before = clock.monotonic()
    await clock.sleep(0.01)
    assert 10_000 <= clock.monotonic() - before < 10 * SECOND


def test_chance_stays_in_its_bounds() -> None:
    entropy = SystemEntropy()
    assert all(0 <= entropy.fraction() < 1 for _ in range(1000))
    assert all(0 <= entropy.token(3) < 8 for _ in range(1000))
    assert len({entropy.token(64) for _ in range(100)}) == 100


def test_no_number_comes_twice_whoever_asks() -> None:
    entropy = SystemEntropy()
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(entropy.token, [128] * 10_000))
    assert len(set(found)) == 10_000
    assert max(found).bit_length() > 120
    assert entropy.token(512).bit_length() > 400


FORKED = """
import os
from postroom.ops.host import SystemEntropy
entropy = SystemEntropy()
entropy.token(100)
child = os.fork()
if child:
    os.waitpid(child, 0)
print(entropy.token(100))
"""


def test_a_process_and_its_child_get_other_numbers() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], check=True, capture_output=True)
    parents, childs = done.stdout.split()
    assert parents != childs
