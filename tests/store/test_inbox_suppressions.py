"""Which reports end an address, and which never do: the suppression list as reports leave it."""

import hashlib
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from postroom.core.bouncereason import BounceClass, BounceReason, Sense
from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import InMail, ReportedRecipient
from postroom.core.reason import ReasonCode
from postroom.core.token import TokenKind, TokenStatus
from postroom.ports.accepting import Accepted
from postroom.ports.looping import MarkStopped
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.arrivals import ALICE, PostOffice, block, in_mail, report_mail, token_of
from support.store_host import NOON, outbox_in
from support.store_jobs import new_job, start_of


BOUNCE = TokenKind.BOUNCE
BOB = "bob@customer.example"
_C = BounceClass
_R = BounceReason
GONE = Sense(_C.PERMANENT, _R.RECIPIENT_UNKNOWN)


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


def told(
    recipient: str | None, sense: Sense = GONE, action: str = "failed", status: str | None = "5.1.1"
) -> ReportedRecipient:
    return replace(block(recipient, action, status), sense=sense, reply_code=550)


def complaint(recipient: str | None) -> ReportedRecipient:
    return told(recipient, Sense(_C.COMPLAINT, _R.FEEDBACK), "complained", None)


async def list_of(office: PostOffice) -> list[tuple[str, str, str, str]]:
    page = await office.outbox.reader.find_suppressions(None, None, 100)
    return [(one.mailbox_id or "", one.address, one.reason, one.by) for one in page.items]


# -- what ends an address ----------------------------------------------------------------------------------------------

ENDING = {
    "B02 unknown": (told(ALICE), "recipient.unknown"),
    "unknown, in other letters": (told("ALICE@Customer.Example"), "recipient.unknown"),
    "B20 unknown, of nobody by name": (told(None), "recipient.unknown"),
    "a complaint": (complaint(ALICE), "complaint"),
    "a complaint that keeps back whose": (complaint(None), "complaint"),
}


@pytest.mark.parametrize("case", ENDING)
async def test_what_a_return_path_proves_of_its_recipient_ends_the_address(
    case: str, office: PostOffice
) -> None:
    said, reason = ENDING[case]
    number = (await office.sent()).deliveries[0].number
    event = await office.published(report_mail(said), token_of(number, BOUNCE))
    by = f"report:{encode_id(Kind.EVENT, event['seq'])}"
    assert await list_of(office) == [("support", ALICE, reason, by)]
    assert event["delivery_report"]["suppressed"] is True


async def test_an_event_says_what_the_report_comes_to(office: PostOffice) -> None:
    number = (await office.sent()).deliveries[0].number
    mail = report_mail(told(ALICE))
    assert mail.report is not None
    mail = replace(mail, report=replace(mail.report, reporting_mta="mx.example"))
    report = (await office.published(mail, token_of(number, BOUNCE)))["delivery_report"]
    one = {
        "recipient": ALICE,
        "class": "permanent",
        "reason": "recipient.unknown",
        "hard": True,
        "action": "failed",
        "status": "5.1.1",
        "reply_code": 550,
        "diagnostic": None,
        "remote_mta": None,
    }
    assert report == {
        "verified": True,
        "suppressed": True,
        "original_message_id": None,
        "reporting_mta": "mx.example",
        **one,
        "recipients": [one],
    }


# -- what never does ---------------------------------------------------------------------------------------------------

NEVER = [
    *(Sense(_C.PERMANENT, reason) for reason in _R if reason is not _R.RECIPIENT_UNKNOWN),
    *(Sense(class_, _R.RECIPIENT_UNKNOWN) for class_ in (_C.TEMPORARY, _C.DELAYED, _C.NONE)),
    Sense(_C.TEMPORARY, _R.RECIPIENT_MAILBOX_FULL),
]


@pytest.mark.parametrize("sense", NEVER, ids=lambda one: f"{one.class_} {one.reason}")
async def test_what_is_not_of_the_recipient_or_not_for_good_never_does(
    sense: Sense, office: PostOffice
) -> None:
    """B01, B08, B10, B11, B16, B17, B19: full, delayed, tried too long, about us, or nobody knows."""
    number = (await office.sent()).deliveries[0].number
    event = await office.published(report_mail(told(ALICE, sense)), token_of(number, BOUNCE))
    assert event["delivery_report"]["verified"] is True
    assert event["delivery_report"]["suppressed"] is False
    assert await list_of(office) == []


async def test_a_report_that_only_a_message_id_proves_settles_and_ends_nobody(
    office: PostOffice,
) -> None:
    done = await office.sent()
    number = done.deliveries[0].number
    found = await office.outbox.reader.find_delivery(number)
    assert found is not None
    for said in (told(ALICE), complaint(ALICE)):
        event = await office.published(report_mail(said, original=found.message_id))
        assert event["delivery_report"]["verified"] is True
        assert event["delivery_report"]["suppressed"] is False
    assert await office.feedback(number) == "complained"
    assert await list_of(office) == []


