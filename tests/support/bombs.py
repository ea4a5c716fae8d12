"""Messages that were made to cost time or memory (HAZARDS §2.4, LIBRARIES findings 1 and 2), by what they are."""

from collections.abc import Callable, Iterator


HEAD = (
    b"From: mallory@evil.example\r\nTo: support@example.com\r\nMessage-ID: <bomb@evil.example>\r\n"
)
MIB = 1024 * 1024


def field(name: str, value: bytes, body: bytes = b"words that count\r\n") -> bytes:
    return HEAD + name.encode() + b": " + value + b"\r\n\r\n" + body


def html(body: bytes) -> bytes:
    return field("Content-Type", b"text/html; charset=utf-8", body)


def many_parts(count: int) -> bytes:
    return field(
        "Content-Type",
        b'multipart/mixed; boundary="b"',
        b"--b\r\n\r\nwords that count\r\n" + b"--b\r\n\r\n\r\n" * count + b"--b--\r\n",
    )


def nested(depth: int) -> bytes:
    opened = b"".join(
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (at, at)
        for at in range(depth)
    )
    return HEAD + opened + b"\r\nwords that count\r\n"


def nested_messages(depth: int) -> bytes:
    return HEAD + b"Content-Type: message/rfc822\r\n\r\n" * depth + b"words that count\r\n"


