"""No question of the way in scans or sorts."""

import hashlib
import re
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from postroom.core.bouncereason import BounceClass, BounceReason, Sense
from postroom.core.inmail import AutomationKind, InMail, ReportedRecipient
from postroom.core.token import TokenKind
from postroom.store.sqlite import reads_inbox
from postroom.store.sqlite.holds import find_holds
from postroom.store.sqlite.inbox_known import DROP_KNOWN
from postroom.store.sqlite.inbox_receive import find_received, is_inbound_pending
from postroom.store.sqlite.retention_inbox import (
    DROP_REFS,
    MEMORY,
    DroppingEvents,
    DroppingReceived,
)
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import (
    ALICE,
    PostOffice,
    block,
    days,
    in_mail,
    report_mail,
    sql,
    stored,
    token_of,
)
from support.store_host import Faults, outbox_in


FILE = hashlib.sha256(b"a").hexdigest()
YEAR = timedelta(days=400)


async def test_nothing_of_the_way_in_scans_or_sorts(tmp_path: Path) -> None:
    faults = Faults()
    async with outbox_in(tmp_path, faults=faults, spool=frozenset({FILE})) as outbox:
        office = PostOffice(outbox)
        await sql(office, "INSERT INTO consumer_type VALUES ('agent', 'reply.received', 0, 0)")
        opening = len(faults.statements)
        done = await office.sent(relay_message_id="abc@relay.example")
        number = done.deliveries[0].number
        message_id = f"<{number}@example.com>"
        for mail, tokens in (
            (in_mail(message_id="<a@x.example>", thread_index="A" * 32), (token_of(number),)),
            (in_mail(message_id="<a@x.example>", thread_index="A" * 32), ()),
            (in_mail(in_reply_to=(message_id,), subject="x"), ()),
            (in_mail(in_reply_to=("<abc@relay.example>",), subject="x"), ()),
            (in_mail(subject="Re: nothing"), ()),
            (in_mail(automation=AutomationKind.LIST, subject="Re: Report"), ()),
            (report_mail(block(ALICE, "failed"), original=message_id), ()),
            (report_mail(gone()), (token_of(number, TokenKind.BOUNCE),)),
            *((robots_answer(message_id, turn), ()) for turn in range(6)),
            *((robots_answer("", turn), ()) for turn in range(6, 12)),
            (in_mail(ALICE, in_reply_to=(message_id,), subject="It is me"), ()),
        ):
            await office.publish(mail, *tokens, attachments=(stored(FILE, repr(mail)),))
        asked: list[str] = []

        def ask(conn: sqlite3.Connection) -> UnitResult[None]:
            conn.set_trace_callback(asked.append)
            find_received(conn, 0, 5)
            is_inbound_pending(conn, 1)
            reads_inbox.find_event_raw(conn, 1)
            reads_inbox.find_thread(conn, 1, 5)
            DroppingEvents(days(1), 5)(conn)
            DroppingReceived(days(1), 5)(conn)
            find_holds(conn, 1)
            for statement, _ in (*MEMORY, (DROP_REFS, YEAR), (DROP_KNOWN, YEAR)):
                conn.execute(statement, (days(1), 5))
            conn.set_trace_callback(None)
            for statement in dict.fromkeys([*asked, *faults.statements[opening:]]):
                check_plan(conn, statement)
            return UnitResult(None)

        await outbox.database.write(ask, lane=WriteLane.REST)
        told = " ".join(faults.statements)
        for table in ("thread_peer", "dedupe", "message_ref", "pending", "received_thread"):
            assert f"INTO {table}" in told
        for table in ("known_sender", "velocity", "hold", "suppression"):
            assert f"INTO {table}" in told
        assert "DELETE FROM hold" in told


def gone() -> ReportedRecipient:
    """A recipient that there is not."""
    sense = Sense(BounceClass.PERMANENT, BounceReason.RECIPIENT_UNKNOWN)
    return replace(block(ALICE, "failed", "5.1.1"), sense=sense)


def robots_answer(message_id: str, turn: int) -> InMail:
    """One of too many: in the conversation, or each in one of its own."""
    ids = (message_id,) if message_id else ()
    return in_mail(ALICE, f"{turn}", automation=AutomationKind.AUTO_REPLY, in_reply_to=ids)


# Few rows each: keys of ours, what consumers asked for, one row that says which store it is.
SMALL = re.compile(
    r"SCAN (instance|consumer|consumer_type|sqlite_sequence|token_key|mailbox|relay)\b"
)
WRITES = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE)")


def check_plan(conn: sqlite3.Connection, statement: str) -> None:
    if not WRITES.match(statement):
        return
    given = [None] * statement.count("?")
    named = dict.fromkeys(re.findall(r":(\w+)", statement))
    for row in conn.execute(f"EXPLAIN QUERY PLAN {statement}", named or given):
        step = row["detail"]
        assert "TEMP B-TREE" not in step, (statement, step)
        is_scan = re.match(r"SCAN (?!CONSTANT ROW)", step)
        assert not is_scan or SMALL.match(step), (statement, step)
