"""Reports as they come in by SMTP: what an agent is told of them, and what they change (CASES B, row by row)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.inward import ALICE, SUPPORT, mail, mail_to
from support.office import events, office
from support.relay_script import Transaction


@dataclass(frozen=True)
class Case:
    """A report in fields or in words, and what comes of it: of the event, of the delivery, of the address."""

    body: str
    told: dict[str, Any]
    type: str = "delivery.bounced"
    feedback: str = "bounced"
    is_ended: bool = False
    subject: str = "Undelivered Mail Returned to Sender"


def fields(*lines: str) -> str:
    block = "\n".join([f"Final-Recipient: rfc822; {ALICE}", *lines])
    return f"Action: failed\n{block}" if not any("Action" in one for one in lines) else block


UNKNOWN = {"class": "permanent", "reason": "recipient.unknown", "hard": True, "reply_code": 550}
CASES = {
    "B01 full": Case(
        fields("Status: 5.2.2", "Diagnostic-Code: smtp; 550 5.2.2 Mailbox full"),
        {"class": "temporary", "reason": "recipient.mailbox_full", "hard": False, "reply_code": 550},
    ),
    "B02 no answer of SMTP": Case(
        fields("Status: 5.1.1", 'Diagnostic-Code: X-Postfix; unknown user: "alice"'),
        {**UNKNOWN, "reply_code": None},
        is_ended=True,
    ),
    "B04 qmail": Case(
        f"Hi. This is the qmail-send program at y.example.\n\n<{ALICE}>:\nUnable to contact LDAP server. (#4.4.3)\n",
        {"class": "temporary", "reason": "domain.trouble", "status": "4.4.3", "reply_code": None},
        subject="failure notice",
    ),
    "B05 Gmail": Case(
        f"Delivery to the following recipient failed permanently:\n\n     {ALICE}\n\nTechnical details of permanent failure:\n"
        f"The error that the other server returned was:\n550 5.1.1 <{ALICE}>... No such user\n",
        UNKNOWN,
        is_ended=True,
        subject="Delivery Status Notification (Failure)",
    ),
    "B08 still tried": Case(
        f"   ----- The following addresses had transient non-fatal errors -----\n<{ALICE}>\n\n"
        "Warning: message still undelivered after 4 hours\nWill keep trying until message is 5 days old\n",
        {"class": "delayed", "hard": False},
        type="delivery.delayed",
        feedback="delayed",
        subject="Warning: could not send message for past 4 hours",
    ),
    "B10 a delay with a status that is permanent": Case(
        fields("Action: delayed", "Status: 5.1.1", "Diagnostic-Code: smtp; 550 5.1.1 User unknown"),
        {"class": "delayed", "hard": False},
        type="delivery.delayed",
        feedback="delayed",
    ),
    "B11 given up after 4yz": Case(
        fields("Status: 4.2.2", "Diagnostic-Code: smtp; 452 4.2.2 over quota"),
        {"class": "temporary", "reason": "recipient.mailbox_full", "status": "4.2.2"},
    ),
    "B16 our address": Case(
        fields("Status: 5.7.606", "Diagnostic-Code: smtp; 550 5.7.606 Access denied, banned sending IP [192.0.2.1]"),
        {"class": "permanent", "reason": "sender_refused", "hard": False},
    ),
    "B16 our rate": Case(
        fields("Status: 5.0.0", "Diagnostic-Code: smtp; 550 Ip frequency limited"),
        {"class": "temporary", "reason": "rate.limited", "hard": False},
    ),
    "B17 disabled": Case(
        fields("Status: 5.2.1", "Diagnostic-Code: smtp; 550 5.2.1 The account is inactive"),
        {"class": "temporary", "reason": "recipient.disabled", "hard": False},
    ),
    "B19 nobody knows why": Case(
        fields("Status: 5.0.0", "Diagnostic-Code: smtp; General failure"),
        {"class": "permanent", "reason": "unknown", "hard": False},
    ),
    "B20 nobody is named": Case(
        "It did not work out: 550 5.1.1 unknown user\n", {**UNKNOWN, "recipient": None}, is_ended=True
    ),
    "B22 a rule of the owner": Case(
        f"Reporting-MTA: dns; inbound-smtp.us-west-2.amazonaws.com\n\n{fields('Status: 5.1.1', 'Diagnostic-Code: smtp; 550 5.1.1 Mailbox does not exist')}",
        {"class": "permanent", "reason": "recipient.refused", "hard": False},
    ),
    "B22 fields in a text": Case(
        "An error occurred while trying to deliver the mail to the following recipients:\n"
        f"{ALICE}\n\nTechnical report:\n\nReporting-MTA: dsn; a.example\n\n{fields('Diagnostic-Code: smtp; 550 5.1.1 User unknown', 'Status: 5.1.1')}",
        UNKNOWN,
        is_ended=True,
    ),
    "B22 said twice, in Russian first": Case(
        f"Ваше письмо не может быть доставлено:\n\n  {ALICE}\n    550 5.1.1 User unknown\n\n"
        f"The following address(es) failed:\n\n  {ALICE}\n    550 5.1.1 User unknown\n",
        UNKNOWN,
        is_ended=True,
        subject="Mail failure",
    ),
}  # fmt: skip


def report(case: Case, to: str) -> bytes:
    """As a server sends it: in parts where it has fields, else as a text."""
    head = {"From": "MAILER-DAEMON@relay.test", "To": to, "Subject": case.subject}
    if not case.body.startswith(("Action", "Final", "Reporting")):
        kind = {"Content-Type": "text/plain; charset=utf-8"}
        return mail(case.body.replace("\n", "\r\n"), **head, **kind)
    kind = {"Content-Type": "multipart/report; report-type=delivery-status; boundary=b"}
    status = f"--b\nContent-Type: message/delivery-status\n\n{case.body}\n--b--\n"
    text = f"--b\n\nIt could not be delivered.\n{status}"
    return mail(text.replace("\n", "\r\n"), **head, **kind)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
async def test_a_report_says_why_and_changes_what_it_may(case: Case, tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, port):
        job = await post.submit(to=[ALICE])
        await post.quiet()
        (sent,) = relay.transactions
        told = await mail_to(port, report(case, sent.sender), sent.sender, sender="")
        assert told.startswith("250")
        (event,) = await events(post, 1)
        assert event["type"] == case.type
        found = event["delivery_report"]
        assert {name: found[name] for name in case.told} == case.told
        assert (found["verified"], found["suppressed"]) == (True, case.is_ended)
        only = await post.only(job)
        assert (str(only.state), only.feedback) == ("sent", case.feedback)
        ended = await post.outbox.reader.find_suppressions(None, None, 10)
        assert [one.address for one in ended.items] == ([ALICE] if case.is_ended else [])


def quoted(sent: Transaction) -> tuple[bytes, str, str]:
    text = f"What is this?\r\n\r\n> <{ALICE}>:\r\n> 550 5.1.1 unknown user\r\n"
    return mail(text, From=ALICE, To=SUPPORT, Subject="Fwd: Undelivered Mail"), SUPPORT, ALICE


def forged(sent: Transaction) -> tuple[bytes, str, str]:
    """It comes from nowhere, as reports do, and names the recipient; but what it answers only a token could say."""
    return report(CASES["B05 Gmail"], SUPPORT), SUPPORT, ""


@pytest.mark.parametrize("write", [quoted, forged], ids=["B14 a person", "B14 a forger"])
async def test_what_only_looks_like_a_report_changes_nothing(write: Any, tmp_path: Path) -> None:
    async with office(tmp_path) as (relay, post, port):
        job = await post.submit(to=[ALICE])
        await post.quiet()
        content, to, sender = write(relay.transactions[0])
        assert (await mail_to(port, content, to, sender=sender)).startswith("250")
        (event,) = await events(post, 1)
        assert not (event["delivery_report"] or {}).get("verified")
        assert (await post.only(job)).feedback == "none"
        assert (await post.outbox.reader.find_suppressions(None, None, 10)).items == ()
