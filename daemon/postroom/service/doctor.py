"""`postroom doctor`: everything that has to be right for mail to go and come, looked at once; nothing is changed or sent."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from postroom.config.loading import find_state_dir, load
from postroom.config.settings import ApiSettings, Settings
from postroom.core.instant import Instant
from postroom.ports.errors import ConfigError, SettingProblem
from postroom.service.doctor_files import (
    look_at_backup,
    look_at_clock,
    look_at_credentials,
    look_at_disk,
    look_at_file_system,
    look_at_settings_files,
    look_at_socket,
    look_at_sqlite,
    look_at_state,
)
from postroom.service.doctor_net import Servers, Tried, checks_of
from postroom.service.findings import Check, Finding, fail, fine, run_checks, warn


_FOLDER: Final = "CREDENTIALS_DIRECTORY"


@dataclass(frozen=True, slots=True)
class Running:
    """What the daemon says of itself; `ask` lets it try the relay of a mailbox."""

    version: str
    is_ready: bool
    is_clock_doubted: bool
    ask: Callable[[str], Tried]


@dataclass(frozen=True, slots=True)
class Patient:
    """What is looked at: the settings, the socket that callers use, the daemon (None = it does not answer)."""

    config: Path
    socket: Path | None
    running: Running | None
    now: Instant
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
    servers: Servers = None


def examine(patient: Patient) -> tuple[Finding, ...]:
    """All there is to say; never raises, never hangs, never names a secret."""
    environ = _with_credentials(patient)
    settings, told = _load(patient.config, environ)
    state_dir = settings.daemon.state_dir if settings else _state_dir(patient.config)
    checks = [*_of_files(patient, environ, settings, state_dir)]
    if settings is not None:
        ask = patient.running.ask if patient.running else None
        checks += checks_of(settings, patient.servers, ask)
    return (*told, *run_checks(checks))


def _of_files(
    patient: Patient, environ: Mapping[str, str], settings: Settings | None, state_dir: Path | None
) -> Iterator[Check]:
    running = patient.running
    yield Check("settings_files", partial(look_at_settings_files, patient.config))
    yield Check("credentials", partial(look_at_credentials, environ.get(_FOLDER)))
    yield Check("sqlite", look_at_sqlite)
    if state_dir is None:
        return
    yield Check("state_dir", partial(look_at_state, state_dir))
    yield Check("file_system", partial(look_at_file_system, state_dir))
    yield Check("disk", partial(look_at_disk, state_dir))
    socket = patient.socket or (settings.api if settings else ApiSettings()).socket
    seen = partial(look_at_socket, socket, is_up=running is not None, state_dir=state_dir)
    yield Check("socket", seen)
    if running is not None:
        yield Check("daemon", partial(_look_at_daemon, running))
    doubted = running.is_clock_doubted if running else None
    yield Check("clock", partial(look_at_clock, state_dir, patient.now, doubted))
    yield Check("backup", partial(look_at_backup, state_dir, patient.now))


def _look_at_daemon(running: Running) -> list[Finding]:
    if not running.is_ready:
        fix = "See its log: a full disk, or a store that does not answer."
        return [fail("daemon", f"{running.version} runs and takes nothing new", fix)]
    return [fine("daemon", f"{running.version} takes mail")]


def _load(config: Path, environ: Mapping[str, str]) -> tuple[Settings | None, tuple[Finding, ...]]:
    try:
        settings = load(config, environ)
    except ConfigError as error:
        return None, tuple(
            fail("settings", _where(one) + one.wrong, one.fix) for one in error.problems
        )
    doubts = [warn("settings", _where(one) + one.wrong, one.fix) for one in settings.warnings]
    count = len(settings.mailboxes)
    boxes = "1 mailbox" if count == 1 else f"{count} mailboxes"
    right = fine("settings", f"{config} is right, its secrets can be read: {boxes}")
    return settings, (right, *doubts)


def _where(problem: SettingProblem) -> str:
    return f"{problem.file}: {problem.key}: " if problem.key else f"{problem.file}: "


def _state_dir(config: Path) -> Path | None:
    try:
        return find_state_dir(config)
    except ConfigError:
        return None


def _with_credentials(patient: Patient) -> Mapping[str, str]:
    """What systemd hands to the daemon alone; by hand they are read where operating.md puts them."""
    usual = patient.config.parent / "credentials"
    if patient.environ.get(_FOLDER) or not usual.is_dir():
        return patient.environ
    return {**patient.environ, _FOLDER: str(usual)}