def big_attachment() -> bytes:
    line = b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU2Nzg5QUJDREVGR0hJSktMTU5PUFFSU1RVVldY\r\n"
    return field(
        "Content-Type",
        b'multipart/mixed; boundary="b"',
        b"--b\r\n\r\nwords that count\r\n--b\r\nContent-Type: application/zip; name=a.zip\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\n"
        + line * (24 * MIB // len(line))
        + b"--b--\r\n",
    )


def padded(content: bytes) -> bytes:
    """Twelve MiB of what calls itself base64, beside a text."""
    return field(
        "Content-Type",
        b"multipart/mixed; boundary=b",
        b"--b\r\n\r\nwords that count\r\n--b\r\nContent-Type: application/zip\r\n"
        b"Content-Transfer-Encoding: base64\r\n\r\n" + content * (12 * MIB // len(content)),
    )


def charset(name: str, content: bytes) -> bytes:
    """Four MiB in a charset."""
    octets = b"words that count\r\n" + content * (4 * MIB // len(content))
    return field("Content-Type", b"text/plain; charset=" + name.encode(), octets)


def made_up_charsets() -> bytes:
    """Names by the hundred thousand, for a reader that keeps each."""
    parts = b"".join(
        b'--b\r\nContent-Type: a/b; name="%s"\r\n\r\n'
        % b"".join(b"=?x%d-%d?q?a?= " % (part, at) for at in range(900))
        for part in range(190)
    )
    return field(
        "Content-Type",
        b"multipart/mixed; boundary=b",
        b"--b\r\n\r\nwords that count\r\n" + parts + b"--b--",
    )


# The text that is read all the same; None = none.
BOMBS: dict[str, Callable[[], bytes]] = {
    "semicolons": lambda: field("Content-Type", b"text/plain; " + b";" * 100_000),
    "quotes in Content-Type": lambda: field("Content-Type", b'"' * 64_000),
    "comments in Content-Type": lambda: field("Content-Type", b"(" * 64_000),
    "encoded words": lambda: field("Subject", b"=?utf-8?q?a?= " * 20_000),
    "encoded words without end": lambda: field("Subject", b"=?utf-8?b?" * 20_000),
    "a wordy subject": lambda: field("Subject", b"a " * 500_000),
    "empty parts": lambda: many_parts(50_000),
    "short fields": lambda: HEAD + b"a: b\r\n" * 100_000 + b"\r\nwords that count\r\n",
    "fields with one name": lambda: HEAD + b"To: b\r\n" * 100_000 + b"\r\nwords that count\r\n",
    "RFC 2231 parameters": lambda: field(
        "Content-Type", b"text/plain" + b"".join(b";\r\n a*%d*=x" % at for at in range(5000))
    ),
    "addresses": lambda: field("Cc", b"a@b.example, " * 5000),
    "nested multiparts": lambda: nested(2000),
    "nested messages": lambda: nested_messages(1000),
    "parentheses in To": lambda: field("To", b"(" * 3000),
    "quotes in To": lambda: field("To", b'"' * 64_000),
    "an open quote in To": lambda: field("To", b'"' + b"\\a" * 8000),
    "angle brackets in To": lambda: field("To", b"<" * 64_000),
    "a broken id": lambda: field("Message-ID", b"<a@[b"),
    "a bracket for an id": lambda: field("In-Reply-To", b"<"),
    "ids": lambda: field("References", b"<a@b.example> " * 50_000),
    "an unknown charset": lambda: field("Content-Type", b'text/plain; charset="x-unknown"'),
    "raw octets": lambda: field("Subject", bytes(range(128, 256)) * 20),
    "a header without end": lambda: HEAD + b"X-Long: " + b"a" * 5 * MIB,
    "blanks after a boundary": lambda: field(
        "Content-Type", b"multipart/mixed; boundary=b", b"words that count\r\n--b" + b" " * 5 * MIB
    ),
    "near boundaries": lambda: field(
        "Content-Type",
        b"multipart/mixed; boundary=b",
        b"words that count\r\n" + b"--bb\r\n" * 500_000,
    ),
    "twenty-four MiB of base64": big_attachment,
    "ten MiB of text": lambda: field("X-A", b"b", b"words that count\r\n" * (10 * MIB // 18)),
    "ten MiB of empty lines": lambda: field("X-A", b"b", b"words that count" + b"\r\n" * 5 * MIB),
    "ten MiB of octets": lambda: field("X-A", b"b", b"words that count\r\n" + b"\xff" * 10 * MIB),
    "quoted lines": lambda: field(
        "X-A", b"b", b"words that count\r\n" + b"> a\r\nwrote:\r\n" * 20_000
    ),
    "On a a a": lambda: field("X-A", b"b", b"words that count\r\nOn " + b"a " * 20_000),
    "nested divs": lambda: html(b"words that count" + b"<div>" * 100_000),
    "open tags": lambda: html(b"words that count" + b"<a " * 100_000),
    "open comments": lambda: html(b"words that count" + b"<!--" * 100_000),
    "p without end": lambda: html(b"words that count" + b"<p" * 100_000),
    "nested quotes": lambda: html(
        b"words that count" + b"<blockquote type=cite>" * 200 + b"a<br>" * 100_000
    ),
    "links": lambda: html(
        b"words that count" + b'<a href="http://a.example/' + b"x" * 3000 + b'">b</a>' * 20_000
    ),
    "nested links": lambda: html(b"words that count" + b'<a href="http://a.example/">b' * 50_000),
    "five MiB of HTML": lambda: html(b"<p>words that count</p>\r\n" * (5 * MIB // 25)),
    "paragraphs": lambda: html(b"words that count" + b"<p>" * 300_000),
    "hidden text": lambda: html(b"words that count" + b'<p style="display:none">a' * 50_000),
    "nul": lambda: field("X-A", b"\0" * 1000, b"words that count\0\0\r\n"),
}
# What else takes time, memory or a name where it is read carelessly.
NEIGHBOURS: dict[str, Callable[[], bytes]] = {
    "zeros in a style": lambda: html(
        b"words that count<p style='font-size:" + b"0" * 200_000 + b"x'>a"
    ),
    "blanks in a style": lambda: html(
        b"words that count<p style='opacity:" + b" " * 200_000 + b"x'>a"
    ),
    "a style sheet": lambda: html(
        b"words that count<style>" + b"a{b:c}" * 200_000 + b"</style><p style='" + b"a:b;" * 90_000
    ),
    "attributes": lambda: html(
        b"words that count<p " + b" ".join(b"a%d" % at for at in range(300_000)) + b">a"
    ),
    "attributes with signs": lambda: html(
        b'words that count<!-- <p a=" --><p '
        + b" ".join(b"a%d='>'" % at for at in range(100_000))
        + b">a"
    ),
    "attributes of many": lambda: html(
        b"words that count" + (b"<p " + b"a=b " * 900 + b">a") * 500
    ),
    "entities": lambda: html(b"words that count" + b"&amp;&#x61;&a" * 100_000),
    "ends of nothing": lambda: html(b"words that count" + b"</p></b></table>" * 40_000),
    "link runs": lambda: field(
        "X-A", b"b", b"words that count\r\n" + b'http://e?"onmouseover=' * 24_000
    ),
    "link runs in HTML": lambda: html(
        b"words that count"
        + b"<a href='http://e?\"onmouseover='>http://e?\"onmouseover=</a>" * 8000
    ),
    "padding in base64": lambda: padded(b"a="),
    "nothing but padding": lambda: padded(b"="),
    "strange octets in base64": lambda: padded(b"a!"),
    "quoted-printable": lambda: field(
        "Content-Transfer-Encoding",
        b"quoted-printable",
        b"words that count\r\n" + b"= " * 2 * MIB + b"=\r\n" * MIB + b"=" * MIB,
    ),
    "uuencode": lambda: field(
        "X-A", b"b", b"words that count\r\nbegin 644 a\r\n" + b"M" + b"A" * 60 + b"\r\n" * MIB
    ),
    "UTF-7": lambda: charset("utf-7", b"+AAAA-+\xff"),
    "UTF-7 without end": lambda: charset("utf-7", b"A" * 100 + b"+" * 100),
    "escapes of ISO 2022": lambda: charset("iso-2022-jp", b"\x1b$B\x1b(B\x1b"),
    "Korean shifts": lambda: charset("iso-2022-kr", b"\x1b$)C\x0e\x0f"),
    "HZ": lambda: charset("hz", b"~{~}~"),
    "IDNA for a charset": lambda: charset("idna", b"xn--a."),
    "a packed charset": lambda: charset("zlib", b"x"),
    "made-up charsets": made_up_charsets,
    "a million lines": lambda: field("X-A", b"b", b"words that count\r\n" + b"a\r\n" * 1_000_000),
    "boundaries that begin alike": lambda: field(
        "Content-Type",
        b"multipart/mixed; boundary=" + b"b" * 199,
        b"words that count\r\n" + (b"--" + b"b" * 198 + b"\r\n") * 50_000,
    ),
    "servers on the way": lambda: HEAD + b"Received: by x\r\n" * 4000 + b"\r\nwords that count\r\n",
    "lines without a colon": lambda: field(
        "X-A", b"b\r\nno field" + b"\r\nX-A: b\r\nno field" * 900
    ),
    "a date of numbers": lambda: field("Date", b"1 " * 5000),
    "a date far away": lambda: field("Date", b"Mon, 30 Nov 2026 10:00:00 +" + b"9" * 150),
    "marks upon marks": lambda: field("Subject", "a\u0301\u0489\u0332".encode() * 2000),
    "from the right": lambda: field("Subject", "\u202e\u2067\u200f".encode() * 1500),
    "surrogates": lambda: field("Subject", b"=?utf-16?b?2AA=?= =?utf-8?q?=ED=A0=80?=" * 300),
}


def bombs() -> Iterator[tuple[str, bytes]]:
    """Each of them, made when its turn comes."""
    for name, make in BOMBS.items():
        yield name, make()
