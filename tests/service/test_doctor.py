"""What doctor says of a machine on which one thing is wrong, and that nothing makes it hang or tell a secret."""

import asyncio
import os
import shutil
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.demo_relay import Relay
from postroom.core.instant import SECOND, Instant, format_instant
from postroom.service import doctor_files
from postroom.service.doctor import Patient, Running, examine
from postroom.service.findings import Check, Finding, Verdict, fine, run_checks
from postroom.store.sqlite import state_dir as state_dir_module
from postroom.store.sqlite import version as version_module
from support.inward import free_port
from support.nameserver import name_server
from support.store_host import NOON, outbox_in
from support.zone import Zone


DAY = 86_400 * SECOND
SETTINGS = """\
[daemon]
state_dir = "{folder}/state"
[api]
socket = "{folder}/run/api.sock"
[relay.main]
host = "127.0.0.1"
port = {port}
tls = "none"
[[mailbox]]
id = "support"
address = "Support <support@example.com>"
relay = "main"
"""
LISTENER = """\
reply_address = "r-{{token}}@reply.example.com"
return_path = "b-{{token}}@reply.example.com"
[listener]
hostname = "mx.example.com"
listen = ["0.0.0.0:{smtp}"]
domains = ["reply.example.com"]
postmaster = "support"
"""
SECRET = "hunter2-do-not-tell"


@dataclass
class Ward:
    """A machine on which all is well."""

    folder: Path
    patient: Patient
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def found(self, **changes: Any) -> list[Finding]:
        return list(examine(replace(self.patient, **changes)))

    def worst(self, **changes: Any) -> dict[str, Finding]:
        """What is not as it should be, by check; warnings only where nothing failed."""
        found = [one for one in self.found(**changes) if one.verdict is not Verdict.OK]
        return {
            one.check: one for one in sorted(found, key=lambda one: one.verdict != Verdict.WARN)
        }


@pytest.fixture(scope="module")
def relay() -> Iterator[Relay]:
    started = Relay()
    started.start()
    yield started
    started.stop()


def settings_in(folder: Path, port: int) -> Path:
    folder.chmod(0o755)
    (folder / "run").mkdir(mode=0o750)
    config = folder / "postroom.toml"
    config.write_text(SETTINGS.format(folder=folder, port=port))
    config.chmod(0o644)
    return config


def note_backup(folder: Path, at: Instant) -> None:
    (folder / "state" / "last_backup").write_text(f'{{"at": "{format_instant(at)}"}}')


@pytest.fixture
async def ward(tmp_path: Path, relay: Relay, monkeypatch: pytest.MonkeyPatch) -> Ward:
    monkeypatch.setattr(version_module, "_WAL_RESET_MENDED", (3, 0, 0))
    config = settings_in(tmp_path, relay.port)
    async with outbox_in(tmp_path):
        pass
    note_backup(tmp_path, NOON)
    running = Running(
        "1.2.3",
        is_ready=True,
        is_clock_doubted=False,
        ask=lambda mailbox_id: [("dns", "ok", "fine", "")],
    )
    return Ward(tmp_path, Patient(config, tmp_path / "run" / "api.sock", running, NOON, {}))


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


def test_a_daemon_that_does_not_run_is_said_and_the_rest_is_looked_at_all_the_same(
    ward: Ward,
) -> None:
    worst = ward.worst(running=None)
    assert [*worst] == ["socket"]
    assert "systemctl start" in worst["socket"].fix
    (relay,) = [one for one in ward.found(running=None) if one.check == "relay"]
    assert relay.detail == "main (as support) takes mail from support@example.com"


def test_a_daemon_that_runs_and_can_not_be_reached_is_told_from_one_that_does_not(
    ward: Ward,
) -> None:
    with state_dir_module.locked(ward.state):
        worst = ward.worst(running=None)
    assert f"process {os.getpid()} uses" in worst["socket"].detail


def test_a_stale_socket_is_told(ward: Ward) -> None:
    path = ward.folder / "run" / "api.sock"
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    assert "of one that ended" in ward.worst(running=None)["socket"].detail


def test_a_daemon_that_takes_nothing_is_told(ward: Ward) -> None:
    assert ward.patient.running is not None
    worst = ward.worst(running=replace(ward.patient.running, is_ready=False))
    assert [*worst] == ["daemon"]


def test_a_doubted_clock_can_be_confirmed(ward: Ward) -> None:
    assert ward.patient.running is not None
    worst = ward.worst(running=replace(ward.patient.running, is_clock_doubted=True))
    assert worst["clock"].verdict is Verdict.FAIL
    assert "--confirm-clock" in worst["clock"].fix


