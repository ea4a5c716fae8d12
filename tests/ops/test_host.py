"""What the machine says of its time, its chance and itself."""

import os
from pathlib import Path

from postroom.core.instant import SECOND
from postroom.ops.host import (
    SystemClock,
    SystemEntropy,
    disk_free,
    find_boot_id,
    find_file_system,
    find_machine_id,
)


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


def test_a_boot_and_a_machine_keep_their_names() -> None:
    assert find_boot_id() == find_boot_id()
    assert len(find_boot_id() or "") == 36
    assert find_machine_id() == find_machine_id()


def test_free_space_is_what_others_may_use(tmp_path: Path) -> None:
    held = os.statvfs(tmp_path)
    assert abs(disk_free(tmp_path) - held.f_bavail * held.f_frsize) < 1 << 30


def test_a_file_system_has_a_type() -> None:
    assert find_file_system(Path("/proc")) == "proc"
    assert find_file_system(Path(__file__)) not in {"proc", "unknown"}
