"""CASES A, row by row, each with its relatives: what public bug reports say goes wrong, in small mails of our own."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from postroom.core.inmail import InMail, Parse
from support.bombs import BOMBS
from support.mails import read


@dataclass(frozen=True)
class Case:
    """A mail, and what must be understood of it; `defects` must be among those noted."""

    raw: bytes
    expected: dict[str, object]
    defects: set[str] = field(default_factory=set)


ROWS = [
    "A01",
    "A02",
    "A04",
    "A05",
    "A07",
    "A08",
    "A10",
    "A11",
    "A13",
    "A14",
    "A16",
    "A17",
    "A19",
    "A20",
    "A22",
    "A23",
    "A25",
    "A26",
    "A28",
]


def plain(content: bytes, text: str, *defects: str, charset: str = "", encoding: str = "") -> Case:
    """A mail of one text."""
    kind = f"text/plain; charset={charset}" if charset else "text/plain"
    lines = [f"Content-Type: {kind}"] + [f"Content-Transfer-Encoding: {encoding}"] * bool(encoding)
    return Case("\n".join(lines).encode() + b"\n\n" + content, {"text": text}, set(defects))


def headed(line: str | bytes, *defects: str, **expected: object) -> Case:
    """A mail with this in its header."""
    octets = line if isinstance(line, bytes) else line.encode()
    return Case(octets + b"\n\nwords\n", expected, set(defects))


def mixed(*parts: bytes, kind: str = "mixed", boundary: str = "b", **expected: object) -> Case:
    """A multipart."""
    octets = boundary.encode()
    inner = b"".join(b"--" + octets + b"\n" + part + b"\n" for part in parts)
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'.encode()
    return Case(head + inner + b"--" + octets + b"--\n", expected)


def named(parameters: str | bytes, filename: str, *, where: str = "disposition") -> Case:
    """A mail with a file of five octets that is called so."""
    octets = parameters if isinstance(parameters, bytes) else parameters.encode()
    if where == "disposition":
        head = b"Content-Type: application/pdf\nContent-Disposition: attachment; " + octets
    else:
        head = b"Content-Type: application/pdf; " + octets + b"\nContent-Disposition: attachment"
    part = head + b"\nContent-Transfer-Encoding: base64\n\nYWJjZGU="
    return mixed(b"\nwords", part, text="words", files=((filename, 5),))


def bomb(name: str, parse: Parse) -> Case:
    return Case(BOMBS[name](), {"parse": parse, "message_id": "<bomb@evil.example>"})


HTML = b"Content-Type: text/html; charset=utf-8\n\n"
INNER = b"Content-Type: multipart/mixed; boundary=%s\n\n"
CASES: dict[str, Case] = {
    "A01 a broken sequence": plain(b"Gr\xc3\xbc\xdfe\n", "Grü\ufffde\n", "charset_errors", charset="utf-8"),
    "A01 cut off in the middle": plain("день".encode()[:-1], "ден\ufffd", "charset_errors", charset="utf-8"),
    "A01 an overlong slash": plain(b"a\xc0\xafb", "a\ufffd\ufffdb", "charset_errors", charset="utf-8"),
    "A01 half a surrogate": plain(b"a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb", "charset_errors", charset="utf-8"),
    "A01 half a UTF-16": plain(b"\x00a\x00b\x00", "ab\ufffd", "charset_errors", charset="utf-16-be"),
    "A01 in quoted-printable": plain(b"Gr=C3=BC=DFe\n", "Grü\ufffde\n", "charset_errors", charset="utf-8", encoding="quoted-printable"),
    "A01 in HTML": Case(HTML + b"<p>Gr\xc3\xbc\xdfe</p>", {"text": "Grü\ufffde\n"}, {"charset_errors"}),
    "A02 Korean by Outlook": plain("안녕하세요\n".encode("cp949"), "안녕하세요\n", charset="ks_c_5601-1987"),
    "A02 a syllable that only Windows has": plain("뷁\n".encode("cp949"), "뷁\n", charset="ks_c_5601-1987"),
    "A02 the same as EUC-KR": plain("뷁\n".encode("cp949"), "뷁\n", charset="euc-kr"),
    "A02 in a subject": headed(b"Subject: =?ks_c_5601-1987?B?vsiz5w==?=", subject="안녕"),
    "A02 Chinese beyond its name": plain("镕\n".encode("gb18030"), "镕\n", charset="gb2312"),
    "A02 Japanese beyond its name": plain("①髙\n".encode("cp932"), "①髙\n", charset="shift_jis"),
    "A04 cp-850": plain("Käse\n".encode("cp850"), "Käse\n", charset="cp-850"),
    "A04 ibm-850": plain("Käse\n".encode("cp850"), "Käse\n", charset="IBM-850"),
    "A04 cp-1252": plain(b"\x80 5\n", "€ 5\n", charset="cp-1252"),
    "A04 cp_437": plain("Käse\n".encode("cp437"), "Käse\n", charset="cp_437"),
    "A04 x-windows-1251": plain("день\n".encode("cp1251"), "день\n", charset="x-windows-1251"),
    "A04 latin-9": plain(b"\xa4 5\n", "€ 5\n", charset="latin-9"),
    "A04 with its year": plain(b"\xe4\n", "ä\n", charset='"iso_8859-1:1987"'),
    "A04 in a subject": headed(b"Subject: =?cp-850?q?K=84se?=", subject="Käse"),
    "A05 logical Hebrew": plain("שלום\n".encode("iso8859_8"), "שלום\n", charset="iso-8859-8-i"),
    "A05 explicit Hebrew": plain("שלום\n".encode("iso8859_8"), "שלום\n", charset="ISO-8859-8-E"),
    "A05 logical Arabic": plain("سلام\n".encode("iso8859_6"), "سلام\n", charset="iso-8859-6-i"),
    "A05 in a subject": headed(b"Subject: =?iso-8859-8-i?b?+ezl7Q==?=", subject="שלום"),
    "A07 a broken charset": headed("Subject: =?_iso-2022-jp$esc?B?GyRC?=", "encoded_word_damaged", subject="=?_iso-2022-jp$esc?B?GyRC?="),
    "A07 a charset nobody knows": headed("Subject: =?x-no?q?caf=E9?=", "encoded_word_damaged", subject="=?x-no?q?caf=E9?="),
    "A07 no end": headed("Subject: =?utf-8?q?caf", subject="=?utf-8?q?caf"),
    "A07 an encoding nobody knows": headed("Subject: =?utf-8?x?caf?=", subject="=?utf-8?x?caf?="),
    "A07 no base64": headed("Subject: =?utf-8?b?!?= words", subject="words"),
    "A07 one good beside it": headed("Subject: =?x-no?q?a?= =?utf-8?q?=C3=A4?=", subject="=?x-no?q?a?= ä"),
    "A08 unknown": plain(b"caf\xe9\n", "café\n", "charset_guessed", charset="unknown"),
    "A08 X-UNKNOWN": plain(b"caf\xc3\xa9\n", "café\n", "charset_guessed", charset="X-UNKNOWN"),
    "A08 unknown-8bit": plain(b"caf\xe9\n", "café\n", "charset_guessed", charset="unknown-8bit"),
    "A08 quoted with a blank": plain(b"caf\xe9\n", "café\n", "charset_guessed", charset='" x-no such "'),
    "A08 a codec that is no charset": plain(b"caf\xe9\n", "café\n", "charset_guessed", charset="base64"),
    "A08 a path": plain(b"caf\xe9\n", "café\n", "charset_guessed", charset='"../../etc/passwd"'),
    "A08 empty": plain(b"caf\xe9\n", "café\n", "charset_guessed", charset='""'),
    "A08 and nothing to guess": plain(b"words\n", "words\n", charset="x-unknown"),
    **{
        f"A10 {encoding!r}": plain(b"a = b\n", "a = b\n", "transfer_encoding_unknown", encoding=encoding)
        for encoding in ("x-uuencode", "7-bit", "spam", "plain", "text/html", "8-bits; plain", "base-64", "quoted")
    },
    "A10 with a semicolon": plain(b"a = b\n", "a = b\n", encoding="7bit;"),
    "A10 base64 with a semicolon": plain(b"d29yZHM=\n", "words", encoding="base64; x=y"),
    "A10 quoted-printable with a blank": plain(b"a=62c\n", "abc\n", encoding="quoted-printable "),
    "A10 in capitals": plain(b"a=62c\n", "abc\n", encoding="QUOTED-PRINTABLE"),
    "A10 empty": Case(b"Content-Transfer-Encoding:\n\na = b\n", {"text": "a = b\n"}),
    "A11 two types": Case(b"Content-Type: text/plain; charset=cp850\nContent-Type: text/html\n\n<b>\x84\n", {"text": "<b>ä\n"}, {"field_repeated"}),
    "A11 two dispositions": Case(b"Content-Disposition: inline\nContent-Disposition: attachment\n\nwords\n", {"text": "words\n"}, {"field_repeated"}),
    "A11 two encodings": Case(b"Content-Transfer-Encoding: 7bit\nContent-Transfer-Encoding: base64\n\nwords\n", {"text": "words\n"}, {"field_repeated"}),
    "A11 two subjects": headed("Subject: one\nSubject: two", "field_repeated", subject="one"),
    "A11 two ids": headed("Message-ID: <a@x.example>\nMessage-ID: <b@x.example>", "field_repeated", message_id="<a@x.example>"),
    "A13 empty": headed("Date:", "date_unreadable", date=None),
    "A13 none": headed("Subject: s", date=None),
    "A13 garbage": headed("Date: Thursday, I think", "date_unreadable", date=None),
    "A13 a month that is none": headed("Date: Mon, 30 Nob 2026 10:00:00 +0000", "date_unreadable", date=None),
    "A13 the 99th": headed("Date: Mon, 99 Nov 2026 10:00:00 +0000", "date_unreadable", date=None),
    "A13 a zone like no other": headed("Date: Mon, 30 Nov 2026 10:00:00 +9999999", "date_unreadable", date=None),
    "A13 in the future": headed("Date: Mon, 30 Nov 2099 10:00:00 GMT", date="2099-11-30T10:00:00.000000Z"),
    "A13 a year of two digits": headed("Date: 30 Nov 26 10:00:00 +0000", date="2026-11-30T10:00:00.000000Z"),
    "A14 an empty place": headed("To: , a@x.example", header_recipients=("a@x.example",)),
    "A14 undisclosed": headed("To: undisclosed recipients: ;", header_recipients=()),
    "A14 empty groups": headed("To: a: ;, b: ;, c@x.example", header_recipients=("c@x.example",)),
    "A14 a line end in it": headed("To: A\n <a@x.example>,\n\tb@x.example", header_recipients=("a@x.example", "b@x.example")),
    "A14 no address at all": headed("To: everybody <>", header_recipients=()),
    "A14 brackets in brackets": headed("To: <<a@x.example>>, b@x.example", header_recipients=("b@x.example",)),
    "A14 a sender that is none": headed("From: @@@", is_sender_ambiguous=True),
    "A16 two addresses": headed("From: a@x.example, b@y.example", is_sender_ambiguous=True),
    "A16 two fields": headed("From: a@x.example\nFrom: b@y.example", "field_repeated", is_sender_ambiguous=True),
    "A16 a group": headed("From: us: a@x.example, b@y.example;", is_sender_ambiguous=True),
    "A16 none": headed("Subject: s", is_sender_ambiguous=True, sender=None),
    "A16 one in a comment": headed("From: a@x.example (b@y.example)", is_sender_ambiguous=False),
    "A17 one boundary begins another": Case(
        INNER % b"ab" + b"--ab\n" + INNER % b"a" + b"--a\n\none\n--ab\n\ntwo\n--ab--\n", {"text": "one\ntwo"}),
    "A17 one within itself": Case(
        INNER % b"a" + b"--a\n" + INNER % b"a" + b"--a\n\none\n--a--\n--a\n\ntwo\n--a--\n", {"text": "one\ntwo"}),
    "A17 no close": Case(INNER % b"b" + b"--b\n\none\n--b\n\ntwo\n", {"text": "one\ntwo\n"}, {"boundary_unclosed"}),
    "A17 the inner one does not close": Case(
        INNER % b"b" + b"--b\n" + INNER % b"c" + b"--c\n\none\n--b\n\ntwo\n--b--\n", {"text": "one\ntwo"}),
    "A17 a boundary like an end": Case(INNER % b'"a--"' + b"--a--\n\none\n--a----\n", {"text": "one"}),
    "A17 a boundary with a blank": Case(INNER % b'"a b"' + b"--a b\n\none\n--a b--\n", {"text": "one"}),
    "A17 a message in a message": mixed(
        b"Content-Type: message/rfc822\n\nContent-Type: message/rfc822\n\nSubject: x\n\ninner", b"\nwords",
        text="words", files=(("message.eml", 51),)),
    "A17 never there": Case(INNER % b"never" + b"words\n", {"text": "words\n"}, {"boundary_missing"}),
    "A17 none": Case(b"Content-Type: multipart/mixed\n\nwords\n", {"text": "words\n"}, {"boundary_missing"}),
    "A17 an epilogue": Case(INNER % b"b" + b"--b\n\none\n--b--\nnot this\n", {"text": "one"}),
    "A19 nested without end": bomb("nested messages", Parse.COMPLETE),
    "A19 a long header": bomb("a header without end", Parse.LIMITED),
    "A19 many levels": bomb("nested multiparts", Parse.LIMITED),
    "A19 many parts": bomb("empty parts", Parse.LIMITED),
    "A20 semicolons": bomb("semicolons", Parse.LIMITED),
    "A20 parameters": bomb("RFC 2231 parameters", Parse.LIMITED),
    "A22 no end": headed("Message-ID: <a@[b", "id_damaged", message_id=None),
    "A22 a bracket": headed("Message-ID: <", "id_damaged", message_id=None),
    "A22 a blank and a bracket": headed("Message-ID: >", message_id=None),
    "A22 brackets in brackets": headed("Message-ID: <<a@x.example>>", message_id="<a@x.example>"),
    "A22 an open literal": headed("References: <a@[b> <c@x.example>", references=("<a@[b>", "<c@x.example>")),
    "A22 an open quote": headed('Message-ID: <"a@x.example>', message_id='<"a@x.example>'),
    "A23 RFC 2047": named('filename="=?utf-8?b?44OG44K544OILnR4dA==?="', "テスト.txt"),
    "A23 RFC 2047 without quotes": named("filename==?utf-8?b?44OG44K544OILnR4dA==?=", "テスト.txt"),
    "A23 RFC 2047 in two words": named('filename="=?utf-8?b?44OG44K5?=\n =?utf-8?b?44OILnR4dA==?="', "テスト.txt"),
    "A23 RFC 2047 in ISO 2022": named('filename="=?ISO-2022-JP?B?GyRCJUYlOSVIGyhCLnR4dA==?="', "テスト.txt"),
    "A23 RFC 2231": named("filename*=utf-8''%E3%83%86%E3%82%B9%E3%83%88.txt", "テスト.txt"),
    "A23 RFC 2231 in sections": named("filename*1*=%B9%E3%83%88.txt;\n filename*0*=utf-8'ja'%E3%83%86%E3%82", "テスト.txt"),
    "A23 RFC 2231 in an old charset": named("filename*=iso-8859-1''%E4.txt", "ä.txt"),
    "A23 both": named("filename=x.txt; filename*=utf-8''%E3%83%86.txt", "テ.txt"),
    "A23 raw UTF-8": named('filename="テスト.txt"', "テスト.txt"),
    "A23 raw octets": named(b'filename="r\xe9sum\xe9.txt"', "résumé.txt"),
    "A23 quoted quotes": named('filename="a \\"b\\"; c.txt"', 'a "b"; c.txt'),
    "A23 by its type": named('name="=?utf-8?q?=C3=A4?=.txt"', "ä.txt", where="type"),
    "A25 absolute": named('filename="/etc/passwd"', "passwd"),
    "A25 above": named('filename="../static/index.html"', "index.html"),
    "A25 Windows": named('filename="C:\\\\Windows\\\\System32\\\\sam"', "sam"),
    "A25 Windows, not escaped": named("filename*=utf-8''C:%5CWindows%5Csam", "sam"),
    "A25 mixed": named("filename*=utf-8''..%5c..%2fsam", "sam"),
    "A25 in sections": named("filename*0*=utf-8''..%2f.; filename*1=./; filename*2*=%2fsam", "sam"),
    "A25 in encoded words": named('filename="=?utf-8?q?=2E=2E=2Fsam?="', "sam"),
    "A25 in UTF-7": named("filename*=utf-7''..+AC8-sam", "sam"),
    "A25 NUL": named("filename*=utf-8''a.pdf%00.exe", "a.pdf.exe"),
    "A25 line ends": named("filename*=utf-8''a%0d%0aX:%20b.txt", "aX: b.txt"),
    "A25 a dot": named('filename="."', "attachment"),
    "A25 two dots": named('filename=".."', "attachment"),
    "A25 blanks": named('filename="  "', "attachment"),
    "A25 dots behind": named('filename="a.exe. . ."', "a.exe"),
    "A25 a folder": named('filename="../"', "attachment"),
    "A25 a device": named('filename="con.txt"', "_con.txt"),
    "A25 a device with a blank": named('filename="LPT1 .txt"', "_LPT1 .txt"),
    "A25 from the right": named("filename*=utf-8''a%E2%80%AEgpj.exe", "agpj.exe"),
    "A25 nothing to be seen": named("filename*=utf-8''a%E2%80%8B%EF%BB%BF.txt", "a.txt"),
    "A25 what looks like a slash": named("filename*=utf-8''..%EF%BC%8F..%EF%BC%8Fsam", ".._.._sam"),
    "A25 of ten kilobytes": named('filename="' + "x" * 10_000 + '.pdf"', "x" * 146 + ".pdf"),
    "A25 of many letters": named('filename="' + "ä" * 300 + '.pdf"', "ä" * 73 + ".pdf"),
    "A26 an empty text beside HTML": mixed(b"\n \n", HTML + b"<p>words</p>", kind="alternative", text="words\n"),
    "A26 both empty": mixed(b"\n", HTML + b"<p> </p>", kind="alternative", text=""),
    "A26 they differ": mixed(b"\nplain", HTML + b"<p>html</p>", kind="alternative", text="plain"),
    "A26 texts in a row": mixed(b"\none", b"Content-Disposition: inline\n\ntwo", b"Content-Disposition: attachment\n\nthree", text="one\ntwo", files=(("attachment", 5),)),
    "A26 HTML alone": Case(HTML + b"<p>words</p>", {"text": "words\n"}),
    "A26 an empty text with a file": mixed(b"\n", b"Content-Type: application/pdf; name=a.pdf\n\nabcde", text="", files=(("a.pdf", 5),)),
    "A26 a text only of blanks and HTML in related": mixed(
        b"\n\n", b"Content-Type: multipart/related; boundary=c\n\n--c\n" + HTML + b"<p>words</p>\n--c--", kind="alternative", text="words\n"),
    "A28 raw UTF-8": headed("Subject: Grüße\nFrom: Пётр <пётр@пример.example>", subject="Grüße", is_sender_ambiguous=False),
    "A28 an id": headed("Message-ID: <ä@пример.example>", message_id="<ä@пример.example>"),
    "A28 ids": headed("References: <ä@x.example>\n <b@x.example>", references=("<ä@x.example>", "<b@x.example>")),
    "A28 recipients": headed("To: ä@пример.example", header_recipients=("ä@пример.example",)),
}  # fmt: skip


def understood(parsed: InMail, name: str) -> object:
    if name == "files":
        return tuple((one.filename, one.size_bytes) for one in parsed.attachments)
    return getattr(parsed, name)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_it_is_understood(case: Case, tmp_path: Path) -> None:
    parsed = read(case.raw, directory=tmp_path)
    assert {name: understood(parsed, name) for name in case.expected} == case.expected
    assert case.defects <= set(parsed.defects)
    assert parsed.parse is case.expected.get("parse", Parse.COMPLETE)
    for one in parsed.attachments:
        assert (tmp_path / one.sha256).stat().st_size == one.size_bytes


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_its_mails(row: str) -> None:
    assert [name for name in CASES if name.startswith(f"{row} ")]
