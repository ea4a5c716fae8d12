"""`load`: the settings from one TOML file and `mailboxes.d/*.toml` beside it, or everything that is wrong with them.

Rules: nothing is half loaded; unknown keys are errors; mailboxes and relays may stand in any of the files, the rest
only in the main one. No network, no DNS: what a relay says to us is for `mailboxes check`.
"""

import grp
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

from postroom.config.listener import (
    find_postmaster,
    find_unheard,
    read_listener,
    read_tokens,
)
from postroom.config.mailbox import ID, ID_RULE, ReadMailbox, read_mailbox
from postroom.config.metrics import read_metrics
from postroom.config.reference import NoSecret, Secret, find_secret
from postroom.config.relay import read_relay
from postroom.config.settings import ApiSettings, DaemonSettings, DigestSettings, Settings
from postroom.config.table import Span, Table
from postroom.config.tomlfile import read_toml
from postroom.config.warnings import find_relay_doubts
from postroom.core.mailbox import Mailbox, Relay
from postroom.core.retention import Retention
from postroom.core.words import shown
from postroom.ports.errors import ConfigError, SettingProblem


_MAIN_SECTIONS: Final = (
    *("daemon", "api", "retention", "digest"),
    *("listener", "tokens", "metrics"),
)
_LATER_SECTIONS: Final = {"access": "It comes with a later version: leave it out."}
_IN_MAIN: Final = dict.fromkeys(_MAIN_SECTIONS, "Move it into the main file.") | _LATER_SECTIONS
_AGE: Final = Span(60, 100 * 366 * 86_400)  # below a minute a job could go before it was looked at
_LONGEST_SOCKET: Final = 107  # bytes of sun_path but its NUL, unix(7)
_LONGEST_FAULT: Final = 200  # characters of the parser's words
_MODE: Final = re.compile(r"0?[0-7]{3}", re.ASCII)
_TIME: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_DEFAULT_AT: Final = "07:00"
_DEFAULT_MODE: Final = f"{ApiSettings().mode:04o}"


