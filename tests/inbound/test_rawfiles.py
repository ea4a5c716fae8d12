"""Large messages on their way into the spool: few hops, and nothing stays of what was not kept."""

import asyncio
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postroom.inbound.rawfiles import RawFiles
from postroom.ops.spool import Spool
from postroom.ports.arriving import RawFile
from postroom.ports.errors import StorageFull, StoreUnavailable
from support.clock import FakeClock


class Counted(ThreadPoolExecutor):
    """Threads that count what they are asked to do."""

    asked = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.asked += 1
        return super().submit(fn, *args, **kwargs)


def no_room() -> None:
    raise StorageFull


@contextmanager
def raw_files(
    folder: Path, check_room: Callable[[], None] = lambda: None
) -> Iterator[tuple[RawFiles, Spool, Counted]]:
    spool = Spool(folder, FakeClock(), check_room)
    spool.open()
    with Counted(2) as threads:
        yield RawFiles(spool, threads), spool, threads


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_piece_costs_one_hop_and_nothing_else_costs_one(tmp_path: Path) -> None:
    with raw_files(tmp_path) as (raws, spool, threads):
        coming = raws.incoming()
        assert threads.asked == 0
        await coming.add(b"one ")
        await coming.add(b"two ")
        kept = await coming.keep(b"three")
        await coming.drop()
        assert threads.asked == 3
    assert kept == RawFile(hashlib.sha256(b"one two three").hexdigest(), 13)
    assert spool.path(kept.sha256).read_bytes() == b"one two three"
    assert files_of(tmp_path) == [spool.path(kept.sha256)]


@pytest.mark.parametrize("pieces", [0, 1, 3])
async def test_nothing_stays_of_what_was_not_kept(tmp_path: Path, pieces: int) -> None:
    before = open_files()
    with raw_files(tmp_path) as (raws, _, _):
        coming = raws.incoming()
        for _ in range(pieces):
            await coming.add(b"x")
        await coming.drop()
        await coming.drop()
    assert files_of(tmp_path) == []
    assert open_files() == before


async def test_without_room_the_first_piece_is_refused(tmp_path: Path) -> None:
    with raw_files(tmp_path, no_room) as (raws, _, _):
        coming = raws.incoming()
        with pytest.raises(StorageFull):
            await coming.add(b"x")
        await coming.drop()
    assert files_of(tmp_path) == []


async def test_a_disk_that_fails_at_the_last_piece_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: int) -> None:
        raise OSError

    with raw_files(tmp_path) as (raws, _, _):
        coming = raws.incoming()
        await coming.add(b"x")
        monkeypatch.setattr(os, "fsync", broken)
        with pytest.raises(StoreUnavailable):
            await coming.keep(b"y")
        await coming.drop()
        monkeypatch.undo()
    assert files_of(tmp_path) == []


async def test_who_is_cancelled_in_the_middle_leaves_nothing_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_writing, may_write = threading.Event(), threading.Event()
    write = os.write

    def slow(number: int, data: memoryview) -> int:
        is_writing.set()
        may_write.wait(10)
        return write(number, data)

    with raw_files(tmp_path) as (raws, _, _):
        coming = raws.incoming()
        await coming.add(b"x")
        monkeypatch.setattr(os, "write", slow)
        adding = asyncio.get_running_loop().create_task(coming.add(b"y"))
        await asyncio.to_thread(is_writing.wait, 10)
        adding.cancel()
        may_write.set()
        await asyncio.wait([adding])
        await coming.drop()
    assert files_of(tmp_path) == []
