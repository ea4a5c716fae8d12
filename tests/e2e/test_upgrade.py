"""A store of the first version, with mail that waits and a history, is upgraded at the start and goes on sending."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.store.sqlite import accept_unit, loop_start
from postroom.store.sqlite.migrate import shipped
from support.house import Nursery, house_in
from support.inward import answer_to, came_in, free_port, listening_at, mail_to, reply_to
from support.relay import ScriptedRelay
from support.store_host import HERE, outbox_in
from support.store_jobs import new_job, outcome_of, start_of


NEW = ("if_json", "envelope_from")  # columns of a delivery that the first version did not have


async def test_mail_that_waited_in_a_store_of_version_1_goes_out_and_is_answered(
    tmp_path: Path, nursery: Nursery
) -> None:
    port = free_port()
    await _old_store(tmp_path)
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        await house.start(is_awaited=True, **HERE_AGAIN)
        assert (tmp_path / "state" / "postroom.db.v1").exists()
        await relay.until(lambda: relay.copies("waits@example.com") == 1, 10)
        assert relay.copies("sent@example.com") == 0
        jobs = [encode_id(Kind.JOB, number) for number in (1, 2)]
        for job in jobs:
            assert set((await house.settled(job)).values()) == {"sent"}
        status, told = await house.ask("GET", f"/jobs/{jobs[0]}")
        assert (status, told["deliveries"][0]["feedback"]) == (200, "none")

        old = relay.transactions[0]
        known = answer_to(old, "Thanks.", to="support@example.com", sender="waits@example.com")
        told = await mail_to(port, known, "support@example.com", sender="waits@example.com")
        assert told.startswith("250")
        (event,) = await came_in(house)
        assert event["thread"]["matched_by"] == "in_reply_to"
        new = await house.post(to=["new@example.com"])
        assert await house.settled(new["id"]) == {"new@example.com": "sent"}
        assert reply_to(relay.transactions[-1]).startswith("support-r-")
