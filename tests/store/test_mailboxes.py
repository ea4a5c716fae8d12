import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState, HoldReason
from postroom.core.instant import Instant
from postroom.core.reason import ReasonCode
from postroom.core.record import MailboxRecord, StagedRecord
from postroom.ports.changes import MailboxPaused, RowsGone, RowsWaiting, StateMoved
from postroom.ports.desk import Actor, DeliveryFilter
from postroom.ports.errors import StoreUnavailable
from postroom.store.sqlite.admin_mailbox import Resuming, Suppressing, Unsuppressing
from postroom.store.sqlite.reader import SqliteReader
from postroom.store.sqlite.reads_log import find_staged
from postroom.store.sqlite.staged import Staging
from support.desk_store import ANN, NOW, Told, admin_of, database, memory, put, run


S = DeliveryState
STAGED = StagedRecord("att_1", "ab" * 32, 5, "a.txt", "text/plain", NOW)


def is_there(sha256: str) -> bool:
    return True


def is_gone(sha256: str) -> bool:
    return False


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    with memory() as opened:
        yield opened


async def test_an_operator_pauses_and_resumes_a_mailbox(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        told, admin, reader = Told(), admin_of(opened), SqliteReader(opened)
        opened.watch(told)
        await admin.pause("support", "moving house", ANN, NOW)
        assert await reader.find_mailboxes() == (
            MailboxRecord("support", "uid:1000", "moving house", NOW, None),
        )
        await admin.resume("support", ANN, NOW)
        assert await reader.find_mailboxes() == (MailboxRecord("support", None, None, None, None),)
        assert told.changes == [
            MailboxPaused("support", is_paused=True, by="uid:1000", reason="moving house"),
            MailboxPaused("support", is_paused=False, by="uid:1000", reason=""),
        ]


async def test_who_pauses_it_again_and_says_nothing_leaves_what_was_said(tmp_path: Path) -> None:
    async with database(tmp_path) as opened:
        admin, reader = admin_of(opened), SqliteReader(opened)

        async def known() -> MailboxRecord:
            (found,) = await reader.find_mailboxes()
            return found

        await admin.pause("support", "", ANN, NOW)
        await admin.pause("support", "moving house", ANN, NOW)
        first = await known()
        assert first.paused_reason == "moving house"
        later = Instant(NOW + 1)
        await admin.pause("support", "", Actor(7), later)
        assert await known() == first
        await admin.pause("support", "moved again", ANN, later)
        assert (await known()).paused_reason == "moved again"


def test_a_resume_closes_the_breaker(conn: sqlite3.Connection) -> None:
    conn.execute(
        """INSERT INTO mailbox (id, breaker_state, breaker_reason, faults_in_row, last20, seen, opened_at, probe_at,
               probe_s) VALUES ('support', 'open', 'permanent_storm', 5, 31, 5, 1, 2, 30.0)"""
    )
    run(conn, Resuming("support", ANN))
    row = conn.execute("SELECT * FROM mailbox").fetchone()
    assert (row["breaker_state"], row["breaker_reason"], row["probe_at"]) == ("closed", None, None)
    assert (row["faults_in_row"], row["last20"], row["seen"], row["probe_s"]) == (0, 0, 0, 0)


def test_who_suppresses_it_again_and_says_nothing_leaves_what_was_said(
    conn: sqlite3.Connection,
) -> None:
    def again(reason: str, actor: Actor) -> tuple[str, str]:
        found = run(conn, Suppressing("support", "gone@example.com", reason, actor, NOW))[0]
        return found.reason, found.by

    assert again("asked to", ANN) == ("asked to", "uid:1000")
    assert again("", Actor(0)) == ("asked to", "uid:1000")
    assert again("moved", Actor(0)) == ("moved", "uid:0")


def test_an_address_is_suppressed_in_any_spelling(conn: sqlite3.Connection) -> None:
    first, _ = run(conn, Suppressing("", "Gone@example.com", "asked", ANN, NOW))
    assert (first.mailbox_id, first.address, first.by) == ("", "Gone@example.com", "uid:1000")
    again, _ = run(conn, Suppressing("", "gone@example.com", "bounced", ANN, Instant(NOW + 1)))
    assert (again.address, again.reason, again.created_at) == ("Gone@example.com", "bounced", NOW)
    assert run(conn, Unsuppressing("support", "gone@example.com"))[0] is False
    assert run(conn, Unsuppressing("", "GONE@example.com"))[0] is True
    assert run(conn, Unsuppressing("", "gone@example.com"))[0] is False


async def test_what_waits_for_a_mailbox_that_is_gone_is_held_until_it_comes_back(
    tmp_path: Path,
) -> None:
    async with database(tmp_path) as opened:
        admin, reader, told = admin_of(opened), SqliteReader(opened), Told()
        await put(opened, *[S.PENDING] * 200, S.SENT, S.HELD, mailbox_id="old")
        await put(opened, S.RETRY_SCHEDULED, mailbox_id="old", delivery={"due_at": NOW + 9})
        await put(opened, S.PENDING)
        opened.watch(told)
        await admin.hold_missing_mailboxes(frozenset({"support", "new"}), NOW)
        held = await reader.find_deliveries(DeliveryFilter(state=S.HELD), None, 500)
        reasons = [one.hold_reason for one in held.items]
        assert reasons == [HoldReason.MAILBOX_REMOVED, HoldReason.OPERATOR, *reasons[2:]]
        assert reasons.count(HoldReason.MAILBOX_REMOVED) == 201
        assert held.items[0].due_at == NOW + 9
        assert held.items[0].reason_code is ReasonCode.MAILBOX_REMOVED
        assert sum(isinstance(change, RowsGone) for change in told.changes) == 201
        known = {one.mailbox_id: one.removed_at for one in await reader.find_mailboxes()}
        assert known == {"old": NOW, "support": None, "new": None}

        told.changes.clear()
        await admin.hold_missing_mailboxes(frozenset({"support", "old"}), Instant(NOW + 1))
        still = await reader.find_deliveries(DeliveryFilter(state=S.HELD), None, 500)
        assert [one.hold_reason for one in still.items] == [HoldReason.OPERATOR]
        freed = await reader.find_delivery(held.items[0].number)
        assert freed is not None
        assert (freed.state, freed.due_at, freed.reason_code) == (S.PENDING, NOW + 9, None)
        assert [step.by for step in freed.history[-2:]] == ["config", "config"]
        assert sum(isinstance(change, RowsWaiting) for change in told.changes) == 201
        assert sum(isinstance(change, StateMoved) for change in told.changes) == 201
        known = {one.mailbox_id: one.removed_at for one in await reader.find_mailboxes()}
        assert known == {"old": None, "support": None, "new": NOW + 1}


def test_an_upload_is_found_by_its_reference(conn: sqlite3.Connection) -> None:
    run(conn, Staging(STAGED, 1, is_there))
    assert find_staged(conn, "att_1") == STAGED
    assert find_staged(conn, "att_2") is None


def test_equal_uploads_are_one_file(conn: sqlite3.Connection) -> None:
    run(conn, Staging(STAGED, 1, is_there))
    run(conn, Staging(StagedRecord("att_2", "ab" * 32, 5, "b.txt", "text/plain", NOW), 1, is_there))
    assert [tuple(row) for row in conn.execute("SELECT sha256, refs FROM spool_file")] == [
        ("ab" * 32, 2)
    ]


def test_nothing_is_staged_on_a_file_that_is_being_removed(conn: sqlite3.Connection) -> None:
    conn.execute("INSERT INTO spool_file VALUES (?, 5, 0, 1, 1)", (STAGED.sha256,))
    with pytest.raises(StoreUnavailable):
        run(conn, Staging(STAGED, 1, is_there))


def test_nothing_is_staged_on_a_file_that_was_just_removed(conn: sqlite3.Connection) -> None:
    with pytest.raises(StoreUnavailable):
        run(conn, Staging(STAGED, 1, is_gone))
