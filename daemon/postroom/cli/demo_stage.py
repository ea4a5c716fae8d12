"""The demo's stage: a temporary directory, the relay, the real daemon as a child process; nothing of it is left behind."""

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.cli.demo_people import TEXTS, NotTaken, People
from postroom.cli.demo_relay import Relay
from postroom.cli.ending import signals_end_it
from postroom.client import Client
from postroom.client.errors import PostroomError
from postroom.client.host import Host
from postroom.selftest.names import Names
from postroom.selftest.relay import HOST


MAILBOX: Final = "reports"
REPORTS: Final = "reports@example.com"
FIRST_WAIT_S: Final = 1  # the default is 60: nobody watches a demo for minutes

_START_S: Final = 15.0
_STOP_S: Final = 10.0
_AWAY_S: Final = 5.0
_LAST_LINES: Final = 20
_LONGEST_SOCKET: Final = 100  # bytes of a path that fit a Unix socket's address everywhere
_POLL_S: Final = 0.05
_SETTINGS: Final = """\
[daemon]
state_dir = "{folder}/state"
[api]
socket = "{folder}/api.sock"
[relay.demo]
host = "{host}"
port = {port}
tls = "none"
[listener]
hostname = "postroom.example.com"
listen = ["{host}:{mail_port}"]
domains = ["reply.example.com"]
resolvers = ["{host}:{names_port}"]
trusted_relays = ["{host}"]
[[mailbox]]
id = "{mailbox}"
address = "Reports <{reports}>"
relay = "demo"
attachment_roots = ["{folder}/files"]
retry = {{ first_s = {first_s} }}
reply_address = "r-{{token}}@reply.example.com"
return_path = "b-{{token}}@reply.example.com"
"""


class DaemonFailed(Exception):
    """The daemon ended by itself, or did not do as asked; the text says which, and what it said last."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What the demo plays on."""

    folder: Path
    relay: Relay
    people: People
    client: Client
    host: Host
    daemon: subprocess.Popen[bytes]

    @property
    def files(self) -> Path:
        """Where jobs may take attachments from."""
        return self.folder / "files"

    def check_daemon(self) -> None:
        """Raises DaemonFailed when the daemon runs no more."""
        if self.daemon.poll() is not None:
            raise _failed(self.folder, "it ended by itself")


@contextlib.contextmanager
def set_up(host: Host) -> Iterator[Stage]:
    """Everything running, and everything gone afterwards, whatever happens in between."""
    with contextlib.ExitStack() as clean:
        clean.enter_context(signals_end_it())
        folder = _folder()
        clean.callback(shutil.rmtree, folder, ignore_errors=True)
        (folder / "files").mkdir()
        (folder / "state").mkdir(mode=0o700)
        relay = Relay()
        clean.callback(relay.stop)
        relay.start()
        names = Names(TEXTS)
        names.start()
        clean.callback(names.stop)
        config = folder / "postroom.toml"
        people = People(_free_port())
        config.write_text(_settings(folder, relay.port, people.port, names.port), "utf-8")
        config.chmod(0o600)
        with (folder / "daemon.log").open("wb") as log:
            daemon = subprocess.Popen(  # noqa: S603 - our own command line
                [sys.executable, "-m", "postroom.cli", "run", "--config", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the demo, which then ends the daemon in order
            )
        clean.callback(_stop, daemon)
        client = Client(str(folder / "api.sock"), retry_s=_AWAY_S, host=host)
        stage = Stage(folder, relay, people, client, host, daemon)
        try:
            _await_ready(stage)
            yield stage
        except (PostroomError, NotTaken) as error:
            raise _failed(folder, str(error)) from error


def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="postroom-demo-")).resolve()
    if len(str(folder / "api.sock").encode()) <= _LONGEST_SOCKET:
        return folder
    folder.rmdir()
    return Path(tempfile.mkdtemp(prefix="postroom-demo-", dir="/tmp"))


def _free_port() -> int:
    """A port that nobody listens on; the daemon takes it a moment later."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _settings(folder: Path, port: int, mail_port: int, names_port: int) -> str:
    return _SETTINGS.format(
        folder=str(folder).replace("\\", "\\\\").replace('"', '\\"'),
        host=HOST,
        port=port,
        mail_port=mail_port,
        names_port=names_port,
        mailbox=MAILBOX,
        reports=REPORTS,
        first_s=FIRST_WAIT_S,
    )


def _await_ready(stage: Stage) -> None:
    probe = Client(stage.client.socket, retry_s=0, host=stage.host)
    until_s = stage.host.monotonic_s() + _START_S
    while not probe.is_ready():
        stage.check_daemon()
        if stage.host.monotonic_s() > until_s:
            raise _failed(stage.folder, "it was not ready in time")
        stage.host.sleep(_POLL_S)


def _stop(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    try:
        daemon.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        daemon.kill()
        daemon.wait()


def _failed(folder: Path, what: str) -> DaemonFailed:
    lines: list[str] = []
    with contextlib.suppress(OSError):
        lines = (folder / "daemon.log").read_text("utf-8", "replace").splitlines()
    return DaemonFailed("\n".join([what, *lines[-_LAST_LINES:]]))
