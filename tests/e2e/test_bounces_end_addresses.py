"""What comes back to a return path ends an address, or does not: over SMTP, through a real daemon, to the next job."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from postroom.selftest.nursery import Nursery
from support.house import House, house_in
from support.inward import ALICE, SUPPORT, came_in, free_port, listening_at, mail_to
from support.real_daemon import POSTROOM, env
from support.relay import ScriptedRelay


HEAD = (
    "From: {by}\nTo: <{to}>\nSubject: {subject}\nMIME-Version: 1.0\n"
    "Content-Type: multipart/report; report-type={kind}; boundary=b\n\n--b\n\n{words}\n\n--b\n"
)
BOUNCE = (
    HEAD + "Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.customer.example\n\n"
    "Final-Recipient: rfc822; {who}\nAction: failed\nStatus: {status}\nDiagnostic-Code: smtp; {words}\n\n--b--\n"
)
COMPLAINT = (
    HEAD
    + "Content-Type: message/feedback-report\n\nFeedback-Type: abuse\nUser-Agent: loop/1\nVersion: 1\n"
    "Original-Rcpt-To: <{who}>\n\n--b\nContent-Type: message/rfc822\n\nSubject: s\n\nt\n--b--\n"
)
# What comes back, and under which word the address is suppressed; None = it may be written to.
ENDS = {
    "unknown": (BOUNCE, "5.1.1", "550 5.1.1 The addressee could not be found here", "recipient.unknown"),
    "complaint": (COMPLAINT, "", "This is a complaint.", "complaint"),
    "full": (BOUNCE, "5.2.2", "552 5.2.2 That mailbox has no space left", None),
    "our address": (BOUNCE, "5.7.1", "550 5.7.1 Your IP is listed, user unknown to us", None),
}  # fmt: skip


def report(case: str, to: str) -> bytes:
    form, status, words, _ = ENDS[case]
    is_complaint = form is COMPLAINT
    kind = "feedback-report" if is_complaint else "delivery-status"
    subject = "complaint" if is_complaint else "Undelivered Mail Returned to Sender"
    by = "fbl@customer.example" if is_complaint else "MAILER-DAEMON@mx.customer.example"
    said = form.format(
        by=by, to=to, subject=subject, kind=kind, words=words, who=ALICE, status=status
    )
    return said.replace("\n", "\r\n").encode()


async def suppressions(house: House) -> str:
    """What `postroom suppressions` prints."""
    words = (*POSTROOM, "suppressions", "--socket", str(house.folder / "api.sock"))
    child = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE, env=env())
    told, _ = await child.communicate()
    assert child.returncode == 0
    return told.decode()


async def written_again(house: House) -> tuple[str, str | None]:
    """State and reason of the next job's delivery to her."""
    job = await house.post(to=[ALICE])
    await house.settled(job["id"])
    told = (await house.deliveries(job["id"]))[ALICE]
    return told["state"], told["history"][-1].get("reason_code")


@pytest.mark.parametrize("case", ENDS)
async def test_what_comes_back_to_a_return_path_decides_whether_the_address_is_written_to(
    case: str, tmp_path: Path, nursery: Nursery
) -> None:
    word, port = ENDS[case][-1], free_port()
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        await house.start()
        job = await house.post(to=[ALICE])
        await house.settled(job["id"])
        back = relay.transactions[0].sender
        assert (await mail_to(port, report(case, back), back, sender="")).startswith("250")
        (event,) = await came_in(house)
        assert event["delivery_report"]["verified"] is True
        assert event["delivery_report"]["suppressed"] is (word is not None)
        listed = await suppressions(house)
        if word is None:
            assert ALICE not in listed
            assert (await written_again(house))[0] == "sent"
            assert len(relay.transactions) == 2
        else:
            assert ALICE in listed
            assert word in listed
            assert await written_again(house) == ("failed", "recipient_suppressed")
            assert len(relay.transactions) == 1


@pytest.mark.parametrize("case", [case for case in ENDS if ENDS[case][-1]])
async def test_a_report_without_the_token_ends_nothing(
    case: str, tmp_path: Path, nursery: Nursery
) -> None:
    port = free_port()
    async with (
        ScriptedRelay() as relay,
        house_in(tmp_path, relay.port, nursery, more=listening_at(port)) as house,
    ):
        await house.start()
        await house.settled((await house.post(to=[ALICE]))["id"])
        told = await mail_to(port, report(case, SUPPORT), SUPPORT, sender="")
        assert told.startswith("250")
        (event,) = await came_in(house)
        assert event["delivery_report"]["verified"] is False
        assert ALICE not in await suppressions(house)
        assert (await written_again(house))[0] == "sent"
