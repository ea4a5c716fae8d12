"""Who is a first-time sender, and for how long somebody is known."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.core.authentication import Verdict
from postroom.core.inmail import AutomationKind
from postroom.core.instant import SECOND, Instant
from postroom.core.refusal import Wanted
from postroom.core.retention import Retention
from postroom.store.sqlite.retention import SqliteRetention
from support.arrivals import ALICE, PostOffice, in_mail
from support.store_host import NOON, outbox_in, rows_in
from support.verifying import judged


EVE = "eve@elsewhere.example"
PASS, FAIL = judged(Verdict.PASS), judged(Verdict.FAIL)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


async def first_time(office: PostOffice, sender: str | None, **more: Any) -> bool:
    mail = in_mail(sender, subject=f"Mail {len(await office.events())}", **more.pop("mail", {}))
    event = await office.published(mail, **more)
    found: bool = event["authentication"]["signals"]["first_time_sender"]
    return found


async def take_old(office: PostOffice, days: int) -> None:
    async def unlink(digest: str) -> bool:
        return True

    retention = SqliteRetention(office.outbox.database, Retention(), unlink, lambda: True)
    await retention.run(Instant(NOON + days * 24 * 3600 * SECOND))


async def test_who_wrote_before_is_no_first_time_sender(office: PostOffice) -> None:
    assert await first_time(office, ALICE)
    assert not await first_time(office, ALICE.upper())
    assert await first_time(office, ALICE, mailbox_id="sales")
    assert await first_time(office, EVE)


async def test_whom_we_wrote_to_is_no_first_time_sender(office: PostOffice) -> None:
    await office.sent(ALICE)
    assert not await first_time(office, ALICE)


async def test_whom_we_wrote_to_is_known_when_retention_took_the_delivery(
    office: PostOffice, tmp_path: Path
) -> None:
    await office.sent(ALICE)
    await take_old(office, 40)
    assert rows_in(tmp_path, "SELECT count(*) FROM delivery") == [(0,)]
    assert not await first_time(office, ALICE)


async def test_neither_a_machine_nor_who_was_refused_nor_nobody_is_known_later(
    office: PostOffice,
) -> None:
    away = {"automation": AutomationKind.AUTO_REPLY}
    for _ in range(2):
        assert await first_time(office, ALICE, mail=away)
        assert await first_time(office, ALICE, wanted=Wanted(), authentication=FAIL)
        assert await first_time(office, EVE, mail={"is_sender_ambiguous": True})
        assert await first_time(office, None)


async def test_who_is_known_is_forgotten_with_the_answers(
    office: PostOffice, tmp_path: Path
) -> None:
    await first_time(office, ALICE)
    await take_old(office, 406)
    assert rows_in(tmp_path, "SELECT count(*) FROM known_sender") == [(1,)]
    await take_old(office, 408)  # a token is valid to the end of its week
    assert rows_in(tmp_path, "SELECT count(*) FROM known_sender") == [(0,)]
