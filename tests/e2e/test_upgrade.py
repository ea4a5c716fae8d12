"""A store of an older version, with mail that waits and a history, is upgraded at the start and goes on sending."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.selftest.nursery import Nursery
from postroom.store.sqlite.migrate import APPLICATION_ID, shipped
from postroom.store.sqlite.opening import HostIdentity
from support.house import house_in
from support.inward import SUPPORT, came_in, free_port, listening_at, mail, mail_to, reply_to
from support.relay import ScriptedRelay
from support.store_host import HERE, NOON, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


BOOT = (
    "one"  # the same for who wrote the old store and who opens it: a reboot would be another story
)


@pytest.mark.parametrize("version", range(1, len(shipped())))
async def test_mail_that_waited_in_an_older_store_goes_out_and_is_answered(
    version: int, tmp_path: Path, nursery: Nursery
) -> None:
    port = free_port()
    await _write_store(tmp_path)
    _make_old(tmp_path / "state" / "postroom.db", version)
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        await house.start(boot_id=BOOT)
        assert (tmp_path / "state" / f"postroom.db.v{version}").exists()
        sent, waited = (encode_id(Kind.JOB, number) for number in (1, 2))
        assert await house.settled(waited) == {"waits@example.com": "sent"}
        assert await house.states(sent) == {"sent@example.com": "sent"}
        assert [one.recipients for one in relay.transactions] == [["waits@example.com"]]
        (found,) = (await house.deliveries(sent)).values()
        assert (found["feedback"], found["attempts"]) == ("none", 1)
        assert [row["to"] for row in found["history"]] == ["pending", "sending", "sent"]

        who = "waits@example.com"
        ids = {"In-Reply-To": (await house.deliveries(waited))[who]["message_id"]}
        content = mail("Thanks.", From=who, To=SUPPORT, Subject="Another subject", **ids)
        assert (await mail_to(port, content, SUPPORT, sender=who)).startswith("250")
        (event,) = await came_in(house)
        assert event["thread"]["matched_by"] == "in_reply_to"
        assert event["answers"]["job_id"] == waited
        assert event["authentication"]["signals"]["first_time_sender"] is False
        new = await house.post(to=["new@example.com"])
        assert await house.settled(new["id"]) == {"new@example.com": "sent"}
        assert reply_to(relay.transactions[-1]).startswith("support-r-")


async def _write_store(folder: Path) -> None:
    """A mail that was sent, and one that waits."""
    rules = replace(HERE, host=HostIdentity("machine", BOOT))
    async with outbox_in(folder, rules=rules) as outbox:
        for who in ("sent@example.com", "waits@example.com"):
            await outbox.intake.accept(new_job(outbox.intake, who))
        await outbox.loop.start(start_of(1))
        await outbox.loop.mark(1, 1, NOON)
        await outbox.loop.finish(outcome_of(1, 1, DeliveryState.SENT))


def _make_old(path: Path, version: int) -> None:
    """The same as that version wrote it: its tables, its columns."""
    written = path.rename(path.with_name("written.db"))
    with closing(sqlite3.connect(path)) as conn:
        for script in shipped()[:version]:
            conn.executescript(script)
        conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        conn.execute(f"PRAGMA user_version = {version}")
        conn.execute("ATTACH ? AS written", (str(written),))
        tables = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns = [row[1] for row in conn.execute(f"PRAGMA table_info({table})")]
            names = ", ".join(columns)
            conn.execute(f"DELETE FROM main.{table}")  # noqa: S608
            conn.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM written.{table}")  # noqa: S608
        conn.commit()
    written.unlink()
    path.chmod(0o600)
