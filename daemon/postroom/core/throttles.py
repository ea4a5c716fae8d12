"""How providers say that we are too fast: a table, data only, tried by `core.outcome` among the words of a reply.

A row is known by its id. `WORDS` and `STATUS` are the whole tables, theirs and those of `core.replytable`: words are
looked for in the text in lower case, addresses taken out; rows without words are found by the status alone. What is about a recipient domain pauses it for the mailbox and slows it
down for the relay; what is about our account or our host stops the mailbox or the dial, and slows down the relay.
Not here: greylisting, full mailboxes, what one recipient gets too much of, and quotas of a day. They pass by waiting.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from postroom.core.reason import ReasonCode
from postroom.core.replytable import (
    OTHER_STATUS,
    WORDS_AFTER,
    WORDS_BEFORE,
    Class,
    Reading,
    Scope,
    Words,
)


@dataclass(frozen=True, slots=True)
class Throttle:
    """One way to say it: all of `says` in a reply whose code begins with one of `codes`, or one of these statuses."""

    id: str
    says: tuple[str, ...]
    reading: Reading
    codes: str = "45"
    details: tuple[str, ...] = ()


_R = ReasonCode
_D = Scope.DOMAIN

# Too many at once, or within a minute: a moment's rest is enough before it goes on slowly.
DOMAIN_FAST: Final = Reading(_D, _R.DOMAIN_DEFERRED, delay=timedelta(minutes=1), slows=_D)
DOMAIN_BUSY: Final = Reading(_D, _R.DOMAIN_DEFERRED, delay=timedelta(minutes=15), slows=_D)
DOMAIN_TIRED: Final = Reading(_D, _R.DOMAIN_DEFERRED, delay=timedelta(hours=2), slows=_D)
DOMAIN_QUOTA: Final = Reading(_D, _R.DOMAIN_QUOTA, delay=timedelta(hours=1), slows=_D)
TOO_FAST: Final = Reading(Scope.MAILBOX, _R.RATE_LIMITED, slows=Scope.RELAY)
CROWDED: Final = Reading(Scope.RELAY, _R.RELAY_BUSY, slows=Scope.RELAY)
LOGINS: Final = Reading(Scope.RELAY, _R.RELAY_DEFERRED, Class.TEMPORARY, slows=Scope.RELAY)


THROTTLES: Final = (
    # Google
    Throttle("gmail-unusual-rate", ("unusual rate of",), DOMAIN_BUSY),
    Throttle("gmail-unsolicited", ("unsolicited mail",), DOMAIN_BUSY, "4"),
    Throttle("gmail-unauthenticated", ("your email has been rate limited",), DOMAIN_BUSY, "4"),
    Throttle("gmail-try-later", ("try again later", "closing connection"), CROWDED, "4"),
    Throttle("gmail-peak", ("peak smtp relay limit",), TOO_FAST),
    Throttle("gmail-logins", ("too many login attempts",), LOGINS, "4"),
    # Microsoft
    Throttle("microsoft-reputation", ("ip reputation",), DOMAIN_BUSY, "4"),
    Throttle(
        "microsoft-connections",
        ("mail server", "exceeded the maximum number of connections"),
        DOMAIN_FAST,
    ),
    Throttle("microsoft-rp-001", ("rp-001",), DOMAIN_BUSY, "4"),
    Throttle("microsoft-rp-002", ("rp-002",), DOMAIN_FAST, "4"),
    Throttle("microsoft-rp-003", ("rp-003",), DOMAIN_FAST, "4"),
    Throttle("microsoft-recipient-threads", ("recipient thread limit",), DOMAIN_FAST),
    Throttle("microsoft-sender-threads", ("sender thread limit",), TOO_FAST),
    Throttle("microsoft-organization", ("organization queue quota",), DOMAIN_QUOTA),
    Throttle("exchange-submission-rate", ("message submission rate",), TOO_FAST),
    Throttle("exchange-connections", ("concurrent", "connections", "exceeded"), CROWDED),
    # Yahoo and AOL
    Throttle("yahoo-tss", ("[tss0",), DOMAIN_TIRED),
    Throttle("yahoo-ts", ("[ts0",), DOMAIN_TIRED),
    Throttle("yahoo-permanently", ("permanently deferred",), DOMAIN_TIRED),
    Throttle("yahoo-volume", ("unexpected volume",), DOMAIN_TIRED),
    Throttle("yahoo-complaints", ("user complaints",), DOMAIN_TIRED),
    Throttle("yahoo-resources", ("resources temporarily", "[#4.16"), DOMAIN_BUSY, "4"),
    # Amazon SES
    Throttle("ses-rate", ("maximum sending rate",), TOO_FAST),
    Throttle("ses-throttling", ("throttling failure",), TOO_FAST),
    Throttle("ses-sending-rate", ("sending rate", "exceeded"), TOO_FAST),
    # recipient domains of others
    Throttle("qq-frequency", ("frequency limited",), DOMAIN_BUSY),
    Throttle("apple-volume", ("excessive volume",), DOMAIN_BUSY, "4"),
    Throttle("comcast-throttled", ("throttled", "try again later"), DOMAIN_BUSY, "4"),
    # relays of others
    Throttle("postfix-messages", ("too much mail from",), TOO_FAST, "4"),
    Throttle("postfix-recipients", ("too many recipients from",), TOO_FAST, "4"),
    Throttle("hosting-hour", ("exceeded", "emails per hour"), TOO_FAST),
    Throttle("any-connections", ("too many connections",), CROWDED),
    Throttle("any-concurrent", ("too many concurrent",), CROWDED),
    Throttle("any-simultaneous", ("too many simultaneous",), CROWDED),
    Throttle("any-sessions", ("too many sessions",), CROWDED),
    Throttle("any-connection-rate", ("connection rate",), CROWDED, "4"),
    Throttle("any-rate", ("rate limit",), TOO_FAST),
    Throttle("any-rate-limited", ("ratelimit",), TOO_FAST),
    Throttle("any-message-rate", ("message rate",), TOO_FAST, "4"),
    Throttle("any-too-fast", ("sending", "too fast"), TOO_FAST),
    Throttle("any-too-quickly", ("sending", "too quickly"), TOO_FAST, "4"),
    Throttle("any-messages", ("too many messages",), TOO_FAST, "4"),
    Throttle("any-slow-down", ("slow down",), TOO_FAST, "4"),
    Throttle("any-throttled", ("throttled",), TOO_FAST, "4"),
    # by status alone
    Throttle("status-gmail", (), DOMAIN_BUSY, details=("7.28",)),
    Throttle("status-microsoft-busy", (), DOMAIN_BUSY, details=("7.500",)),
    Throttle("status-microsoft-abuse", (), TOO_FAST, details=("7.501",)),
    Throttle("status-microsoft-reputation", (), DOMAIN_BUSY, details=("7.650", "7.651")),
    Throttle("status-microsoft-connections", (), DOMAIN_FAST, details=("7.652",)),
)

WORDS: Final = (
    *WORDS_BEFORE,
    *(Words(row.says, row.reading, row.codes) for row in THROTTLES if row.says),
    *WORDS_AFTER,
)
STATUS: Final = OTHER_STATUS | {detail: row.reading for row in THROTTLES for detail in row.details}
