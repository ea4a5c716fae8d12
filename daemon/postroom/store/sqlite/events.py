"""Events about deliveries (CONTRACT §5): one JSON object each, written in the transition's transaction.

The object is a picture of the delivery after the step, read back from its row, so that the event and the row can not
disagree; `id`, `seq`, `type`, `log_id`, `mailbox_id` and `created_at` are added by whoever shows it.
Where the number of its job or thread is damaged, what they would tell is left out.
"""

import sqlite3
from typing import Final

import msgspec

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.instant import Instant
from postroom.ports.changes import EventPublished
from postroom.store.sqlite.log import NewEvent, append, thread_picture
from postroom.store.sqlite.spoiled import find_metadata


_PICTURE: Final = """
    SELECT d.number, d.job, d.mailbox_id, d.recipient, d.state, d.reason_code, d.attempts, d.deferrals, d.message_id,
           d.reply_code, d.enhanced_status, d.reply_text, d.relay_message_id, d.settled_by, d.thread,
           j.trace_id, j.metadata, t.version, t.conversation_key, t.metadata AS thread_metadata
    FROM delivery AS d LEFT JOIN job AS j ON j.number = d.job LEFT JOIN thread AS t ON t.number = d.thread
    WHERE d.number = ?"""
# The same of all deliveries that have a later history row than this one, with this state after it.
_PICTURES: Final = """
    SELECT d.number, d.job, d.mailbox_id, d.recipient, d.state, d.reason_code, d.attempts, d.deferrals, d.message_id,
           d.reply_code, d.enhanced_status, d.reply_text, d.relay_message_id, d.settled_by, d.thread,
           j.trace_id, j.metadata, t.version, t.conversation_key, t.metadata AS thread_metadata
    FROM history AS h JOIN delivery AS d ON d.number = h.delivery LEFT JOIN job AS j ON j.number = d.job
         LEFT JOIN thread AS t ON t.number = d.thread
    WHERE h.number > ? AND h.after = ?"""


def write_event(conn: sqlite3.Connection, kind: str, number: int, at: Instant) -> EventPublished:
    """Append an event of this type about the delivery as it stands now; what is told of it."""
    row = conn.execute(_PICTURE, (number,)).fetchone()
    return append(conn, _event(row, kind, at))


def write_events(
    conn: sqlite3.Connection, kind: str, after: DeliveryState, history: int, at: Instant
) -> None:
    """Append an event about each delivery that came to `after` since that row of history."""
    for row in conn.execute(_PICTURES, (history, after)).fetchall():
        append(conn, _event(row, kind, at))


def _event(row: sqlite3.Row, kind: str, at: Instant) -> NewEvent:
    data = msgspec.json.encode(_picture(row)).decode()
    return NewEvent(kind, row["mailbox_id"], row["thread"], row["number"], at, data)


def _picture(row: sqlite3.Row) -> dict[str, object]:
    job_id, delivery_id = encode_id(Kind.JOB, row["job"]), encode_id(Kind.DELIVERY, row["number"])
    return {
        "schema_version": 1,
        "thread": thread_picture(
            row["thread"], row["version"] or 0, row["conversation_key"], row["thread_metadata"]
        ),
        "answers": {
            "job_id": job_id,
            "delivery_id": delivery_id,
        },
        "job_id": job_id,
        "trace_id": row["trace_id"] or "",
        "metadata": find_metadata(row["metadata"]),
        "delivery": {
            "id": delivery_id,
            "recipient": row["recipient"],
            "state": row["state"],
            "reason_code": row["reason_code"],
            "attempts": row["attempts"],
            "deferrals": row["deferrals"],
            "message_id": row["message_id"],
            "relay_message_id": row["relay_message_id"],
            "settled_by": row["settled_by"],
            "reply": _reply(row),
        },
    }


def _reply(row: sqlite3.Row) -> dict[str, object] | None:
    if row["reply_code"] is None:
        return None
    return {
        "code": row["reply_code"],
        "enhanced_status": row["enhanced_status"],
        "text": row["reply_text"],
    }
