"""What a daemon of the contract tells the command line of mail that came in: events, leases, a thread, an alert."""

import json

from support.cli_mail_out import AT, DELIVERY, EVIL, JOB


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
