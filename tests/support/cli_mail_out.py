"""What a daemon of the contract tells the command line of mail that goes out: one job with three recipients."""

from typing import Any


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


def page(*items: Any) -> dict[str, Any]:
    """A list that ends here."""
    return {"items": list(items), "next_cursor": None}


def job(*states: str, **more: object) -> dict[str, object]:
    """A job with one delivery in each of these states."""
    found = [brief(n, f"r{n}@example.com", state) for n, state in enumerate(states)]
    return {**JOB, "deliveries": found, **more}
