"""What a daemon of the contract answers to the command line: one job with three recipients, seen from every side."""

import json
from typing import Any

from support.fake_daemon import FakeDaemon, Say


AT = "2026-11-30T07:00:00.250000Z"
EVIL = "No \x1b[2Jsuch\r\nuser \u202egnp.exe"


def brief(number: int, recipient: str, state: str, **more: Any) -> dict[str, Any]:
    """A delivery as its job tells it."""
    return {
        "id": f"dlv_{number}",
        "recipient": recipient,
        "state": state,
        "thread_id": "thr_1",
        "message_id": f"<{number}@example.com>",
        "attempts": 1,
        "next_attempt_at": None,
        "reason_code": None,
        **more,
    }


AGAIN = brief(2, "bob@example.com", "retry_scheduled", next_attempt_at=AT, reason_code="busy")
DELIVERIES = [
    brief(1, "ann@example.com", "sent"),
    AGAIN,
    brief(3, "eve@example.com", "failed", reason_code="recipient.unknown"),
]
JOB: dict[str, Any] = {
    "id": "job_1",
    "status": "in_progress",
    "mailbox_id": "support",
    "thread_id": "thr_1",
    "message_id": None,
    "idempotency_key": "k",
    "trace_id": "t",
    "created_at": AT,
    "deliveries": DELIVERIES,
    "request": {"subject": "Hello\x1b]0;owned\x07", "to": ["ann@example.com"]},
}
HISTORY = [
    {"from": None, "to": "pending", "at": AT, "by": "uid:0"},
    {"from": "pending", "to": "sending", "at": AT, "by": "loop"},
    {
        "from": "sending",
        "to": "failed",
        "at": AT,
        "reason_code": "recipient.unknown",
        "reply_code": 550,
        "enhanced_status": "5.1.1",
        "reply_text": EVIL,
        "attempt": 1,
        "by": "loop",
    },
]
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
REPLIED = {"reply_code": 550, "enhanced_status": "5.1.1", "reply_text": EVIL}
DELIVERY = {
    **DELIVERIES[2],
    "job_id": "job_1",
    "mailbox_id": "support",
    **REPLIED,
    "settled_at": AT,
    "subject": f"Hello {EVIL}",
}
WAYS_BACK = {"reply_to": ["r-1@reply.example.com"], "return_path": "b-1@reply.example.com"}
EXPLAINED = {
    "delivery_id": "dlv_2",
    "state": "retry_scheduled",
    "blocked_by": "backoff",
    "earliest_at": AT,
    "gates": [
        {
            "name": "send_time",
            "verdict": "passed",
            "value": None,
            "threshold": None,
            "until_at": None,
        },
        {"name": "backoff", "verdict": "blocked", "value": "2", "threshold": "5", "until_at": AT},
    ],
}
ENDED = {
    "delivery_id": "dlv_3",
    "state": "failed",
    "blocked_by": None,
    "earliest_at": None,
    "gates": [],
}
WAITING = {
    "at": AT,
    "in_flight": 1,
    "slots": 200,
    "items": [
        {
            "mailbox_id": "support",
            "relay": "main",
            "priority": "standard",
            "depth": {"pending": 12, "retry_scheduled": 3, "held": 2, "sending": 1, "uncertain": 1},
            "oldest_due_age_s": 12.3,
            "queues": [
                {
                    "domain": None,
                    "first_id": "dlv_2",
                    "blocked_by": "mailbox_pace",
                    "value": 60,
                    "threshold": 60,
                    "until_at": AT,
                    "read": 11,
                    "next_at": None,
                },
                {
                    "domain": "customer.example",
                    "first_id": "dlv_9",
                    "blocked_by": None,
                    "value": None,
                    "threshold": None,
                    "until_at": None,
                    "read": 1,
                    "next_at": None,
                },
            ],
        },
        {
            "mailbox_id": "support",
            "relay": "main",
            "priority": "bulk",
            "depth": {"pending": 4},
            "oldest_due_age_s": 0.0,
            "queues": [
                {
                    "domain": None,
                    "first_id": None,
                    "blocked_by": None,
                    "value": None,
                    "threshold": None,
                    "until_at": None,
                    "read": 0,
                    "next_at": AT,
                }
            ],
        },
    ],
    "holds": [{"mailbox_id": "support", "hold_reason": "restored", "deliveries": 2}],
    "retries": [
        {
            "mailbox_id": "support",
            "priority": "standard",
            "reason_code": "recipient.mailbox_full",
            "deliveries": 3,
            "next_at": "2026-11-30T07:05:00Z",
        }
    ],
}
DOUBTED = {
    **brief(4, "dan@example.com", "uncertain", reason_code="doubt.no_answer"),
    "settled_by": "loop",
}
OUTLOOK = {
    "delivery_id": "dlv_4",
    "state": "uncertain",
    "blocked_by": "doubt",
    "earliest_at": AT,
    "gates": [
        {
            "name": "doubt",
            "verdict": "blocked",
            "value": f"in doubt since {AT}",
            "threshold": "resend after 900 s",
            "until_at": AT,
        },
    ],
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
EVENT = {
    "id": "evt_1",
    "type": "delivery.failed",
    "seq": 1,
    "mailbox_id": "support",
    "created_at": AT,
    "delivery": {
        "id": "dlv_3",
        "recipient": "eve@example.com",
        "reason_code": "recipient.unknown",
        "reply": {"code": 550, "enhanced_status": "5.1.1", "text": EVIL},
    },
}
REPLY = {
    "id": "evt_2",
    "type": "reply.received",
    "seq": 2,
    "mailbox_id": "support",
    "created_at": AT,
    "message": {"from": {"name": "", "address": "ann@example.com"}, "subject": f"Re: {EVIL}"},
}
NOTHING = {"characters": 0, "where": []}
LETTER = {
    **REPLY,
    "log_id": "l",
    "schema_version": 1,
    "thread": {
        "id": "thr_1",
        "version": 2,
        "matched_by": "reply_token",
        "confidence": "certain",
        "metadata": {},
    },
    "answers": {"job_id": "job_1", "delivery_id": "dlv_1", "from_recipient": False},
    "message": {
        "message_id": "<a@one.example>",
        "from": {"name": f"Ann {EVIL}", "address": "ann@example.com"},
        "to": [{"name": "", "address": "r-1@reply.example.com"}],
        "cc": [],
        "reply_to": [{"name": "", "address": "thief@elsewhere.example"}],
        "subject": f"Re: {EVIL}",
        "date": AT,
        "text": f"Yes.\n{EVIL}\n> Which?\n",
        "new_text": f"Yes.\n{EVIL}\n",
        "new_text_confidence": "low",
        "is_forward": False,
        "removed": [{"from": 9, "to": 18, "why": "quote"}],
        "attachments": [
            {
                "ref": "att_1",
                "filename": "a\u202eb.pdf",
                "content_type": "application/pdf",
                "size_bytes": 7,
            }
        ],
        "parse": "limited",
        "defects": ["bare_newline"],
    },
    "authentication": {
        "verdict": "pass",
        "decided_by": "dkim",
        "spf": {"result": "softfail", "domain": "example.com"},
        "dkim": [{"result": "pass", "domain": "example.com", "aligned": True}],
        "dmarc": {"result": "pass", "policy": "reject"},
        "reply_token": {"status": "valid", "key_id": "k"},
        "signals": {
            "first_time_sender": True,
            "reply_to_differs": {"from": "example.com", "reply_to": ["elsewhere.example"]},
            "name_has_address": None,
            "hidden_text": {"characters": 7, "where": ["display:none"]},
            "unsigned_headers": ["subject"],
            "invisible_characters": NOTHING,
            "bidi_characters": NOTHING,
        },
    },
    "automation": {"kind": "human", "evidence": []},
    "delivery_report": None,
}
REPORT = {
    **LETTER,
    "id": "evt_3",
    "type": "delivery.bounced",
    "seq": 3,
    "thread": {**LETTER["thread"], "held": True, "held_at": AT},  # type: ignore[dict-item]
    "accepted": False,
    "refused_by": "accept_new",
    "names_thread_id": "thr_1",
    "message": {
        **LETTER["message"],  # type: ignore[dict-item]
        "from": {"name": "", "address": "mailer-daemon@one.example"},
        "subject": "Undelivered",
    },
    "automation": {"kind": "report", "evidence": ["multipart/report"]},
    "delivery_report": {
        "verified": True,
        "suppressed": True,
        "original_message_id": None,
        "reporting_mta": "mx.one.example",
        "recipient": "gone@one.example",
        "class": "permanent",
        "reason": "recipient.unknown",
        "hard": True,
        "action": "failed",
        "status": "5.1.1",
        "reply_code": 550,
        "diagnostic": f"smtp; 550 {EVIL}",
        "remote_mta": None,
        "recipients": [],
    },
}
STREAM = f"retry: 2000\n\nid: 2\ndata: {json.dumps(REPLY)}\n\n".encode()
LEASE = {
    "id": "lse_1",
    "fence": 3,
    "thread": {
        "id": "thr_1",
        "version": 2,
        "mailbox_id": "support",
        "conversation_id": "conv\x1b_1",
        "metadata": {},
    },
    "expires_at": AT,
    "receive_count": 1,
    "more": False,
    "events": [LETTER],
}
COMPLETED = {"id": "lse_1", "acked": ["evt_2"], "replies": [JOB], "repeated": False}
THREAD = {
    "id": "thr_1",
    "version": 2,
    "mailbox_id": "support",
    "conversation_id": None,
    "metadata": {"run": "7"},
    "created_at": AT,
    "deliveries": [{**DELIVERY, "created_at": AT}],
    "events": [LETTER, REPORT],
    "whole": True,
    "held": True,
    "held_at": AT,
    "holds": [
        {
            "scope": "address",
            "name": "robot@desk.example",
            "evidence": "velocity_address",
            "event_id": "evt_2",
            "held_at": AT,
        }
    ],
}
DEAD = {
    "items": [DELIVERY],
    "next_cursor": None,
    "events": [
        {
            "event": REPLY,
            "dead_for": [{"consumer": "agents", "dead_at": AT, "receive_count": 10}],
        }
    ],
    "next_events_cursor": None,
}
ALERT = {
    "kind": "failures_clustering",
    "scope": "workflow",
    "name": f"run {EVIL}",
    "since_at": AT,
    "figure": 12,
    "threshold": 10,
    "cause": "malformed_jobs",
    "means": "Many deliveries failed.",
    "likely": "The jobs are wrong.",
    "to_do": "`postroom dead-letters` lists them.",
}
ALERT_EVENT = {
    "id": "evt_9",
    "type": "alert.raised",
    "seq": 9,
    "mailbox_id": "support",
    "created_at": AT,
    "alert": ALERT,
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
HELD = {
    **DELIVERY,
    "state": "held",
    "hold_reason": "restored",
    "recipient": f"bob@example.com{EVIL}",
    "attempts": 0,
}
HOLDS = {
    "items": [
        {"mailbox_id": "support", "hold_reason": "restored", "deliveries": 4},
        {"mailbox_id": "news", "hold_reason": "a later word", "deliveries": 1},
    ]
}
SUPPRESSION = {
    "mailbox_id": None,
    "address": "gone@example.com",
    "reason": "asked",
    "by": "uid:0",
    "created_at": AT,
}


def page(*items: Any) -> dict[str, Any]:
    """A list that ends here."""
    return {"items": list(items), "next_cursor": None}


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
