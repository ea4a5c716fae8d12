"""What `postroom-sendmail` makes of a header: recipients, fields, and the conversation."""

from typing import Any

import pytest

from postroom.cli.exits import Exit
from postroom.cli.sendmail.head import read_head
from postroom.cli.sendmail.letter import Envelope, job_of
from postroom.cli.sendmail.mime import read_message
from postroom.cli.sendmail.unfit import Unfit


def _job(raw: str | bytes, *named: str, local_to: str | None = "ops@example.com") -> dict[str, Any]:
    """The job of a header; without names those in it count."""
    octets = raw.encode() if isinstance(raw, str) else raw
    head = read_head(read_message(octets)[0])
    return job_of(head, Envelope(named, not named, local_to), "support@example.com")


def _who(job: dict[str, Any]) -> dict[str, list[str]]:
    return {
        name: [one["address"] for one in job[name]] for name in ("to", "cc", "bcc") if name in job
    }


A, B, C, OPS = "a@x.example", "b@x.example", "c@x.example", "ops@example.com"
RECIPIENTS: dict[str, tuple[str, list[str], dict[str, list[str]], str | None]] = {
    "those of the header": (
        f"To: {A}\nCc: {B}\nBcc: {C}",
        [],
        {"to": [A], "cc": [B], "bcc": [C]},
        None,
    ),
    "several lines of each": (f"To: {A}\nTo: {B}\nCc: {C}", [], {"to": [A, B], "cc": [C]}, None),
    "a folded line": (f"To: {A},\n {B}", [], {"to": [A, B]}, None),
    "in other case": (f"TO: A@X.Example\nbcc: {A}", [], {"to": ["A@X.Example"]}, None),
    "named ones who are shown": (f"To: {A}\nCc: {B}", [A, B], {"to": [A], "cc": [B]}, None),
    "a named one who is not": (f"To: {A}", [A, B], {"to": [A], "bcc": [B]}, None),
    "one in the header who is not named": (f"To: {A}, {B}", [A], {"to": [A]}, B),
    "a list and its members": (
        "To: The List <list@x.example>",
        [A, B],
        {"bcc": [A, B]},
        "list@x.example",
    ),
    "Bcc where it does not count": (f"To: {A}\nBcc: {B}", [A], {"to": [A]}, None),
    "no list where it does not count": ("To: two words", [A], {"bcc": [A]}, "two words"),
    "two in one word": ("", [f"{A}, {B}"], {"bcc": [A, B]}, None),
    "a local name": ("To: root", ["root"], {"to": [OPS]}, None),
    "this machine": ("To: root@localhost", ["root@localhost"], {"to": [OPS]}, None),
    "a local name in the header": ("To: root, alice", [], {"to": [OPS, OPS]}, None),
}


@pytest.mark.parametrize(("raw", "named", "who", "absent"), RECIPIENTS.values(), ids=RECIPIENTS)
def test_who_gets_it(
    raw: str, named: list[str], who: dict[str, list[str]], absent: str | None
) -> None:
    job = _job(f"{raw}\nSubject: x\n\n", *named)
    assert _who(job) == who
    assert job.get("headers", {}).get("X-Addressed-To") == absent


@pytest.mark.parametrize(
    ("raw", "code"),
    [("Subject: x", Exit.BAD_DATA), ("Bcc: ,", Exit.BAD_DATA), ("To: root", Exit.NO_MAILBOX)],
    ids=["nobody", "an empty list", "a local name"],
)
def test_without_an_address_nobody_gets_it(raw: str, code: Exit) -> None:
    with pytest.raises(Unfit) as caught:
        _job(raw + "\n\n", local_to=None)
    assert caught.value.code is code


def test_a_local_name_that_gets_nothing_needs_no_address() -> None:
    job = _job("To: root\n\n", A, local_to=None)
    assert job["headers"] == {"X-Addressed-To": "root"}


FIELDS: dict[str, tuple[str | bytes, str, Any]] = {
    "the subject": ("Subject: Hi  there", "subject", "Hi  there"),
    "a folded subject": ("Subject: Hi\n  there", "subject", "Hi  there"),
    "a tab": ("Subject: Hi\n\tthere", "subject", "Hi there"),
    "an encoded subject": ("Subject: =?utf-8?q?=C3=A9?=", "subject", "é"),
    "raw UTF-8": ("Subject: é", "subject", "é"),
    "other octets": (b"Subject: \xe9!", "subject", "\\xe9!"),
    "no subject": ("X-A: b", "subject", ""),
    "where answers go": (
        "Reply-To: Ann <a@x.example>",
        "reply_to",
        [{"address": A, "name": "Ann"}],
    ),
    "its own headers": (
        "X-A: =?utf-8?q?b?=\nList-Id: <x>",
        "headers",
        {"X-A": "b", "List-Id": "<x>"},
    ),
    "our headers": (
        (
            "Date: x\nMessage-ID: x\nReceived: a\nReceived: b\nMIME-Version: 1.0\nContent-Language: en\n"
            "Sender: x\nReturn-Path: x\nDKIM-Signature: x\nAuthentication-Results: x\nIn-Reply-To: x\nReferences: x"
        ),
        "headers",
        None,
    ),
    "another sender": (
        'From: "Ann" <a@x.example>',
        "headers",
        {"X-Original-From": '"Ann" <a@x.example>'},
    ),
    "the mailbox itself": ("From: Help <SUPPORT@example.com>", "headers", None),
    "two senders": (f"From: {A}, {B}", "headers", {"X-Original-From": f"{A}, {B}"}),
    "no person": ("Auto-Submitted: auto-generated; x=y", "auto_submitted", "auto-generated"),
    "a person": ("Auto-Submitted: No", "auto_submitted", "no"),
    "a filter": ("Auto-Submitted: auto-notified", "auto_submitted", "auto-generated"),
    "a first mail": ("Message-ID: <1@x>", "conversation_id", "<1@x>"),
    "an answer": ("Message-ID: <2@x>\nIn-Reply-To: Your mail <1@x>", "conversation_id", "<1@x>"),
    "a later answer": (
        "Message-ID: <3@x>\nIn-Reply-To: <2@x>\nReferences: <1@x>\n <2@x>",
        "conversation_id",
        "<1@x>",
    ),
    "a long id": (f"Message-ID: <{'x' * 255}>", "conversation_id", None),
    "no id": ("Message-ID: x", "conversation_id", None),
}


@pytest.mark.parametrize(("raw", "name", "value"), FIELDS.values(), ids=FIELDS)
def test_a_field_goes_where_a_job_has_it(raw: str | bytes, name: str, value: object) -> None:
    octets = raw.encode() if isinstance(raw, str) else raw
    assert _job(octets + b"\n\n", A).get(name) == value


@pytest.mark.parametrize("count", [1, 100, 101])
def test_as_many_as_a_conversation_has_see_each_other(count: int) -> None:
    to = ", ".join(f"r{n}@x.example" for n in range(count))
    assert _job(f"To: {to}\n\n").get("copies") == ("conversation" if count <= 100 else None)


@pytest.mark.parametrize(
    "raw", ["X-A: b\nx-a: c", "Subject: a\nSubject: b", "Resent-From: a@x.example", "Reply-To: a b"]
)
def test_a_header_that_can_not_be_carried_is_refused(raw: str) -> None:
    with pytest.raises(Unfit) as caught:
        _job(raw + "\n\n", A)
    assert caught.value.code is Exit.BAD_DATA
