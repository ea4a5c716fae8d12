"""What was received becomes events whatever a mail, the parser, the machine or the store does; over a real store."""

import asyncio
import base64
import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from errno import EAGAIN, EDQUOT, EMFILE, ENOSPC, errorcode
from pathlib import Path

import pytest

from postroom.core.inmail import InMail
from postroom.ports.arriving import ArrivalRecipient
from postroom.ports.errors import StorageFull, StoreUnavailable
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import SUPPORT, arrival
from support.intake import DIGEST, PDF, House, house, with_file


BOB = "bob@customer.example"


class Crash(BaseException):
    """The daemon is gone."""


@pytest.fixture
async def at_home(tmp_path: Path) -> AsyncIterator[House]:
    async with house(tmp_path) as opened:
        yield opened


FAULTS: dict[str, Exception] = {
    "its bytes are gone": FileNotFoundError("raw"),
    "the parser has a fault": ValueError("a fault of ours"),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_mail_that_can_not_be_read_is_an_event_all_the_same(
    at_home: House, fault: Exception
) -> None:
    raw = (
        b"Bad\r\nFrom: Alice <alice@customer.example>\r\nSubject: From the header\r\n\r\nwords\r\n"
    )
    at_home.parser.faults["Bad"] = fault
    await at_home.came("Bad", raw=raw)
    await at_home.came("Good")
    async with at_home.at_work():
        await at_home.done(2)
    bad, good = await at_home.office.events()
    assert bad["message"]["parse"] == "failed"
    assert bad["message"]["subject"] == "From the header"
    assert good["message"]["parse"] == "complete"


async def test_a_name_that_hides_half_a_character_keeps_no_mail_from_being_told(
    at_home: House,
) -> None:
    hidden = base64.b64encode(b"=?utf-7?q?+2AA-a=40b=2Ec?=")
    raw = b"Bad\r\nFrom: =?utf-8?b?" + hidden + b"?= <alice@customer.example>\r\n\r\nwords\r\n"
    at_home.parser.faults["Bad"] = ValueError("a fault of ours")
    await at_home.came("Bad", raw=raw)
    async with at_home.at_work():
        await at_home.done(1)
    (bad,) = await at_home.office.events()
    assert bad["message"]["parse"] == "failed"
    assert bad["message"]["from"]["address"] == "alice@customer.example"


def with_text(text: str) -> Callable[[InMail, Path], InMail]:
    return lambda mail, directory: replace(mail, text=text)


NONSENSE: dict[str, Callable[[InMail, Path], InMail]] = {
    "text that is none": with_text("\ud800"),
    "a digest that is none": lambda mail, directory: replace(mail, dedupe="nonsense"),
    "a file that is not there": with_file(DIGEST, None),
    "a path for a digest": with_file(f"../{DIGEST}", PDF),
}


@pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE.keys())
async def test_nonsense_from_the_parser_is_a_failed_event_and_stops_nobody(
    at_home: House, nonsense: Callable[[InMail, Path], InMail]
) -> None:
    at_home.parser.changes["Bad"] = nonsense
    await at_home.came("Bad")
    await at_home.came("Good")
    async with at_home.at_work():
        await at_home.done(2)
    events = await at_home.office.events()
    assert [one["message"]["parse"] for one in events] == ["failed", "complete"]
    assert events[0]["message"]["attachments"] == []
    assert at_home.account.set_aside == []


async def test_while_the_store_takes_nothing_the_line_waits_and_tries_again(
    at_home: House,
) -> None:
    at_home.inbox.before = {
        "publish": [StorageFull("full"), StoreUnavailable("busy")],
        "find": [StoreUnavailable("busy")],
    }
    await at_home.came("One")
    await at_home.came("Two")
    async with at_home.at_work():
        for count, seconds in ((1, 1), (2, 1), (3, 2)):
            async with asyncio.timeout(5):
                while len(at_home.account.refused) < count:
                    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            at_home.clock.advance(seconds)
        await at_home.done(2)
    assert await at_home.subjects() == ["One", "Two"]


@pytest.mark.parametrize("number", [ENOSPC, EDQUOT, EMFILE, EAGAIN], ids=errorcode.get)
async def test_what_the_machine_lacks_for_the_moment_is_waited_for_and_costs_no_mail_its_text(
    at_home: House, number: int
) -> None:
    at_home.parser.faults["One"] = OSError(number, "not now")
    await at_home.came("One")
    async with at_home.at_work():
        async with asyncio.timeout(5):
            while not at_home.account.refused:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        at_home.parser.faults.clear()
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        at_home.clock.advance(1)
        await at_home.done(1)
    (event,) = await at_home.office.events()
    assert (event["message"]["subject"], event["message"]["parse"]) == ("One", "complete")


async def test_a_mail_that_can_not_be_published_at_all_is_set_aside(at_home: House) -> None:
    at_home.inbox.before = {"publish": [ValueError("first"), ValueError("second")]}
    await at_home.came("Never")
    await at_home.came("Next")
    async with at_home.at_work():
        await at_home.done(1)
    assert [number for number, _ in at_home.account.set_aside] == [1]
    assert [one.number for one in await at_home.office.outbox.inbox.find_received(0, 9)] == [1]
    assert await at_home.subjects() == ["Next"]


STEPS = ("before publish 1", "after publish 1", "before publish 2", "after publish 2")


@pytest.mark.parametrize("step", STEPS)
async def test_a_crash_between_any_two_steps_loses_nothing_and_doubles_nothing(
    tmp_path: Path, step: str
) -> None:
    when, _, turn = step.split()
    sales = ArrivalRecipient("sales@example.com", "sales", None)
    async with house(tmp_path) as home:
        await home.office.outbox.inbox.receive(arrival(SUPPORT, sales, raw=b"Hello\r\n"))
        faults: dict[str, list[BaseException]] = {"publish": [Crash()]}
        if turn == "2":
            home.account.published = lambda publication, result: setattr(  # type: ignore[method-assign]
                home.inbox, when, faults
            )
        else:
            setattr(home.inbox, when, faults)
        with pytest.raises(BaseExceptionGroup):
            async with home.at_work():
                await home.done(9)
    async with house(tmp_path) as home:
        async with home.at_work():
            await home.came("Next", BOB)
            await home.done(1 if step == STEPS[3] else 3)
        events = await home.office.events()
        assert sorted(
            (one["message"]["subject"], tuple(one["envelope"]["to"])) for one in events
        ) == [
            ("Hello", ("sales@example.com",)),
            ("Hello", (SUPPORT,)),
            ("Next", (SUPPORT,)),
        ]
        assert await home.office.outbox.inbox.find_received(0, 9) == ()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE received SET recipients = '[{' WHERE number = 1",
        "UPDATE received SET defects = '7' WHERE number = 1",
        "UPDATE received SET envelope_from = CAST(x'ff40' AS TEXT) WHERE number = 1",
    ],
    ids=["no JSON", "another kind", "other bytes"],
)
async def test_what_is_damaged_where_it_is_stored_stays_there_and_holds_up_nobody(
    at_home: House, sql: str
) -> None:
    def damage(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute(sql)
        return UnitResult(None)

    await at_home.came("Damaged")
    await at_home.came("Next")
    await at_home.office.outbox.database.write(damage, lane=WriteLane.REST)
    async with at_home.at_work():
        await at_home.done(1)
    assert [number for number, _ in at_home.account.set_aside] == [1]
    assert [one.number for one in await at_home.inbox.find_received(0, 9)] == [1]
    assert await at_home.subjects() == ["Next"]
