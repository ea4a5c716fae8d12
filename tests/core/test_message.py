"""What stands in a message beside what its caller said."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from postroom.core.address import read_address
from postroom.core.body import Encoding, FileSegment
from postroom.core.filename import ascii_name, type_of
from postroom.core.instant import Instant
from postroom.core.job import Address
from postroom.core.mailbox import AutoSubmitted
from postroom.core.message import compose, date_line, head, reply_to_of, shared_head
from support.mail import NOW, SUPPORT, attached, job, parsed, wire


def lines_of(message: bytes) -> list[bytes]:
    return message.partition(b"\r\n\r\n")[0].split(b"\r\n")


def test_a_small_message_byte_for_byte() -> None:
    assert wire(job(html="<p>Here it is.</p>")).decode() == (
        "Date: Mon, 30 Nov 2026 07:00:00 +0000\r\n"
        "From: Support <support@example.com>\r\n"
        "To: ann@one.example\r\n"
        "Message-ID: <abc@example.com>\r\n"
        "X-Postroom-Delivery: dlv_0000000000001\r\n"
        "Subject: Your report\r\n"
        "Auto-Submitted: auto-generated\r\n"
        "X-Auto-Response-Suppress: OOF, AutoReply\r\n"
        "MIME-Version: 1.0\r\n"
        'Content-Type: multipart/alternative; boundary="=_b1.a"\r\n'
        "\r\n--=_b1.a\r\n"
        "Content-Type: text/plain; charset=utf-8\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n"
        "\r\nHere it is.\r\n"
        "\r\n--=_b1.a\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        "Content-Transfer-Encoding: quoted-printable\r\n"
        "\r\n<p>Here it is.</p>\r\n"
        "\r\n--=_b1.a--\r\n"
    )


DATES = {
    "now": (NOW, b"Date: Mon, 30 Nov 2026 07:00:00 +0000\r\n"),
    "the beginning": (Instant(0), b"Date: Thu, 01 Jan 1970 00:00:00 +0000\r\n"),
    "a fraction": (Instant(1_999_999), b"Date: Thu, 01 Jan 1970 00:00:01 +0000\r\n"),
}


@pytest.mark.parametrize(("instant", "line"), DATES.values(), ids=DATES)
def test_a_date_is_written(instant: Instant, line: bytes) -> None:
    assert date_line(instant) == line


@pytest.mark.parametrize("days", [*range(7), *range(15, 366, 30)])
def test_days_and_months_have_the_names_of_the_standard(days: int) -> None:
    at = datetime(2026, 1, 1, 7, 0, 0, tzinfo=UTC) + timedelta(days=days)
    line = date_line(Instant(round(at.timestamp()) * 1_000_000))
    assert line.decode() == f"Date: {format_datetime(at)}\r\n"


def test_bcc_is_never_in_the_bytes() -> None:
    found = job(
        to=["ann@one.example"],
        cc=[{"address": "bob@two.example", "name": "Bob"}],
        bcc=["eve@three.example"],
    )
    for one in found.recipients:
        message = wire(found, recipient=one.address)
        assert b"eve" not in message
        assert lines_of(message)[2:4] == [b"To: ann@one.example", b"Cc: Bob <bob@two.example>"]


def test_blind_recipients_alone_are_undisclosed() -> None:
    lines = lines_of(wire(job(to=None, bcc=["eve@three.example"])))
    assert lines[2] == b"To: undisclosed-recipients:;"
    assert lines[3].startswith(b"Message-ID: ")


def test_copies_alone_need_no_to() -> None:
    assert lines_of(wire(job(to=None, cc=["bob@two.example"])))[2] == b"Cc: bob@two.example"


def test_an_individual_copy_names_its_own_recipient_only() -> None:
    found = job(to=["ann@one.example"], bcc=["eve@three.example"], copies="individual")
    message = wire(found, recipient=Address("eve@three.example"))
    assert b"To: eve@three.example\r\n" in message
    assert b"ann@" not in message


AUTO = {
    "the mailbox's": (None, AutoSubmitted.AUTO_REPLIED, ["auto-replied"]),
    "the job's": ("auto-generated", AutoSubmitted.NO, ["auto-generated"]),
    "no": ("no", AutoSubmitted.AUTO_GENERATED, []),
}


@pytest.mark.parametrize(("asked", "default", "written"), AUTO.values(), ids=AUTO)
def test_who_wrote_it_is_said(
    asked: str | None, default: AutoSubmitted, written: list[str]
) -> None:
    mailbox = replace(SUPPORT, auto_submitted=default)
    found = parsed(wire(job(auto_submitted=asked), mailbox=mailbox))
    assert found.get_all("Auto-Submitted", []) == written
    assert found.get_all("X-Auto-Response-Suppress", []) == ["OOF, AutoReply"] * len(written)


def test_answers_go_where_the_job_says() -> None:
    found = parsed(
        wire(job(reply_to=[{"address": "r@x.example", "name": "Répondre"}, "s@x.example"]))
    )
    assert [str(one) for one in found["Reply-To"].addresses] == [
        "Répondre <r@x.example>",
        "s@x.example",
    ]


def test_the_callers_own_suppress_header_stays_alone() -> None:
    found = parsed(wire(job(headers={"x-auto-response-suppress": "DR"})))
    assert found.get_all("X-Auto-Response-Suppress") == ["DR"]


def test_an_international_address_goes_raw_with_an_ascii_domain() -> None:
    address = read_address("jörg@bücher.example", "Jörg")
    assert isinstance(address, Address)
    message = wire(job(), recipient=address)
    assert wire(job(to=[{"address": "jörg@bücher.example", "name": "Jörg"}])) != message
    line = "To: =?utf-8?q?J=C3=B6rg?= <jörg@xn--bcher-kva.example>".encode()
    assert line in lines_of(wire(job(to=[{"address": "jörg@bücher.example", "name": "Jörg"}])))


def test_a_diverted_copy_goes_to_one_address_and_says_from_whom() -> None:
    mailbox = replace(SUPPORT, divert_to="staging@dev.example")
    lines = lines_of(wire(job(cc=["bob@two.example"]), mailbox=mailbox))
    assert b"To: staging@dev.example" in lines
    assert b"X-Postroom-Diverted-From: ann@one.example" in lines
    assert not any(b"bob" in line for line in lines)


def test_ids_are_never_encoded_or_folded() -> None:
    shared = shared_head(job(), SUPPORT)
    long_id = f"<{'x' * 200}@example.com>"
    lines = head(shared, Address("a@x.example"), message_id=long_id, delivery_id="dlv_1").split(
        b"\r\n"
    )
    assert f"Message-ID: {long_id}".encode() in lines


def test_what_the_html_refers_to_lies_with_it() -> None:
    logo = attached("logo.png", b"logo", "image/png", inline=True, content_id="logo")
    book = attached("book.xlsx", b"book")
    found = parsed(wire(job(html='<img src="cid:logo">'), {logo: b"logo", book: b"book"}))
    shape = [part.get_content_type() for part in found.walk()]
    assert shape == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "application/pdf",
    ]
    image = next(part for part in found.walk() if part.get_content_type() == "image/png")
    assert (image["Content-ID"], image.get_content_disposition()) == ("<logo>", "inline")


def test_inline_without_html_is_an_attachment_of_its_own() -> None:
    logo = attached("logo.png", b"logo", "image/png", inline=True, content_id="logo")
    found = parsed(wire(job(), {logo: b"logo"}))
    assert [part.get_content_type() for part in found.walk()] == [
        "multipart/mixed",
        "text/plain",
        "image/png",
    ]


def test_files_are_named_and_not_read() -> None:
    book = replace(attached("a.pdf", b"x" * 100), pinned_path="/srv/a.pdf")
    (_, file, _) = compose(job(), [book], "b").segments
    assert file == FileSegment(book.sha256, 100, Encoding.BASE64, "/srv/a.pdf")


def test_the_same_job_gives_the_same_bytes() -> None:
    assert compose(job(), [], "b") == compose(job(), [], "b")


NAMES = {
    "plain": ("a.pdf", "a.pdf"),
    "accents": ("Umsätze Q3.xlsx", "Umsatze Q3.xlsx"),
    "another script": ("テスト.txt", "___.txt"),
    "quotes": ('a"b\\c.txt', "a_b_c.txt"),
    "long": ("x" * 100 + ".pdf", "x" * 40 + ".pdf"),
    "long without an ending": ("x" * 100, "x" * 52),
}


@pytest.mark.parametrize(("name", "plain"), NAMES.values(), ids=NAMES)
def test_old_readers_get_a_plain_name(name: str, plain: str) -> None:
    assert ascii_name(name) == plain


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("a.PDF", "application/pdf"),
        ("a", "application/octet-stream"),
        ("a.weird", "application/octet-stream"),
    ],
)
def test_a_name_promises_a_type(name: str, type_: str) -> None:
    assert type_of(name) == type_


def test_a_head_without_reply_to_says_so() -> None:
    asked = job(headers={"X-Note": "Reply-To: <a@x.example>"})
    made = head(
        shared_head(asked, SUPPORT),
        asked.recipients[0].address,
        message_id="<1@x>",
        delivery_id="d",
    )
    assert reply_to_of(made) == ()
