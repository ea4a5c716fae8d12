"""What is fuzzed of the way in: each target takes any octets, and what is promised of its part holds for them, or it raises.

`make fuzz` runs them under atheris; the suite runs each over its files in `corpus` (test_corpus).
"""

import asyncio
import functools
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from fuzz.folder import quick_folder
from postroom.core.address import TOTAL_MOST, read_address, read_named_address
from postroom.core.addresslist import read_entry
from postroom.core.filename import ascii_name, harmless_name
from postroom.core.inaddress import AddressBook, Ours
from postroom.core.inmail import InMail
from postroom.core.job import Address
from postroom.core.subject import reply_subject, subject_key
from postroom.core.token import Key, TokenKind, read
from postroom.inbound.charsets import decode
from postroom.inbound.content import ContentReader
from postroom.inbound.dates import read_date
from postroom.inbound.encodedwords import decode_field
from postroom.inbound.head import read_head
from postroom.inbound.htmltext import Room, html_to_text
from postroom.inbound.messageids import IDS_MOST, read_ids
from postroom.inbound.mimefields import read_media_type, read_typed
from postroom.inbound.mimeparts import PARTS_MOST, read_parts
from postroom.inbound.newtext import find_new
from postroom.inbound.paths import read_path
from postroom.inbound.people import ADDRESS_MOST, NAME_MOST, PEOPLE_MOST, read_people
from postroom.inbound.reading import SUBJECT_MOST, TEXT_MOST, describe_unread, read_mail
from postroom.inbound.reports import RECIPIENTS_MOST, read_report
from postroom.inbound.wire import Garbled, Understood, framed, read_answer, read_request
from support.listening import BOX, KEY, OTHER, SOON, reply_to
from support.mails import whole
from support.reference_content import Reference
from support.spoken import spoken


CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
SAID_MOST = 4096  # each piece of it is a turn of a loop
DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z)", re.IGNORECASE)


def mail(octets: bytes) -> None:
    """A whole message; the first octet says whether it comes from the null reverse-path."""
    sender = "a@x.example" if octets[:1] < b"\x80" else ""
    raw = octets[1:]
    with tempfile.TemporaryDirectory(dir=quick_folder()) as folder:
        found = read_mail(raw, sender, Path(folder))
        _check_mail(found, Path(folder), raw)
    unread = describe_unread(raw, sender)
    assert unread.message_id == found.message_id
    _check_lines(unread)


def header(octets: bytes) -> None:
    """One value in every field that is read."""
    text = decode_field(octets, set())
    text.encode()
    assert len(read_people([octets, octets], set())) <= PEOPLE_MOST
    for person in read_people([octets], set()):
        _check_line(person.name, NAME_MOST)
        _check_line(person.address, ADDRESS_MOST)
        assert person.name or person.address
        assert person.address.count("@") == bool(person.address) or '"' in person.address
    ids = read_ids([octets], set())
    assert len(ids) <= IDS_MOST
    for one in ids:
        _check_line(one, 1000)
        assert one.startswith("<")
        assert one.endswith(">")
    for typed in (read_typed(octets, set()), read_media_type(octets, set())):
        _check_line(typed.value, 100)
        for value in typed.parameters.values():
            value.encode()
    date = read_date(octets, set())
    assert date is None or date.endswith("Z")
    _check_line(reply_subject(text), SUBJECT_MOST)
    subject_key(text)
    head, body = read_head(octets)
    assert 0 <= body <= len(octets)
    assert all(b"\n" not in value for _, value in head.fields)


def name(octets: bytes) -> None:
    """A name of a file, as it stands in a Content-Disposition and as text."""
    typed = read_typed(b"attachment; " + octets, set())
    for given in (typed.parameters.get("filename", ""), octets.decode("utf-8", "surrogateescape")):
        made = harmless_name(given)
        _check_line(made, 150)
        assert len(made.encode()) <= 150
        assert not {"/", "\\", "\0"} & set(made)
        assert made == made.lstrip().rstrip(" .")
        assert made not in {"", ".", ".."}
        assert not DEVICES.match(made)
        assert ascii_name(made).isascii()


def charset(octets: bytes) -> None:
    """A charset's name, a line end, and the octets that are said to be in it."""
    declared, _, content = octets.partition(b"\n")
    text, _ = decode(content, declared.decode("latin-1"))
    assert isinstance(text, str)


def report(octets: bytes) -> None:
    """A message that is read as a report, whatever it is."""
    parts = read_parts(octets)
    assert len(parts.leaves) <= PARTS_MOST + 20
    assert all(0 <= one.start <= one.end <= len(octets) for one in parts.leaves)
    found = read_report(octets, parts, set())
    assert len(found.recipients) <= RECIPIENTS_MOST
    for value in [
        *asdict(found).values(),
        *(v for r in found.recipients for v in asdict(r).values()),
    ]:
        if isinstance(value, str):
            _check_line(value, 1000)


def new_text(octets: bytes) -> None:
    """A text whose quotations are looked for."""
    text = octets.decode("utf-8", "replace")
    found = find_new(text)
    kept = found.text
    at, pieces = 0, []
    for one in found.removed:
        assert at <= one.start < one.end <= len(text)
        pieces.append(text[at : one.start])
        at = one.end
    assert "".join([*pieces, text[at:]]) == kept
    assert not text.strip() or kept.strip()


def html(octets: bytes) -> None:
    """A page as text."""
    page = octets.decode("utf-8", "replace")
    defects: set = set()
    text = html_to_text(page, defects, Room())
    text.encode()
    assert "\r" not in text
    assert "\0" not in text
    assert len(text) <= 12 * len(page) + 100