def load(path: Path, environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of this file and the mailboxes beside it.

    Raises: ConfigError with every problem that could be found.
    """
    problems: list[SettingProblem] = []
    main = _read_file(path, problems)
    beside = _find_beside(path.parent / "mailboxes.d", problems)
    others = [_read_file(file, problems) for file in beside]
    daemon, api, retention = (
        _read_daemon(main.table("daemon")),
        _read_api(main.table("api")),
        _read_retention(main.table("retention")),
    )
    digest = _read_digest(main.table("digest"))
    listener_table = main.table("listener")
    listener = read_listener(listener_table) if main.has("listener") else None
    senders = _Senders(environ, listener.domains if listener else None)
    tokens = read_tokens(main.table("tokens"), senders.find_secret)
    metrics_table = main.table("metrics")
    metrics = read_metrics(metrics_table, senders.find_secret) if main.has("metrics") else None
    for table in (main, *others):
        senders.add_relays(table)
    for table in (main, *others):
        senders.add_mailboxes(table)
    if listener:
        postmaster, doubts = find_postmaster(listener_table, listener, senders.mailboxes)
        listener = replace(listener, postmaster=postmaster)
        senders.warnings += (*doubts, *find_unheard(listener_table, listener))
    main.close(_LATER_SECTIONS)
    for table in others:
        table.close(_IN_MAIN)
    if problems:
        raise ConfigError(*problems)
    return Settings(
        daemon=daemon,
        api=api,
        retention=replace(retention, answers=tokens.expiry),
        relays=MappingProxyType(senders.relays),
        mailboxes=MappingProxyType(senders.mailboxes),
        listener=listener,
        digest=digest,
        tokens=tokens,
        metrics=metrics,
        warnings=tuple(senders.warnings),
    )


def find_state_dir(path: Path) -> Path:
    """Where a daemon with these settings keeps its state; nothing else of them has to be right.

    Raises: ConfigError.
    """
    problems: list[SettingProblem] = []
    daemon = _read_daemon(_read_file(path, problems).table("daemon"))
    if problems:
        raise ConfigError(*problems)
    return daemon.state_dir


class _Senders:
    """Relays and mailboxes of all files."""

    def __init__(self, environ: Mapping[str, str], domains: Sequence[str] | None) -> None:
        self.relays: dict[str, Relay] = {}
        self.mailboxes: dict[str, Mailbox] = {}
        self.warnings: list[SettingProblem] = []
        self._environ = environ
        self._domains = domains
        self._names: set[str] = set()
        self._addresses: dict[str, str] = {}

    def add_relays(self, file: Table) -> None:
        """Those in `[relay.NAME]`."""
        for name, table in file.table("relay").each():
            if not ID.fullmatch(name):
                table.wrong("", "is no name for a relay.", ID_RULE)
            if name in self._names:
                table.wrong("", "is there twice.", "Rename or remove one of the two.")
            self._names.add(name)
            self.relays[name] = read_relay(name, table, self.find_secret)
            self.warnings += find_relay_doubts(table, self.relays[name])

    def add_mailboxes(self, file: Table) -> None:
        """Those in `[[mailbox]]`, with the relays written inside them."""
        for table in file.array("mailbox"):
            names = frozenset(self._names)
            read = read_mailbox(table, names, self.find_secret, self._domains)
            self._check_twins(table, read.mailbox)
            self._add(read)

    def find_secret(self, reference: str, folder: Path) -> Secret | NoSecret:
        """What a reference stands for, in the environment that was given."""
        return find_secret(reference, folder, self._environ)

    def _add(self, read: ReadMailbox) -> None:
        self.mailboxes[read.mailbox.id] = read.mailbox
        self.warnings += read.warnings
        if read.private_relay:
            self.relays[read.private_relay.id] = read.private_relay

    def _check_twins(self, table: Table, mailbox: Mailbox) -> None:
        if mailbox.id and mailbox.id in self.mailboxes:
            table.wrong("id", "is there twice.", "Rename or remove one of the two.")
        key = mailbox.address.casefold()
        if key and key in self._addresses:
            other = self._addresses[key]
            table.wrong("address", f"is that of '{other}' too.", "Give each mailbox its own.")
        self._addresses[key] = mailbox.id


def _find_beside(folder: Path, problems: list[SettingProblem]) -> list[Path]:
    """The files of mailboxes, as a shell finds *.toml: hidden ones are what editors leave there."""
    try:
        files = sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:  # to go on would hold the mail of every mailbox in it
        wrong = f"can not be read: {error.strerror}."
        problems.append(SettingProblem(str(folder), "", wrong, "Check what it is, and its mode."))
        return []
    return [file for file in files if file.suffix == ".toml" and not file.name.startswith(".")]


def _read_file(path: Path, problems: list[SettingProblem]) -> Table:
    values: dict[str, object] = {}
    try:
        values = read_toml(path)
    except OSError as error:
        wrong = f"can not be read: {error.strerror}."
        problems.append(SettingProblem(str(path), "", wrong, "Check the path and its mode."))
    except UnicodeDecodeError:
        problems.append(SettingProblem(str(path), "", "is not UTF-8.", "Save it as UTF-8."))
    except (ValueError, RecursionError) as error:
        wrong = f"is not TOML: {shown(str(error), _LONGEST_FAULT)}."
        problems.append(SettingProblem(str(path), "", wrong, "Mend that line."))
    return Table(path, "", values, problems)


def _read_daemon(table: Table) -> DaemonSettings:
    default = DaemonSettings()
    daemon = DaemonSettings(
        state_dir=table.path("state_dir", default.state_dir),
        log_level=table.choice("log_level", default.log_level),
        log_format=table.choice("log_format", default.log_format),
        drain=table.seconds("drain_s", default.drain, Span(0, 3_600)),
        slots=table.integer("slots", default.slots, Span(1, 10_000)),
    )
    table.close()
    return daemon


def _read_api(table: Table) -> ApiSettings:
    default = ApiSettings()
    socket = table.path("socket", default.socket)
    if len(os.fsencode(socket)) > _LONGEST_SOCKET:
        table.wrong("socket", "is too long for a Unix socket.", f"Use ≤ {_LONGEST_SOCKET} bytes.")
    api = ApiSettings(socket=socket, mode=_read_mode(table), group=_read_group(table))
    table.close()
    return api


def _read_mode(table: Table) -> int:
    written = table.text("mode", _DEFAULT_MODE)
    if not _MODE.fullmatch(written):
        table.wrong("mode", "is not a file mode.", f'Write it as text: "{_DEFAULT_MODE}".')
        return 0
    mode = int(written, 8)
    if mode & 0o007:
        table.wrong("mode", "lets every user of this machine send mail.", "End it with 0.")
    if mode & 0o600 != 0o600:  # noqa: PLR2004 - read and write for the owner
        table.wrong("mode", "keeps the daemon's own user out.", "Begin it with 6.")
    return mode


def _read_group(table: Table) -> str | None:
    name = table.text("group")
    if not name:
        return None
    try:
        grp.getgrnam(name)
    except KeyError:
        table.wrong("group", f"is '{shown(name)}', which there is not.", "Make it (groupadd).")
    return name


def _read_digest(table: Table) -> DigestSettings:
    default = DigestSettings()
    written = table.text("at", _DEFAULT_AT)
    table.close()
    found = _TIME.fullmatch(written)
    if found is None:
        table.wrong("at", f"is '{shown(written)}'.", 'Write hours and minutes, UTC: "07:00".')
        return default
    return DigestSettings(timedelta(hours=int(found[1]), minutes=int(found[2])))


def _read_retention(table: Table) -> Retention:
    default = Retention()
    retention = Retention(
        sent=table.seconds("sent_s", default.sent, _AGE),
        failed=table.seconds("failed_s", default.failed, _AGE),
        events=table.seconds("events_s", default.events, _AGE),
        staged=table.seconds("staged_s", default.staged, _AGE),
    )
    table.close()
    return retention
