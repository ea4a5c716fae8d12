"""Mail that comes in, for tests of the inbox: everything that a test does not care about is filled in."""

import hashlib
import json
import sqlite3
from dataclasses import replace
from datetime import timedelta
from typing import Any

from postroom.core.delivery import DeliveryState
from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import (
    AutomationKind,
    InMail,
    Parse,
    Person,
    Report,
    ReportedRecipient,
    TextConfidence,
)
from postroom.core.instant import Instant, micros
from postroom.core.mailbox import AcceptNew
from postroom.core.refusal import Wanted
from postroom.core.token import Token, TokenKind, TokenStatus
from postroom.inbound.judging import NOT_JUDGED
from postroom.ports.accepting import Accepted
from postroom.ports.arriving import (
    Arrival,
    ArrivalRecipient,
    Doubled,
    Publication,
    Published,
    PublishResult,
    RawFile,
    Received,
    StoredAttachment,
)
from postroom.store.sqlite.outbox import Outbox
from postroom.store.sqlite.unit import UnitResult, WriteLane
from support.store_host import NOON
from support.store_jobs import new_job, outcome_of, start_of


ALICE = "alice@customer.example"
SUPPORT = "support@example.com"


def in_mail(sender: str | None = ALICE, subject: str = "Re: Report", **more: Any) -> InMail:
    """What the parser makes of a mail from `sender`; its digest follows from what it is."""
    mail = InMail(
        parse=Parse.COMPLETE,
        message_id=None,
        in_reply_to=(),
        references=(),
        sender=None if sender is None else Person("", sender),
        is_sender_ambiguous=False,
        to=(Person("", SUPPORT),),
        cc=(),
        reply_to=(),
        subject=subject,
        date=None,
        text="Yes.",
        text_file=None,
        new_text="Yes.",
        removed=(),
        html_file=None,
        attachments=(),
        defects=(),
        automation=AutomationKind.HUMAN,
        evidence=(),
        report=None,
        thread_index=None,
        forwarded_for=(),
        header_recipients=(),
        dedupe="",
        text_confidence=TextConfidence.HIGH,
        is_forward=False,
    )
    mail = replace(mail, **more)
    return replace(mail, dedupe=mail.dedupe or hashlib.sha256(repr(mail).encode()).hexdigest())


def block(
    recipient: str | None, action: str | None, status: str | None = None
) -> ReportedRecipient:
    """One recipient of a report."""
    return ReportedRecipient(recipient, action, status, None, None)


def report_mail(*blocks: ReportedRecipient, original: str | None = None, **more: Any) -> InMail:
    """A delivery report."""
    return in_mail(
        "mailer-daemon@relay.example",
        "Undelivered Mail Returned to Sender",
        automation=AutomationKind.REPORT,
        report=Report(blocks, original),
        **more,
    )


def token_of(
    number: int,
    kind: TokenKind = TokenKind.REPLY,
    status: TokenStatus = TokenStatus.VALID,
) -> Token:
    """A genuine token of this delivery."""
    return Token(kind, number, status, "abcd1234")


def arrival(
    *recipients: str | ArrivalRecipient,
    sender: str = ALICE,
    raw: bytes | RawFile = b"Subject: Hi\r\n\r\nYes.\r\n",
    at: Instant = NOON,
) -> Arrival:
    """A message at its final dot, to the mailbox support where nothing else is said."""
    given = recipients or (SUPPORT,)
    accepted = [
        ArrivalRecipient(one, "support", None) if isinstance(one, str) else one for one in given
    ]
    return Arrival(
        at=at,
        sender=sender,
        recipients=tuple(accepted),
        client_ip="192.0.2.7",
        helo="mx.customer.example",
        is_tls=True,
        is_trusted=False,
        raw=raw,
    )


def publication_of(mail: InMail, received: Received | None = None, **more: Any) -> Publication:
    """A mail for the mailbox support, and nothing left to do of it."""
    given: dict[str, Any] = {
        "at": NOON,
        "tokens": (),
        "recipients": (SUPPORT,),
        "attachments": (),
        "html_ref": None,
        "text_ref": None,
        "authentication": NOT_JUDGED,
        "wanted": Wanted(AcceptNew.ALL),
        "is_last": True,
        "mailbox_id": "support",
        **more,
    }
    return Publication(received=received or Received(1, arrival()), mail=mail, **given)


