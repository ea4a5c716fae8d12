"""The spool: whole or not at all, private, found by content, removed only when nobody just put it in."""

import errno
import hashlib
import os
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from postroom.ops.spool import Spool
from postroom.ports.errors import StorageFull, StoreUnavailable
from support.clock import FakeClock
from support.decide_files import files_in


def put(spool: Spool, *pieces: bytes) -> str:
    with spool.incoming() as incoming:
        incoming.write(*pieces)
        return incoming.keep()


def test_a_file_lies_under_its_digest_and_is_private(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        digest = put(files.spool, b"day,sum\n", b"1,100\n")
        path = files.spool.path(digest)
        assert path == tmp_path / "spool" / digest[:2] / digest
        assert digest == hashlib.sha256(b"day,sum\n1,100\n").hexdigest()
        assert path.read_bytes() == b"day,sum\n1,100\n"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o077 == 0
        assert files.spool.has(digest)
        assert files.spooled() == [path]


def test_what_is_not_kept_leaves_nothing(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        with files.spool.incoming() as incoming:
            incoming.write(b"x")
        incoming.drop()
        with pytest.raises(StoreUnavailable):
            incoming.write(b"more")
        assert files.spooled() == []


def test_what_a_crash_left_half_written_is_removed_at_start(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        digest = put(files.spool, b"whole")
        files.spool.incoming().write(b"half")
        assert len(files.spooled()) == 2
        files.spool.open()
        assert files.spooled() == [files.spool.path(digest)]


def test_a_file_that_was_just_put_in_is_not_removed(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        digest = put(files.spool, b"x")
        files.clock.advance(3500)
        assert not files.spool.unlink(digest)
        put(files.spool, b"x")
        files.clock.advance(3500)
        assert not files.spool.unlink(digest)
        files.clock.advance(200)
        assert files.spool.unlink(digest)
        assert not files.spool.has(digest)
        assert files.spool.unlink(digest)


def test_a_file_from_the_future_is_as_young_as_can_be(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        digest = put(files.spool, b"x")
        files.clock.jump(-86_400)
        assert not files.spool.unlink(digest)
        assert list(files.spool.older_than(timedelta(hours=1))) == []


def test_old_files_are_found_and_nothing_else(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        old = put(files.spool, b"old")
        files.clock.advance(7200)
        put(files.spool, b"new")
        (files.spool.path(old).parent / "notes.txt").write_text("not ours")
        files.spool.incoming()
        assert list(files.spool.older_than(timedelta(hours=2))) == [old]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(errno.ENOSPC, StorageFull, id="disk full"),
        pytest.param(errno.EDQUOT, StorageFull, id="over quota"),
        pytest.param(errno.EIO, StoreUnavailable, id="broken disk"),
    ],
)
@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_disk_that_fails_at_any_step_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
    number: int,
    expected: type[Exception],
) -> None:
    def broken(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    with files_in(tmp_path) as files:
        monkeypatch.setattr(Path if step == "replace" else os, step, broken)
        with pytest.raises(expected):
            put(files.spool, b"x")
        monkeypatch.undo()
        assert files.spooled() == []


def test_without_room_nothing_comes_in(tmp_path: Path) -> None:
    def no_room() -> None:
        raise StorageFull

    spool = Spool(tmp_path, FakeClock(), no_room)
    spool.open()
    with pytest.raises(StorageFull):
        spool.incoming()


def test_a_short_write_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write

    def short(number: int, data: memoryview) -> int:
        return whole(number, data[:3])

    with files_in(tmp_path) as files:
        monkeypatch.setattr(os, "write", short)
        digest = put(files.spool, b"0123456789")
        monkeypatch.undo()
        assert files.spool.path(digest).read_bytes() == b"0123456789"


def test_the_directories_are_made_once(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        files.spool.open()
        assert (tmp_path / "spool").stat().st_mode & 0o077 == 0


def test_what_is_kept_is_closed(tmp_path: Path) -> None:
    with files_in(tmp_path) as files:
        before = len(list(Path("/proc/self/fd").iterdir()))
        incoming = files.spool.incoming()
        incoming.write(b"x")
        incoming.keep()
        assert len(list(Path("/proc/self/fd").iterdir())) == before
        with pytest.raises(StoreUnavailable):
            incoming.write(b"more")


def test_nobody_waits_until_the_directory_of_another_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_syncing, may_go_on = Event(), Event()
    sync = os.fsync

    def slow(number: int) -> None:
        if Path(f"/proc/self/fd/{number}").readlink() == slow_folder:
            is_syncing.set()
            may_go_on.wait(10)
        sync(number)

    with files_in(tmp_path) as files:
        slow_folder = files.spool.path(put(files.spool, b"slow")).parent
        monkeypatch.setattr(os, "fsync", slow)
        other = Thread(target=put, args=(files.spool, b"slow"))
        other.start()
        try:
            assert is_syncing.wait(10)
            assert files.spool.has(put(files.spool, b"quick"))
            assert not may_go_on.is_set()
        finally:
            may_go_on.set()
            other.join()
