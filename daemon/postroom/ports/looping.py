"""Values that the delivery loop and the outbox exchange: rows, starts, outcomes, breakers, what was recovered."""

from dataclasses import dataclass

from postroom.core.body import Body
from postroom.core.breaker import Breaker
from postroom.core.delivery import DeliveryState
from postroom.core.instant import Instant
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.reply import SmtpReply, Stage
from postroom.core.slowing import Slowing
from postroom.core.speed import SpeedMoved


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A row of the ready queue. `is_suspect`: two crash recoveries found it under way.

    `planned_since`: when it was accepted, of one that was never tried.
    """

    number: int
    mailbox_id: str
    lane: Lane
    domain: str
    due_at: Instant
    state: DeliveryState
    not_after: Instant | None
    has_attachments: bool
    is_suspect: bool
    planned_since: Instant | None = None


@dataclass(frozen=True, slots=True)
class Bucket:
    """A minute in which a start counts. `scope` is 'm:ID' for a mailbox, 'r:ID' for a relay; `minute` since 1970."""

    scope: str
    minute: int
    lane: Lane


@dataclass(frozen=True, slots=True)
class Start:
    """Begin an attempt through this relay, and count it in these buckets.

    `pace_at`: scope and wall-clock GCRA time to remember. What the delivery waited since it was due (for pace, a
    pause, a breaker) does not count towards the lifetime of its series.
    """

    number: int
    relay_id: str
    at: Instant
    buckets: tuple[Bucket, ...]
    pace_at: tuple[tuple[str, Instant], ...]


@dataclass(frozen=True, slots=True)
class Started:
    """Under way: all an attempt needs. `date_at` is the Date of the message, set at its first attempt.

    `envelope_from` is the reverse-path with its token, None = the mailbox's address.
    """

    number: int
    claim: int
    job_number: int
    mailbox_id: str
    trace_id: str
    recipient: str
    domain: str
    lane: Lane
    message_id: str
    head: bytes
    body: Body
    date_at: Instant
    not_after: Instant | None
    attempts: int
    series_attempts: int
    series_started_at: Instant
    deferrals: int
    crashes: int
    doubts: int
    envelope_from: str | None = None


@dataclass(frozen=True, slots=True)
class MarkStopped:
    """The mark was not made: the unit has moved the delivery to `state`, for this reason. No attempt counts.

    `since`: mail for its thread waits to be read since then, and the delivery waits for that.
    """

    state: DeliveryState
    reason_code: ReasonCode
    since: Instant | None = None


@dataclass(frozen=True, slots=True)
class DomainPause:
    """One recipient domain that a mailbox leaves alone until an instant."""

    mailbox_id: str
    domain: str
    until_at: Instant
    reason_code: ReasonCode


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended, and everything that changes with it.

    `counts_attempt`: the try reached the relay; `counts_series`: and counts towards the ceiling. `is_deferral`: postponed by us. `withdraws_mark`: the mark was
    committed but the terminator never handed over. `give_back`: buckets of a start that never reached MAIL.
    `due_at` is the next attempt. An end state is written as `end_unsent` says when doubts lie in its past, and a
    cancel that was answered too_late turns a retry into `cancelled`.
    """

    number: int
    claim: int
    after: DeliveryState
    reason_code: ReasonCode | None
    at: Instant
    stage: Stage | None
    reply: SmtpReply | None
    due_at: Instant | None
    counts_attempt: bool
    counts_series: bool
    is_deferral: bool
    withdraws_mark: bool
    relay_message_id: str | None
    give_back: tuple[Bucket, ...]
    relay_breaker: tuple[str, Breaker] | None
    mailbox_breaker: tuple[str, Breaker] | None
    domain_pause: DomainPause | None
    speeds: tuple[SpeedMoved, ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeState:
    """What the store remembers of one relay or mailbox between runs."""

    id: str
    breaker: Breaker
    paused_by: str | None
    paused_reason: str | None
    paused_at: Instant | None
    pace_at: Instant | None


@dataclass(frozen=True, slots=True)
class LoopState:
    """All of it at start. `buckets` are those of the last 24 hours, with their counts.

    `slowings`: relay, domain (None = all of the relay), how far it is slowed down.
    """

    mailboxes: tuple[ScopeState, ...]
    relays: tuple[ScopeState, ...]
    buckets: tuple[tuple[Bucket, int], ...]
    domain_pauses: tuple[DomainPause, ...]
    slowings: tuple[tuple[str, str | None, Slowing], ...] = ()


@dataclass(frozen=True, slots=True)
class Recovered:
    """What recovery found: under way before the mark, after it, given up as poison, and whether the machine rebooted."""

    to_pending: int
    to_uncertain: int
    poison: int
    is_reboot: bool
    was_clean_stop: bool
