"""What is answered about the daemon and its mailboxes: the shapes that belong to no job."""

from enum import StrEnum
from typing import Literal

from postroom.api.answered import Answered
from postroom.api.requests import Moment
from postroom.api.shapes import SettingFault
from postroom.core.delivery import DeliveryState
from postroom.ports.reloading import ChangeKind


class Breaker(Answered, frozen=True):
    """A breaker as it stands: closed is well; `probe_at` is when it next tries."""

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
    """How a mailbox is: blocked = by a breaker, paused = by a person, removed = not in the settings any more."""

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


class MailboxStats(Answered, frozen=True):
    """The three signals of one mailbox. `depth` and `oldest_due_age_s` are by priority, `outcomes` by reason or state."""

    depth: dict[str, dict[DeliveryState, int]]
    oldest_due_age_s: dict[str, float]
    outcomes: dict[str, int]


class Stats(Answered, frozen=True):
    """Depth now, wait now; outcomes, and how late the event loop woke at worst, since the daemon started."""

    at: Moment
    started_at: Moment
    in_flight: int
    slots: int
    depth: dict[DeliveryState, int]
    oldest_due_age_s: float
    outcomes: dict[str, int]
    loop_lag_max_s: float
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