FORGED = {
    "B14 without anything of ours": (),
    "B14 with a reply's token": (TokenKind.REPLY, TokenStatus.VALID),
    "with an expired token": (BOUNCE, TokenStatus.EXPIRED),
}


@pytest.mark.parametrize("case", FORGED)
async def test_what_a_forger_can_have_ends_nobody(case: str, office: PostOffice) -> None:
    given = FORGED[case]
    number = (await office.sent()).deliveries[0].number
    tokens = [token_of(number, *given)] if given else []
    event = await office.published(report_mail(told(ALICE)), *tokens)
    assert event["delivery_report"]["suppressed"] is False
    assert await list_of(office) == []


async def test_another_address_behind_a_forward_ends_neither(office: PostOffice) -> None:
    number = (await office.sent()).deliveries[0].number
    event = await office.published(
        report_mail(told("alice@home.example")), token_of(number, BOUNCE)
    )
    assert event["type"] == "delivery.bounced"
    assert event["delivery_report"]["suppressed"] is False
    assert await list_of(office) == []


async def test_of_two_recipients_only_whom_the_return_path_names_is_ended(
    office: PostOffice,
) -> None:
    done = await office.sent(ALICE, BOB)
    alice, bob = [one.number for one in done.deliveries]
    found = await office.outbox.reader.find_delivery(alice)
    assert found is not None
    mail = report_mail(told(ALICE), told(BOB), original=found.message_id)
    await office.published(mail, token_of(alice, BOUNCE))
    assert [one[1] for one in await list_of(office)] == [ALICE]
    assert await office.feedback(bob) == "bounced"


NO_REPORTS = {"a person": in_mail(), "an absence notice": report_mail(told(ALICE, Sense(_C.AUTO_REPLY, _R.AUTO_REPLY), "auto-replied", None))}  # fmt: skip


@pytest.mark.parametrize("case", NO_REPORTS)
async def test_no_other_mail_ends_anybody(case: str, office: PostOffice) -> None:
    number = (await office.sent()).deliveries[0].number
    mail: InMail = NO_REPORTS[case]
    event = await office.published(mail, token_of(number, BOUNCE))
    assert event["type"] in {"reply.received", "auto_reply.received"}
    assert await list_of(office) == []


# -- what follows ------------------------------------------------------------------------------------------------------


async def test_a_report_that_comes_twice_is_told_once_and_a_persons_entry_stays(
    office: PostOffice,
) -> None:
    number = (await office.sent()).deliveries[0].number
    mail = report_mail(told(ALICE))
    await office.published(mail, token_of(number, BOUNCE))
    first = await list_of(office)
    await office.doubled(mail, token_of(number, BOUNCE))
    await office.published(report_mail(complaint(ALICE)), token_of(number, BOUNCE))
    assert await list_of(office) == first


async def test_what_waits_for_the_address_is_stopped_and_goes_when_it_is_allowed_again(
    office: PostOffice,
) -> None:
    number = (await office.sent()).deliveries[0].number
    waiting = await office.outbox.intake.accept(new_job(office.outbox.intake, ALICE))
    assert isinstance(waiting, Accepted)
    later = waiting.deliveries[0].number
    await office.outbox.loop.start(start_of(later))
    await office.published(report_mail(told(ALICE)), token_of(number, BOUNCE))
    stopped = await office.outbox.loop.mark(later, 1, NOON)
    assert stopped == MarkStopped(DeliveryState.FAILED, ReasonCode.RECIPIENT_SUPPRESSED)
    assert await office.outbox.admin.unsuppress("support", ALICE)
    assert await list_of(office) == []


@pytest.mark.parametrize("recipient", [ALICE, None], ids=["named", "of nobody by name"])
async def test_after_retention_an_address_is_ended_only_where_the_report_names_it(
    recipient: str | None, office: PostOffice
) -> None:
    number = (await office.sent()).deliveries[0].number
    key = hashlib.sha256(ALICE.encode()).digest()
    await office.outbox.database.write(lambda conn: bury(conn, number, key), lane=WriteLane.REST)
    event = await office.published(report_mail(told(recipient)), token_of(number, BOUNCE))
    assert event["type"] == "delivery.bounced"
    assert event["delivery_report"]["suppressed"] is (recipient is not None)
    assert [one[1] for one in await list_of(office)] == ([ALICE] if recipient else [])


def bury(conn: sqlite3.Connection, number: int, key: bytes) -> UnitResult[None]:
    conn.execute(
        """INSERT INTO delivery_tombstone SELECT number, job, mailbox_id, thread, ?, message_id, state, created_at
           FROM delivery WHERE number = ?""",
        (key, number),
    )
    conn.execute("PRAGMA defer_foreign_keys = ON")
    conn.execute("DELETE FROM history WHERE delivery = ?", (number,))
    conn.execute("DELETE FROM delivery WHERE number = ?", (number,))
    return UnitResult(None)
