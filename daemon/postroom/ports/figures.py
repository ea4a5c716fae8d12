"""The running daemon in figures, as the API shows them: depth, wait, outcomes, and what stands behind them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from postroom.core.alert import Raised
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.ports.leasing import WaitingEvents


class Flow(StrEnum):
    """What deliveries do: deferred = came out of an attempt to wait again."""

    ACCEPTED = "accepted"
    SENT = "sent"
    FAILED = "failed"
    DEFERRED = "deferred"


@dataclass(frozen=True, slots=True)
class Minute:
    """How many deliveries did so within the last minute."""

    accepted: int = 0
    sent: int = 0
    failed: int = 0
    deferred: int = 0


@dataclass(frozen=True, slots=True)
class OpenBreaker:
    """A breaker that is not closed, of a `mailbox` or a `relay`; `probe_at`, while it is open, is when it next tries."""

    scope: str
    id: str
    state: str
    reason: str | None
    probe_at: Instant | None


@dataclass(frozen=True, slots=True)
class PaceUse:
    """How much of a pace is used up: of a `mailbox` or a `relay`, `per` second, minute or day."""

    scope: str
    id: str
    per: str
    used: int
    allowed: int


@dataclass(frozen=True, slots=True)
class InboundFigures:
    """The way in: counts since the start, mails that are no events yet, and since when the oldest of them is not.

    `sessions` None = mail comes in nowhere.
    """

    received: int
    refused: int
    set_aside: int
    waiting: int
    oldest_at: Instant | None
    sessions: int | None


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """The store: what its writer did since the start, how many units wait for it, and the room that it has.

    Below `disk_kept` bytes nothing new is accepted, nor with fewer than `files_kept` files left to be made. None = it
    can not be told, or the file system counts no files.
    """

    commits: int
    units: int
    busy: timedelta
    waiting: int
    wal_bytes: int
    disk_free: int | None
    disk_kept: int | None
    files_free: int | None
    files_kept: int | None


@dataclass(frozen=True, slots=True)
class Stats:
    """The three signals, and what stands behind them.

    `outcomes` counts by mailbox and word since the daemon started at `started_at`; `oldest_due` is the earliest due
    instant of each mailbox and lane that has something due; `loop_lag_max` is how late the event loop woke at worst.
    `paused` names who paused a mailbox, `connections` are open ones by relay, `consumers` what waits for whom,
    `alerts` what is raised.
    """

    at: Instant
    started_at: Instant
    in_flight: int
    slots: int
    depth: Mapping[tuple[str, Lane, DeliveryState], int]
    oldest_due: Mapping[tuple[str, Lane], Instant]
    outcomes: Mapping[tuple[str, str], int]
    loop_lag_max: timedelta
    last_minute: Mapping[str, Minute]
    paused: Mapping[str, str]
    breakers: tuple[OpenBreaker, ...]
    pace: tuple[PaceUse, ...]
    connections: Mapping[str, int]
    consumers: tuple[WaitingEvents, ...]
    lease_expiries: int
    events_dead: int
    inbound: InboundFigures
    store: StoreFigures
    alerts: tuple[Raised, ...]
