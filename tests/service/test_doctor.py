"""What doctor says of a machine on which one thing is wrong, and that nothing makes it hang or tell a secret."""

import os
import shutil
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from postroom.core.instant import SECOND, Instant
from postroom.service import doctor_files
from postroom.service.findings import Check, Finding, Verdict, fine, run_checks
from postroom.store.sqlite import state_dir as state_dir_module
from postroom.store.sqlite import version as version_module
from support.store_host import NOON
from support.ward import Ward, note_backup


DAY = 86_400 * SECOND
SECRET = "hunter2-do-not-tell"


def test_where_all_is_well_nothing_else_is_said(ward: Ward) -> None:
    found = ward.found()
    assert {one.verdict for one in found} == {Verdict.OK}
    assert [one.check for one in found] == [
        "settings",
        "settings_files",
        "sqlite",
        "state_dir",
        "file_system",
        "disk",
        "socket",
        "daemon",
        "clock",
        "backup",
        "relay",
    ]
    assert all(one.detail and not one.fix for one in found)


def old_sqlite(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(version_module, "_OLDEST", (99, 0, 0))


def faulty_sqlite(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(version_module, "_WAL_RESET_MENDED", (99, 0, 0))


def open_state(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    ward.state.chmod(0o750)


def open_database(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    (ward.state / "postroom.db").chmod(0o644)


def half_restored(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    (ward.state / "restoring").mkdir()


def no_state(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(ward.state)


def network_disk(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    mounts = ward.folder / "mounts"
    mounts.write_text("21 1 0:20 / / rw shared:1 - nfs4 server:/x rw\n")
    patch.setattr(state_dir_module, "_MOUNTS", mounts)


def full_disk(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(doctor_files, "MIN_FREE_BYTES", 1 << 60)


def nearly_full_disk(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    stats = os.statvfs(ward.folder)
    patch.setattr(doctor_files, "MIN_FREE_BYTES", stats.f_bavail * stats.f_frsize // 2)


def few_inodes(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(doctor_files, "_FEW_INODES", 1 << 60)


def no_inodes(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(doctor_files, "files_kept", lambda total: 1 << 60)


def others_write_settings(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    (ward.folder / "mailboxes.d").mkdir()
    other = ward.folder / "mailboxes.d" / "x.toml"
    other.touch()
    other.chmod(0o666)


def open_credentials(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    (ward.folder / "credentials").mkdir()
    (ward.folder / "credentials").chmod(0o755)


def wrong_settings(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    with ward.patient.config.open("a") as file:
        file.write('colour = "red"\n')


def no_socket_folder(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    (ward.folder / "run").rmdir()


def open_socket_folder(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    (ward.folder / "run").chmod(0o777)


def old_backup(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    note_backup(ward.folder, Instant(NOON - 8 * DAY))


def no_backup(ward: Ward, patch: pytest.MonkeyPatch) -> None:
    (ward.state / "last_backup").unlink()


W, F = Verdict.WARN, Verdict.FAIL
WRONG = [
    (old_sqlite, "sqlite", F, "3.37 or later"),
    (faulty_sqlite, "sqlite", W, "one connection"),
    (open_state, "state_dir", F, "chmod 700"),
    (open_database, "state_dir", F, "chmod go="),
    (half_restored, "state_dir", F, "--replace"),
    (no_state, "state_dir", W, "restore a backup"),
    (network_disk, "file_system", F, "local disk"),
    (full_disk, "disk", F, "Make room"),
    (nearly_full_disk, "disk", W, "Make room soon"),
    (few_inodes, "inodes", W, "inode"),
    (no_inodes, "inodes", F, "507"),
    (others_write_settings, "settings_files", W, "chmod go-w"),
    (open_credentials, "credentials", F, "chmod 700"),
    (wrong_settings, "settings", F, "accept_new"),
    (no_socket_folder, "socket", F, "tmpfiles"),
    (open_socket_folder, "socket", F, "chmod o-w"),
    (old_backup, "backup", W, "postroom backup"),
    (no_backup, "backup", W, "postroom backup"),
]


@pytest.mark.parametrize(
    ("change", "check", "verdict", "fix"), WRONG, ids=[row[0].__name__ for row in WRONG]
)
def test_what_is_wrong_is_said_with_what_to_do(
    ward: Ward,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Ward, pytest.MonkeyPatch], None],
    check: str,
    verdict: Verdict,
    fix: str,
) -> None:
    change(ward, monkeypatch)
    worst = ward.worst()
    told = worst.pop(check)
    assert (told.verdict, fix in told.fix) == (verdict, True), told
    assert set(worst) <= ({"backup"} if change is no_state else set())


def test_a_check_that_never_ends_is_given_up_and_one_that_breaks_costs_no_other() -> None:
    never = threading.Event()

    def hang() -> list[Finding]:
        never.wait()
        return []

    def break_down() -> list[Finding]:
        broken = "what\x1b[2J"
        raise RuntimeError(broken)

    checks = [
        Check("hangs", hang, timedelta(milliseconds=1)),
        Check("breaks", break_down),
        *(Check("fine", lambda: [fine("fine", "yes")]) for _ in range(40)),
    ]
    found = run_checks(checks)
    never.set()
    assert [one.check for one in found[:3]] == ["hangs", "breaks", "fine"]
    assert [one.verdict for one in found[:3]] == [Verdict.FAIL, Verdict.FAIL, Verdict.OK]
    assert "\x1b" not in found[1].detail
    assert len(found) == 42


def test_no_secret_is_ever_told(ward: Ward) -> None:
    (ward.folder / "credentials").mkdir(mode=0o700)
    secret = ward.folder / "credentials" / "main"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    config = ward.patient.config
    config.write_text(
        config.read_text().replace(
            'tls = "none"',
            'tls = "none"\nauth = "password"\nusername = "u"\npassword = "credential:main"',
        )
    )
    told = ward.found(running=None)
    assert SECRET not in str(told)
    assert told[0].verdict is Verdict.OK, told[0]
    secret.unlink()
    assert "credential" in ward.worst(running=None)["settings"].detail
