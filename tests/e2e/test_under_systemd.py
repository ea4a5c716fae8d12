"""The daemon as systemd runs it: sockets handed over, READY, the watchdog, STOPPING; and how little an idle one does."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from postroom.client import Client
from support.real_daemon import POSTROOM, SETTINGS, env


HAND_OVER = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="api")
os.execv(sys.argv[2], sys.argv[2:])
"""


class Systemd:
    """Reads what the daemon tells, and holds the socket that callers connect to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(str(folder / "notify"))
        self.notify.settimeout(30)
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listening.bind(str(folder / "api.sock"))
        self.listening.listen(16)
        self.told: list[str] = []

    def until(self, word: str) -> None:
        """Read until the daemon has said this."""
        while word not in self.told:
            self.told += self.notify.recv(4096).decode().split("\n")

    @contextmanager
    def start(self, watchdog_s: float) -> Iterator[subprocess.Popen[bytes]]:
        """A daemon that was handed the socket, until the end of the block."""
        environ = env(
            NOTIFY_SOCKET=str(self.folder / "notify"),
            WATCHDOG_USEC=str(int(watchdog_s * 1_000_000)),
        )
        command = [*POSTROOM, "run", "--config", str(self.folder / "postroom.toml")]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", HAND_OVER, str(self.listening.fileno()), *command],
                pass_fds=[self.listening.fileno()],
                stdout=log,
                stderr=log,
                env=environ,
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    (tmp_path / "postroom.toml").write_text(SETTINGS.format(folder=tmp_path, port=25))
    (tmp_path / "postroom.toml").chmod(0o600)
    made = Systemd(tmp_path)
    try:
        yield made
    finally:
        made.notify.close()
        made.listening.close()


def switches(pid: int) -> int:
    """How often all threads of a process have been given the processor so far."""
    count = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):
            for line in (task / "status").read_text().splitlines():
                if "ctxt_switches" in line:
                    count += int(line.split()[1])
    return count


def test_it_takes_the_socket_it_is_handed_and_tells_what_it_does(systemd: Systemd) -> None:
    """A client that came before the daemon is answered by it, and the socket outlives a stop."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as early,
        systemd.start(watchdog_s=0.4) as process,
    ):
        early.settimeout(30)
        early.connect(str(systemd.folder / "api.sock"))
        early.sendall(b"GET /v1/healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert early.recv(15) == b"HTTP/1.1 200 OK"
        systemd.until("READY=1")
        assert "STOPPING=1" not in systemd.told
        systemd.until("WATCHDOG=1")
        assert any(word.startswith("STATUS=") for word in systemd.told)
        process.send_signal(signal.SIGTERM)
        systemd.until("STOPPING=1")
        assert process.wait(30) == 0
    assert (systemd.folder / "api.sock").is_socket()
    with systemd.start(watchdog_s=30):
        assert Client(str(systemd.folder / "api.sock"), retry_s=10).is_ready()


def test_a_reload_is_told_with_its_time_and_ends_in_ready_whatever_comes_of_it(
    systemd: Systemd,
) -> None:
    """sd_notify(3): RELOADING=1 and MONOTONIC_USEC= in one datagram, then READY=1."""
    config = systemd.folder / "postroom.toml"
    plain = config.read_text()
    with systemd.start(watchdog_s=60) as process:
        systemd.until("READY=1")
        client = Client(str(systemd.folder / "api.sock"), retry_s=10)
        for text in (plain, "[daemon"):
            systemd.told.clear()
            config.write_text(text)
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            if text == plain:
                client.reload()
            else:
                process.send_signal(signal.SIGHUP)
            systemd.until("READY=1")
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
            reloading, said_at, ready, status = systemd.told
            assert (reloading, ready, status) == ("RELOADING=1", "READY=1", "STATUS=1 mailboxes")
            assert before <= int(said_at.removeprefix("MONOTONIC_USEC=")) <= after


def test_ready_is_not_said_before_the_store_is_there(systemd: Systemd) -> None:
    (systemd.folder / "state").mkdir(mode=0o700)
    (systemd.folder / "state" / "postroom.db").write_bytes(b"this is no database " * 500)
    with systemd.start(watchdog_s=30) as process:
        assert process.wait(30) in (os.EX_CONFIG, os.EX_IOERR)
    assert not select.select([systemd.notify], [], [], 0)[0]


def test_an_idle_daemon_sleeps(systemd: Systemd) -> None:
    """Ten switches a minute are allowed; in two seconds we see none, or what a busy machine made of one."""
    with systemd.start(watchdog_s=60) as process:
        systemd.until("READY=1")
        assert Client(str(systemd.folder / "api.sock"), retry_s=10).is_ready()
        select.select([], [], [], 0.3)
        before = switches(process.pid)
        select.select([], [], [], 2)
        assert switches(process.pid) - before <= 3
