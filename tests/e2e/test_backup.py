"""Backups of real daemons: under load, of one that stands still, interrupted, and for whom there is none."""

import hashlib
import io
import os
import shutil
import stat
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postroom.client import Client
from postroom.ops.archive import MANIFEST, unpack
from support.real_daemon import POSTROOM, SETTINGS, RealDaemon, env, real_daemon


THREADS, JOBS = 4, 20
CURL = ["curl", "--silent", "--request", "POST"]


def job(name: str, folder: Path) -> dict[str, Any]:
    """Every other one with a file."""
    number = int(name.rpartition("-")[2])
    files = [{"path": str(folder / "files" / f"{number}.txt")}] if number % 2 else []
    return {
        "mailbox_id": "support",
        "to": [f"{name}@example.com"],
        "subject": name,
        "text": "Here it is.\n",
        "idempotency_key": name,
        "attachments": files,
    }


class Load:
    """Callers that hand over mail until they are through; `accepted` are ids by key."""

    def __init__(self, daemon: RealDaemon) -> None:
        self.accepted: dict[str, str] = {}
        self._daemon = daemon
        self._threads = [
            threading.Thread(target=self._work, args=(number,)) for number in range(THREADS)
        ]
        for number in range(JOBS):
            (daemon.folder / "files" / f"{number}.txt").write_text(f"file {number}\n" * 2000)

    def start(self) -> None:
        for one in self._threads:
            one.start()

    def join(self) -> None:
        for one in self._threads:
            one.join()

    def _work(self, number: int) -> None:
        client = Client(self._daemon.client.socket)
        for turn in range(JOBS):
            name = f"caller{number}-{turn}"
            self.accepted[name] = client.submit(job(name, self._daemon.folder))["id"]


@contextmanager
def another(relay: Any, folder: Path) -> Iterator[RealDaemon]:
    """A daemon with the same settings on an empty directory, not started."""
    (folder / "files").mkdir(parents=True)
    daemon = RealDaemon(folder, relay)
    daemon.config.write_text(SETTINGS.format(folder=folder, port=relay.port))
    daemon.config.chmod(0o600)
    try:
        yield daemon
    finally:
        if daemon.process is not None:
            daemon.stop()


def killed(daemon: RealDaemon) -> None:
    assert daemon.process is not None
    daemon.process.kill()
    daemon.process.wait()
    daemon.process = None


def wait_for(daemon: RealDaemon, key: str, folder: Path) -> dict[str, Any]:
    """The job under a key, once it is settled."""
    found = daemon.client.submit(job(key, folder))
    assert found["deduplicated"]
    return daemon.client.wait(found["id"], 30)


@pytest.mark.timeout(120)
def test_a_backup_under_load_has_every_job_from_before_it_and_sends_nothing_by_itself(
    tmp_path: Path,
) -> None:
    with real_daemon() as daemon:
        load = Load(daemon)
        load.start()
        while len(load.accepted) < THREADS * JOBS // 2:
            pass
        before = dict(load.accepted)
        file = tmp_path / "postroom.tar"
        made = daemon.cli("backup", str(file), "--json")
        assert made.code == 0, made.err
        load.join()
        after = {key: name for key, name in load.accepted.items() if key not in before}
        killed(daemon)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert [one.name for one in tmp_path.iterdir()] == ["postroom.tar"]
        with another(daemon.relay, tmp_path / "other") as second:
            put = second.cli("restore", str(file), "--config", str(second.config))
            assert put.code == 0, put.err
            assert "postroom release --hold-reason restored" in put.out
            for name in before:  # attachments by path are beneath the first one's folder
                shutil.copy(
                    daemon.folder / "files" / f"{name.rpartition('-')[2]}.txt",
                    second.folder / "files",
                )
            copies = {key: daemon.relay.copies(f"{key}@example.com") for key in load.accepted}
            second.start()
            _check_held(second, daemon.folder, before, after)
            new = second.client.submit(job("new-2", second.folder))["id"]
            assert new not in load.accepted.values()
            assert int(new[4:], 32) > 1 << 32
            assert second.client.wait(new, 30)["status"] == "completed"
            assert copies == {
                key: daemon.relay.copies(f"{key}@example.com") for key in load.accepted
            }
            _release(second, daemon.folder, before)


