"""What a daemon of the contract answers to the command line: every call, mail in both directions and the daemon itself."""

from typing import Any

from support.cli_mail_in import (
    ALERT,
    ALERT_EVENT,
    COMPLETED,
    DEAD,
    EVENT,
    LEASE,
    LETTER,
    REPORT,
    STREAM,
    THREAD,
)
from support.cli_mail_out import (
    AGAIN,
    AT,
    DELIVERY,
    DOUBTED,
    EVIL,
    EXPLAINED,
    HELD,
    HISTORY,
    HOLDS,
    JOB,
    OUTLOOK,
    WAITING,
    WAYS_BACK,
    page,
)
from support.fake_daemon import FakeDaemon, Say


RELOADED = {
    "changed": [
        {"path": "mailbox.support.pace.per_second", "kind": "changed", "before": "2", "after": "5"},
        {"path": "relay.main.password", "kind": "changed", "before": None, "after": None},
        {"path": "mailbox.new", "kind": "added", "before": None, "after": "new\u202e@example.com"},
    ],
    "needs_restart": [
        {"path": "api.mode", "kind": "changed", "before": "0660", "after": "0600"},
    ],
    "warnings": [
        {
            "file": "postroom.toml",
            "key": "listener.postmaster",
            "wrong": "is missing.",
            "fix": "Name one.",
        }
    ],
    "mailboxes": 2,
    "dry_run": False,
}
CLOSED = {"state": "closed", "reason": None, "probe_at": None}
STORM = {"state": "open", "reason": "permanent_storm", "probe_at": AT}
MAILBOXES = {
    "items": [
        {
            "id": "support",
            "address": "support@example.com",
            "relay": "main",
            "state": "active",
            "breaker": CLOSED,
        },
        {
            "id": "bulk",
            "address": "news@example.com",
            "relay": "main",
            "state": "blocked",
            "breaker": CLOSED,
            "relay_breaker": STORM,
        },
        {
            "id": "old",
            "address": "old@example.com",
            "relay": "main",
            "state": "paused",
            "paused_by": "uid:0",
            "paused_reason": "moving",
        },
    ]
}
CHECK = {
    "mailbox_id": "support",
    "ok": False,
    "checks": [
        {"step": "dns", "result": "ok", "detail": "192.0.2.1", "fix": ""},
        {"step": "auth", "result": "failed", "detail": "535 no", "fix": "Check the password."},
    ],
}
STATS = {
    "at": AT,
    "started_at": AT,
    "in_flight": 3,
    "slots": 200,
    "depth": {"pending": 2, "retry_scheduled": 1},
    "oldest_due_age_s": 12.345,
    "outcomes": {"sent": 10, "recipient.unknown": 1},
    "loop_lag_max_s": 0.0041,
    "last_minute": {"accepted": 9, "sent": 7, "failed": 0, "deferred": 2},
    "breakers": [
        {
            "scope": "relay",
            "id": "main",
            "state": "open",
            "reason": "relay.unreachable",
            "probe_at": AT,
        }
    ],
    "pace": [{"scope": "mailbox", "id": "support", "per": "minute", "used": 7, "allowed": 60}],
    "connections": {"main": 2},
    "consumers": {f"agents{EVIL}": {"events": 5, "leased": 1, "oldest_age_s": 90.0}},
    "unclaimed": {"events": 4, "leased": 0, "oldest_age_s": 10.0},
    "lease_expiries": 3,
    "events_dead": 0,
    "inbound": {
        "received": 20,
        "refused": 6,
        "set_aside": 0,
        "waiting": 2,
        "oldest_age_s": 7.0,
        "sessions": 1,
    },
    "store": {
        "commits": 5,
        "commit_s": 0.5,
        "waiting": 1,
        "wal_bytes": 4_096,
        "disk_free_bytes": 50 << 30,
        "disk_kept_bytes": 2 << 30,
        "disk_free_files": 3_000_000,
        "disk_kept_files": 1_000,
    },
    "mailboxes": {
        "support": {
            "depth": {"high": {"pending": 2}, "bulk": {"retry_scheduled": 1}},
            "oldest_due_age_s": {"high": 12.345},
            "outcomes": {"sent": 10},
            "last_minute": {"accepted": 9, "sent": 7, "failed": 0, "deferred": 2},
            "paused_by": None,
        },
        "news": {
            "depth": {"bulk": {"pending": 9, "held": 1}},
            "oldest_due_age_s": {},
            "outcomes": {},
            "last_minute": {"accepted": 0, "sent": 0, "failed": 0, "deferred": 0},
            "paused_by": "uid:0",
        },
    },
    "alerts": [{**ALERT, "mailbox_id": "support", "raised_at": AT, "event_id": "evt_9"}],
}
SUPPRESSION = {
    "mailbox_id": None,
    "address": "gone@example.com",
    "reason": "asked",
    "by": "uid:0",
    "created_at": AT,
}


