"""Messages as they come: text, parts, attachments, limits. CASES A, row by row: `test_cases_a.py`."""

import email
import hashlib
import tracemalloc
from email.message import Message
from email.mime.application import MIMEApplication
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.policy import SMTP
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.inmail import Parse
from postroom.inbound.mimeparts import read_parts
from postroom.inbound.reading import TEXT_MOST, describe_unread, read_mail
from postroom.inbound.transfer import read_content
from support.bombs import BOMBS, NEIGHBOURS
from support.mails import mail, read


# Header and body, the text that is read, and the defects that must be among those noted.
TEXTS = {
    "Chinese under its small name": (
        b"Content-Type: text/plain; charset=gb2312\n\n" + "镕基\n".encode("gb18030"),
        "镕基\n",
        set(),
    ),
    "Japanese that does not say so": (
        b"Subject: x\n\n" + "こんにちは\n".encode("iso2022_jp"),
        "こんにちは\n",
        {"charset_guessed"},
    ),
    "UTF-7 by its old name": (
        b"Content-Type: text/plain; charset=unicode-1-1-utf-7\n\nGr+APw-e\n",
        "Grüe\n",
        set(),
    ),
    "no charset, UTF-8": ("Subject: x\n\nGrüße\n".encode(), "Grüße\n", {"charset_guessed"}),
    "A10 a blank in the encoding": (
        b"Content-Transfer-Encoding: quoted - printable;\n\na=C3=A4\n",
        "aä\n",
        {"charset_guessed"},
    ),
    "A26 inline texts": (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\nContent-Disposition: inline\n\ntwo\n--b--\n",
        "one\ntwo",
        set(),
    ),
    "HTML before a list's footer": (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>words</p>\n--b\n\nfooter\n--b--\n",
        "words\nfooter",
        set(),
    ),
    "the same twice": (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nthe words\n--b\nContent-Type: text/html\n\n<p>the <b>words</b></p>\n--b--\n",
        "the words",
        set(),
    ),
    "A17 a boundary like a field": (
        b'Content-Type: multipart/mixed; boundary=":a"\n\n--:a\n--:a\nContent-Type: text/plain\n--:a\n\none\n--:a--\n',
        "one",
        set(),
    ),
    "no boundary": (
        b"Content-Type: multipart/alternative\n\nwords\n",
        "words\n",
        {"boundary_missing"},
    ),
    "a part's header runs into the next": (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/alternative; boundary=c\n"
        b"Content-Type: text/plain\n\nplain\n--c\nContent-Type: text/html\n\n<p>html</p>\n--c--\n--b--\n",
        "plain",
        {"field_repeated"},
    ),
    "damaged base64": (
        b"Content-Transfer-Encoding: base64\n\nd29yZHM\xff=\n!!\nIHRoYXQ\n",
        "words that",
        {"base64_damaged"},
    ),
    "no header end": (b"Subject: x\nwords: that count,\nhere\n", "here\n", {"header_end_missing"}),
    "a damaged type": (b"Content-Type: nonsense\n\nwords\n", "words\n", {"content_type_damaged"}),
    "NUL": (b"Subject: x\n\na\0b\n", "a\ufffdb\n", {"text_cleaned"}),
    "an mbox line": (b"From alice Mon Jan 1\nSubject: x\n\nwords\n", "words\n", set()),
    "nothing": (b"", "", set()),
}


@pytest.mark.parametrize("case", TEXTS)
def test_the_text_is_read(case: str, tmp_path: Path) -> None:
    raw, text, defects = TEXTS[case]
    parsed = read(raw, directory=tmp_path)
    assert parsed.text == text
    assert defects <= set(parsed.defects)
    assert parsed.parse is Parse.COMPLETE


def test_a_bare_line_feed_is_told(tmp_path: Path) -> None:
    parsed = read(b"Subject: x\n\nwords\n")
    assert "bare_newline" not in parsed.defects
    assert "bare_newline" in read(b"Subject: x\n\na\rb\n").defects


def test_a_stray_line_ends_no_header() -> None:
    parsed = read(b"From: a@b.example\nthis is no field\nMessage-ID: <1@b.example>\n\nwords\n")
    assert parsed.message_id == "<1@b.example>"
    assert parsed.text == "words\n"
    assert "header_line_damaged" in parsed.defects


NAMES = {
    "plain": ('attachment; filename="report.pdf"', "report.pdf"),
    "A23 continued": ("attachment; filename*0*=utf-8''%E3%83%86; filename*1=\"x.txt\"", "テx.txt"),
    "A25 encoded slashes": (
        "attachment; filename*=utf-8''..%2f..%2fx%0d%0aX:%20y.txt",
        "xX: y.txt",
    ),
    "A25 NUL": ("attachment; filename*=utf-8''a%00b.txt", "ab.txt"),
    "none": ("attachment", "attachment"),
    "too long": (f'attachment; filename="{"x" * 400}.txt"', "x" * 146 + ".txt"),
}


@pytest.mark.parametrize("case", NAMES)
def test_an_attachment_lies_under_its_digest_with_a_harmless_name(
    case: str, tmp_path: Path
) -> None:
    field, name = NAMES[case]
    parsed = read(
        "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nwords\n--b\nContent-Type: application/pdf\n"
        f"Content-Disposition: {field}\nContent-Transfer-Encoding: base64\n\nYWJjZGU=\n--b--\n",
        directory=tmp_path,
    )
    (one,) = parsed.attachments
    assert one.filename == name
    assert (one.size_bytes, one.content_type, one.is_inline) == (5, "application/pdf", False)
    assert one.sha256 == hashlib.sha256(b"abcde").hexdigest()
    assert [path.name for path in tmp_path.iterdir()] == [one.sha256]
    assert (tmp_path / one.sha256).read_bytes() == b"abcde"


