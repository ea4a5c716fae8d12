"""Whatever comes, it is read: no exception, and what is promised of the values holds."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroom.core.inmail import InMail
from postroom.inbound.charsets import decode
from postroom.inbound.dates import read_date
from postroom.inbound.encodedwords import decode_field
from postroom.inbound.head import HEAD_MOST, read_head
from postroom.inbound.htmltext import Room, html_to_text
from postroom.inbound.messageids import read_ids
from postroom.inbound.mimefields import read_media_type
from postroom.inbound.people import read_people
from postroom.inbound.reading import describe_unread, digest, read_mail
from postroom.inbound.wire import Understood, framed, read_answer
from support.mails import whole


PIECES = st.sampled_from(
    [b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"--b\r\n", b"--b--\r\n", b"--c", b": ", b";", b",", b'"', b"\\", b"(", b")"]
    + [b"<", b">", b"@", b"=", b"=?utf-8?q?=C3=A4?=", b"=?x?b?!?=", b"=?utf-8?q?=3D=3Futf-7=3Fq=3F+2AA-a=40b=2Ec=3F=3D?= <", b"=?", b"?=", b"%", b"*0*=", b"utf-8''", b"\x1b$B"]
    + [b"From: ", b"To: ", b"Subject: ", b"Date: ", b"Message-ID: ", b"References: ", b"Content-Disposition: "]
    + [b"Content-Type: multipart/mixed; boundary=b\r\n", b"Content-Type: multipart/alternative; boundary=c\r\n"]
    + [b"Content-Type: text/html\r\n\r\n", b"Content-Type: message/rfc822\r\n\r\n", b"attachment; filename="]
    + [b"Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n"]
    + [b"Content-Type: message/delivery-status\r\n\r\n", b"Final-Recipient: rfc822; ", b"Action: failed\r\n", b"Status: "]
    + [b"Content-Transfer-Encoding: base64\r\n", b"Content-Transfer-Encoding: quoted-printable\r\n", b"charset="]
    + [b"utf-16", b"iso-2022-kr", b"hz", b"utf-7", b"+2AA-", b"idna", b"\xff\xfe", b"\xed\xa0\x80", b"\0", b"a", b"\xe9"]
    + [b"<blockquote type=cite>", b"</blockquote>", b"<p hidden>", b"<a href='http://x'>", b"<pre>", b"> ", b"-- \r\n"]
    + [b"On 3 Jan 2022, Bob <b@x.example> wrote:\r\n", b"X-Loop: ", b"Auto-Submitted: "]
)  # fmt: skip
OCTETS = st.one_of(st.binary(max_size=300), st.lists(PIECES, max_size=40).map(b"".join))
MORE = settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def lines(mail: InMail) -> list[str]:
    """All values that are one line."""
    people = [one for one in (mail.sender, *mail.to, *mail.cc, *mail.reply_to) if one]
    names = [value for one in people for value in (one.name, one.address)]
    files = [one.filename for one in mail.attachments] + [
        one.content_type for one in mail.attachments
    ]
    return [
        mail.subject,
        *mail.references,
        *mail.in_reply_to,
        *names,
        *files,
        *mail.evidence,
        *mail.forwarded_for,
        mail.signs.name_address or "",
    ]


@MORE
@given(OCTETS, st.sampled_from(["", "a@x.example"]))
def test_any_octets_become_a_message(tmp_path: Path, raw: bytes, sender: str) -> None:
    mail = read_mail(raw, sender, tmp_path)
    assert whole(mail) == mail.text
    for line in lines(mail):
        assert line.isprintable() or not any(
            ord(one) < 32 or 0x7F <= ord(one) < 0xA0 for one in line
        )
        line.encode()
    mail.text.encode()
    assert "\0" not in mail.text
    for one in mail.attachments:
        assert (tmp_path / one.sha256).stat().st_size == one.size_bytes
        assert "/" not in one.filename
        assert len(one.filename.encode()) <= 255
    answer = framed(Understood(mail))
    assert read_answer(answer[4:]) == Understood(mail)
    assert describe_unread(raw, sender).message_id == mail.message_id


@given(OCTETS)
def test_any_octets_have_a_header_and_a_body(raw: bytes) -> None:
    head, body = read_head(raw)
    assert 0 <= body <= len(raw)
    assert sum(len(value) for _, value in head.fields) <= HEAD_MOST
    assert len(digest(head, raw[body:])) == 64


@given(
    OCTETS,
    st.one_of(
        st.none(),
        st.text(max_size=20),
        st.sampled_from(["utf-8", "utf-7", "hz", "idna", "rot13", "zip", "utf-16"]),
    ),
)
def test_any_octets_are_text_in_any_charset(raw: bytes, charset: str | None) -> None:
    assert isinstance(decode(raw, charset)[0], str)


@given(OCTETS)
def test_any_octets_can_stand_in_any_field(raw: bytes) -> None:
    decode_field(raw, set())
    read_people([raw, raw], set())
    read_ids([raw], set())
    read_media_type(raw, set())
    read_date(raw, set())


@given(st.one_of(st.text(), OCTETS.map(lambda raw: raw.decode("latin-1"))))
def test_any_text_can_be_html(page: str) -> None:
    html_to_text(page, set(), Room())