def teach(daemon: FakeDaemon) -> None:
    """Answer every call that the command line makes."""
    _teach_the_way_out(daemon)
    _teach_the_way_in(daemon)
    _teach_the_rest(daemon)


def _teach_the_way_out(daemon: FakeDaemon) -> None:
    daemon.on("POST /v1/jobs", Say(202, {**JOB, "status": "accepted"}))
    daemon.on("GET /v1/jobs/job_1", JOB)
    daemon.on("GET /v1/jobs", page(JOB))
    daemon.on(
        "POST /v1/jobs/job_1/cancel",
        {"deliveries": [_cancelled(1, "too_late"), _cancelled(2, "cancelled")]},
    )
    daemon.on("GET /v1/deliveries/dlv_3", {**DELIVERY, **WAYS_BACK, "history": HISTORY})
    daemon.on("GET /v1/deliveries/dlv_2/explain", EXPLAINED)
    daemon.on("GET /v1/deliveries/dlv_4", {**DOUBTED, "history": HISTORY[:2]})
    daemon.on("GET /v1/deliveries/dlv_4/explain", OUTLOOK)
    daemon.on("GET /v1/deliveries/dlv_2", {**AGAIN, "history": HISTORY[:2]})
    daemon.on("GET /v1/waiting", WAITING)
    daemon.on("GET /v1/deliveries/dlv_3/raw", Say(body=b"Subject: x\r\n\r\n\x1b[2J.\r\n"))
    daemon.on("POST /v1/deliveries/dlv_3/retry", {**DELIVERY, "state": "pending"})
    daemon.on("POST /v1/deliveries/dlv_3/resolve", {**DELIVERY, "state": "sent"})
    daemon.on("POST /v1/deliveries/dlv_3/release", {**DELIVERY, "state": "pending"})
    daemon.on("GET /v1/deliveries", page(HELD))
    daemon.on("GET /v1/deliveries?state=uncertain", page(DOUBTED))
    daemon.on("GET /v1/holds", HOLDS)
    for act in ("release", "retry", "cancel", "resolve"):
        daemon.on(f"POST /v1/deliveries/{act}", {"matched": 4, "done": 4})
    daemon.on("GET /v1/dead-letters", DEAD)


def _teach_the_way_in(daemon: FakeDaemon) -> None:
    daemon.on("GET /v1/events", page(EVENT, LETTER, REPORT, ALERT_EVENT))
    for one in (EVENT, LETTER, REPORT, ALERT_EVENT):
        daemon.on(f"GET /v1/events/{one['id']}", one)
    daemon.on("GET /v1/events/evt_2/raw", Say(body=b"Subject: y\r\n\r\n\x1b[2J.\r\n"))
    daemon.on("GET /v1/events/stream", Say(body=STREAM))
    daemon.on("POST /v1/leases", {"leases": [LEASE]})
    daemon.on("POST /v1/leases/lse_1/release", {"id": "lse_1"})
    daemon.on("POST /v1/leases/lse_1/complete", COMPLETED)
    daemon.on("POST /v1/events/evt_1/retry", {"id": "evt_1", "consumer": "default"})
    daemon.on("GET /v1/threads/thr_1", THREAD)
    daemon.on(
        "POST /v1/threads/thr_1/resume", {**THREAD, "held": False, "held_at": None, "holds": []}
    )


def _teach_the_rest(daemon: FakeDaemon) -> None:
    daemon.on("GET /v1/mailboxes", MAILBOXES)
    for act in ("pause", "resume"):
        daemon.on(f"POST /v1/mailboxes/support/{act}", {"id": "support"})
    daemon.on("POST /v1/mailboxes/support/check", CHECK)
    daemon.on("GET /v1/suppressions", page(SUPPRESSION))
    daemon.on("POST /v1/suppressions", Say(201, SUPPRESSION))
    daemon.on("DELETE /v1/suppressions", Say(204, b""))
    daemon.on("GET /v1/stats", STATS)
    daemon.on("GET /v1/version", {"name": "postroom", "version": "0.1.0", "api": "v1"})
    daemon.on("GET /v1/readyz", {"status": "ready"})
    daemon.on("POST /v1/attachments", Say(201, {"ref": "att_1"}))
    daemon.on("POST /v1/reload", RELOADED)
    daemon.on("POST /v1/clock/confirm", {"at": AT, "is_doubted": False})


def _cancelled(number: int, word: str) -> dict[str, Any]:
    return {"id": f"dlv_{number}", "recipient": f"r{number}@example.com", "cancel": word}
