"""`postroom-sendmail` as its callers know it: a real daemon, a scripted relay, and what is on the wire."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from postroom.selftest.nursery import Nursery
from support.callers import CALLERS, CRON, GIT, Caller
from support.house import House, house_in
from support.nursery import ROOT
from support.relay import ScriptedRelay


@dataclass
class Office:
    """The daemon, its relay, and the program."""

    house: House
    relay: ScriptedRelay

    async def sendmail(self, *words: str, given: bytes = b"", **env: str) -> tuple[int, str, str]:
        """Exit code and what was printed."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "postroom.cli.sendmail"),
            *("-C", str(self.house.folder / "sendmail.toml"), *words),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{ROOT}/daemon", **env},
        )
        out, err = await process.communicate(given)
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()

    async def mails(self, *recipients: str) -> list[EmailMessage]:
        """What came to each of these."""
        await self.relay.until(lambda: all(self.relay.copies(one) for one in recipients))
        there = {one: mail for mail in self.relay.transactions for one in mail.recipients}
        contents = [there[one].content or b"" for one in recipients]
        return [message_from_bytes(one, policy=policy.default) for one in contents]


@pytest.fixture
async def office(tmp_path: Path, nursery: Nursery) -> AsyncIterator[Office]:
    async with ScriptedRelay() as relay, house_in(tmp_path, relay.port, nursery) as house:
        (tmp_path / "sendmail.toml").write_text(
            f'mailbox = "support"\nlocal_to = "ops@example.com"\nsocket = "{tmp_path}/api.sock"\n'
        )
        await house.start()
        yield Office(house, relay)


def _text(mail: EmailMessage) -> str:
    body = mail.get_body(("plain", "html"))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


@pytest.mark.parametrize("caller", CALLERS.values(), ids=CALLERS)
async def test_what_a_program_hands_to_sendmail_goes_out(caller: Caller, office: Office) -> None:
    assert await office.sendmail(*caller.words, given=caller.given) == (0, "", "")
    for mail in await office.mails(*caller.recipients):
        assert {name: mail[name] for name in caller.wire} == caller.wire
        assert _text(mail) == caller.text
        files = [f"{one.get_filename()}: {one.get_content()}" for one in mail.iter_attachments()]
        assert files == caller.files
    assert len(office.relay.transactions) == len(caller.recipients)


async def test_a_series_of_patches_is_one_conversation(office: Office) -> None:
    second = GIT.replace(b"1/2", b"2/2").replace(b"1-1-", b"1-2-")
    chained = b"In-Reply-To: <20261130070000.1-1-support@example.com>\n" + second
    for given in (GIT, chained):
        assert (await office.sendmail("-i", "list@lists.example", given=given))[0] == 0
    await office.relay.until(lambda: office.relay.copies("list@lists.example") == 2)
    first, answer = (
        message_from_bytes(one.content or b"", policy=policy.default)
        for one in office.relay.transactions
    )
    assert answer["In-Reply-To"] == first["Message-ID"]
    assert answer["References"] == first["Message-ID"]


async def test_what_waits_is_listed_and_an_empty_queue_is_said_to_be_empty(office: Office) -> None:
    assert await office.sendmail("-bp") == (0, "Mail queue is empty\n", "")
    await office.house.ask("POST", "/mailboxes/support/pause", {})
    code, told, _ = await office.sendmail("-v", "-t", given=b"To: ann@example.com\n\nx\n")
    assert code == 0
    assert told.startswith("job_")
    _, listed, _ = await office.sendmail("-bp")
    assert "pending  support  ann@example.com" in listed
    assert listed.endswith("-- 1 deliveries wait.\n")


@pytest.mark.parametrize(
    ("words", "given", "code", "said"),
    [
        ([], b"x", 64, "Name the recipients"),
        (["-bs"], b"", 64, "-bs: it speaks no SMTP"),
        (["-q30m"], b"", 64, "sends by itself"),
        (["-t"], b"Subject: x\n\ny", 65, "no recipient"),
        (["-t"], b"To: two words\n\ny", 65, "no list of addresses: two words"),
        (["ann@a..example"], b"x", 65, "/bcc/0: The address is not valid"),
        (
            ["-t"],
            b"To: a@example.com\nSubject: a\0b\n\ny",
            65,
            "A header holds NUL.",
        ),
        (["-t"], b"To: a@example.com\nResent-To: b@example.com\n\ny", 65, "Resent-To"),
        (
            ["-t"],
            b"To: a@example.com\nContent-Type: multipart/signed; boundary=b\n\n--b\n\nx\n--b--\n",
            65,
            "multipart/signed",
        ),
    ],
    ids=[
        "nobody",
        "SMTP on standard input",
        "a run of the queue",
        "nobody in the header",
        "no address",
        "a bad address",
        "NUL in a header",
        "sent on",
        "signed",
    ],
)
async def test_what_can_not_go_out_is_refused_in_one_sentence(
    words: list[str], given: bytes, code: int, said: str, office: Office
) -> None:
    ended, out, err = await office.sendmail(*words, given=given)
    assert (ended, out) == (code, ""), err
    assert err.startswith("postroom-sendmail: ")
    assert said in err
    assert err.count("\n") == 1
    assert not office.relay.transactions


async def test_a_sender_without_a_mailbox_needs_one_in_the_settings(office: Office) -> None:
    (office.house.folder / "sendmail.toml").write_text(
        f'socket = "{office.house.folder}/api.sock"\n'
    )
    ended, _, err = await office.sendmail("ann@example.com", given=CRON)
    assert ended == 67
    assert "No mailbox has the sender's address" in err
    ended, _, err = await office.sendmail("root", given=CRON, POSTROOM_MAILBOX="support")
    assert ended == 67
    assert "root is no address" in err
    ended, _, err = await office.sendmail("a@example.com", given=CRON, POSTROOM_MAILBOX="nobody")
    assert ended == 67
    assert "nobody" in err
    ended, _, err = await office.sendmail("a@example.com", given=CRON, POSTROOM_MAILBOX="support")
    assert (ended, err) == (0, "")
