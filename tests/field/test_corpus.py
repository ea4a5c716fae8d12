"""Real mail from published collections, where it lies beside the checkout; what matters of it is a small test elsewhere."""

import email
import json
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

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


# Messages with other parts than that reader's, and why; of none is a word lost.
MORE_PARTS = {
    "000": "parts without header and text count as parts",
    "012": "three delimiters are three messages; the other reader takes the third one for text of the second",
    "014": "an empty part behind the last delimiter counts",
    "020": "the inner boundary is the first of two fields: its parts are read, by the other reader shown as text",
}
FEWER_PARTS = {
    "016": "a delimiter of an outer multipart ends the inner ones: what their delimiters part behind it stays one text",
}
# There that reader's text holds delimiters and headers of parts.
DELIMITERS_SHOWN = {"012", "020"}


def test_damaged_mail_has_the_parts_that_another_reader_sees_or_loses_no_word(
    tmp_path: Path,
) -> None:
    more, fewer = set(), set()
    for path in files("mime/*.eml"):
        theirs = list(their_leaves(json.loads(path.with_suffix(".json").read_text("utf-8"))))
        ours = read_parts(path.read_bytes()).leaves
        more |= {path.stem} if len(ours) > len(theirs) else set()
        fewer |= {path.stem} if len(ours) < len(theirs) else set()
        mail = parsed(path, tmp_path)
        kept = [*mail.attachments, *filter(None, (mail.html_file, mail.text_file))]
        texts = [(tmp_path / one.sha256).read_bytes() for one in kept]
        if path.stem in DELIMITERS_SHOWN:
            texts.append(path.read_bytes())
        found = set(b" ".join([mail.text.encode(), *texts]).split())
        for text in theirs:
            assert set(text.encode().split()) <= found, path.name
    assert more == set(MORE_PARTS)
    assert fewer == set(FEWER_PARTS)


def their_leaves(message: dict[str, Any]) -> Iterator[str]:
    """The texts of the leaves in a table of the collection; '' for a binary one."""
    for part in message["parts"]:
        ((kind, content),) = part["body"].items()
        if kind == "Message":
            yield from their_leaves(content)
        elif kind != "Multipart":
            yield content if isinstance(content, str) else ""


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
