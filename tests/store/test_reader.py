import sqlite3
from pathlib import Path

from postroom.core.body import Body
from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.job import Copies
from postroom.core.mailbox import Lane
from postroom.core.reason import ReasonCode
from postroom.core.record import HistoryRow, Raw
from postroom.core.reply import Stage
from postroom.store.sqlite.reader import SqliteReader
from support.desk_store import NOW, database, put


S = DeliveryState


async def test_a_job_is_told_with_its_deliveries_in_order(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        numbers = await put(opened, S.SENT, S.PENDING, S.FAILED, conversation_key="case 7")
        job = await SqliteReader(opened).find_job(1)
    assert job is not None
    assert (job.mailbox_id, job.trace_id, job.idempotency_key) == ("support", "trace", "key")
    assert (job.conversation_id, job.lane, job.copies) == (
        "case 7",
        Lane.STANDARD,
        Copies.INDIVIDUAL,
    )
    assert job.spec == {"subject": "Hi"}
    assert [delivery.number for delivery in job.deliveries] == numbers
    assert (job.is_expired, job.final_status) == (False, None)
    assert all(delivery.history == () for delivery in job.deliveries)


async def test_a_delivery_is_told_with_its_history(tmp_path: Path) -> None:
    details = {
        "reason_code": "crash.after_mark",
        "stage": "dot",
        "reply_code": 451,
        "enhanced_status": "4.7.1",
        "reply_text": "later",
        "attempts": 2,
        "relay_message_id": "Q1",
        "has_attachments": 1,
        "not_after": NOW + 9,
    }
    async with database(tmp_path) as opened:
        (number,) = await put(opened, S.UNCERTAIN, delivery=details)
        found = await SqliteReader(opened).find_delivery(number)
    assert found is not None
    assert (found.state, found.reason_code) == (S.UNCERTAIN, ReasonCode.CRASH_AFTER_MARK)
    assert (found.stage, found.marked_at, found.due_at) == (Stage.DOT, NOW, None)
    assert (found.reply_code, found.enhanced_status, found.reply_text) == (451, "4.7.1", "later")
    assert (found.attempts, found.relay_message_id, found.has_attachments) == (2, "Q1", True)
    assert (found.recipient, found.domain, found.not_after) == (
        "User@example.com",
        "example.com",
        NOW + 9,
    )
    assert found.history == (
        HistoryRow(None, S.PENDING, NOW, None, None, None, None, None, "accept"),
        HistoryRow(S.SENDING, S.UNCERTAIN, NOW, None, None, None, None, None, "loop"),
    )


async def test_a_held_delivery_tells_why(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        (number,) = await put(opened, S.HELD)
        found = await SqliteReader(opened).find_delivery(number)
    assert found is not None
    assert (found.hold_reason, found.due_at) == (HoldReason.OPERATOR, NOW)


async def test_a_delivery_tells_where_its_answers_and_reports_go(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        (number,) = await put(opened, S.SENT)
        reader = SqliteReader(opened)
        found = await reader.find_delivery(number)
        assert found is not None
        assert (found.reply_to, found.return_path) == ((), None)
        head = b"From: s@x.example\r\nReply-To: Support\r\n <r-1@x.example>\r\nSubject: Hi\r\n"
        ways = "UPDATE delivery SET head = ?, envelope_from = 'b-1@x.example' WHERE number = ?"
        conn = sqlite3.connect(tmp_path / "postroom.db", isolation_level=None)
        conn.execute(ways, (head, number))
        conn.close()
        found = await reader.find_delivery(number)
        assert found is not None
        assert (found.reply_to, found.return_path) == (("r-1@x.example",), "b-1@x.example")


async def test_the_message_of_a_delivery_is_told_in_its_parts(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        reader = SqliteReader(opened)
        (number,) = await put(opened, S.PENDING)
        assert await reader.find_raw(number) == Raw(None, b"Subject: Hi\r\n", 1)
        assert await reader.find_body(1) == Body((b"Hi",), 2)


async def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        reader = SqliteReader(opened)
        assert await reader.find_job(7) is None
        assert await reader.find_delivery(7) is None
        assert await reader.find_raw(7) is None
        assert await reader.find_body(7) is None
        assert await reader.find_staged("att_7") is None
