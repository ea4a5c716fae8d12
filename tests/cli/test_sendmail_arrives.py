"""Any message that `postroom-sendmail` takes: what its reader would have had, the recipient has (hypothesis)."""

import contextlib
import re
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, SMTPUTF8

from hypothesis import given, note, settings
from hypothesis import strategies as st

from postroom.cli.sendmail.content import File, read_content
from postroom.cli.sendmail.head import read_head
from postroom.cli.sendmail.letter import Envelope, job_of
from postroom.cli.sendmail.mime import read_message
from postroom.cli.sendmail.unfit import Unfit
from support.mail import attached, job, parsed, wire


LINE = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2028\u2029"), max_size=60
).map(lambda one: " ".join(one.split()))
BODY = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.just("\n"), max_size=400)
# All of one length: none is a part of another.
PERSON = st.from_regex(r"[a-z]{4}@[a-z]{3}\.example", fullmatch=True)
# The standard library encodes the commas of a list that it folds at a name beyond ASCII.
WHO = st.from_regex(r"[A-Za-z]{0,8}", fullmatch=True)
PEOPLE = st.lists(PERSON, max_size=4)
NAME = st.from_regex(r"[a-zé][a-z é]{0,20}[a-z]\.[a-z]{3}", fullmatch=True)
FILES = st.lists(st.tuples(NAME, st.binary(max_size=300)), max_size=3, unique_by=lambda one: one[0])


@st.composite
def letters(draw: st.DrawFn) -> EmailMessage:
    """A mail as a program of today writes it."""
    mail = EmailMessage()
    mail["From"] = "Support <support@example.com>"
    mail["Subject"] = draw(LINE)
    for name in ("To", "Cc", "Bcc"):
        people = draw(PEOPLE)
        if people:
            mail[name] = [Address(draw(WHO), addr_spec=one) for one in people]
    mail["X-Note"] = draw(LINE)
    encoding = draw(st.sampled_from(["8bit", "quoted-printable", "base64"]))
    mail.set_content(draw(BODY), cte=encoding)
    if draw(st.booleans()):
        mail.add_alternative(draw(BODY), subtype="html", cte=encoding)
    for name, octets in draw(FILES):
        mail.add_attachment(octets, maintype="application", subtype="x-note", filename=name)
    return mail


def _lines(text: str) -> str:
    kept = re.sub("\r\n|\r|\n", "\n", text)
    return kept if kept.endswith("\n") else kept + "\n"


def _told(mail: EmailMessage) -> dict[str, object]:
    """What a person sees of a mail."""
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    return {
        "subject": mail["Subject"],
        "note": mail["X-Note"],
        "text": None if text is None else _lines(text.get_content()),
        "html": None if html is None else _lines(html.get_content()),
        "files": [(one.get_filename(), one.get_content()) for one in mail.iter_attachments()],
    }


def _people(mail: EmailMessage, *names: str) -> set[str]:
    return {one.addr_spec for name in names if mail[name] for one in mail[name].addresses}


def _carried(raw: bytes) -> EmailMessage:
    fields, part = read_message(raw)
    content = read_content(part)
    asked = job_of(
        read_head(fields), Envelope([], reads_recipients=True, local_to=None), "support@example.com"
    )
    files = {_attached(one): one.octets for one in content.files}
    taken = job(**{"text": content.text, "html": content.html, "to": None, **asked})
    message = wire(taken, files)
    assert parsed(message)["Bcc"] is None
    found = parsed(message)
    hidden = {one["address"] for one in asked.get("bcc", ())}
    assert not any(one.encode() in message.partition(b"\r\n\r\n")[0] for one in hidden)
    assert {one.address.address for one in taken.recipients} == _people(found, "To", "Cc") | hidden
    return found


def _attached(file: File) -> object:
    return attached(file.filename, file.octets, file.content_type, inline=file.is_inline)


@settings(deadline=None, max_examples=50)
@given(letters(), st.sampled_from([SMTP, SMTPUTF8, SMTPUTF8.clone(linesep="\n")]))
def test_text_files_and_recipients_arrive_and_bcc_never_does(
    mail: EmailMessage, how: object
) -> None:
    everybody = _people(mail, "To", "Cc", "Bcc")
    raw = mail.as_bytes(policy=how)
    note(repr(raw))
    if not everybody:
        return
    assert _told(_carried(raw)) == _told(parsed(raw))


PIECES = [
    *(b"From: ", b"To: ", b"Reply-To: ", b"Subject: ", b"X-A: ", b"Content-Type: ", b"text/plain"),
    *(
        b"multipart/mixed; boundary=b",
        b"multipart/related; boundary=c",
        b"; charset=",
        b"; name*=",
        b"utf-8''",
    ),
    *(
        b"Content-Transfer-Encoding: base64",
        b"Content-Disposition: attachment; filename*0*=",
        b"Content-ID: <",
    ),
    *(
        b"--b",
        b"--b--",
        b"--c",
        b"\n",
        b"\n\n",
        b"\r\n",
        b"\r",
        b"\0",
        b"\t",
        b" ",
        b"\xff",
        b"=?utf-8?q?",
        b"?=",
    ),
    *(
        b"<",
        b">",
        b"(",
        b")",
        b'"',
        b",",
        b";",
        b":",
        b"@",
        b"a@b.example",
        b"\\",
        b"%00",
        b"=00",
        b"AAAA",
    ),
]


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=40).map(b"".join))
def test_any_octets_are_read_or_refused(raw: bytes) -> None:
    with contextlib.suppress(Unfit):
        fields, part = read_message(raw)
        content = read_content(part)
        envelope = Envelope(["a@b.example"], reads_recipients=False, local_to=None)
        asked = job_of(read_head(fields), envelope, None)
        assert {one["address"].lower() for one in asked.get("bcc", ())} <= {"a@b.example"}
        assert all(one.filename.strip(".") for one in content.files)
