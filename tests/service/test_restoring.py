"""Putting a backup in place: all of it or nothing, whatever stops it, and nothing that was there is lost."""

import io
import os
import shutil
import sqlite3
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.ops.archive import Origin, Source, pack
from postroom.ports.errors import AlreadyRunning, BackupDamaged, StateRefused, StorageFull
from postroom.service import restoring
from postroom.service.archiving import Archiver, Room
from postroom.service.restoring import Backup, Restored, restore, standing_backup
from postroom.store.sqlite.state_dir import locked
from support.power import Image, PowerCuts
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job


ROOM = Room(0, lambda folder: 1 << 40)
FILE = "ab" * 32


async def store_in(folder: Path, jobs: int) -> Path:
    """A store with so many jobs; where it lies."""
    async with outbox_in(folder) as outbox:
        for _ in range(jobs):
            await outbox.intake.accept(new_job(outbox.intake))
    return folder / "state"


async def jobs_in(folder: Path) -> int:
    async with outbox_in(folder) as outbox:
        return sum([await outbox.reader.find_job(n) is not None for n in range(1, 10)])


def rows_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as conn:
        count: int = conn.execute("SELECT count(*) FROM job").fetchone()[0]
        return count


@pytest.fixture
async def tar(tmp_path: Path) -> AsyncIterator[bytes]:
    """A backup of a store with three jobs."""
    archiver = Archiver(await store_in(tmp_path / "saved", 3), NOON, ROOM)
    archiver.open()
    yield b"".join(archiver.pieces())
    archiver.close()


def put(content: bytes, state: Path, *, replaces: bool = False, room: Room = ROOM) -> Restored:
    backup = Backup(io.BytesIO(content), len(content))
    return restore(backup, state, NOON, replaces=replaces, room=room)


class Crash(BaseException):
    """The process ends here."""


