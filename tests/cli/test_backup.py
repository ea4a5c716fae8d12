"""backup, restore and doctor: what they print, and how they end, whatever comes over the socket or lies in a file."""

import io
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.cli import backup as backup_module
from postroom.cli.tree import main
from postroom.core.instant import Instant
from postroom.service.archiving import Archiver, Room
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.cli_daemon import MAILBOXES
from support.config_files import write_settings
from support.fake_daemon import FakeDaemon, HangUp, Say, fake_daemon, problem
from support.power import PowerCuts
from support.real_daemon import POSTROOM, env
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job


NOW = Instant(NOON)
SETTINGS = """\
[daemon]
state_dir = "{folder}/new"
[api]
socket = "{folder}/api.sock"
"""


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDaemon]:
    with fake_daemon(tmp_path) as running:
        monkeypatch.setenv("POSTROOM_SOCKET", str(running.socket))
        yield running


@pytest.fixture
async def tar(tmp_path: Path) -> bytes:
    """A backup of a store with one job, in which a file of the spool is missing."""
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))
        return packed(tmp_path)


def packed(folder: Path) -> bytes:
    archiver = Archiver(folder / "state", NOW, Room(0))
    archiver.open()
    content = b"".join(archiver.pieces())
    archiver.close()
    return content


def config(folder: Path) -> str:
    return str(write_settings(folder, SETTINGS.format(folder=folder)))


def names(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir()}


def test_a_backup_is_private_and_told(
    tmp_path: Path, daemon: FakeDaemon, tar: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/backup", Say(body=tar))
    file = tmp_path / "b.tar"
    before = os.umask(0)
    try:
        assert main(["backup", str(file)]) == 0
    finally:
        assert os.umask(before) == 0
    told = (
        f"{file}: {len(tar):,} bytes, the database and no file of the spool; read back and whole.\n"
    )
    assert capsys.readouterr().out == told
    assert file.read_bytes() == tar
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert main(["backup", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["size_bytes"], answer["files"], answer["missing"]) == (len(tar), 0, [])


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (HangUp(), 75),
        (Say(body=b"tar that is none"), 65),
        (Say(body=b""), 65),
        (problem(403, "not_allowed", "no"), 77),
        (problem(409, "backup_under_way", "no"), 69),
        (problem(507, "storage_full", "no"), 75),
    ],
    ids=["hung up", "damaged", "empty", "not allowed", "another one", "no room"],
)
def test_what_is_no_whole_backup_leaves_the_one_before(
    tmp_path: Path, daemon: FakeDaemon, said: Say | HangUp, code: int
) -> None:
    daemon.on("POST /v1/backup", said)
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / "b.tar").write_bytes(b"the one before")
    assert main(["backup", str(folder / "b.tar")]) == code
    assert names(folder) == {"b.tar"}
    assert (folder / "b.tar").read_bytes() == b"the one before"


def test_when_the_power_fails_there_is_the_whole_backup_or_the_one_before(
    tmp_path: Path, daemon: FakeDaemon, tar: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.on("POST /v1/backup", Say(body=tar))
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / "b.tar").write_bytes(b"the one before")
    with PowerCuts(folder, monkeypatch) as power:
        assert main(["backup", str(folder / "b.tar")]) == 0
    for cut in power.images:
        assert {cut.careful["b.tar"], cut.eager["b.tar"]} <= {b"the one before", tar}, cut.moment
    assert power.images[-1].careful == {"b.tar": tar}


def test_a_tar_that_is_cut_short_on_the_way_is_none(
    tmp_path: Path, daemon: FakeDaemon, tar: bytes
) -> None:
    daemon.on("POST /v1/backup", Say(body=tar[:-20_000]))
    assert main(["backup", str(tmp_path / "b.tar")]) == 65
    assert "b.tar" not in names(tmp_path)


