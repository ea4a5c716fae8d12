"""The target of what is built: of any job that is accepted a mail is made in which our own readers find all of it."""

import re
import tempfile
from dataclasses import replace
from pathlib import Path

from fuzz.folder import quick_folder
from postroom.core.address import read_address, read_named_address
from postroom.core.addresslist import read_entry
from postroom.core.fingerprint import request_hash
from postroom.core.job import Address, Job, OnDuplicate
from postroom.core.jobfields import read_job
from postroom.core.message import reply_to_of, shared_head
from postroom.inbound.clean import clean_line
from postroom.inbound.encodedwords import decode_field
from postroom.inbound.head import read_head
from postroom.inbound.paths import read_path
from postroom.inbound.people import NAME_MOST, read_people
from postroom.inbound.reading import read_mail
from postroom.outbound.commands import Offer, find_unfit, mail_command, rcpt_command
from postroom.ports.relay import Envelope
from support.mail import NOW, SUPPORT, attached, is_one, spec, stuffed, wire


BETWEEN = b"\xfe"  # in no UTF-8
ENDED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
SPELT = re.compile(r"[A-Za-z0-9._+-]+")
FIELDS = (
    "subject", "text", "html", "to", "name", "cc", "reply_to",
    "header", "value", "filename", "content_type", "content_id",
)  # fmt: skip


def job(octets: bytes) -> None:
    """A job: what is refused is named, and of what is left a mail is built in which our own readers find all of it."""
    values = [one.decode("utf-8", "surrogateescape") for one in octets.split(BETWEEN)]
    given = dict(zip(FIELDS, values, strict=False))
    asked = {
        "subject": given.get("subject", ""),
        "text": given.get("text"),
        "html": given.get("html"),
        "to": [{"address": given.get("to", ""), "name": given.get("name", "")}],
        "cc": [given["cc"]] if "cc" in given else None,
        "reply_to": [given["reply_to"]] if "reply_to" in given else None,
        "headers": {given["header"]: given.get("value", "")} if "header" in given else None,
        "attachments": [_asked_file(given)] if "filename" in given else None,
    }
    found = read_job(spec(**asked), now=NOW)
    while not isinstance(found, Job):
        wrong = {problem.pointer.split("/")[1] for problem in found}
        assert wrong & set(asked), found
        for problem in found:
            assert not ENDED.search(problem.detail + problem.pointer), ascii(problem)
            assert len(problem.detail) < 1000
        asked = {name: value for name, value in asked.items() if name not in wrong}
        found = read_job(spec(**asked), now=NOW)
    for mode in OnDuplicate:
        request_hash(found, mode)
    _check_built(found)


def _asked_file(given: dict[str, str]) -> dict[str, object]:
    names = {
        name: given[name] for name in ("filename", "content_type", "content_id") if name in given
    }
    return {"path": "/srv/x", "inline": "content_id" in given, **names}


def _check_built(found: Job) -> None:
    files = {
        replace(
            attached(one.filename or "x.bin", b"day,sum\n", one.content_type or "text/csv"),
            asked=one,
        ): b"day,sum\n"
        for one in found.attachments
    }
    message = wire(found, files)
    assert is_one(stuffed(message))
    lines = message.split(b"\r\n")
    assert max(map(len, lines)) <= 998
    addresses = [one.address for one in found.recipients] + list(found.reply_to)
    assert message.isascii() or not all(one.address.isascii() for one in addresses)
    for one in addresses:
        _check_address(one)
    _check_head(found, message)
    with tempfile.TemporaryDirectory(dir=quick_folder()) as folder:
        mail = read_mail(message, "support@example.com", Path(folder))
    assert [one.size_bytes for one in mail.attachments] == [8] * len(files)
    if found.text is not None and found.text.strip():
        kept = re.sub("\r\n|\r|\n", "\n", found.text)
        assert mail.text.rstrip("\n") == kept.rstrip("\n")


def _check_address(one: Address) -> None:
    assert read_address(one.address, one.name) == one
    named = f'"{one.name}" <{one.address}>' if SPELT.fullmatch(one.name) else one.address
    again = read_named_address(named)
    assert isinstance(again, Address)
    assert again.address == one.address
    assert read_entry(one.address) == one.key
    envelope = Envelope("support@example.com", one.address, "dlv_1", 1, wants_success=True)
    offer = Offer(has_dsn=True, has_smtputf8=True, has_8bitmime=True, has_size=True)
    assert find_unfit(offer, envelope) is None
    for command, word, address in (
        (rcpt_command(offer, envelope), "TO", one.address),
        (mail_command(offer, replace(envelope, sender=one.address)), "FROM", one.address),
    ):
        said = command.decode()
        assert said.endswith("\r\n")
        assert not ENDED.search(said[:-2])
        path = read_path(word, said[5:-2])
        assert path is not None, said
        assert path.address == address


def _check_head(found: Job, message: bytes) -> None:
    head, _ = read_head(message)
    subject = head.first("subject") or b""
    assert decode_field(subject, set()).strip() == found.subject.strip()
    for name, value in found.headers:
        written = list(head.every(name.lower()))
        assert len(written) == 1
        assert decode_field(written[0], set()).strip() == value.strip()
    for field, parties in (("to", [found.recipients[0].address]), ("reply-to", found.reply_to)):
        if field == "to" and len(found.recipients) > 1:
            continue
        people = read_people(list(head.every(field)), set())
        assert [one.address for one in people] == [one.address for one in parties]
        for person, party in zip(people, parties, strict=True):
            assert person.name.split() == clean_line(party.name, NAME_MOST).split()
    assert list(reply_to_of(shared_head(found, SUPPORT).after)) == [
        one.address for one in found.reply_to
    ]
