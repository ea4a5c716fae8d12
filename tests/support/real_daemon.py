"""The real daemon as a child process, on a fresh directory, with one mailbox that sends through a relay on loopback."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from postroom.cli.demo_relay import Relay
from postroom.cli.tree import main
from postroom.client import Client
from support.heard import EAR


POSTROOM = [sys.executable, "-m", "postroom.cli"]
SOURCE = Path(__file__).parents[2] / "daemon"
SETTINGS = """\
[daemon]
state_dir = "{folder}/state"
drain_s = 2
[api]
socket = "{folder}/api.sock"
[relay.main]
host = "127.0.0.1"
port = {port}
tls = "none"
[[mailbox]]
id = "support"
address = "Support <support@example.com>"
relay = "main"
attachment_roots = ["{folder}/files"]
retry = {{ first_s = 1, jitter = 0 }}
"""


def env(**more: str) -> dict[str, str]:
    """The environment of a child that runs this source."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), "NO_COLOR": "1", **more}


@dataclass(frozen=True, slots=True)
class Typed:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


@dataclass
class RealDaemon:
    """A daemon, its relay and its folder."""

    folder: Path
    relay: Relay
    process: subprocess.Popen[bytes] | None = None
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        self.client = Client(str(self.folder / "api.sock"), retry_s=30)

    @property
    def config(self) -> Path:
        return self.folder / "postroom.toml"

    def start(self, *, wait: bool = True) -> None:
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [*POSTROOM, "run", "--config", str(self.config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=env(),
            )
        assert not wait or self.client.is_ready(), (self.folder / "log").read_text()[-2000:]

    def stop(self) -> int:
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(15)
        finally:
            self.process.kill()
            self.process.wait()
            log = (self.folder / "log").read_text("utf-8", "replace")
            EAR.hear_log(f"daemon in {self.folder}", log)

    def cli(self, *words: str) -> Typed:
        """Type a command; in this process, since a hundred starts of Python would take their time."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
        argv = [
            *words,
            *(() if words[0] in {"run", "config", "restore"} else ("--socket", self.client.socket)),
        ]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(argv)
        texts = []
        for stream in (out, err):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())
            EAR.hear(f"postroom {' '.join(words)}", texts[-1])
        return Typed(code, *texts)

    def run(self, config: Path) -> Typed:
        """What another daemon with these settings says and how it ends."""
        argv = [*POSTROOM, "run", "--config", str(config)]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=30, check=False, env=env()
        )
        return Typed(done.returncode, done.stdout, done.stderr)

    def json(self, *words: str) -> Any:
        """What a command prints for programs."""
        return json.loads(self.cli(*words, "--json").out)


@contextmanager
def real_daemon() -> Iterator[RealDaemon]:
    """One that runs, and is gone afterwards."""
    relay = Relay()
    relay.start()
    try:
        with tempfile.TemporaryDirectory(prefix="postroom-test-") as name:
            daemon = RealDaemon(Path(name), relay)
            (daemon.folder / "files").mkdir()
            (daemon.folder / "state").mkdir(mode=0o700)
            daemon.config.write_text(SETTINGS.format(folder=name, port=relay.port))
            daemon.config.chmod(0o600)
            try:
                daemon.start()
                yield daemon
            finally:
                if daemon.process is not None:
                    daemon.stop()
    finally:
        relay.stop()
