"""What is answered about the daemon and its mailboxes: the shapes that belong to no job."""

from enum import StrEnum
from typing import Literal

from postroom.api.answered import Answered
from postroom.api.requests import Moment
from postroom.api.shapes import SettingFault
from postroom.api.shapes_alerts import StandingAlert
from postroom.core.delivery import DeliveryState
from postroom.ports.reloading import ChangeKind


class Breaker(Answered, frozen=True):
    """A breaker as it stands: closed is well, half_open lets one through at a time, open none before `probe_at`."""

    state: str
    reason: str | None
    probe_at: Moment | None


class Slowed(Answered, frozen=True):
    """What is slowed down, because it said that we are too fast: the relay (`domain` null), or a domain behind it.

    `per_minute` may start and `at_once` be under way; `was_…` is how much it was before.
    """

    domain: str | None
    reason: str
    per_minute: float
    at_once: int
    was_per_minute: int
    was_at_once: int
    since_at: Moment


class MailboxState(StrEnum):
    """How a mailbox is: blocked = by a breaker that is open, paused = by a person, removed = not in the settings any more."""

    ACTIVE = "active"
    PAUSED = "paused"
    BLOCKED = "blocked"
    REMOVED = "removed"


class Mailbox(Answered, frozen=True):
    """A mailbox."""

    id: str
    address: str | None
    relay: str | None
    state: MailboxState
    paused_by: str | None
    paused_reason: str | None
    paused_at: Moment | None
    removed_at: Moment | None
    breaker: Breaker | None
    relay_breaker: Breaker | None
    slowed: list[Slowed]


class MailboxList(Answered, frozen=True):
    """All mailboxes."""

    items: list[Mailbox]
    next_cursor: None


class LastMinute(Answered, frozen=True):
    """What deliveries did within the last minute; deferred = came out of an attempt to wait again."""

    accepted: int
    sent: int
    failed: int
    deferred: int


class MailboxStats(Answered, frozen=True):
    """The three signals of one mailbox. `depth` and `oldest_due_age_s` are by priority, `outcomes` by reason or state."""

    depth: dict[str, dict[DeliveryState, int]]
    oldest_due_age_s: dict[str, float]
    outcomes: dict[str, int]
    last_minute: LastMinute
    paused_by: str | None


class OpenBreaker(Answered, frozen=True):
    """A breaker that is not closed, of a `mailbox` or a `relay`; `probe_at`, while it is open, is when it next tries."""

    scope: str
    id: str
    state: str
    reason: str | None
    probe_at: Moment | None


class PaceUse(Answered, frozen=True):
    """How much is used up of a pace that is set: of a `mailbox` or a `relay`, `per` second (its burst), minute or day."""

    scope: str
    id: str
    per: str
    used: int
    allowed: int


class EventsWaiting(Answered, frozen=True):
    """Events that wait, and how long the oldest of them does that is in nobody's hands; null = all are, or none waits."""

    events: int
    leased: int
    oldest_age_s: float | None


class InboundStats(Answered, frozen=True):
    """The way in since the start; `waiting` mails are no events yet. `sessions` null = mail comes in nowhere."""

    received: int
    refused: int
    set_aside: int
    waiting: int
    oldest_age_s: float | None
    sessions: int | None


class StoreStats(Answered, frozen=True):
    """The store; with less than `disk_kept_bytes` free, or fewer files left to be made than `disk_kept_files`, nothing new is accepted.

    Null = it can not be told, or the file system counts no files.
    """

    commits: int
    commit_s: float
    waiting: int
    wal_bytes: int
    disk_free_bytes: int | None
    disk_kept_bytes: int | None
    disk_free_files: int | None
    disk_kept_files: int | None


class Stats(Answered, frozen=True):
    """Depth now, wait now; outcomes since the daemon started, what stands behind them, and what is the matter.

    `unclaimed` are events of types that had a consumer once, and had none when they came.
    """

    at: Moment
    started_at: Moment
    in_flight: int
    slots: int
    depth: dict[DeliveryState, int]
    oldest_due_age_s: float
    outcomes: dict[str, int]
    loop_lag_max_s: float
    last_minute: LastMinute
    breakers: list[OpenBreaker]
    pace: list[PaceUse]
    connections: dict[str, int]
    consumers: dict[str, EventsWaiting]
    unclaimed: EventsWaiting
    lease_expiries: int
    events_dead: int
    inbound: InboundStats
    store: StoreStats
    alerts: list[StandingAlert]
    mailboxes: dict[str, MailboxStats]


class SettingChange(Answered, frozen=True):
    """A setting, mailbox or relay that is another one; of a secret `before` and `after` say nothing."""

    path: str
    kind: ChangeKind
    before: str | None
    after: str | None


class Reloaded(Answered, frozen=True):
    """What is in force now (with `dry_run`: what would be), and what waits for a restart."""

    changed: list[SettingChange]
    needs_restart: list[SettingChange]
    warnings: list[SettingFault]
    mailboxes: int
    dry_run: bool


class Health(Answered, frozen=True):
    """Alive."""

    status: Literal["ok"]


class Ready(Answered, frozen=True):
    """Able to take work."""

    status: Literal["ready"]


class Version(Answered, frozen=True):
    """What runs here."""

    name: Literal["postroom"]
    version: str
    api: Literal["v1"]


class ClockView(Answered, frozen=True):
    """What the daemon's clock says, and whether it is doubted: then what can not be undone waits."""

    at: Moment
    is_doubted: bool
