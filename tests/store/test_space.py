"""How much stays free, and the ballast that is given away for outcomes."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from postroom.ports.errors import StorageFull, StoreUnavailable
from postroom.store.sqlite.space import BALLAST_BYTES, Disk, Inodes, Space, files_kept, kept_free
from support.clock import HandClock


MIB, GIB = 1 << 20, 1 << 30
LEAST = 256 * MIB


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        (1 * GIB, LEAST),
        (5 * GIB, LEAST),
        (20 * GIB, 1 * GIB),
        (40 * GIB, 2 * GIB),
        (4096 * GIB, 2 * GIB),
    ],
    ids=["tiny", "5 % are less", "5 %", "the most", "a disk of 4 TiB"],
)
def test_a_twentieth_stays_free_and_never_less_than_256_mib_or_more_than_2_gib(
    size: int, kept: int
) -> None:
    assert kept_free(LEAST, size) == kept


@pytest.mark.parametrize(
    ("total", "kept"),
    [(0, 0), (200, 10), (20_000, 1_000), (16_000_000, 1_000)],
    ids=["none are counted", "very few", "5 %", "the most"],
)
def test_a_twentieth_of_all_files_can_still_be_made_and_never_more_than_a_thousand(
    total: int, kept: int
) -> None:
    assert files_kept(total) == kept


UNCOUNTED = Inodes(0, 0)


def space(
    folder: Path,
    free: Callable[[Path], int],
    size: int = 20 * GIB,
    inodes: Inodes = UNCOUNTED,
) -> Space:
    return Space(folder, HandClock(), LEAST, Disk(free, lambda _: size, lambda _: inodes))


@pytest.mark.parametrize(("free", "is_taken"), [(GIB, True), (GIB - 1, False)])
def test_below_what_stays_free_nothing_is_taken(
    tmp_path: Path, free: int, *, is_taken: bool
) -> None:
    house = space(tmp_path, lambda _: free)
    if is_taken:
        house.check()
        return
    with pytest.raises(StorageFull, match="are kept for what was accepted before"):
        house.check()


@pytest.mark.parametrize(
    ("inodes", "is_taken"),
    [(Inodes(1_000, 100_000), True), (Inodes(999, 100_000), False), (UNCOUNTED, True)],
    ids=["enough", "one too few", "a file system that counts none"],
)
def test_where_too_few_files_can_be_made_nothing_is_taken(
    tmp_path: Path, inodes: Inodes, *, is_taken: bool
) -> None:
    house = space(tmp_path, lambda _: GIB, inodes=inodes)
    if is_taken:
        house.check()
        return
    with pytest.raises(StorageFull, match=r"999 more files can be made under .* 1000 are kept"):
        house.check()


def test_a_ballast_is_laid_where_there_is_room_and_is_as_large_as_it_says(tmp_path: Path) -> None:
    free = [GIB]
    house, ballast = space(tmp_path, lambda _: free[0]), tmp_path / "ballast"
    house.put_ballast()
    assert not ballast.exists()
    free[0] = 2 * GIB
    house.put_ballast()
    held = ballast.stat()
    assert (held.st_size, held.st_mode & 0o777) == (BALLAST_BYTES, 0o600)
    assert held.st_blocks * 512 >= BALLAST_BYTES
    house.drop_ballast()
    house.drop_ballast()
    assert not ballast.exists()


def test_half_a_ballast_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    house = space(tmp_path, lambda _: 2 * GIB)

    def full(fd: int, offset: int, length: int) -> None:
        os.write(fd, b"some of it")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "posix_fallocate", full)
        house.put_ballast()
    assert list(tmp_path.iterdir()) == []
    house.put_ballast()
    assert (tmp_path / "ballast").stat().st_size == BALLAST_BYTES


def test_a_directory_that_is_gone_is_no_full_disk(tmp_path: Path) -> None:
    def gone(folder: Path) -> int:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))

    with pytest.raises(StoreUnavailable, match="can not be looked at"):
        space(tmp_path, gone).check()
