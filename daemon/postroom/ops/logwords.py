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
    CONFIG_RELOADED = "config.reloaded"
    CONFIG_REFUSED = "config.refused"
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
    SPOOL_MISSING = "spool.missing"
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


_LEVELS: Final[dict[LogEvent, LogLevel]] = {
    LogEvent.DAEMON_FAILED: LogLevel.ERROR,
    LogEvent.CONFIG_REFUSED: LogLevel.ERROR,
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
    LogEvent.SPOOL_MISSING: LogLevel.ERROR,
    LogEvent.PEER_REFUSED: LogLevel.WARNING,
    LogEvent.ALERT_RAISED: LogLevel.ERROR,
    LogEvent.OWNER_UNTOLD: LogLevel.ERROR,
    LogEvent.REQUEST_FAILED: LogLevel.ERROR,
    LogEvent.LIBRARY_WARNED: LogLevel.WARNING,
}


def level_of(event: LogEvent) -> LogLevel:
    """Info = a decision, debug = its steps, warning = somebody should look, error = we failed or mail stands still."""
    return _LEVELS.get(event, LogLevel.INFO)
