"""Alerts: what can be the matter, with whom, since when, the likely cause, and what to do about it. Pure.

When each is raised stands in `core.alertrules`, how it is judged in `core.trend`. `docs/operating.md` is held against
the words here by a test.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.core.instant import Instant


class AlertKind(StrEnum):
    """What is the matter."""

    DEPTH_RISING = "depth_rising"
    RETRIES_GROWING = "retries_growing"
    FAILURES_CLUSTERING = "failures_clustering"
    STARTS_DRIFTING = "starts_drifting"
    SETTLING_DRIFTING = "settling_drifting"
    ATTEMPTS_DRIFTING = "attempts_drifting"
    EVENTS_WAITING = "events_waiting"
    DOUBT_WAITING = "doubt_waiting"
    CAP_NEAR = "cap_near"
    DISK_LOW = "disk_low"
    RELAY_DOWN = "relay_down"
    MAILBOX_BLOCKED = "mailbox_blocked"
    CLOCK_JUMPED = "clock_jumped"


class AlertScope(StrEnum):
    """What an alert is about; its name is an id, a domain, a trace id, a priority, or '' for the daemon."""

    MAILBOX = "mailbox"
    RELAY = "relay"
    DOMAIN = "domain"
    WORKFLOW = "workflow"
    PRIORITY = "priority"
    CONSUMER = "consumer"
    DAEMON = "daemon"


class Cause(StrEnum):
    """What it most likely comes from."""

    SLOW_RELAY = "slow_relay"
    RELAY_GONE = "relay_gone"
    THROTTLED = "throttled"
    ACCOUNT = "account"
    PAUSED = "paused"
    LOAD = "load"
    RECIPIENTS = "recipients"
    OLD_ADDRESSES = "old_addresses"
    MALFORMED_JOBS = "malformed_jobs"
    UNWANTED = "unwanted"
    NO_ANSWER = "no_answer"
    CONSUMER_GONE = "consumer_gone"
    CONSUMER_SLOW = "consumer_slow"
    DISK = "disk"
    FILES = "files"
    CLOCK = "clock"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class AlertKey:
    """Which alert it is. `mailbox_id` is the mailbox whose owner is told, None = it concerns several, or all."""

    kind: AlertKind
    scope: AlertScope
    name: str
    mailbox_id: str | None = None

    @property
    def place(self) -> tuple[AlertKind, AlertScope]:
        """What alerts are counted by."""
        return self.kind, self.scope


@dataclass(frozen=True, slots=True)
class Alert:
    """Something is the matter since `since`: a figure has passed a threshold (`MEANINGS` says what it counts)."""

    key: AlertKey
    since: Instant
    figure: float
    threshold: float
    cause: Cause


@dataclass(frozen=True, slots=True)
class Raised:
    """An alert that stands; `seq` is that of its `alert.raised`."""

    alert: Alert
    raised_at: Instant
    seq: int


@dataclass(frozen=True, slots=True)
class Meaning:
    """A kind in words: whom it may be about, what it means, what its figure is, what to do."""

    scopes: tuple[AlertScope, ...]
    means: str
    figure: str
    to_do: str


_K = AlertKind
_S = AlertScope

MEANINGS: Final[dict[AlertKind, Meaning]] = {
    _K.DEPTH_RISING: Meaning(
        (_S.MAILBOX,),
        "What waits in the mailbox has been growing for half an hour, and mail that is due waits more than five minutes.",
        "deliveries that wait",
        "`postroom mailboxes` says what holds it up, `postroom explain ID` why one of them waits.",
    ),
    _K.RETRIES_GROWING: Meaning(
        (_S.MAILBOX,),
        "More tries of the mailbox ended with a retry than with a mail sent, for half an hour.",
        "retries in half an hour",
        "Read the replies: `postroom jobs --mailbox ID`, then `postroom show ID`; the cause says where to look first.",
    ),
    _K.FAILURES_CLUSTERING: Meaning(
        (_S.MAILBOX, _S.DOMAIN, _S.WORKFLOW),
        "Many deliveries of one mailbox, of one recipient domain or of one workflow (`trace_id`) failed within the hour.",
        "failures in an hour",
        "`postroom dead-letters` lists them with their reasons; mend the cause, then `postroom retry ID`.",
    ),
    _K.STARTS_DRIFTING: Meaning(
        (_S.PRIORITY,),
        "Mail of this priority waits three times as long before its start as it did in the day before.",
        "seconds that half of it waits before its start",
        "`postroom mailboxes` says who is slowed down or blocked; `postroom stats` where the oldest waits.",
    ),
    _K.SETTLING_DRIFTING: Meaning(
        (_S.PRIORITY,),
        "Mail of this priority takes three times as long from its first try to its end as it did in the day before.",
        "seconds that half of it takes to its end",
        "Read the replies that it gets: `postroom jobs --status in_progress`, then `postroom show ID`.",
    ),
    _K.ATTEMPTS_DRIFTING: Meaning(
        (_S.MAILBOX,),
        "Tries of the mailbox take three times as long as they did in the day before.",
        "seconds that half of its tries take",
        "`postroom mailboxes check ID` tries the relay step by step; ask its operator.",
    ),
    _K.EVENTS_WAITING: Meaning(
        (_S.CONSUMER,),
        "An event has waited for this consumer for more than an hour, and nobody leases it.",
        "seconds that the oldest event waits",
        "See whether the consumer runs. One that is not wanted any more: `DELETE /v1/consumers/NAME`.",
    ),
    _K.DOUBT_WAITING: Meaning(
        (_S.MAILBOX,),
        "Deliveries of the mailbox have been in doubt for half an hour: the relay may have them or not.",
        "deliveries in doubt",
        "Ask the recipients or the relay's log, then `postroom resolve ID --as sent`, or `--as resend`; `on_uncertain` can decide by itself.",
    ),
    _K.CAP_NEAR: Meaning(
        (_S.MAILBOX, _S.RELAY),
        "Nine tenths of `per_day` are used; what comes beyond it waits.",
        "share of `per_day` that is used",
        "Nothing, or ask the provider for more and raise `per_day`.",
    ),
    _K.DISK_LOW: Meaning(
        (_S.DAEMON,),
        "Less than twice the room is free on the disk of the state that has to stay free, or twice as many files as have to; below that no job is accepted.",
        "bytes that are free; where the cause is `files`, files that can still be made",
        "Free some space on the disk of `state_dir`, or remove small files there, or shorten `[retention]`.",
    ),
    _K.RELAY_DOWN: Meaning(
        (_S.RELAY,),
        "The relay takes no mail for more than five minutes, and mail waits for it.",
        "deliveries that wait for it",
        "`postroom mailboxes check ID` says at which step it fails; it is tried again by itself, or at once with `postroom mailboxes resume ID`.",
    ),
    _K.MAILBOX_BLOCKED: Meaning(
        (_S.MAILBOX,),
        "Nothing of the mailbox goes out for more than five minutes, because of what its relay says of it, and mail waits.",
        "deliveries that wait in it",
        "`postroom mailboxes` says why; `postroom mailboxes resume ID` when it is mended.",
    ),
    _K.CLOCK_JUMPED: Meaning(
        (_S.DAEMON,),
        "The wall clock is not believed: retention, policies about doubt and what only the new time calls due wait.",
        "1",
        "Set the clock; where it is right: `postroom doctor --confirm-clock`.",
    ),
}

CAUSES: Final[dict[Cause, str]] = {
    Cause.SLOW_RELAY: "The relay answers slowly.",
    Cause.RELAY_GONE: "The relay can not be reached, or breaks off.",
    Cause.THROTTLED: "The relay or a recipient's provider says that we are too fast.",
    Cause.ACCOUNT: "The relay does not let this mailbox or this host send.",
    Cause.PAUSED: "A person paused the mailbox.",
    Cause.LOAD: "More mail comes than may go out in that time.",
    Cause.RECIPIENTS: "The recipients' servers refuse it, or put it off.",
    Cause.OLD_ADDRESSES: "The list holds addresses that are not there any more.",
    Cause.MALFORMED_JOBS: "The jobs are wrong: their addresses, content or attachments.",
    Cause.UNWANTED: "The content is taken for unwanted mail, or the sender is not trusted.",
    Cause.NO_ANSWER: "The relay gave no answer to the final dot, or the daemon ended before it came.",
    Cause.CONSUMER_GONE: "Nobody leases for the consumer.",
    Cause.CONSUMER_SLOW: "The consumer leases, and does not keep up.",
    Cause.DISK: "The disk fills up.",
    Cause.FILES: "The disk holds nearly as many files as it can, small ones mostly.",
    Cause.CLOCK: "The clock was set, or stood wrong at the start.",
    Cause.UNCLEAR: "Nothing that is measured tells.",
}
