"""The inbox's rows over time: an upgrade with queued mail, what age takes, and keys."""

import hashlib
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from postroom.core.instant import Instant
from postroom.core.retention import Retention
from postroom.core.token import Key, make_key
from postroom.ports.arriving import RawFile
from postroom.ports.errors import StateRefused
from postroom.store.sqlite.migrate import shipped
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.retention import SqliteRetention
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import ALICE, PostOffice, days, in_mail, stored, token_of
from support.store_host import HERE, NOON, outbox_in, rows_in
from support.store_jobs import new_job, start_of


FILE, LARGE = (hashlib.sha256(text).hexdigest() for text in (b"a", b"b"))


class Spool:
    def __init__(self) -> None:
        self.removed: list[str] = []

    async def unlink(self, sha256: str) -> bool:
        self.removed.append(sha256)
        return True


async def age(outbox: Outbox, now: Instant) -> Spool:
    spool = Spool()
    await SqliteRetention(outbox.database, Retention(), spool.unlink, lambda: True).run(now)
    return spool


async def test_a_store_of_the_first_version_with_queued_mail_takes_mail_in_after_its_upgrade(
    tmp_path: Path,
) -> None:
    old = replace(HERE, migrations=shipped()[:1])
    make_old(tmp_path)
    async with outbox_in(tmp_path) as outbox:
        assert outbox.opened.copy == tmp_path / "state" / "postroom.db.v1"
        office = PostOffice(outbox)
        found = await outbox.reader.find_delivery(1)
        assert found is not None
        assert (found.state, found.feedback) == ("pending", "none")
        await outbox.loop.start(start_of(1))
        event = await office.published(in_mail(), token_of(1))
        assert event["thread"]["matched_by"] == "reply_token"
        assert await office.feedback(1) == "replied"
    with pytest.raises(StateRefused, match="later postroom"):
        async with outbox_in(tmp_path, rules=old):
            pass


def make_old(tmp_path: Path) -> None:
    """A state directory as the first version left it, with one job that waits."""
    (tmp_path / "state").mkdir(mode=0o700)
    path = tmp_path / "state" / "postroom.db"
    conn = sqlite3.connect(path, isolation_level=None)
    conn.executescript(
        f"""PRAGMA journal_mode = WAL; BEGIN; {shipped()[0]};
        PRAGMA application_id = 1349481332; PRAGMA user_version = 1;
        INSERT INTO instance VALUES (1, 'i', 'log', 0, 'machine-1', 'boot-1', 0, {NOON});
        INSERT INTO thread (mailbox_id, created_at) VALUES ('support', {NOON});
        INSERT INTO body VALUES (1, x'4869', NULL, 2, 1);
        INSERT INTO job (mailbox_id, principal_uid, created_at, trace_id, idempotency_key, lane, copies, spec, body)
        VALUES ('support', 1000, {NOON}, 't', 'k', 1, 'conversation', '{{"subject":"Hi"}}', 1);
        INSERT INTO delivery (job, mailbox_id, lane, recipient, recipient_key, domain, state, due_at, thread,
                              message_id, head, has_attachments, created_at)
        VALUES (1, 'support', 1, '{ALICE}', '{ALICE}', 'customer.example', 'pending', {NOON}, 1,
                '<1@example.com>', x'00', 0, {NOON});
        INSERT INTO history (delivery, after, at, by) VALUES (1, 'pending', {NOON}, 'uid:1000');
        COMMIT;"""  # noqa: S608
    )
    conn.close()
    path.chmod(0o600)


async def test_raw_mail_goes_with_its_attachments_when_its_time_is_over(tmp_path: Path) -> None:
    async with outbox_in(tmp_path, spool=frozenset({FILE, LARGE})) as outbox:
        office = PostOffice(outbox)
        large = await office.receive(raw=RawFile(LARGE, 100_000))
        event = await office.published(
            in_mail(), received=large, attachments=(stored(FILE, "att_1"), stored(FILE, "att_2"))
        )
        still_open = await office.receive(at=days(-100))
        await age(outbox, days(29))
        assert await outbox.reader.find_staged("att_1") is not None
        spool = await age(outbox, days(31))
        assert await outbox.reader.find_staged("att_1") is None
        assert await outbox.conversations.find_event_raw(event["seq"]) is None
        assert sorted(spool.removed) == sorted([FILE, LARGE])
        assert await outbox.inbox.find_received(0, 9) == (still_open,)


