"""Real mail from published collections, where it lies beside the checkout; what matters of it is a small test elsewhere."""

import email
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

from postroom.core.inmail import AutomationKind, InMail
from postroom.inbound.mimeparts import read_parts
from postroom.inbound.reading import read_mail
from support.mails import whole


CORPUS = next(
    (
        folder / "shared" / "corpus"
        for folder in Path(__file__).resolve().parents
        if (folder / "shared" / "corpus").is_dir()
    ),
    None,
)
pytestmark = pytest.mark.skipif(CORPUS is None, reason="the collections are not here")
# The standard library sees other parts in these: it gives up a multipart that we read as text, or a run-on header.
OTHER_PARTS = 0.05


def files(pattern: str) -> list[Path]:
    return [] if CORPUS is None else sorted(CORPUS.glob(pattern))


def parsed(path: Path, directory: Path) -> InMail:
    mail = read_mail(path.read_bytes(), "", directory)
    assert whole(mail) == mail.text
    return mail


def test_reports_are_no_persons_mail(tmp_path: Path) -> None:
    for path in files("bounces/*.eml"):
        mail = parsed(path, tmp_path)
        assert mail.automation is not AutomationKind.HUMAN, path.name
        assert mail.report is None or mail.automation in {
            AutomationKind.REPORT,
            AutomationKind.LOOP,
        }


def test_most_standard_reports_name_their_recipient(tmp_path: Path) -> None:
    standard = [
        path for path in files("bounces/*.eml") if b"\nFinal-Recipient:" in path.read_bytes()
    ]
    named = [
        mail.report is not None and any(one.recipient for one in mail.report.recipients)
        for mail in (parsed(path, tmp_path) for path in standard)
    ]
    assert sum(named) >= 0.97 * len(named)


def test_no_damage_stops_the_reader(tmp_path: Path) -> None:
    for path in files("mime/*.eml"):
        parsed(path, tmp_path)


def leaves(message: Message) -> Iterator[Message]:
    if message.get_content_maintype() == "multipart" and message.is_multipart():
        for part in message.walk():
            if part in message.get_payload():
                yield from leaves(part)
    else:
        yield message


def test_parts_are_those_that_the_standard_library_sees() -> None:
    paths = files("bounces/*.eml")
    others = []
    for path in paths:
        raw = path.read_bytes()
        theirs = [one.get_content_type() for one in leaves(email.message_from_bytes(raw))]
        if theirs != [one.type.value for one in read_parts(raw).leaves]:
            others.append(path.name)
    assert len(others) <= OTHER_PARTS * len(paths)
