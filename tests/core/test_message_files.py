"""A message with files byte for byte, and what ties it to its conversation."""

from postroom.core.ancestry import Ancestry
from postroom.core.job import Address
from postroom.core.message import thread_lines
from support.mail import attached, job, wire


WHOLE = """\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="=_b1.m"

--=_b1.m
Content-Type: multipart/related; boundary="=_b1.r"

--=_b1.r
Content-Type: text/html; charset=utf-8
Content-Transfer-Encoding: quoted-printable

<p>

--=_b1.r
Content-Type: image/png;
 name="logo.png"
Content-Transfer-Encoding: base64
Content-Disposition: inline;
 filename="logo.png"
Content-ID: <logo>

bG9nbw==

--=_b1.r--

--=_b1.m
Content-Type: text/csv; charset=utf-8;
 name="Umsatze.csv"
Content-Transfer-Encoding: base64
Content-Disposition: attachment;
 filename*=utf-8''Ums%C3%A4tze.csv

YSxiCg==

--=_b1.m
Content-Type: text/calendar; name=invite.ics
Content-Transfer-Encoding: base64
Content-Disposition: inline;
 filename="x.ics"

eg==

--=_b1.m--
"""


def body_of(message: bytes) -> str:
    assert b"\r\nMIME-Version: 1.0\r\n" in message
    start = message.index(b"MIME-Version")
    return message[start:].decode("ascii").replace("\r\n", "\n")


def test_files_are_written_byte_for_byte() -> None:
    logo = attached("logo.png", b"logo", "image/png", inline=True, content_id="logo")
    table = attached("Umsätze.csv", b"a,b\n", "text/csv; charset=utf-8")
    invite = attached("x.ics", b"z", "text/calendar; name=invite.ics", inline=True)
    files = {logo: b"logo", table: b"a,b\n", invite: b"z"}
    assert body_of(wire(job(text=None, html="<p>"), files)) == WHOLE


def test_html_alone_is_one_part() -> None:
    assert body_of(wire(job(text=None, html="<p>x"))) == (
        "MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n"
        "Content-Transfer-Encoding: quoted-printable\n\n<p>x\n"
    )


def test_an_answer_says_what_it_follows_and_where_answers_go() -> None:
    ancestry = Ancestry("<1@x.example>", ("<0@x.example>", "<1@x.example>"))
    follows = b"In-Reply-To: <1@x.example>\r\nReferences: <0@x.example> <1@x.example>\r\n"
    assert thread_lines(ancestry, None) == follows
    assert thread_lines(ancestry, Address("r@x.example", "R")) == (
        follows + b"Reply-To: R <r@x.example>\r\n"
    )
