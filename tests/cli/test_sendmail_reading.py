"""What `postroom-sendmail` makes of a message: everything that a job can carry, exactly, or a refusal."""

import base64

import pytest

from postroom.cli.exits import Exit
from postroom.cli.sendmail.content import Content, read_content
from postroom.cli.sendmail.mime import DEPTH_MOST, read_message
from postroom.cli.sendmail.people import Person, read_people
from postroom.cli.sendmail.unfit import Unfit
from postroom.cli.sendmail.words import decode_words


ANN, BOB = Person("ann@example.com"), Person("bob@example.com")
PEOPLE = [
    ("ann@example.com", [ANN]),
    ("ann@example.com, bob@example.com", [ANN, BOB]),
    (" , ann@example.com,,", [ANN]),
    ("<ann@example.com>", [ANN]),
    ("Ann B. <ann@example.com>", [Person("ann@example.com", "Ann B.")]),
    ('"B, Ann" <ann@example.com>', [Person("ann@example.com", "B, Ann")]),
    (r'"An\"n" <ann@example.com>', [Person("ann@example.com", 'An"n')]),
    ("ann@example.com (Ann)", [Person("ann@example.com", "Ann")]),
    ("root (Cron (the) Daemon)", [Person("root", "Cron the Daemon")]),
    ("all: ann@example.com, bob@example.com; , root", [ANN, BOB, Person("root")]),
    ("undisclosed-recipients:;", []),
    ("", []),
    ("<@relay.example,@b.example:ann@example.com>", [ANN]),
    ('"a b"@example.com', [Person('"a b"@example.com')]),
    (
        "=?utf-8?q?J=C3=BCrgen=2C_B=2E?= <ann@example.com>",
        [Person("ann@example.com", "Jürgen, B.")],
    ),
    ("Jürgen <ann@example.com>", [Person("ann@example.com", "Jürgen")]),
]


@pytest.mark.parametrize(("text", "people"), PEOPLE, ids=[row[0] for row in PEOPLE])
def test_a_list_of_addresses_is_read(text: str, people: list[Person]) -> None:
    assert read_people(text) == people


@pytest.mark.parametrize(
    "text",
    [
        "two words",
        "Ann <ann@example.com",
        "ann@example.com (Ann",
        "<>",
        "Ann <>",
        "<two words>",
        "a@b@example.com",
        "ann@example.com <bob@example.com> <carl@example.com>",
        "ann@example.com)bob@example.com",
        "<ann@example.com>bob@example.com",
        '"ann',
    ],
)
def test_what_is_no_list_of_addresses_is_refused(text: str) -> None:
    with pytest.raises(Unfit):
        read_people(text)


WORDS = [
    ("plain", "plain"),
    ("=?utf-8?q?a_=C3=A9?=", "a é"),
    ("Re: =?iso-8859-1?B?6Q==?= =?utf-8?b?w6k=?= there", "Re: éé there"),
    ("=?x-none?q?abc?=", "=?x-none?q?abc?="),
    (20_000 * "=?utf-8?q?a?= ", 20_000 * "=?utf-8?q?a?= "),
    ("=?utf-8?q?=FF?=", "=?utf-8?q?=FF?="),
    ("=?utf-8?b?w?=", "=?utf-8?b?w?="),
    ("é =?utf-8?q?a?=", "é =?utf-8?q?a?="),
    ("ā =?utf-8?q?a?=", "ā =?utf-8?q?a?="),
]


@pytest.mark.parametrize(("text", "seen"), WORDS, ids=[row[0] for row in WORDS])
def test_encoded_words_are_read_or_left_as_they_are(text: str, seen: str) -> None:
    assert decode_words(text) == seen


def _part(kind: str, body: bytes, *more: str) -> bytes:
    return "\n".join([f"Content-Type: {kind}", *more, "", ""]).encode() + body


def _multi(kind: str, *parts: bytes) -> bytes:
    mark = f"{kind}-{len(b''.join(parts))}"
    body = b"".join(f"--{mark}\n".encode() + one + b"\n" for one in parts)
    return _part(
        f'multipart/{kind}; boundary="{mark}"', b"before\n" + body + f"--{mark}--\nafter\n".encode()
    )


