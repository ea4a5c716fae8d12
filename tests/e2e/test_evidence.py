"""A relay that swallows its answer, and what people, machines and liars say of the mail afterwards (CONTRACT §6.4).

Every row once while the answer is still awaited and once when it has stayed away; then a quarter of an hour passes,
after which the mailbox sends once more what is still in doubt: never what was evidenced.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from postroom.core.delivery import DeliveryState
from support.inward import (
    ALICE,
    LISTENER,
    SUPPORT,
    TEMPLATES,
    answer_to,
    free_port,
    mail_to,
    parsed,
    reply_to,
)
from support.post import Post, open_post, settings
from support.relay import ScriptedRelay
from support.relay_script import Drop, Hold, Reply, Transaction


MALLORY = "mallory@elsewhere.example"
QUARTER = 15 * 60
REPORT = """\
From: MAILER-DAEMON@relay.test
To: <{to}>
Subject: {subject}
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b

It is about your mail.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.test

Final-Recipient: rfc822; {who}
Action: {action}
Status: {status}

--b
Content-Type: message/rfc822-headers

Message-ID: {message_id}
Subject: Your report

--b--
"""


@dataclass(frozen=True)
class Letter:
    """A mail that comes in, and what it makes of the delivery."""

    content: bytes
    to: str
    sender: str
    feedback: str | None

    @property
    def proves(self) -> bool:
        return self.feedback is not None


def report(sent: Transaction, to: str, who: str, action: str, status: str) -> bytes:
    text = REPORT.format(
        to=to,
        who=who,
        action=action,
        status=status,
        subject="Report",
        message_id=parsed(sent)["Message-ID"],
    )
    return text.replace("\n", "\r\n").encode()


def forge(address: str) -> str:
    place = address.index("@") - 3
    return address[:place] + ("b" if address[place] != "b" else "c") + address[place + 1 :]


def by_reply_token(sent: Transaction) -> Letter:
    text = answer_to(sent, "I have it.", sender=MALLORY, has_ids=False)
    return Letter(text, reply_to(sent), MALLORY, "replied")


def by_return_path(sent: Transaction) -> Letter:
    text = report(sent, sent.sender, "x@y.example", "failed", "5.1.1")
    return Letter(text, sent.sender, "", "bounced")


def by_message_id(sent: Transaction) -> Letter:
    return Letter(answer_to(sent, "I have it.", to=SUPPORT), SUPPORT, ALICE, "replied")


def by_message_id_of_another(sent: Transaction) -> Letter:
    text = answer_to(sent, "I have it.", to=SUPPORT, sender=MALLORY)
    return Letter(text, SUPPORT, MALLORY, None)


def by_success_report(sent: Transaction) -> Letter:
    text = report(sent, sent.sender, ALICE, "delivered", "2.0.0")
    return Letter(text, sent.sender, "", "delivered")


def forged(sent: Transaction) -> Letter:
    """A report without a token, on somebody else under its Message-ID."""
    text = report(sent, SUPPORT, MALLORY, "delivered", "2.0.0")
    return Letter(text, SUPPORT, "", None)


ROWS: tuple[Callable[[Transaction], Letter], ...] = (
    by_reply_token,
    by_return_path,
    by_message_id,
    by_message_id_of_another,
    by_success_report,
    forged,
)


@asynccontextmanager
async def office(folder: Path) -> AsyncIterator[tuple[ScriptedRelay, Post, int]]:
    port = free_port()
    mailbox = f'{TEMPLATES}\non_uncertain = "resend"\nsuccess_reports = true'
    async with ScriptedRelay() as relay:
        more = LISTENER.format(port=port)
        said = settings(folder, relay.port, mailbox=mailbox, more=more)
        async with open_post(said) as post:
            yield relay, post, port


async def bring(post: Post, port: int, letter: Letter, count: int = 1) -> None:
    """Hand it in, and wait until it is an event."""
    told = await mail_to(port, letter.content, letter.to, sender=letter.sender)
    assert told.startswith("250"), told

    async def is_published() -> bool:
        log = await post.outbox.reader.find_events(0, 100)
        return sum("envelope" in one.data for one in log) == count

    await post.until_answered(is_published)


@pytest.mark.parametrize("row", ROWS, ids=[one.__name__ for one in ROWS])
@pytest.mark.parametrize("moment", ["before the doubt", "after it"])
async def test_what_was_evidenced_is_sent_and_never_goes_again(
    row: Callable[[Transaction], Letter], moment: str, tmp_path: Path
) -> None:
    async with office(tmp_path) as (relay, post, port):
        hold = Hold()
        relay.on("dot", hold, Drop(), times=1)
        job = await post.submit(to=[ALICE])
        await relay.until(lambda: relay.copies(ALICE) == 1)
        (sent,) = relay.transactions
        letter = row(sent)
        if moment == "before the doubt":
            await bring(post, port, letter)
            assert (await post.only(job)).state is DeliveryState.SENDING
        hold.release()
        await post.quiet()
        if moment == "after it":
            assert (await post.only(job)).state is DeliveryState.UNCERTAIN
            await bring(post, port, letter)
        found = await post.only(job)
        assert found.state is (DeliveryState.SENT if letter.proves else DeliveryState.UNCERTAIN)
        assert found.feedback == (letter.feedback or "none")
        await post.run(QUARTER - 1)
        assert relay.copies(ALICE) == 1
        await post.run(1)
        await post.run(10 * QUARTER)
        assert relay.copies(ALICE) == (1 if letter.proves else 2)
        assert len({str(parsed(one)["Message-ID"]) for one in relay.transactions}) == 1
        assert len({one.content for one in relay.transactions}) == 1
        assert (await post.only(job)).state is DeliveryState.SENT


@pytest.mark.parametrize("kind", ["reply", "report"])
async def test_a_forged_address_is_refused_and_settles_nothing(kind: str, tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, port):
        relay.on("dot", Drop(), times=1)
        job = await post.submit(to=[ALICE])
        await post.quiet()
        (sent,) = relay.transactions
        to = forge(reply_to(sent) if kind == "reply" else sent.sender)
        text = answer_to(sent, "I have it.", to=to)
        told = await mail_to(port, text, to, sender=ALICE if kind == "reply" else "")
        assert told.startswith("550")
        assert (await post.only(job)).state is DeliveryState.UNCERTAIN


async def test_evidence_stops_a_second_copy_that_waits(tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, port):
        relay.on("dot", Drop(), times=1)
        job = await post.submit(to=[ALICE])
        await post.quiet()
        relay.on("rcpt", Reply("450 4.7.1 later"), times=1)
        await post.run(QUARTER)
        waits = await post.only(job)
        assert (waits.state, waits.resends) == (DeliveryState.RETRY_SCHEDULED, 1)
        await bring(post, port, by_reply_token(relay.transactions[0]))
        await post.run(QUARTER)
        assert relay.copies(ALICE) == 1
        found = await post.only(job)
        assert (found.state, found.settled_by) == (DeliveryState.SENT, "evidence")
        assert '"event": "doubt.settled"' in post.log.getvalue()


async def test_a_success_report_is_asked_for_where_the_relay_offers_it(tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, _):
        await post.submit(to=["alice+x=y@customer.example"])
        await post.quiet()
        (sent,) = relay.transactions
        assert sent.rcpt_parameters == [
            "NOTIFY=SUCCESS,FAILURE,DELAY",
            "ORCPT=rfc822;alice+2Bx+3Dy@customer.example",
        ]
        assert any(one.startswith("ENVID=dlv_") for one in sent.mail_parameters)