def test_a_forwarded_message_is_an_attachment(tmp_path: Path) -> None:
    parsed = read(
        "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nsee below\n--b\nContent-Type: message/rfc822\n\n"
        "Content-Type: multipart/mixed; boundary=c\n\n--c\n\nnot for the text\n--c--\n--b--\n",
        directory=tmp_path,
    )
    assert parsed.text == "see below"
    assert [(one.filename, one.content_type) for one in parsed.attachments] == [
        ("message.eml", "message/rfc822")
    ]


def test_one_bad_part_never_loses_the_others(tmp_path: Path) -> None:
    parsed = read(
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; charset=x-no\n\ncaf\xe9\n"
        b"--b\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n!!!=A\xff\n--b\n\nwords\n--b--\n",
        directory=tmp_path,
    )
    assert parsed.text == "café\nwords"
    assert len(parsed.attachments) == 1
    assert {"base64_damaged", "charset_guessed"} <= set(parsed.defects)


@pytest.mark.parametrize("unit", [b"a=", b"a!", b"=", b"abcd=!", b"\xff"])
def test_damaged_base64_takes_no_more_memory_than_a_few_times_itself(
    unit: bytes, tmp_path: Path
) -> None:
    raw = mail(
        b"Content-Type: application/zip\nContent-Transfer-Encoding: base64\n\n"
        + unit * (300_000 // len(unit))
    )
    tracemalloc.start()
    try:
        read_mail(raw, "", tmp_path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10 * len(raw)


def test_a_long_text_is_shown_in_part_and_kept_whole(tmp_path: Path) -> None:
    words = "words that count ä\n" * 20_000
    parsed = read(f"Content-Type: text/plain; charset=utf-8\n\n{words}", directory=tmp_path)
    assert len(parsed.text.encode()) <= TEXT_MOST
    assert words.startswith(parsed.text)
    assert parsed.text_file is not None
    assert (tmp_path / parsed.text_file.sha256).read_text("utf-8") == words


def test_the_html_is_kept_as_it_came(tmp_path: Path) -> None:
    parsed = read(
        "Content-Type: text/html; charset=iso-8859-1\n\n<p>gr\xfcn</p>\n".encode("latin1"),
        directory=tmp_path,
    )
    assert parsed.text == "grün\n"
    assert parsed.html_file is not None
    assert (tmp_path / parsed.html_file.sha256).read_text("utf-8") == "<p>grün</p>\n"
    assert parsed.attachments == ()


def test_a_mail_that_comes_again_has_the_same_digest() -> None:
    once = "From: a@x.example\nSubject: s\nDate: d\nMessage-ID: <1@x.example>\n\nwords\n"
    first = read(once)
    assert (
        read(f"Received: by mx.example\nDelivered-To: b@x.example\n{once}").dedupe == first.dedupe
    )
    for other in ("Subject: s", "a@x.example", "<1@x.example>", "words"):
        assert read(once.replace(other, f"{other}2")).dedupe != first.dedupe


WITHOUT_WORDS = {
    "nested multiparts",
    "nested messages",
    "a header without end",
    "blanks after a boundary",
}
LIMITED = {
    "semicolons", "quotes in Content-Type", "comments in Content-Type", "encoded words", "encoded words without end",
    "a wordy subject", "empty parts", "short fields", "fields with one name", "RFC 2231 parameters", "addresses",
    "nested multiparts", "quotes in To", "angle brackets in To", "ids", "a header without end", "nested divs",
    "open tags", "nested quotes", "nested links", "five MiB of HTML", "paragraphs", "hidden text", "attributes",
    "attributes with signs", "attributes of many", "servers on the way",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS | NEIGHBOURS)
def test_a_bomb_is_read_as_far_as_is_safe(name: str, tmp_path: Path) -> None:
    raw = (BOMBS | NEIGHBOURS)[name]()
    parsed = read(raw, directory=tmp_path)
    assert ("words that count" in parsed.text) is (name not in WITHOUT_WORDS)
    assert parsed.parse is (Parse.LIMITED if name in LIMITED else Parse.COMPLETE)
    assert describe_unread(raw, "").parse is Parse.FAILED


TREES = st.recursive(
    st.sampled_from(["plain", "html", "file", "message"]),
    lambda inner: st.tuples(st.sampled_from(["mixed", "alternative", "related"]), st.lists(inner, min_size=1, max_size=4)),
    max_leaves=8,
)  # fmt: skip


def composed(tree: str | tuple[str, list]) -> Message:
    """A message as the standard library writes it."""
    match tree:
        case "plain" | "html":
            return MIMEText("words that count\n> and are quoted\n", tree)
        case "file":
            return MIMEApplication(bytes(range(256)), Name="a.bin")
        case "message":
            return MIMEMessage(MIMEText("not for the text\n"))
        case (kind, parts):
            return MIMEMultipart(kind, _subparts=[composed(one) for one in parts])
    raise AssertionError


@given(TREES)
def test_an_honest_message_has_the_parts_that_the_standard_library_sees(
    tree: str | tuple[str, list],
) -> None:
    raw = composed(tree).as_bytes(policy=SMTP)
    ours = read_parts(raw)
    theirs = [
        one
        for one in email.message_from_bytes(raw).walk()
        if one.get_content_maintype() != "multipart"
    ]
    theirs = [
        one
        for at, one in enumerate(theirs)
        if at == 0 or theirs[at - 1].get_content_type() != "message/rfc822"
    ]
    assert [one.type.value for one in ours.leaves] == [one.get_content_type() for one in theirs]
    for mine, their in zip(ours.leaves, theirs, strict=True):
        if not their.is_multipart():
            assert read_content(raw, mine, set()) == their.get_payload(decode=True)
    assert not ours.defects