def _check_held(
    daemon: RealDaemon, folder: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    """Every job from before the backup is there under its key and its id; of the others some may be."""
    for key, name in before.items():
        again = daemon.client.submit(job(key, folder))
        assert (again["id"], again["deduplicated"]) == (name, True)
        (one,) = again["deliveries"]
        assert one["state"] in {"sent", "held", "uncertain"}
    (held,) = daemon.client.holds()["items"]
    assert held["hold_reason"] == "restored"
    told = daemon.cli("status")
    assert f"support: {held['deliveries']} held (restored)" in told.out
    listed = daemon.json("held", "--limit", "1000")["items"]
    assert len(listed) == held["deliveries"]
    assert set(after.values()) - {one["job_id"] for one in listed} != set()


def _release(daemon: RealDaemon, folder: Path, before: dict[str, str]) -> None:
    (held,) = daemon.client.holds()["items"]
    restored = ["--hold-reason", "restored", "--mailbox", "support"]
    dry = daemon.json("release", *restored, "--dry-run")
    assert dry == {"matched": held["deliveries"], "done": 0}
    gone = daemon.json("cancel", *restored, "--limit", "1", "--yes")
    assert gone["done"] == 1
    done = daemon.json("release", *restored, "--yes")
    assert done == {"matched": held["deliveries"] - 1, "done": held["deliveries"] - 1}
    states = [one["state"] for key in before for one in wait_for(daemon, key, folder)["deliveries"]]
    assert set(states) <= {"sent", "cancelled", "uncertain"}
    assert daemon.client.holds()["items"] == []


@pytest.mark.timeout(120)
def test_a_daemon_that_stands_still_is_backed_up_from_its_directory_and_one_that_runs_is_not_restored(
    tmp_path: Path,
) -> None:
    file = tmp_path / "postroom.tar"
    with real_daemon() as daemon:
        daemon.client.pause("support")
        text = "long " * 20_000
        sent = daemon.client.send("support", "a@example.com", "Hello", text)
        restored = daemon.cli("restore", str(file), "--config", str(daemon.config))
        assert restored.code == 66, restored.err
        file.write_bytes(b"")
        restored = daemon.cli("restore", str(file), "--config", str(daemon.config))
        assert (restored.code, "another postroom" in restored.err) == (75, True)
        killed(daemon)
        shutil.rmtree(daemon.folder / "state" / "backup-x", ignore_errors=True)
        made = daemon.cli("backup", str(file), "--config", str(daemon.config))
        assert (made.code, "1 file of the spool; read back and whole" in made.out) == (0, True)
        assert not list((daemon.folder / "state").glob("backup-*"))
        daemon.start()
        assert daemon.client.job(sent["id"])["status"] == "accepted"
        daemon.stop()
        daemon.process = None
        refused = daemon.cli("restore", str(file), "--config", str(daemon.config))
        assert (refused.code, "--replace" in refused.err) == (78, True)
        put = daemon.cli("restore", str(file), "--replace", "--config", str(daemon.config))
        assert put.code == 0, put.err
        (aside,) = (daemon.folder / "state").glob("replaced-*")
        assert {"postroom.db", "spool"} <= {one.name for one in aside.iterdir()}
        daemon.start()
        assert daemon.client.job(sent["id"])["status"] == "held"
        raw = daemon.client.raw(sent["deliveries"][0]["id"])
        assert raw.count(b"long") == 20_000


def test_what_is_interrupted_leaves_no_file_and_what_is_damaged_is_not_put_in_place(
    tmp_path: Path,
) -> None:
    with real_daemon() as daemon:
        daemon.client.send("support", "a@example.com", "Hello", "x")
        file = tmp_path / "postroom.tar"
        missing = daemon.cli("backup", str(tmp_path / "nowhere" / "postroom.tar"))
        assert missing.code == 64
        assert daemon.cli("backup", str(tmp_path)).code == 64
        assert daemon.cli("backup", str(file)).code == 0
        whole = file.read_bytes()
        piped = subprocess.run(
            [*POSTROOM, "backup", "-", "--socket", daemon.client.socket],
            capture_output=True,
            timeout=30,
            check=False,
            env=env(),
        )
        assert piped.returncode == 0, piped.stderr
        assert unpack(io.BytesIO(piped.stdout)).origin.version
        with tarfile.open(fileobj=io.BytesIO(whole)) as tar:
            assert tar.getnames()[-1] == MANIFEST
        for content in (whole[: len(whole) // 2], whole.replace(b"support", b"supporT", 1)):
            file.write_bytes(content)
            with another(daemon.relay, tmp_path / hashlib.sha256(content).hexdigest()) as second:
                put = second.cli("restore", str(file), "--config", str(second.config))
                assert (put.code, "no whole backup" in put.err) == (65, True)
                state = second.folder / "state"
                assert [one.name for one in state.iterdir()] == ["lock"]


def test_who_may_not_have_it_gets_none(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    with real_daemon() as daemon:
        os.chown(daemon.client.socket, 65533, 65533)
        daemon.folder.chmod(0o755)
        done = subprocess.run(
            [*CURL, "--unix-socket", daemon.client.socket, "http://localhost/v1/backup"],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
            user=65533,
            group=65533,
        )
        assert '"code":"not_allowed"' in done.stdout
