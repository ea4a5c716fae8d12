"""Every filter of the lists, and a store with jobs for all of them."""

import sqlite3

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.reason import ReasonCode
from postroom.ports.desk import DeliveryFilter, JobFilter
from support.desk_store import NOW, put_job


S = DeliveryState
JOB_FILTERS = {
    "none": JobFilter(),
    "mailbox": JobFilter(mailbox_id="support"),
    "settled": JobFilter(status="partial"),
    "settled, mailbox": JobFilter(status="partial", mailbox_id="support"),
    "open": JobFilter(status="in_progress"),
    "open, mailbox": JobFilter(status="in_progress", mailbox_id="support"),
    "thread": JobFilter(thread_number=3),
    "thread, mailbox": JobFilter(thread_number=3, mailbox_id="support"),
    "recipient": JobFilter(recipient="user@example.com"),
    "recipient, mailbox": JobFilter(recipient="user@example.com", mailbox_id="support"),
    "trace": JobFilter(trace_id="trace"),
    "trace, mailbox": JobFilter(trace_id="trace", mailbox_id="support"),
    "conversation": JobFilter(conversation_id="c"),
    "conversation, mailbox": JobFilter(conversation_id="c", mailbox_id="support"),
    "key": JobFilter(idempotency_key="key"),
    "key, mailbox": JobFilter(idempotency_key="key", mailbox_id="support"),
    "since": JobFilter(since=NOW),
}
DELIVERY_FILTERS = {
    "none": DeliveryFilter(),
    "mailbox": DeliveryFilter(mailbox_id="support"),
    "state": DeliveryFilter(state=S.FAILED),
    "state, mailbox": DeliveryFilter(state=S.FAILED, mailbox_id="support"),
    "reason": DeliveryFilter(reason_code=ReasonCode.EXPIRED),
    "reason, mailbox": DeliveryFilter(reason_code=ReasonCode.EXPIRED, mailbox_id="support"),
    "domain": DeliveryFilter(domain="example.com"),
    "domain, mailbox": DeliveryFilter(domain="example.com", mailbox_id="support"),
    "since": DeliveryFilter(since=NOW),
    "hold": DeliveryFilter(hold_reason=HoldReason.OPERATOR),
    "hold, mailbox": DeliveryFilter(hold_reason=HoldReason.OPERATOR, mailbox_id="support"),
}


def fill(conn: sqlite3.Connection) -> None:
    """Jobs of two mailboxes in every status, one second after the other."""
    for turn in range(3):
        for mailbox in ("support", "reports"):
            for states in ((S.SENT, S.FAILED), (S.PENDING, S.SENT), (S.HELD,), (S.UNCERTAIN,)):
                put_job(
                    conn,
                    *states,
                    mailbox_id=mailbox,
                    conversation_key="c",
                    created_at=NOW + turn * 60_000_000,
                    at=NOW + turn,
                    delivery={"reason_code": "expired"} if S.FAILED in states else {},
                )
