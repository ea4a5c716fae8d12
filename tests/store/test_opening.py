"""Which files and directories are opened, and as whose."""

import fcntl
import os
import sqlite3
import stat
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.ports.errors import AlreadyRunning, StateRefused, StoreBroken
from postroom.store.sqlite import state_dir as state_dir_module
from postroom.store.sqlite.migrate import APPLICATION_ID, shipped
from postroom.store.sqlite.opening import HostIdentity
from support.store_host import HERE, NOON, change, open_once, outbox_in, rows_in
from support.store_jobs import new_job, start_of


NEXT = "ALTER TABLE job ADD COLUMN colour TEXT"
BROKEN = f"{NEXT}; DROP TABLE nowhere"


async def test_nobody_else_can_read_the_store(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o755)
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        state = tmp_path / "state"
        assert stat.S_IMODE(state.stat().st_mode) == 0o700
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in state.iterdir()}
        assert modes == dict.fromkeys(
            ("postroom.db", "postroom.db-wal", "postroom.db-shm", "lock"), 384
        ) | {name: 0o600 for name in modes if name == "ballast"}
    assert not (tmp_path / "state" / "postroom.db-wal").exists()


@pytest.mark.parametrize("mode", [0o755, 0o1777, 0o710])
async def test_a_folder_of_others_is_refused_and_stays_as_it_is(tmp_path: Path, mode: int) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "letter").touch()
    state.chmod(mode)
    with pytest.raises(StateRefused, match="Name a folder of its own"):
        await open_once(tmp_path)
    assert stat.S_IMODE(state.stat().st_mode) == mode
    assert [one.name for one in state.iterdir()] == ["letter"]
    state.chmod(0o700)
    await open_once(tmp_path)
    state.chmod(mode)
    await open_once(tmp_path)  # it is ours by now


async def test_a_second_daemon_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}"):
            await open_once(tmp_path)
        await outbox.intake.accept(new_job(outbox.intake))
    await open_once(tmp_path)


async def test_a_lock_without_a_living_owner_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "lock").write_text("4711\n")
    await open_once(tmp_path)


async def test_the_lock_is_given_back_when_the_store_can_not_be_opened(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "postroom.db").write_bytes(b"this is not a database, and long" * 100)
    with pytest.raises(StoreBroken, match="not a database"):
        await open_once(tmp_path)
    fd = os.open(tmp_path / "state" / "lock", os.O_RDWR)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(fd)


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["PRAGMA application_id = 4711"], "another program"),
        (["PRAGMA application_id = 0"], "another program"),
        ([f"PRAGMA user_version = {len(shipped()) + 1}"], "later postroom"),
    ],
    ids=["foreign", "nobody's but not empty", "newer"],
)
async def test_a_file_that_is_not_for_us_is_refused_and_not_touched(
    tmp_path: Path, statements: list[str], told: str
) -> None:
    await open_once(tmp_path)
    change(tmp_path, *statements)
    before = (tmp_path / "state" / "postroom.db").read_bytes()
    with pytest.raises(StateRefused, match=told):
        await open_once(tmp_path)
    assert (tmp_path / "state" / "postroom.db").read_bytes() == before


async def test_a_copy_is_made_before_migrating_and_says_that_it_is_one(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
    rules = replace(HERE, migrations=(*shipped(), NEXT))
    async with outbox_in(tmp_path, rules=rules) as outbox:
        copy = outbox.opened.copy
        assert copy == tmp_path / "state" / f"postroom.db.v{len(shipped())}"
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert rows_in(tmp_path, "PRAGMA user_version") == [(len(shipped()) + 1,)]
    assert rows_in(tmp_path, "SELECT colour FROM job") == [(None,)]
    with closing(sqlite3.connect(copy)) as conn:
        assert conn.execute("SELECT count(*) FROM job").fetchone() == (1,)
        assert conn.execute("SELECT is_backup FROM instance").fetchone() == (1,)
        assert conn.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)


