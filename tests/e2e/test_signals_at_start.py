"""Signals that come while the daemon is still importing what it is made of, at each of many moments."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from postroom.client import Client
from support.heard import EAR
from support.real_daemon import SETTINGS, env


_OURS = "click"  # the first that is imported of what a command line needs: from here on we can be blamed
_LOADED = (1, 40, 150, 400, 700)  # modules


class Start:
    """A `postroom run` that says each module as it is imported."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self._log: list[dict[str, Any]] = []

    def modules(self) -> Iterator[str]:
        """From the first of the command line on, as they are imported; ends when the daemon runs."""
        assert self.process.stderr is not None
        is_begun = False
        for line in self.process.stderr:
            if line.startswith("{"):
                self._log.append(json.loads(line))
                return
            name = line.rpartition("|")[2].strip()
            is_begun = is_begun or name.startswith(_OURS)
            if is_begun and line.startswith("import time:"):
                yield name

    def end(self) -> int:
        """How it ended."""
        _, rest = self.process.communicate(timeout=30)
        self._log += [json.loads(line) for line in rest.splitlines() if line.startswith("{")]
        EAR.hear_log("a daemon that was hit at its start", rest)
        return self.process.returncode

    @property
    def told(self) -> list[str]:
        return [line["event"] for line in self._log]


@contextmanager
def starting(folder: Path, *words: str) -> Iterator[Start]:
    config = folder / "postroom.toml"
    config.write_text(SETTINGS.format(folder=folder, port=25))
    config.chmod(0o600)
    words = words or ("run", "--config", str(config))
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "postroom.cli", *words],
        stderr=subprocess.PIPE,
        text=True,
        env=env(),
    )
    try:
        yield Start(process)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_what_is_no_stop_ends_no_daemon_however_early_and_often_it_comes(
    tmp_path: Path, number: signal.Signals
) -> None:
    with starting(tmp_path) as start:
        hits = 0
        for _ in start.modules():
            start.process.send_signal(number)
            hits += 1
        assert hits > 100
        assert Client(str(tmp_path / "api.sock"), retry_s=30).is_ready()
        start.process.terminate()
        assert start.end() == 0
        assert "daemon.stopped" in start.told
        wanted = "config.reloaded" if number is signal.SIGHUP else "signal.ignored"
        assert wanted in start.told


@pytest.mark.parametrize("loaded", _LOADED)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_while_it_starts_is_as_orderly_as_any(
    tmp_path: Path, number: signal.Signals, loaded: int
) -> None:
    with starting(tmp_path) as start:
        for count, _ in enumerate(start.modules(), 1):
            if count == loaded:
                start.process.send_signal(number)
        assert start.end() == 0
        assert start.told[-1] == "daemon.stopped"
        assert not (tmp_path / "api.sock").exists()


def test_wrong_settings_are_told_though_a_stop_came_before_they_were_read(tmp_path: Path) -> None:
    with starting(tmp_path) as start:
        (tmp_path / "postroom.toml").write_text("[daemon\n")
        for _ in start.modules():
            start.process.send_signal(signal.SIGTERM)
        assert start.end() == os.EX_CONFIG


@contextmanager
def deaf_server(path: Path) -> Iterator[None]:
    """Takes who comes and answers nobody, so that nothing ends by itself."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen()
        yield


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGHUP, -1)]
)
def test_another_verb_ends_as_ever(tmp_path: Path, number: signal.Signals, code: int) -> None:
    silent = tmp_path / "silent.sock"
    with (
        deaf_server(silent),
        starting(tmp_path, "show", "dlv_1", "--socket", str(silent)) as start,
    ):
        for count, _ in enumerate(start.modules(), 1):
            if count == 1:
                start.process.send_signal(number)
        assert start.end() == code