async def test_an_attachment_that_an_agent_sent_on_outlives_the_mail_it_came_with(
    tmp_path: Path,
) -> None:
    async with outbox_in(tmp_path, spool=frozenset({FILE})) as outbox:
        office = PostOffice(outbox)
        await office.published(in_mail(), attachments=(stored(FILE, "att_1"),))
        await outbox.intake.accept(new_job(outbox.intake, staged_refs=("att_1",)))
        await age(outbox, days(2))
        assert rows_in(tmp_path, "SELECT ref, uses, refs FROM staged JOIN spool_file") == [
            ("att_1", 1, 1)
        ]


async def test_events_go_with_what_is_pending_of_them(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        await sql(outbox, "INSERT INTO consumer (name, created_at) VALUES ('agent', 0)")
        await sql(outbox, "INSERT INTO consumer_type VALUES ('agent', 'message.received', 0, 0)")
        office = PostOffice(outbox)
        await office.published(in_mail(subject="Old"))
        await office.published(in_mail(subject="New"), at=days(20))
        await age(outbox, days(31))
        assert [one["message"]["subject"] for one in await office.events()] == ["New"]
        assert rows_in(tmp_path, "SELECT seq FROM pending") == [(2,)]


@pytest.mark.parametrize("date", ["2099-11-30T10:00:00.000000Z", "1970-01-01T00:00:00.000000Z"])
async def test_what_a_mail_says_of_its_date_changes_neither_its_place_nor_its_age(
    date: str, tmp_path: Path
) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        await office.published(in_mail(subject="One"))
        await office.published(in_mail(subject="Two", date=date))
        await office.published(in_mail(subject="Three"))
        told = [
            (one["message"]["subject"], one["message"]["date"]) for one in await office.events()
        ]
        assert told == [("One", None), ("Two", date), ("Three", None)]
        await age(outbox, days(29))
        assert len(await office.events()) == 3
        await age(outbox, days(31))
        assert await office.events() == []


async def test_memory_goes_when_it_serves_for_nothing_any_more(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        office = PostOffice(outbox)
        await office.published(in_mail(message_id="<a@x.example>", subject="One"))
        await sql(
            outbox,
            """INSERT INTO lease (consumer, thread, fence, shown, state, taken_at, expires_at, ended_at, max_events)
               VALUES ('a', 1, 1, '[]', 'completed', 0, 0, ?, 1)""",
            NOON,
        )
        left = {
            "dedupe": 7,
            "lease": 7,
            "thread_peer": 30,
            "message_ref": 407,
        }  # to the end of a token's week
        for kept in (6.9, 7.1, 29.9, 30.1, 406.9, 407.1):
            await age(outbox, days(kept))
            for table, last in left.items():
                count = rows_in(tmp_path, f"SELECT count(*) FROM {table}")  # noqa: S608
                assert count == [(1 if kept < last else 0,)], (table, kept)


async def sql(outbox: Outbox, statement: str, *values: object) -> None:
    def unit(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute(statement, values)
        return UnitResult(None)

    await outbox.database.write(unit, lane=WriteLane.REST)


YEAR = timedelta(days=400)
OLD, NEW, NEVER = (make_key(secret) for secret in (b"old", b"new", b"never"))


async def test_a_key_is_missed_as_long_as_its_tokens_may_be_valid(tmp_path: Path) -> None:
    async with outbox_in(tmp_path) as outbox:
        keep = outbox.inbox.remember_keys

        async def missed(*keys: Key, at: Instant) -> tuple[str, ...]:
            return await keep(keys, at, YEAR)

        assert not await outbox.inbox.has_issued()
        assert await missed(OLD, at=days(0)) == ()
        assert await outbox.inbox.has_issued()
        assert await missed(OLD, at=days(100)) == ()
        assert await missed(NEW, OLD, NEVER, at=days(200)) == ()
        assert await missed(NEW, at=days(300)) == (OLD.fingerprint,)
        assert await missed(NEW, at=days(500)) == (OLD.fingerprint,)
        assert await missed(NEW, at=days(501)) == ()
        assert await missed(at=days(502)) == (NEW.fingerprint,)
        assert await missed(NEVER, at=days(502)) == (NEW.fingerprint,)