LIMITS = ((1 << 20, 1 << 16, 50), (40, 12, 1), (60, 20, 2))


def content(octets: bytes) -> None:
    """The content of a mail, cut into pieces of one size, against the reader that goes byte by byte."""
    step, which, wire = (
        (octets[0] % 31 + 1, octets[0] // 31 % 3, octets[1:]) if octets else (1, 0, b"")
    )
    wire += b"\r\n.\r\n"
    reference = Reference(*LIMITS[which])
    reference.feed(wire)
    for size in {step, len(wire)}:
        reader = ContentReader(*LIMITS[which])
        at, given = 0, []
        while not reader.has_ended():
            given.append(reader.feed(wire[at : at + size]))
            at += size
        _check_content(b"".join(given), reader, reference, wire[at:])


def dialogue(octets: bytes) -> None:
    """What a client says: cut up or not, it hears the same and leaves the same mails; pieces are as large as the first octet says."""
    step, said = (octets[0] % 63 + 1, octets[1:SAID_MOST]) if octets else (1, b"")
    once = asyncio.run(spoken([said]))
    again = asyncio.run(spoken([said[at : at + step] for at in range(0, len(said), step)]))
    for one in (once, again):
        assert all(re.fullmatch(r"[2345]\d\d[ -][ -~]*", line) for line in one.heard), one.heard
        taken = [line for line in one.heard if line.startswith("250 2.0.0 Ok: received as")]
        assert len(taken) <= len(one.arrivals)
        for raw in one.arrivals:
            assert not re.search(rb"\r(?!\n)|(?<!\r)\n", raw)
        assert '"request.failed"' not in one.log
        assert not CONTROLS.search(one.log.replace("\n", ""))
    shorter = min(len(once.heard), len(again.heard))
    assert once.heard[:shorter] == again.heard[:shorter]
    assert once.arrivals == again.arrivals


def path(octets: bytes) -> None:
    """The argument of MAIL or RCPT."""
    text = octets.decode("utf-8", "surrogateescape")
    for word in ("FROM", "TO"):
        found = read_path(word, text)
        if found is not None:
            _check_line(found.address, 512)
            if not found.address.startswith('"'):
                assert set(found.address).isdisjoint('<>:,"\\ ()') or "@[" in found.address


def address(octets: bytes) -> None:
    """An address from anywhere, and whose it is: nobody but the key makes a token."""
    text = octets.decode("utf-8", "replace")
    for found in (read_address(text), read_named_address(text)):
        if isinstance(found, Address):
            _check_line(found.address, TOTAL_MOST)
            assert found.address.rpartition("@")[2].isascii()
            assert read_address(found.address) == Address(found.address, "")
        else:
            _check_line(found, 1000)
    read_entry(text)
    owner = _book().find(text, SOON)
    if isinstance(owner, Ours) and owner.token is not None:
        assert text.lower() == reply_to(owner.token.number).lower()
    _book().is_own(text)
    read(text, [KEY], TokenKind.REPLY, BOX.id, SOON)


def wire(octets: bytes) -> None:
    """What a parser process may answer, and be asked."""
    for look in (read_answer, read_request):
        try:
            look(octets)
        except Garbled:
            continue


TARGETS: dict[str, Callable[[bytes], None]] = {
    one.__name__: one
    for one in (
        mail,
        header,
        name,
        charset,
        report,
        new_text,
        html,
        content,
        dialogue,
        path,
        address,
        wire,
    )
}


@functools.cache
def _book() -> AddressBook:
    keys: list[Key] = [KEY]
    return AddressBook({BOX.id: BOX, OTHER.id: OTHER}, ("reply.example.com",), "sales", keys)


def _check_line(text: str, most: int) -> None:
    assert not CONTROLS.search(text), ascii(text)
    assert len(text) <= most
    text.encode()


def _check_lines(found: InMail) -> None:
    people = [one for one in (found.sender, *found.to, *found.cc, *found.reply_to) if one]
    for person in people:
        _check_line(person.name, NAME_MOST)
        _check_line(person.address, ADDRESS_MOST)
    for one in (found.message_id, found.thread_index):
        _check_line(one or "", 1000)
    for one in (*found.in_reply_to, *found.references, *found.evidence, *found.forwarded_for):
        _check_line(one, 1000)
    _check_line(found.subject, SUBJECT_MOST)


def _check_mail(found: InMail, folder: Path, raw: bytes) -> None:
    _check_lines(found)
    assert whole(found) == found.text
    assert len(found.text.encode()) <= TEXT_MOST
    assert "\0" not in found.text
    files = [*found.attachments, *filter(None, (found.html_file, found.text_file))]
    assert {one.name for one in folder.iterdir()} == {one.sha256 for one in files}
    for one in files:
        assert (folder / one.sha256).stat().st_size == one.size_bytes
        _check_line(one.filename, 150)
        _check_line(one.content_type, 200)
        assert "/" not in one.filename
    answer = framed(Understood(found))
    assert read_answer(answer[4:]) == Understood(found)
    assert len(answer) <= 8 * len(raw) + 8 * TEXT_MOST
    json.dumps(asdict(found)).encode()


def _check_content(given: bytes, reader: ContentReader, reference: Reference, left: bytes) -> None:
    assert reader.rest + left == reference.rest
    if reference.faults:
        assert reader.fault in reference.faults
    else:
        assert reader.fault is None
        assert given == reference.content
        assert reader.size_bytes == len(given)
        assert reader.has_bare_newline == reference.has_bare_newline
