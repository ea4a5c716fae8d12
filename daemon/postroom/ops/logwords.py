"""The words of the decision log: its levels, its two forms, and the closed list of events with the fields of each.

An event is a constant, "noun.past-tense"; what differs from line to line stands in fields, never in the name.
`docs/operating.md` is held against this list by a test.
"""

from enum import StrEnum
from typing import Final


class LogLevel(StrEnum):
    """How much is logged: a level and all above it."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """JSON lines for programs, or short lines for a person at a terminal."""

    JSON = "json"
    CONSOLE = "console"


class Decision(StrEnum):
    """What was decided about a delivery."""

    DONE = "done"
    START = "start"
    RETRY = "retry"
    WAIT = "wait"
    GIVE_UP = "give_up"
    HOLD = "hold"
    DROP = "drop"


class Scope(StrEnum):
    """Whose breaker."""

    MAILBOX = "mailbox"
    RELAY = "relay"


class LogEvent(StrEnum):
    """What can be said."""

    DAEMON_STARTED = "daemon.started"
    DAEMON_RECOVERED = "daemon.recovered"
    DAEMON_READY = "daemon.ready"
    DAEMON_DRAINING = "daemon.draining"
    DAEMON_STOPPED = "daemon.stopped"
    SIGNAL_IGNORED = "signal.ignored"
    DAEMON_FAILED = "daemon.failed"
    WATCHDOG_WITHHELD = "watchdog.withheld"
    JOB_ACCEPTED = "job.accepted"
    JOB_REPLAYED = "job.replayed"
    DELIVERY_STARTED = "delivery.started"
    DELIVERY_SENT = "delivery.sent"
    DELIVERY_DEFERRED = "delivery.deferred"
    DELIVERY_POSTPONED = "delivery.postponed"
    DELIVERY_FAILED = "delivery.failed"
    DELIVERY_UNCERTAIN = "delivery.uncertain"
    DELIVERY_HELD = "delivery.held"
    DELIVERY_CANCELLED = "delivery.cancelled"
    DELIVERY_SKIPPED = "delivery.skipped"
    DELIVERY_QUARANTINED = "delivery.quarantined"
    DOUBT_SETTLED = "doubt.settled"
    DOUBT_LEFT = "doubt.left"
    DELIVERIES_EXPIRED = "deliveries.expired"
    RECIPIENT_SUPPRESSED = "recipient.suppressed"
    QUEUE_WAITED = "queue.waited"
    INBOUND_WAITED = "inbound.waited"
    BREAKER_OPENED = "breaker.opened"
    BREAKER_STORMED = "breaker.stormed"
    BREAKER_CLOSED = "breaker.closed"
    DOMAIN_PAUSED = "domain.paused"
    DOMAIN_SLOWED = "domain.slowed"
    DOMAIN_FREED = "domain.freed"
    RELAY_SLOWED = "relay.slowed"
    RELAY_FREED = "relay.freed"
    RELAY_FAULTED = "relay.faulted"
    MAILBOX_PAUSED = "mailbox.paused"
    MAILBOX_RESUMED = "mailbox.resumed"
    STORE_REFUSED = "store.refused"
    STORE_WARNED = "store.warned"
    CLOCK_DOUBTED = "clock.doubted"
    STORE_RESTORED = "store.restored"
    BACKUP_TAKEN = "backup.taken"
    BACKUP_BROKEN = "backup.broken"
    RETENTION_REMOVED = "retention.removed"
    PEER_REFUSED = "peer.refused"
    REQUEST_FAILED = "request.failed"
    LIBRARY_WARNED = "library.warned"
    LISTENER_READY = "listener.ready"
    MAIL_RECEIVED = "mail.received"
    MAIL_PUBLISHED = "mail.published"
    MAIL_DOUBLED = "mail.doubled"
    MAIL_SET_ASIDE = "mail.set_aside"
    CLIENT_REFUSED = "client.refused"
    LEASE_EXPIRED = "lease.expired"
    EVENTS_DIED = "events.died"
    THREAD_HELD = "thread.held"
    THREAD_FREED = "thread.freed"
    ALERT_RAISED = "alert.raised"
    ALERT_CLEARED = "alert.cleared"
    OWNER_UNTOLD = "owner.untold"


_ABOUT: Final = (
    "job_id",
    "delivery_id",
    "trace_id",
    "mailbox_id",
    "recipient_domain",
    "recipient_hash",
    "priority",
    "attempt",
)
_DELIVERY: Final = (
    *_ABOUT,
    "decision",
    "reason_code",
    "why",
    "stage",
    "reply_code",
    "enhanced_status",
    "reply_text",
    "next_attempt_at",
)
_DOUBT: Final = ("job_id", "delivery_id", "mailbox_id", "state", "by", "reason_code", "why")
_JOB: Final = ("job_id", "trace_id", "mailbox_id", "uid")
_BREAKER: Final = ("scope", "id", "reason_code", "faults_in_row", "probe_at")
_SLOWED: Final = (
    *("relay_id", "domain", "reason_code", "per_minute", "at_once"),
    *("was_per_minute", "was_at_once", "unlogged"),
)
_FREED: Final = ("relay_id", "domain", "reason_code", "since_at")
_ALERT: Final = (
    *("kind", "scope", "name", "mailbox_id", "figure", "threshold"),
    *("cause", "since_at", "event_id"),
)
_FAULT: Final = ("error", "detail", "trace")

FIELDS: Final[dict[LogEvent, tuple[str, ...]]] = {
    LogEvent.DAEMON_STARTED: ("version", "pid", "state_dir", "mailboxes"),
    LogEvent.DAEMON_RECOVERED: (
        "to_pending",
        "to_uncertain",
        "poison",
        "is_reboot",
        "was_clean_stop",
    ),
    LogEvent.DAEMON_READY: ("took_s",),
    LogEvent.DAEMON_DRAINING: ("reason", "under_way", "drain_s"),
    LogEvent.DAEMON_STOPPED: ("left_under_way", "took_s"),
    LogEvent.SIGNAL_IGNORED: ("signal", "detail", "unlogged"),
    LogEvent.DAEMON_FAILED: _FAULT,
    LogEvent.WATCHDOG_WITHHELD: ("reason", "loop_lag_s", "unlogged"),
    LogEvent.JOB_ACCEPTED: (*_JOB, "priority", "queued", "already", "suppressed"),
    LogEvent.JOB_REPLAYED: (*_JOB, "is_expired"),
    LogEvent.DELIVERY_STARTED: (*_ABOUT, "decision"),
    LogEvent.DELIVERY_SENT: (*_DELIVERY, "relay_message_id"),
    LogEvent.DELIVERY_DEFERRED: _DELIVERY,
    LogEvent.DELIVERY_POSTPONED: (*_DELIVERY, "unlogged"),
    LogEvent.DELIVERY_FAILED: _DELIVERY,
    LogEvent.DELIVERY_UNCERTAIN: _DELIVERY,
    LogEvent.DELIVERY_HELD: _DELIVERY,
    LogEvent.DELIVERY_CANCELLED: _DELIVERY,
    LogEvent.DELIVERY_SKIPPED: _DELIVERY,
    LogEvent.DELIVERY_QUARANTINED: ("job_id", "delivery_id", "mailbox_id"),
    LogEvent.DOUBT_SETTLED: _DOUBT,
    LogEvent.DOUBT_LEFT: _DOUBT,
    LogEvent.DELIVERIES_EXPIRED: ("reason_code", "count"),
    LogEvent.RECIPIENT_SUPPRESSED: (
        "job_id",
        "delivery_id",
        "mailbox_id",
        "recipient_domain",
        "recipient_hash",
        "reason",
        "by",
    ),
    LogEvent.QUEUE_WAITED: ("mailbox_id", "gate", "until_at", "unlogged"),
    LogEvent.INBOUND_WAITED: ("delivery_id", "mailbox_id", "since_at", "unlogged"),
    LogEvent.BREAKER_OPENED: _BREAKER,
    LogEvent.BREAKER_STORMED: _BREAKER,
    LogEvent.BREAKER_CLOSED: ("scope", "id", "reason_code"),
    LogEvent.DOMAIN_PAUSED: ("mailbox_id", "domain", "reason_code", "until_at"),
    LogEvent.DOMAIN_SLOWED: _SLOWED,
    LogEvent.DOMAIN_FREED: _FREED,
    LogEvent.RELAY_SLOWED: _SLOWED,
    LogEvent.RELAY_FREED: _FREED,
    LogEvent.RELAY_FAULTED: (
        "relay_id",
        "stage",
        "reply_code",
        "enhanced_status",
        "detail",
        "unlogged",
    ),
    LogEvent.MAILBOX_PAUSED: ("mailbox_id", "reason", "by"),
    LogEvent.MAILBOX_RESUMED: ("mailbox_id", "by"),
    LogEvent.STORE_REFUSED: ("error", "detail", "unlogged"),
    LogEvent.STORE_WARNED: ("detail",),
    LogEvent.CLOCK_DOUBTED: ("detail",),
    LogEvent.STORE_RESTORED: ("held",),
    LogEvent.BACKUP_TAKEN: ("uid", "size_bytes", "took_s"),
    LogEvent.BACKUP_BROKEN: ("uid", "error", "detail"),
    LogEvent.RETENTION_REMOVED: ("jobs", "events", "mails", "files"),
    LogEvent.PEER_REFUSED: ("uid", "reason", "unlogged"),
    LogEvent.REQUEST_FAILED: ("call", *_FAULT),
    LogEvent.LIBRARY_WARNED: ("logger", *_FAULT, "unlogged"),
    LogEvent.LISTENER_READY: ("addresses", "has_tls"),
    LogEvent.MAIL_RECEIVED: (
        "number",
        "mailbox_ids",
        "recipients",
        "tokens",
        "sender_domain",
        "client_ip",
        "helo",
        "is_tls",
        "size_bytes",
        "defects",
        "took_s",
    ),
    LogEvent.MAIL_PUBLISHED: (
        "number",
        "mailbox_id",
        "event_id",
        "thread_id",
        "type",
        "matched_by",
        "refused_by",
    ),
    LogEvent.MAIL_DOUBLED: ("number", "mailbox_id", "event_id"),
    LogEvent.MAIL_SET_ASIDE: ("number", *_FAULT),
    LogEvent.CLIENT_REFUSED: ("client_ip", "reason", "unlogged"),
    LogEvent.LEASE_EXPIRED: ("consumer", "mailbox_id", "thread_id", "lease_id", "unlogged"),
    LogEvent.EVENTS_DIED: ("consumer", "mailbox_id", "thread_id", "event_ids"),
    LogEvent.THREAD_HELD: (
        "mailbox_id",
        "thread_id",
        "event_id",
        "reason",
        "peer_domain",
        "holds",
        "deliveries",
    ),
    LogEvent.THREAD_FREED: ("mailbox_id", "thread_id", "event_id", "reason", "by", "deliveries"),
    LogEvent.ALERT_RAISED: _ALERT,
    LogEvent.ALERT_CLEARED: _ALERT,
    LogEvent.OWNER_UNTOLD: ("key", "detail", "unlogged"),
}

_LEVELS: Final[dict[LogEvent, LogLevel]] = {
    LogEvent.DAEMON_FAILED: LogLevel.ERROR,
    LogEvent.SIGNAL_IGNORED: LogLevel.WARNING,
    LogEvent.WATCHDOG_WITHHELD: LogLevel.ERROR,
    LogEvent.DELIVERY_STARTED: LogLevel.DEBUG,
    LogEvent.DELIVERY_FAILED: LogLevel.WARNING,
    LogEvent.DELIVERY_UNCERTAIN: LogLevel.WARNING,
    LogEvent.DELIVERY_HELD: LogLevel.WARNING,
    LogEvent.DELIVERY_QUARANTINED: LogLevel.ERROR,
    LogEvent.DOUBT_LEFT: LogLevel.WARNING,
    LogEvent.DELIVERIES_EXPIRED: LogLevel.WARNING,
    LogEvent.RECIPIENT_SUPPRESSED: LogLevel.WARNING,
    LogEvent.INBOUND_WAITED: LogLevel.ERROR,
    LogEvent.BREAKER_OPENED: LogLevel.WARNING,
    LogEvent.BREAKER_STORMED: LogLevel.ERROR,
    LogEvent.DOMAIN_PAUSED: LogLevel.WARNING,
    LogEvent.DOMAIN_SLOWED: LogLevel.WARNING,
    LogEvent.RELAY_SLOWED: LogLevel.WARNING,
    LogEvent.RELAY_FAULTED: LogLevel.WARNING,
    LogEvent.MAILBOX_PAUSED: LogLevel.WARNING,
    LogEvent.STORE_REFUSED: LogLevel.ERROR,
    LogEvent.MAIL_SET_ASIDE: LogLevel.ERROR,
    LogEvent.STORE_WARNED: LogLevel.WARNING,
    LogEvent.STORE_RESTORED: LogLevel.WARNING,
    LogEvent.BACKUP_BROKEN: LogLevel.WARNING,
    LogEvent.LEASE_EXPIRED: LogLevel.WARNING,
    LogEvent.EVENTS_DIED: LogLevel.ERROR,
    LogEvent.THREAD_HELD: LogLevel.ERROR,
    LogEvent.CLOCK_DOUBTED: LogLevel.ERROR,
    LogEvent.PEER_REFUSED: LogLevel.WARNING,
    LogEvent.ALERT_RAISED: LogLevel.ERROR,
    LogEvent.OWNER_UNTOLD: LogLevel.ERROR,
    LogEvent.REQUEST_FAILED: LogLevel.ERROR,
    LogEvent.LIBRARY_WARNED: LogLevel.WARNING,
}


def level_of(event: LogEvent) -> LogLevel:
    """Info = a decision, debug = its steps, warning = somebody should look, error = we failed or mail stands still."""
    return _LEVELS.get(event, LogLevel.INFO)
