"""Settings as the daemon uses them: checked values, without a trace of the files they came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from postroom.core.listening import ListenAt, Listening, TokenRules
from postroom.core.mailbox import Mailbox, Relay
from postroom.core.retention import Retention
from postroom.ops.logwords import LogFormat, LogLevel
from postroom.ports.errors import SettingProblem


@dataclass(frozen=True, slots=True)
class DaemonSettings:
    """`[daemon]`: where its state lives, how it logs, how long it drains, how many deliveries are under way at once."""

    state_dir: Path = Path("/var/lib/postroom")
    log_level: LogLevel = LogLevel.INFO
    log_format: LogFormat = LogFormat.JSON
    drain: timedelta = timedelta(seconds=60)
    slots: int = 200


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """`[api]`: the Unix socket that is bound where systemd hands none over; `group` None = the daemon's own."""

    socket: Path = Path("/run/postroom/api.sock")
    mode: int = 0o660
    group: str | None = None


@dataclass(frozen=True, slots=True)
class DigestSettings:
    """`[digest]`: at which time of the day, from midnight UTC, owners get their digest."""

    at: timedelta = timedelta(hours=7)


@dataclass(frozen=True, slots=True)
class MetricsSettings:
    """`[metrics]`: the address on loopback where the metrics can be read, and by whom."""

    listen: ListenAt
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """All of it; mailboxes and relays by their ids. The id of a mailbox's private relay is `m:` and the mailbox's id.

    `listener` None = mail comes in nowhere, `metrics` None = they are on the socket alone. `warnings` are no reason not to start.
    """

    daemon: DaemonSettings
    api: ApiSettings
    retention: Retention
    relays: Mapping[str, Relay]
    mailboxes: Mapping[str, Mailbox]
    listener: Listening | None = None
    digest: DigestSettings = field(default_factory=DigestSettings)
    tokens: TokenRules = field(default_factory=TokenRules)
    metrics: MetricsSettings | None = None
    warnings: tuple[SettingProblem, ...] = ()
