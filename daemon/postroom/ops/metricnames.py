"""Every metric: its name, its labels and what it says. docs/operating.md is held against this list by a test.

Rules: base units, `_total` for counters; labels are mailboxes, relays, priorities, states, types, classes and reasons,
all of them closed lists, and consumers, of whom a store has at most a hundred. Never an address, never a domain.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Named:
    """A metric: its name without `postroom_` and `_total`, its labels, and what it says."""

    name: str
    labels: tuple[str, ...]
    says: str


BUILD: Final = Named("build_info", ("version",), "Which version runs; always 1.")
DEPTH: Final = Named("queue_depth", ("mailbox", "priority", "state"), "Deliveries by state.")
OLDEST: Final = Named(
    "oldest_due_age_seconds",
    ("mailbox", "priority"),
    "How long the oldest delivery that is due has been waiting.",
)
IN_FLIGHT: Final = Named("in_flight", (), "Deliveries under way.")
SLOTS: Final = Named("slots", (), "How many may be under way.")
CONNECTIONS: Final = Named("connections", ("relay",), "Open connections.")
BREAKERS: Final = Named(
    "breaker_state", ("scope", "id"), "0 = closed, 1 = half open, 2 = open: nothing goes."
)
SLOWED: Final = Named(
    "slowed",
    ("relay", "scope"),
    "How many are slowed down now: the relay itself (scope relay), domains behind it (scope domain).",
)
ALERTS: Final = Named("alerts", ("kind", "scope"), "How many alerts are raised now.")
LAG: Final = Named("loop_lag_seconds", (), "How late the event loop woke when last looked at.")
LAG_MAX: Final = Named("loop_lag_max_seconds", (), "How late it woke at worst since the start.")
EVENTS_WAITING: Final = Named(
    "events_waiting",
    ("consumer",),
    "Events that wait for a consumer: not acknowledged, and not dead for it.",
)
EVENTS_OLDEST: Final = Named(
    "events_oldest_unleased_age_seconds",
    ("consumer",),
    "How long the oldest of them waits that is in nobody's hands; 0 = all are, or none waits.",
)
LEASES: Final = Named("leases", ("consumer",), "Threads that a consumer holds now.")
UNCLAIMED: Final = Named(
    "events_unclaimed", (), "Events of types that had a consumer once, and had none when they came."
)
UNCLAIMED_OLDEST: Final = Named(
    "events_oldest_unclaimed_age_seconds",
    (),
    "How long the oldest of them waits; 0 = there is none.",
)
MAILS_WAITING: Final = Named(
    "mails_waiting", (), "Mails that were received and are no events yet, those set aside too."
)
MAILS_OLDEST: Final = Named(
    "mails_oldest_waiting_age_seconds", (), "How long the oldest of them waits; 0 = there is none."
)
SESSIONS: Final = Named("listener_sessions", (), "Clients that the listener talks with now.")
WAL: Final = Named("store_wal_bytes", (), "The size of the store's write-ahead log.")
DISK_FREE: Final = Named("disk_free_bytes", (), "What is free where the store lies.")
DISK_KEPT: Final = Named("disk_kept_bytes", (), "Below this much free nothing new is accepted.")
FILES_FREE: Final = Named(
    "disk_free_files",
    (),
    "How many files can still be made there; absent where the file system counts none.",
)
FILES_KEPT: Final = Named(
    "disk_kept_files", (), "With fewer than this many left nothing new is accepted."
)
WAITING: Final = Named("store_waiting", (), "Writes that wait for the store now.")
JOBS: Final = Named("jobs_accepted", ("mailbox",), "Jobs accepted, those merged into one too.")
OUTCOMES: Final = Named(
    "deliveries",
    ("mailbox", "outcome", "reason"),
    "Deliveries that came to an end or out of an attempt, by the state they came to.",
)
DEFERRALS: Final = Named(
    "deferrals", ("mailbox", "reason"), "Attempts put off by us, which count as none."
)
DOUBTS: Final = Named(
    "doubts_judged",
    ("mailbox", "by", "reason"),
    "Deliveries in doubt that evidence or a policy settled, or that a policy left to a person.",
)
WAITS: Final = Named(
    "waits",
    ("mailbox", "gate"),
    "How often this gate, a pace say, was found to hold back what a mailbox could send next.",
)
RECEIVED: Final = Named("mails_received", (), "Mails that came in and are stored.")
REFUSED: Final = Named(
    "listener_refusals", ("reason",), "Clients, commands and mails that the listener refused."
)
READ: Final = Named(
    "mails_read",
    ("mailbox", "parse"),
    "Mails that became events, by how much of them could be read: complete, limited, failed.",
)
DOUBLED: Final = Named("mails_doubled", ("mailbox",), "Mails that came again.")
SET_ASIDE: Final = Named(
    "mails_set_aside", (), "Mails that could not even be told as unread: an error of ours."
)
BOUNCES: Final = Named(
    "bounces",
    ("mailbox", "class", "reason"),
    "What reports said of recipients, whether they are believed or not.",
)
EVENTS: Final = Named("events", ("mailbox", "type"), "Events published.")
EXPIRIES: Final = Named(
    "lease_expiries", ("mailbox",), "Leases that were over before their holder answered."
)
EVENTS_DEAD: Final = Named(
    "events_dead", ("mailbox",), "Events that became dead for a consumer after ten failures."
)
THROTTLES: Final = Named(
    "throttles", ("relay", "scope"), "How often a relay, or a domain behind it, was slowed down."
)
COMMITS: Final = Named("commits", (), "Commits of the store.")
UNITS: Final = Named("committed_units", (), "Writes in them.")
COMMIT_TIME: Final = Named("commit_seconds", (), "Time that the writer was busy.")
ATTEMPTS: Final = Named(
    "attempt_duration_seconds", ("mailbox",), "How long attempts took that reached the relay."
)
START_WAIT: Final = Named(
    "start_wait_seconds", ("priority",), "From when a delivery was due to its start."
)
SETTLE_TIME: Final = Named(
    "settle_seconds", ("priority",), "From the first attempt of a delivery to its end."
)

GAUGES: Final = (
    BUILD,
    DEPTH,
    OLDEST,
    IN_FLIGHT,
    SLOTS,
    CONNECTIONS,
    BREAKERS,
    SLOWED,
    ALERTS,
    LAG,
    LAG_MAX,
    EVENTS_WAITING,
    EVENTS_OLDEST,
    LEASES,
    UNCLAIMED,
    UNCLAIMED_OLDEST,
    MAILS_WAITING,
    MAILS_OLDEST,
    SESSIONS,
    WAITING,
    WAL,
    DISK_FREE,
    DISK_KEPT,
    FILES_FREE,
    FILES_KEPT,
)
COUNTERS: Final = (
    JOBS,
    OUTCOMES,
    DEFERRALS,
    WAITS,
    DOUBTS,
    THROTTLES,
    RECEIVED,
    REFUSED,
    READ,
    DOUBLED,
    SET_ASIDE,
    BOUNCES,
    EVENTS,
    EXPIRIES,
    EVENTS_DEAD,
    COMMITS,
    UNITS,
    COMMIT_TIME,
)
HISTOGRAMS: Final = (ATTEMPTS, START_WAIT, SETTLE_TIME)
