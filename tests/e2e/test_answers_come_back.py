"""What people and machines answer (SCENARIOS B), with every part of the daemon but its socket, on a clock that the test moves."""

from pathlib import Path

import pytest

from postroom.api.render import render_brief
from postroom.core.ids import Kind, encode_id
from support.inward import (
    ALICE,
    SUPPORT,
    answer_to,
    mail,
    mail_to,
    reply_to,
)
from support.office import events, office
from support.relay_script import Reply, Transaction


REPORT = """\
From: MAILER-DAEMON@relay.test
To: <{to}>
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b

I could not deliver it.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; relay.test

Final-Recipient: rfc822; {who}
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 User unknown

--b--
"""
TALK = {
    "to": [ALICE],
    "conversation_id": "conv_456",
    "metadata": {"agent_run_id": "run_789", "customer_id": "cust_001"},
}


def report_on(sent: Transaction, who: str, to: str = "") -> bytes:
    return REPORT.format(to=to or sent.sender, who=who).replace("\n", "\r\n").encode()


async def test_a_reply_is_verified_normalised_and_queued(tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, port):
        job = await post.submit(**TALK)
        await post.quiet()
        (sent,) = relay.transactions
        text = "It works.\r\n\r\nOn Monday, Support wrote:\r\n> Here it is."
        reply = answer_to(sent, text, has_ids=False)
        assert (await mail_to(port, reply, reply_to(sent))).startswith("250")
        (event,) = await events(post, 1)
        only = await post.only(job)
        assert event["type"] == "reply.received"
        assert event["thread"]["id"] == encode_id(Kind.THREAD, only.thread_number)
        assert event["thread"]["matched_by"] == "reply_token"
        assert event["thread"]["conversation_id"] == "conv_456"
        assert event["thread"]["metadata"] == TALK["metadata"]
        assert event["authentication"]["reply_token"]["status"] == "valid"
        assert event["message"]["from"]["address"] == ALICE
        assert event["message"]["new_text"].strip() == "It works."
        assert "> Here it is." in event["message"]["text"]
        assert event["envelope"]["from"] == ALICE
        assert event["answers"]["from_recipient"] is True
        assert (await post.only(job)).feedback == "replied"


@pytest.mark.parametrize("place", [1, 8, 26], ids=["expiry", "number", "signature"])
async def test_an_address_whose_signature_is_wrong_is_refused_and_nothing_comes_of_it(
    place: int, tmp_path: Path
) -> None:
    async with office(tmp_path) as (relay, post, port):
        job = await post.submit(**TALK)
        await post.quiet()
        (sent,) = relay.transactions
        true = reply_to(sent)
        at = len("support-r-") + place
        forged = true[:at] + ("b" if true[at] != "b" else "c") + true[at + 1 :]
        told = await mail_to(port, answer_to(sent, "Pay me."), forged)
        assert told.startswith("550 5.1.1")
        assert (await post.only(job)).feedback == "none"
        assert await post.outbox.inbox.find_received(0, 10) == ()
        assert (await mail_to(port, answer_to(sent, "Yes."), true)).startswith("250")
        (event,) = await events(post, 1)
        assert event["message"]["new_text"].strip() == "Yes."


async def test_a_report_with_a_wrong_signature_changes_nothing(tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, port):
        job = await post.submit(**TALK)
        await post.quiet()
        (sent,) = relay.transactions
        forged = sent.sender[:18] + ("b" if sent.sender[18] != "b" else "c") + sent.sender[19:]
        told = await mail_to(port, report_on(sent, ALICE), forged, sender="")
        assert told.startswith("550")
        report = report_on(sent, ALICE, to=forged)
        assert (await mail_to(port, report, SUPPORT, sender="")).startswith("250")
        (event,) = await events(post, 1)
        assert event["delivery_report"]["verified"] is False
        assert (await post.only(job)).feedback == "none"


async def test_a_thread_is_the_same_through_retries_bounces_and_replies(tmp_path: Path) -> None:
    """Two tries, a reply, an answer to it, another reply that lost its address, and a bounce: one conversation."""
    async with office(tmp_path) as (relay, post, port):
        relay.on("dot", Reply("451 4.3.0 not now"), times=1)
        first = await post.submit(**TALK)
        await post.quiet()
        await post.run(301)
        tried, sent = relay.transactions
        assert reply_to(tried) == reply_to(sent)
        assert tried.sender == sent.sender
        only = await post.only(first)
        assert (str(only.state), only.attempts) == ("sent", 2)

        assert (await mail_to(port, answer_to(sent, "One."), reply_to(sent))).startswith("250")
        await events(post, 1)
        second = await post.submit(**{**TALK, "subject": "Re: Your report", "text": "Two.\n"})
        await post.quiet()
        answered = relay.transactions[-1]
        late = answer_to(sent, "Three.", to=SUPPORT)
        assert (await mail_to(port, late, SUPPORT)).startswith("250")
        await events(post, 2)
        report = report_on(answered, ALICE)
        assert (await mail_to(port, report, answered.sender, sender="")).startswith("250")

        found = await events(post, 3)
        told = [(one["type"], one["thread"]["matched_by"]) for one in found]
        assert told == [
            ("reply.received", "reply_token"),
            ("reply.received", "in_reply_to"),
            ("delivery.bounced", "return_path"),
        ]
        threads = {one["thread"]["id"] for one in found}
        assert threads == {encode_id(Kind.THREAD, only.thread_number)}
        assert {one["thread"]["conversation_id"] for one in found} == {"conv_456"}
        assert (await post.only(second)).thread_number == only.thread_number
        ended = await post.only(second)
        assert (str(ended.state), ended.feedback) == ("sent", "bounced")
        assert render_brief(ended).feedback == "bounced"


async def test_who_writes_first_begins_a_thread_of_his_own(tmp_path: Path) -> None:
    async with office(tmp_path) as (_, post, port):
        for who in ("new@one.example", "new@two.example"):
            letter = mail("Do you ship?", From=who, To=SUPPORT, Subject="A question")
            assert (await mail_to(port, letter, SUPPORT, sender=who)).startswith("250")
        found = await events(post, 2)
        assert {one["type"] for one in found} == {"message.received"}
        assert len({one["thread"]["id"] for one in found}) == 2
        for one in found:
            assert one["authentication"]["reply_token"]["status"] == "absent"