def test_without_room_for_the_file_nothing_is_written(
    tmp_path: Path, daemon: FakeDaemon, tar: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("POST /v1/backup", Say(body=tar, headers={"X-Postroom-Expected-Bytes": str(1 << 60)}))
    assert main(["backup", str(tmp_path / "b.tar")]) == 74
    assert "bytes in" in capsys.readouterr().err
    assert "b.tar" not in names(tmp_path)


@pytest.fixture
def hears_ctrl_c() -> Iterator[None]:
    """A shell makes what it runs in the background deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_stops_it_has_no_file(
    tmp_path: Path,
    daemon: FakeDaemon,
    tar: bytes,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
) -> None:
    daemon.on("POST /v1/backup", Say(body=tar))

    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr(backup_module, "_proven", interrupted)
    before = names(tmp_path)
    assert main(["backup", str(tmp_path / "b.tar")]) == 130
    assert names(tmp_path) == before


async def test_missing_files_are_told_and_make_it_exit_1(
    tmp_path: Path, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    async with outbox_in(tmp_path) as outbox:
        await outbox.intake.accept(new_job(outbox.intake))

        def name(conn):  # type: ignore[no-untyped-def]
            conn.execute("INSERT INTO spool_file VALUES (?, 5, 1, 0, NULL)", ("ab" * 32,))
            return UnitResult(None)

        await outbox.database.write(name, lane=WriteLane.REST)
        daemon.on("POST /v1/backup", Say(body=packed(tmp_path)))
    assert main(["backup", str(tmp_path / "b.tar")]) == 1
    assert "1 files that mail needs are missing" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "b.tar"), "--config", config(tmp_path)]) == 0
    assert "missing when it was made: 1." in capsys.readouterr().out


def test_a_pipe_gets_the_same_bytes_and_a_terminal_none(
    tmp_path: Path, daemon: FakeDaemon, tar: bytes
) -> None:
    daemon.on("POST /v1/backup", Say(body=tar))
    argv = [*POSTROOM, "backup", "-"]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=30, env=env())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == tar
    daemon.on("POST /v1/backup", Say(body=tar[:-20_000]))
    done = subprocess.run(argv, capture_output=True, check=False, timeout=30, env=env())
    assert done.returncode == 65


def test_where_no_daemon_answers_and_no_settings_are_named_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POSTROOM_SOCKET", str(tmp_path / "nobody.sock"))
    assert main(["backup", str(tmp_path / "b.tar")]) == 75
    assert "no daemon" in capsys.readouterr().err
    assert main(["backup", str(tmp_path / "b.tar"), "--config", config(tmp_path)]) == 78
    assert "there is no store" in capsys.readouterr().err
    assert names(tmp_path) == {"postroom.toml"}


def test_a_restore_tells_what_may_have_gone(
    tmp_path: Path, tar: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "b.tar"
    file.write_bytes(tar)
    assert main(["restore", str(file), "--config", config(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "support  pending  1" in out
    for verb in ("held", "release --hold-reason restored", "cancel --hold-reason restored"):
        assert f"postroom {verb}" in out
    state = tmp_path / "new"
    assert names(state) == {"postroom.db", "spool", "lock"}
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert {stat.S_IMODE((state / one).stat().st_mode) for one in ("postroom.db", "lock")} == {
        0o600
    }
    assert stat.S_IMODE((state / "spool").stat().st_mode) == 0o700
    again = ["restore", str(file), "--config", config(tmp_path), "--json"]
    assert main(again) == 78
    capsys.readouterr()
    assert main([*again, "--replace"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["deliveries"] == [{"mailbox_id": "support", "state": "pending", "deliveries": 1}]
    assert names(Path(answer["replaced"])) == {"postroom.db", "spool"}


def test_a_backup_comes_through_a_pipe_too(
    tmp_path: Path, tar: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(tar)))
    assert main(["restore", "-", "--config", config(tmp_path)]) == 0
    assert (tmp_path / "new" / "postroom.db").exists()


@pytest.mark.parametrize(
    ("content", "code"), [(b"letter", 65), (None, 66)], ids=["no backup", "no file"]
)
def test_what_can_not_be_put_in_place_leaves_all_as_it_was(
    tmp_path: Path, content: bytes | None, code: int
) -> None:
    file = tmp_path / "b.tar"
    if content is not None:
        file.write_bytes(content)
    assert main(["restore", str(file), "--config", config(tmp_path)]) == code
    left = names(tmp_path / "new") if (tmp_path / "new").exists() else set()
    assert left <= {"lock"}
    assert main(["restore", str(file), "--config", str(tmp_path / "none.toml")]) in {66, 78}


def test_doctor_ends_as_it_found(
    tmp_path: Path, daemon: FakeDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    daemon.on("GET /v1/version", {"version": "0.1.0"})
    daemon.on("GET /v1/readyz", {"status": "ready"})
    daemon.on("GET /v1/clock", {"at": "2026-11-30T07:00:00Z", "is_doubted": False})
    daemon.on("GET /v1/mailboxes", MAILBOXES)
    tmp_path.chmod(0o755)
    argv = ["doctor", "--config", config(tmp_path)]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "a daemon answers at" in out
    daemon.on("GET /v1/clock", {"at": "2026-11-30T07:00:00Z", "is_doubted": True})
    assert main([*argv, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False
    assert {"check", "result", "detail", "fix"} == set(answer["checks"][0])
    assert [one["check"] for one in answer["checks"] if one["result"] == "fail"] == ["clock"]
    daemon.stop()
    assert main(argv) == 1
    assert "systemctl start postroom" in capsys.readouterr().out