@pytest.mark.parametrize("days", [8, -8])
async def test_a_clock_far_from_the_store_is_told_while_no_daemon_runs(
    ward: Ward, days: int
) -> None:
    conn = sqlite3.connect(ward.state / "postroom.db")
    conn.execute("PRAGMA foreign_keys = OFF")
    conn.execute(
        "INSERT INTO history (delivery, after, at, by) VALUES (1, 'pending', ?, 'accept')", (NOON,)
    )
    conn.commit()
    conn.close()
    now = Instant(NOON + days * DAY)
    told = ward.worst(running=None, now=now)["clock"]
    assert "8 days from the newest instant" in told.detail
    assert "clock" not in ward.worst(running=None, now=Instant(NOON + days // 2 * DAY))


def test_a_store_that_can_not_be_read_is_no_reason_to_stop(ward: Ward) -> None:
    (ward.state / "postroom.db").write_bytes(b"This is a letter." * 500)
    assert ward.worst(running=None)["clock"].verdict is Verdict.WARN


def test_a_relay_that_does_not_take_us_is_told_with_its_step(ward: Ward) -> None:
    assert ward.patient.running is not None
    tried = [("dns", "ok", "fine", ""), ("auth", "failed", "535 no", "Check the password.")]
    told = ward.worst(running=replace(ward.patient.running, ask=lambda mailbox_id: tried))
    assert told["relay"] == Finding(
        "relay", Verdict.FAIL, "main (as support): auth: 535 no", "Check the password."
    )


def test_a_relay_that_is_away_is_told_while_no_daemon_runs(ward: Ward) -> None:
    config = ward.patient.config
    text = config.read_text()
    config.write_text(text.replace(text.partition("port = ")[2].split()[0], str(free_port()), 1))
    assert ward.worst(running=None)["relay"].verdict is Verdict.FAIL


RECORDS = {
    "mx.example.com A": ["192.0.2.1"],
    "reply.example.com MX": ["10 mx.example.com"],
    "reply.example.com TXT": ["other", "v=spf1 include:example.net ~all"],
}


def zone(**changes: list[str]) -> Zone:
    """All that mail needs to come here, but for these records (`mx`, `txt`) of the reply domain."""
    changed = {f"reply.example.com {kind.upper()}": told for kind, told in changes.items()}
    return Zone({name: told for name, told in {**RECORDS, **changed}.items() if told})


@contextmanager
def greeter(*lines: bytes) -> Iterator[int]:
    """Something that listens and says these lines, one for each connection or line it gets."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(b"".join(lines))
                while connection.recv(100):
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(5)


GREETING = (b"220 mx\r\n", b"250 mx\r\n")


@pytest.mark.parametrize(
    ("dns", "lines", "wrong"),
    [
        (zone(), GREETING, {}),
        (zone(mx=["10 mail.example.net"]), GREETING, {"dns": F}),
        (zone(mx=[]), GREETING, {"dns": F}),
        (Zone({}), GREETING, {"dns": F}),
        (zone(txt=["other"]), GREETING, {"dns": W}),
        (Zone(RECORDS, failing={"reply.example.com"}), GREETING, {"dns": W}),
        (zone(), (b"HTTP/1.0 400 what\r\n", b"\r\n"), {"listener": F}),
        (zone(), (), {"listener": F}),
    ],
    ids=[
        "all there",
        "another MX",
        "no MX",
        "no such name",
        "no SPF",
        "no answer",
        "no SMTP there",
        "nobody there",
    ],
)
async def test_the_way_in_is_looked_at(
    ward: Ward, dns: Zone, lines: tuple[bytes, ...], wrong: dict[str, Verdict]
) -> None:
    async with name_server(dns) as server:
        with greeter(*lines) as port:
            if not lines:
                socket.create_connection(("127.0.0.1", port)).close()
            smtp = port if lines else free_port()
            with ward.patient.config.open("a") as file:
                file.write(LISTENER.format(smtp=smtp))
            servers = (("127.0.0.1", server.port),)
            worst = await asyncio.to_thread(ward.worst, servers=servers)
    assert {name: one.verdict for name, one in worst.items()} == wrong
    assert all(one.fix for one in worst.values())


async def test_a_listener_of_systemd_is_looked_at_elsewhere(ward: Ward) -> None:
    async with name_server(zone()) as server:
        with ward.patient.config.open("a") as file:
            text = LISTENER.format(smtp=25).replace('listen = ["0.0.0.0:25"]\n', "")
            file.write(text)
        servers = (("127.0.0.1", server.port),)
        assert [*await asyncio.to_thread(ward.worst, servers=servers)] == ["listener"]


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