@contextmanager
def crashing(at: int, patch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """From the operation of this number on nothing more is done to the files; what was done before."""
    done: list[str] = []

    def mortal(name: str, act):  # type: ignore[no-untyped-def]
        def run(*given, **more):  # type: ignore[no-untyped-def]
            if len(done) >= at:
                raise Crash
            done.append(name)
            return act(*given, **more)

        return run

    with patch.context() as inner:
        for owner, name in (
            (Path, "rename"),
            (Path, "rmdir"),
            (Path, "mkdir"),
            (restoring, "sync_directory"),
            (restoring.shutil, "rmtree"),
        ):
            inner.setattr(owner, name, mortal(name, getattr(owner, name)))
        yield done


@pytest.mark.parametrize("had", [1, 0], ids=["a store", "nothing"])
async def test_cut_off_at_any_step_the_store_is_the_old_one_or_no_daemon_starts(
    tmp_path: Path, tar: bytes, monkeypatch: pytest.MonkeyPatch, had: int
) -> None:
    seen: set[str] = set()
    for at in range(100):
        folder = tmp_path / f"at-{at}"
        state = folder / "state"
        if had:
            await store_in(folder, had)
        try:
            with crashing(at, monkeypatch) as done:
                put(tar, state, replaces=True)
        except Crash:
            assert len(done) == at
        else:
            break
        copy = folder / "copy"
        copy.mkdir(parents=True)
        if state.exists():
            shutil.copytree(state, copy / "state")
        try:
            jobs = await jobs_in(copy)
            seen.add(f"starts with {jobs}")
            assert jobs in {had, 3}
        except StateRefused as refused:
            seen.add("refused")
            assert "--replace" in str(refused)  # noqa: PT017
        put(tar, state, replaces=True)
        assert await jobs_in(folder) == 3
        assert not had or had in {rows_of(one) for one in state.glob("replaced-*/postroom.db")}
    else:
        pytest.fail("it never came to its end")
    assert seen >= {f"starts with {had}", "refused"}


@pytest.mark.parametrize("had", [1, 0], ids=["a store", "nothing"])
async def test_when_the_power_fails_at_any_step_the_store_is_the_old_one_or_the_new_or_no_daemon_starts(
    tmp_path: Path, tar: bytes, monkeypatch: pytest.MonkeyPatch, had: int
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    if had:
        await store_in(folder, had)
    with PowerCuts(folder, monkeypatch) as power:
        put(tar, folder / "state", replaces=True)
    images = [found for cut in power.images for found in (cut.careful, cut.eager)]
    told = set()
    for place, found in enumerate(one for n, one in enumerate(images) if one not in images[:n]):
        copy = tmp_path / f"cut-{place}"
        lay(found, copy)
        try:
            told.add(await jobs_in(copy))
        except StateRefused as refused:
            told.add(-1)
            assert "--replace" in str(refused)  # noqa: PT017
    assert told == {had, 3, -1}
    lay(power.images[-1].careful, tmp_path / "end")
    assert await jobs_in(tmp_path / "end") == 3


def lay(found: Image, folder: Path) -> None:
    """Files as a disk kept them."""
    (folder / "state").mkdir(parents=True, mode=0o700)
    for name, content in found.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / name).write_bytes(content)


async def test_what_was_there_is_moved_aside_and_opens_as_before(
    tmp_path: Path, tar: bytes
) -> None:
    state = await store_in(tmp_path / "here", 1)
    (state / "token.key").write_bytes(b"k" * 32)
    (state / "notes.txt").write_text("of the operator")
    done = put(tar, state, replaces=True)
    assert done.replaced is not None
    assert {one.name for one in done.replaced.iterdir()} >= {
        "postroom.db",
        "token.key",
        "notes.txt",
    }
    assert {one.name for one in state.iterdir()} == {
        "postroom.db",
        "spool",
        "lock",
        done.replaced.name,
    }
    assert [(one.state, one.deliveries) for one in done.copy.deliveries] == [
        (DeliveryState.PENDING, 3)
    ]
    assert await jobs_in(tmp_path / "here") == 3
    (tmp_path / "back").mkdir()
    done.replaced.rename(tmp_path / "back" / "state")
    assert await jobs_in(tmp_path / "back") == 1


async def test_a_store_is_never_replaced_unasked(tmp_path: Path, tar: bytes) -> None:
    state = await store_in(tmp_path / "here", 1)
    with pytest.raises(StateRefused, match="--replace"):
        put(tar, state)
    assert await jobs_in(tmp_path / "here") == 1


async def test_while_a_daemon_runs_nothing_is_put_in_place(tmp_path: Path, tar: bytes) -> None:
    state = await store_in(tmp_path / "here", 1)
    with locked(state), pytest.raises(AlreadyRunning):
        put(tar, state, replaces=True)
    assert not list(state.glob("replaced-*"))


async def test_what_is_damaged_changes_nothing(tmp_path: Path, tar: bytes) -> None:
    state = await store_in(tmp_path / "here", 1)
    before = {one.name for one in state.iterdir()}
    for content in (tar[:-20_000], b"", tar.replace(b"support", b"supporT", 1)):
        with pytest.raises(BackupDamaged):
            put(content, state, replaces=True)
    assert {one.name for one in state.iterdir()} == before
    assert await jobs_in(tmp_path / "here") == 1


async def test_what_is_whole_and_no_store_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(b"This is a letter." * 500)
    source = Source(
        Origin("1", 1, "", ""), tmp_path / "db", tmp_path / "key", [], lambda sha256: tmp_path
    )
    with pytest.raises(StateRefused, match="can not be read"):
        put(b"".join(pack(source)), tmp_path / "state")
    assert [one.name for one in (tmp_path / "state").iterdir()] == ["lock"]


async def test_without_room_nothing_is_begun(tmp_path: Path, tar: bytes) -> None:
    with pytest.raises(StorageFull, match="bytes"):
        put(tar, tmp_path / "state", room=Room(1, lambda folder: len(tar)))
    assert [one.name for one in (tmp_path / "state").iterdir()] == ["lock"]


async def test_nobody_else_can_read_what_was_restored(tmp_path: Path, tar: bytes) -> None:
    before = os.umask(0)
    try:
        put(tar, tmp_path / "state")
    finally:
        assert os.umask(before) == 0
    for path in (tmp_path / "state", *(tmp_path / "state").rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
async def test_what_root_restores_belongs_to_whoever_owns_the_directory(
    tmp_path: Path, tar: bytes
) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    os.chown(state, 4711, 4712)
    assert not put(tar, state).is_roots
    assert not put(tar, state, replaces=True).is_roots
    for path in (state, *state.rglob("*")):
        assert (path.stat().st_uid, path.stat().st_gid) == (4711, 4712), path
    assert put(tar, tmp_path / "other").is_roots


async def test_a_file_that_was_damaged_when_it_was_saved_is_not_put_in_place(
    tmp_path: Path,
) -> None:
    """Mail that needs it fails as it would have: with content that is none of its own it never goes."""
    saved = await store_in(tmp_path / "saved", 1)
    archiver = Archiver(saved, NOON, ROOM)
    archiver.open()
    copied = next(saved.glob("backup-*/postroom.db"))
    (tmp_path / "bad").write_bytes(b"other")
    origin = Origin("1", 2, "", "")
    source = Source(origin, copied, tmp_path / "key", [(FILE, 5)], lambda sha256: tmp_path / "bad")
    done = put(b"".join(pack(source)), tmp_path / "state")
    archiver.close()
    assert done.manifest.damaged == (FILE,)
    assert not list((tmp_path / "state" / "spool").rglob("ab*/*"))
    assert await jobs_in(tmp_path) == 1


async def test_a_store_that_stands_still_is_saved_under_its_lock(tmp_path: Path) -> None:
    state = await store_in(tmp_path, 2)
    (state / "backup-left").mkdir()
    with standing_backup(state, NOON, ROOM) as (expected, pieces):
        with pytest.raises(AlreadyRunning), locked(state):
            pass
        content = b"".join(pieces)
        assert len(content) <= expected + 64 * 1024
    assert not list(state.glob("backup-*"))
    put(content, tmp_path / "new" / "state")
    assert await jobs_in(tmp_path / "new") == 2
    with locked(state), pytest.raises(AlreadyRunning), standing_backup(state, NOON, ROOM):
        pass
    with pytest.raises(StateRefused, match="no store"), standing_backup(tmp_path, NOON, ROOM):
        pass