def _content(raw: bytes) -> Content:
    return read_content(read_message(raw)[1])


def _files(found: Content) -> list[tuple[str, str, bytes, bool]]:
    return [(one.filename, one.content_type, one.octets, one.is_inline) for one in found.files]


PDF = _part("application/pdf; name=a.pdf", b"AAEC\n", "Content-Transfer-Encoding: base64")
LOGO = _part("image/png", b"x", "Content-ID: <logo>")
TEXT, HTML = _part("text/plain", b"text"), _part("text/html; charset=utf-8", b"<p>")
SHAPES: dict[str, tuple[bytes, str | None, str | None, list[str]]] = {
    "no type at all": (b"\ntext", "text", None, []),
    "no header": (b"text\nmore", "text\nmore", None, []),
    "a header and no body": (b"Subject: x\n", "", None, []),
    "nothing": (b"", "", None, []),
    "from a mailbox file": (b"From ann Mon Nov 30\nSubject: x\n\ntext", "text", None, []),
    "a header that ends without an empty line": (b"Subject: x\ntext", "text", None, []),
    "html": (HTML, None, "<p>", []),
    "alternatives": (_multi("alternative", TEXT, HTML), "text", "<p>", []),
    "html first": (_multi("alternative", HTML, TEXT), "text", "<p>", []),
    "a calendar": (
        _multi("alternative", TEXT, HTML, _part("text/calendar; method=REQUEST", b"c")),
        "text",
        "<p>",
        ["attachment"],
    ),
    "a text and a file": (_multi("mixed", TEXT, PDF), "text", None, ["a.pdf"]),
    "a file and a text": (_multi("mixed", PDF, TEXT), "text", None, ["a.pdf"]),
    "a footer": (_multi("mixed", TEXT, HTML, TEXT), "text", None, ["text.html", "text.txt"]),
    "a picture": (_multi("related", HTML, LOGO), None, "<p>", ["attachment"]),
    "a picture in an alternative": (
        _multi("alternative", TEXT, _multi("related", HTML, LOGO)),
        "text",
        "<p>",
        ["attachment"],
    ),
    "all of it": (
        _multi("mixed", _multi("related", _multi("alternative", TEXT, HTML), LOGO), PDF),
        "text",
        "<p>",
        ["attachment", "a.pdf"],
    ),
    "a digest": (_multi("digest", b"\nSubject: a\n\nb", TEXT), "text", None, ["message.eml"]),
    "a file alone": (PDF, None, None, ["a.pdf"]),
    "a text that is a file": (
        _part("text/plain", b"x", "Content-Disposition: attachment"),
        None,
        None,
        ["text.txt"],
    ),
    "a named text": (_part("text/plain; name=a.log", b"x"), None, None, ["a.log"]),
    "markdown": (_part("text/markdown", b"x"), None, None, ["attachment"]),
    "no boundary at the end": (
        b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n",
        "text\n",
        None,
        [],
    ),
}