class PostOffice:
    """Hands in and publishes over a real store."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox

    async def sent(
        self, *recipients: str, state: DeliveryState = DeliveryState.SENT, **more: Any
    ) -> Accepted:
        """A job of which each delivery went out, or ended otherwise."""
        outcome = {name: more.pop(name) for name in ("relay_message_id", "reply") if name in more}
        done = await self.outbox.intake.accept(
            new_job(self.outbox.intake, *(recipients or (ALICE,)), **more)
        )
        assert isinstance(done, Accepted)
        for one in done.deliveries:
            await self.outbox.loop.start(start_of(one.number))
            await self.outbox.loop.mark(one.number, 1, NOON)
            await self.outbox.loop.finish(outcome_of(one.number, 1, state, **outcome))
        return done

    async def receive(
        self, *tokens: Token, to: tuple[str, ...] = (SUPPORT,), **more: Any
    ) -> Received:
        """A stored message, with an address for each token."""
        named = [
            ArrivalRecipient(f"r-{n}@reply.example.com", "support", token)
            for n, token in enumerate(tokens)
        ]
        one = arrival(*to, *named, **more)
        return Received(await self.outbox.inbox.receive(one), one)

    async def publish(
        self, mail: InMail, *tokens: Token, at: Instant = NOON, **more: Any
    ) -> PublishResult:
        """A mail received and published."""
        received = more.pop("received", None) or await self.receive(*tokens, at=at)
        one = publication_of(mail, received, at=at, tokens=tokens, **more)
        return await self.outbox.inbox.publish(one)

    async def published(self, mail: InMail, *tokens: Token, **more: Any) -> dict[str, Any]:
        """The event that a mail became, which it must."""
        done = await self.publish(mail, *tokens, **more)
        assert isinstance(done, Published), done
        event = await self.event(done.seq)
        assert event["type"] == done.type
        assert event["thread"]["matched_by"] == done.matched_by
        return event

    async def doubled(self, mail: InMail, *tokens: Token, **more: Any) -> dict[str, Any]:
        """The event of which a mail is a copy, which it must be."""
        done = await self.publish(mail, *tokens, **more)
        assert isinstance(done, Doubled), done
        return await self.event(done.seq)

    async def event(self, seq: int) -> dict[str, Any]:
        """An event, with its type and seq."""
        (found,) = await self.outbox.reader.find_events(seq - 1, 1)
        assert found.seq == seq
        return {**json.loads(json.dumps(found.data)), "type": found.type, "seq": seq}

    async def events(self, *types: str) -> list[dict[str, Any]]:
        """All of the log, or what has one of these types."""
        found = await self.outbox.reader.find_events(0, 1000)
        return [await self.event(one.seq) for one in found if not types or one.type in types]

    async def feedback(self, number: int) -> str:
        """What was heard of a delivery."""
        found = await self.outbox.reader.find_delivery(number)
        assert found is not None
        return found.feedback


def stored(sha256: str, ref: str = "att_1", size_bytes: int = 9) -> StoredAttachment:
    """A file that has its reference."""
    return StoredAttachment(ref, sha256, size_bytes, "a.pdf", "application/pdf", is_inline=False)


def thread_of(done: Accepted) -> int:
    return done.deliveries[0].thread_number


def days(count: float) -> Instant:
    return Instant(NOON + micros(timedelta(days=count)))


async def sql(office: PostOffice, statement: str, *values: object) -> None:
    def unit(conn: sqlite3.Connection) -> UnitResult[None]:
        conn.execute(statement, values)
        return UnitResult(None)

    await office.outbox.database.write(unit, lane=WriteLane.REST)


async def the_job(office: PostOffice, **more: Any) -> tuple[str, str, int]:
    """Thread and Message-ID of a sent job to Alice, and the number of its delivery."""
    done = await office.sent(**more)
    found = await office.outbox.reader.find_delivery(done.deliveries[0].number)
    assert found is not None
    return encode_id(Kind.THREAD, found.thread_number), found.message_id, found.number