async def test_a_migration_that_fails_leaves_the_old_version_whole(tmp_path: Path) -> None:
    await open_once(tmp_path)
    broken = replace(HERE, migrations=(*shipped(), BROKEN))
    with pytest.raises(Exception, match="nowhere"):
        await open_once(tmp_path, rules=broken)
    assert rows_in(tmp_path, "PRAGMA user_version") == [(len(shipped()),)]
    await open_once(tmp_path)


async def test_a_restored_copy_holds_what_waits_and_gives_no_number_twice(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        for n in range(3):
            done = await outbox.intake.accept(new_job(outbox.intake))
            if n:
                await outbox.loop.start(start_of(done.deliveries[0].number))  # type: ignore[union-attr]
        await outbox.loop.mark(3, 1, NOON)
        log_id, _, _ = await outbox.reader.event_span()
    change(tmp_path, "UPDATE instance SET is_backup = 1, clean_stop = 0")
    async with outbox_in(tmp_path) as outbox:
        assert outbox.opened.restored == 2
        states = [await outbox.reader.find_delivery(n) for n in (1, 2, 3)]
        assert [(one.state, one.hold_reason, one.crashes) for one in states if one] == [
            (DeliveryState.HELD, HoldReason.RESTORED, 0),
            (DeliveryState.HELD, HoldReason.RESTORED, 0),
            (DeliveryState.UNCERTAIN, None, 0),
        ]
        assert outbox.intake.reserve(1, 1, 1) == (2**32 + 4, 2**32 + 4, 2**32 + 4)
        again, _, newest = await outbox.reader.event_span()
        assert again != log_id
        assert newest >= 2**32
    async with outbox_in(tmp_path) as outbox:
        assert outbox.opened.restored is None


async def test_a_store_from_another_machine_is_opened_only_when_that_is_accepted(
    tmp_path: Path,
) -> None:
    await open_once(tmp_path)
    moved = replace(HERE, host=HostIdentity("machine-2", "boot-9"))
    with pytest.raises(AlreadyRunning, match="another machine"):
        await open_once(tmp_path, rules=moved)
    await open_once(tmp_path, rules=replace(moved, accept_machine=True))
    await open_once(tmp_path, rules=moved)
    nameless = replace(HERE, host=HostIdentity("", "boot-9"))
    await open_once(tmp_path, rules=nameless)


MOUNTS = """\
21 1 0:20 / / rw shared:1 - ext4 /dev/vda1 rw
22 21 0:21 / /srv/nfs\\040share rw - nfs4 server:/x rw
23 22 0:22 / /srv/nfs\\040share/local rw - xfs /dev/vdb rw
24 21 0:23 / /mnt/gate rw - fuse.sshfs host:/ rw
25 21 0:24 / /var/lib/docker rw - overlay overlay rw
26 21 0:25 / /twice rw - ext4 /dev/vdc rw
27 26 0:26 / /twice rw - virtiofs host rw
"""


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("/var/lib/postroom", None),
        ("/srv/nfs share/postroom", "nfs4"),
        ("/srv/nfs share/local/postroom", None),
        ("/mnt/gate", "fuse.sshfs"),
        ("/twice/postroom", "virtiofs"),
    ],
)
def test_network_and_user_space_file_systems_are_refused_unless_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, kind: str | None
) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(state_dir_module, "_MOUNTS", tmp_path / "mountinfo")
    check = state_dir_module.check_file_system
    if kind is None:
        assert check(Path(where), accept_any=False) is None
        return
    with pytest.raises(StateRefused, match=kind):
        check(Path(where), accept_any=False)
    assert kind in (check(Path(where), accept_any=True) or "")


def test_an_overlay_is_warned_of_and_an_unknown_host_is_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(state_dir_module, "_MOUNTS", tmp_path / "mountinfo")
    told = state_dir_module.check_file_system(Path("/var/lib/docker/x"), accept_any=False)
    assert "ends with its container" in (told or "")
    monkeypatch.setattr(state_dir_module, "_MOUNTS", tmp_path / "none")
    assert state_dir_module.check_file_system(Path("/mnt/gate"), accept_any=False) is None