@pytest.mark.parametrize(("raw", "text", "html", "names"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_the_text_is_found_and_everything_else_is_a_file(
    raw: bytes, text: str | None, html: str | None, names: list[str], end: bytes
) -> None:
    found = _content(raw.replace(b"\n", end))
    told = None if found.text is None else found.text.replace("\r\n", "\n")
    assert (told, found.html) == (text, html)
    assert [one.filename for one in found.files] == names


CHARSETS = [
    ("", b"plain", "plain"),
    ("", "é".encode(), "é"),
    ("us-ascii", "é".encode(), "é"),
    ("ANSI_X3.4-1968", b"x", "x"),
    ("iso-8859-1", b"\xe9\x93", "é“"),
    ("iso-8859-1", b"\x81", "\x81"),
    ("windows-1251", b"\xcf", "П"),
    ("iso-2022-jp", "日本".encode("iso-2022-jp"), "日本"),
    ("utf-8", b"\xff", None),
    ("", b"\xff", None),
    ("x-nobody-knows", b"x", None),
    ("idna", b"x", None),
    ("rot13", b"x", None),
    ("utf-8", b"a\0b", None),
    ("utf-8", b"x" * (512 * 1024 + 1), None),
    ("windows-1251", b"\xcf" * 300_000, None),
    ("utf-8", "€".encode() * 150_000, None),
]


@pytest.mark.parametrize(
    ("charset", "octets", "text"),
    CHARSETS,
    ids=[f"{row[0]} {row[1][:8]!r} {len(row[1])}" for row in CHARSETS],
)
def test_a_text_is_read_exactly_or_goes_as_a_file_with_the_same_octets(
    charset: str, octets: bytes, text: str | None
) -> None:
    kind = f"text/plain; charset={charset}" if charset else "text/plain"
    found = _content(_part(kind, octets))
    assert found.text == text
    kept = kind.replace("charset=", 'charset="') + '"' if charset else kind
    assert _files(found) == ([] if text is not None else [("text.txt", kept, octets, True)])


def test_a_charset_with_nul_in_its_name_is_none_that_is_known() -> None:
    found = _content(_part("text/plain; charset*=utf-8''%00", b"x"))
    assert (found.text, _files(found)) == (None, [("text.txt", "text/plain", b"x", True)])


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ('attachment; filename="=?utf-8?q?=C3=A9=2Etxt?="', "é.txt"),
        ("attachment; filename*=utf-8''%C3%A9.txt", "é.txt"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        ('attachment; filename="C:\\\\x\\\\y.doc"', "y.doc"),
        ('attachment; filename=".."', "attachment"),
        ("attachment", "attachment"),
    ],
)
def test_a_file_keeps_its_name_without_folders(given: str, name: str) -> None:
    found = _content(_part("application/x-y", b"x", f"Content-Disposition: {given}"))
    assert [one.filename for one in found.files] == [name]


TYPES = [
    ("text/csv; charset=utf-8; header=present", 'text/csv; charset="utf-8"; header="present"'),
    ("image/png; name=x.png", "image/png"),
    ("message/rfc822", "application/octet-stream"),
    ("nonsense", "text/plain"),
    ("a b/c", "application/octet-stream"),
    ('image/png; x="a\\"b"; y=1', 'image/png; y="1"'),
    (f"image/png; x={'y' * 200}", "image/png"),
    ("image/png; x*=utf-8''%C3%A9", "image/png"),
]


@pytest.mark.parametrize(("given", "kept"), TYPES, ids=[row[0][:40] for row in TYPES])
def test_a_file_keeps_its_type(given: str, kept: str) -> None:
    found = _content(_part(given, b"x", "Content-Disposition: attachment"))
    assert [one.content_type for one in found.files] == [kept]


@pytest.mark.parametrize(
    "raw",
    [
        _multi("signed", TEXT, _part("application/pgp-signature", b"s")),
        _multi("encrypted", _part("application/pgp-encrypted", b"v"), PDF),
        _multi("mixed", TEXT, _multi("report", TEXT)),
        _part("application/pkcs7-mime", b"x"),
        _part("multipart/mixed", b"x"),
        _part("text/plain; name*=\0''x", b"x"),
        _part("multipart/mixed; boundary=b", b"x"),
        _part("text/plain", b"x", "Content-Transfer-Encoding: x-uuencode"),
        _part("text/plain", b"x", "Content-Transfer-Encoding: base64"),
        _part(
            "text/plain",
            base64.b64encode(b"xyz") + b"\n-- \nfooter",
            "Content-Transfer-Encoding: base64",
        ),
    ],
    ids=[
        "signed",
        "encrypted",
        "report",
        "S/MIME",
        "no boundary",
        "NUL in a header",
        "no parts",
        "uuencode",
        "no base64",
        "a footer",
    ],
)
def test_what_would_not_arrive_as_it_is_is_refused(raw: bytes) -> None:
    with pytest.raises(Unfit) as caught:
        _content(raw)
    assert caught.value.code is Exit.BAD_DATA


def test_a_message_is_nested_so_deep_and_no_deeper() -> None:
    raw = TEXT
    for _ in range(DEPTH_MOST):
        raw = _multi("mixed", raw)
    assert _content(raw).text == "text"
    with pytest.raises(Unfit):
        _content(_multi("mixed", raw))
