"""To which thread a received mail goes by its tokens and ids, on a real store (CONTRACT §5, CASES E)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from postroom.core.ids import Kind, encode_id
from postroom.core.inmail import AutomationKind, InMail, Person
from postroom.core.retention import Retention
from postroom.core.token import TokenKind, TokenStatus
from postroom.store.sqlite.retention import SqliteRetention
from support.arrivals import ALICE, PostOffice, days, in_mail, the_job, token_of
from support.store_host import outbox_in, rows_in


MALLORY = "mallory@elsewhere.example"


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[PostOffice]:
    async with outbox_in(tmp_path) as outbox:
        yield PostOffice(outbox)


VALID = TokenStatus.VALID
EXPIRED = TokenStatus.EXPIRED


@pytest.mark.parametrize(
    ("kind", "status", "matched_by", "confidence", "reply_token"),
    [
        (TokenKind.REPLY, VALID, "reply_token", "certain", "valid"),
        (TokenKind.REPLY, EXPIRED, "reply_token", "strong", "expired"),
        (TokenKind.BOUNCE, VALID, "return_path", "certain", "absent"),
    ],
    ids=["reply address", "expired reply address", "return path"],
)
async def test_a_token_names_the_thread_whatever_else_the_mail_says(
    office: PostOffice,
    kind: TokenKind,
    status: TokenStatus,
    matched_by: str,
    confidence: str,
    reply_token: str,
) -> None:
    _, other_id, _ = await the_job(office)
    thread, _, number = await the_job(
        office, conversation_id="conv_456", metadata=(("agent_run_id", "run_789"),)
    )
    mail = in_mail(subject="Another subject", in_reply_to=(other_id,))
    event = await office.published(mail, token_of(number, kind, status))
    assert event["type"] == "reply.received"
    assert event["thread"] == {
        "id": thread,
        "version": 1,
        "conversation_id": "conv_456",
        "matched_by": matched_by,
        "confidence": confidence,
        "metadata": {"agent_run_id": "run_789"},
    }
    assert event["answers"] == {
        "job_id": encode_id(Kind.JOB, 2),
        "delivery_id": encode_id(Kind.DELIVERY, number),
        "from_recipient": True,
    }
    assert event["authentication"]["reply_token"]["status"] == reply_token


def by_id(id_: str, **more: Any) -> InMail:
    return in_mail(subject="Something else", in_reply_to=(id_,), **more)


IDS: dict[str, Any] = {
    "in-reply-to": (by_id, "in_reply_to"),
    "last of several in-reply-to": (
        lambda id_: in_mail(subject="x", in_reply_to=("<a@b.example>", id_)),
        "in_reply_to",
    ),
    "references, the newest unknown": (
        lambda id_: in_mail(subject="x", references=(id_, "<unknown@elsewhere.example>")),
        "references",
    ),
    "folded into pieces": (
        lambda id_: by_id(f"<{id_[1:4]}\r\n {id_[4:-1]}>"),
        "in_reply_to",
    ),
    "domain in capitals": (
        lambda id_: by_id(id_.partition("@")[0] + "@" + id_.partition("@")[2].upper()),
        "in_reply_to",
    ),
    "hundreds of references": (
        lambda id_: in_mail(
            subject="x", references=(id_, *(f"<{n}@other.example>" for n in range(190)))
        ),
        "references",
    ),
    "beside itself": (
        lambda id_: in_mail(
            subject="x", message_id="<s@x.example>", references=("<s@x.example>", id_)
        ),
        "references",
    ),
    "beside a broken one": (lambda id_: by_id(id_, references=("<invalid", "<>")), "in_reply_to"),
}


@pytest.mark.parametrize(("write", "matched_by"), IDS.values(), ids=IDS.keys())
async def test_our_own_message_id_names_the_thread(
    office: PostOffice, write: Any, matched_by: str
) -> None:
    thread, message_id, number = await the_job(office)
    event = await office.published(write(message_id))
    assert (event["thread"]["id"], event["thread"]["confidence"]) == (thread, "strong")
    assert event["thread"]["matched_by"] == matched_by
    assert event["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, number)
    assert event["answers"]["from_recipient"] is True
    assert await office.feedback(number) == "replied"


async def test_who_shares_our_message_id_is_told_apart_by_the_address(office: PostOffice) -> None:
    done = await office.sent("carol@customer.example", ALICE)
    found = await office.outbox.reader.find_delivery(done.deliveries[1].number)
    assert found is not None
    event = await office.published(by_id(found.message_id))
    assert event["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, found.number)
    assert await office.feedback(done.deliveries[0].number) == "none"


async def test_a_recipient_who_writes_her_domain_in_her_own_letters_is_known(
    office: PostOffice,
) -> None:
    done = await office.sent("ann@xn--mller-kva.example")
    found = await office.outbox.reader.find_delivery(done.deliveries[0].number)
    assert found is not None
    event = await office.published(by_id(found.message_id, sender="Ann@Müller.example"))
    assert event["answers"]["from_recipient"] is True
    assert await office.feedback(found.number) == "replied"


async def test_a_stranger_with_the_message_id_joins_but_is_no_answer_of_the_recipient(
    office: PostOffice,
) -> None:
    thread, message_id, number = await the_job(office)
    event = await office.published(by_id(message_id, sender=MALLORY))
    assert event["thread"]["id"] == thread
    assert event["answers"]["from_recipient"] is False
    assert await office.feedback(number) == "none"


SES = "010f0192ab34cd56-1a2b3c4d-1111-2222-3333-0123456789ab-000000"


@pytest.mark.parametrize(
    ("called", "answered"),
    [
        (SES, f"<{SES}@email.amazonses.com>"),
        (SES, f"<{SES}@eu-west-1.amazonses.com>"),
        ("AbC.1@relay.example", "<AbC.1@RELAY.example>"),
    ],
    ids=["SES", "SES, a region", "a whole id"],
)
async def test_what_a_relay_called_our_mail_names_its_thread(
    office: PostOffice, called: str, answered: str
) -> None:
    thread, _, number = await the_job(office, relay_message_id=called)
    event = await office.published(by_id(answered))
    assert (event["thread"]["id"], event["thread"]["matched_by"]) == (thread, "in_reply_to")
    assert event["answers"]["delivery_id"] == encode_id(Kind.DELIVERY, number)


async def test_a_queue_id_is_no_message_id(office: PostOffice, tmp_path: Path) -> None:
    await the_job(office, relay_message_id="4XyZ12345")
    assert rows_in(tmp_path, "SELECT count(*) FROM message_ref") == [(0,)]


async def test_an_answer_to_a_received_mail_is_in_its_thread(office: PostOffice) -> None:
    thread, _, number = await the_job(office)
    await office.published(in_mail(message_id="<A1@customer.example>"), token_of(number))
    event = await office.published(
        in_mail("bob@customer.example", "FW", references=("<A1@customer.example>",))
    )
    assert (event["thread"]["id"], event["thread"]["version"]) == (thread, 2)
    assert event["answers"] is None


async def test_an_answer_finds_its_thread_when_retention_took_the_delivery(
    office: PostOffice,
) -> None:
    thread, message_id, number = await the_job(office)

    async def unlink(sha256: str) -> bool:
        return True

    taken = await SqliteRetention(office.outbox.database, Retention(), unlink, lambda: True).run(
        days(40)
    )
    assert taken.jobs == 1
    for mail, tokens in ((by_id(message_id), ()), (in_mail(subject="x"), (token_of(number),))):
        event = await office.published(mail, *tokens, at=days(40))
        assert event["thread"]["id"] == thread
        assert event["answers"] == {
            "job_id": encode_id(Kind.JOB, 1),
            "delivery_id": encode_id(Kind.DELIVERY, number),
            "from_recipient": True,
        }


async def test_mail_of_another_mailbox_is_another_thread(office: PostOffice) -> None:
    _, message_id, number = await the_job(office)
    mail = by_id(message_id)
    event = await office.published(mail, token_of(number), mailbox_id="sales")
    assert (event["type"], event["thread"]["matched_by"]) == ("message.received", "none")


async def test_whose_message_id_a_stranger_takes_keeps_his_thread(office: PostOffice) -> None:
    first = await office.published(in_mail(message_id="<a@x.example>", subject="One"))
    await office.published(in_mail(MALLORY, "Two", message_id="<a@x.example>"))
    answer = await office.published(in_mail(subject="Three", in_reply_to=("<a@x.example>",)))
    assert answer["thread"]["id"] == first["thread"]["id"]


@pytest.mark.parametrize(
    "kind",
    [k for k in AutomationKind if k is not AutomationKind.HUMAN],
)
async def test_only_a_person_raises_the_threads_version(
    office: PostOffice, kind: AutomationKind
) -> None:
    _, _, number = await the_job(office)
    event = await office.published(in_mail(automation=kind), token_of(number))
    assert event["thread"]["version"] == 0
    assert event["type"] in {"auto_reply.received", "list_mail.received"}
    assert await office.feedback(number) == "none"
    event = await office.published(in_mail(), token_of(number))
    assert event["thread"]["version"] == 1


async def test_our_own_mail_come_back_is_a_loop_in_its_thread(office: PostOffice) -> None:
    thread, message_id, _ = await the_job(office)
    event = await office.published(in_mail(message_id=message_id, subject="Report"))
    assert event["automation"] == {"kind": "loop", "evidence": ["own-message-id"]}
    assert (event["thread"]["id"], event["thread"]["version"]) == (thread, 0)
    assert event["type"] == "auto_reply.received"


async def test_names_and_addresses_stand_in_the_event_as_they_are(office: PostOffice) -> None:
    mail = replace(in_mail(), sender=Person("Alice", ALICE), message_id="<m@x.example>")
    event = await office.published(mail)
    assert event["message"]["from"] == {"name": "Alice", "address": ALICE}
    assert event["message"]["message_id"] == "<m@x.example>"
    assert event["raw_ref"] == f"/v1/events/{encode_id(Kind.EVENT, event['seq'])}/raw"
    assert event["envelope"] == {
        "from": ALICE,
        "to": ["support@example.com"],
        "client_ip": "192.0.2.7",
        "tls": True,
    }
